/* SPDX-License-Identifier: BSD-3-Clause
 * A server of redis-benchmark: a client of peer/ reaches it once before load is sent to it.
 */
#include "benchmark/benchmark_server.h"

#include <inttypes.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "peer/peer_client.h"

/* Removed from a reason, because 6.2 prints the error without the name of the failed call. */
#define REFUSED_PREFIX "connect: "
#define ANSWER_MSEC 10000 /* for a slow name lookup and a distant server */

/* Limits of a reply: its text, and its number of values. */
#define TEXT_BYTES_MAX ((size_t)16 * 1024 * 1024) /* CLUSTER NODES of a great cluster */
#define NODES_MAX 1024

static void write_greeting(struct benchmark_server *s, const struct benchmark_options *o) {
    struct slice tracking[] = {SLICE("CLIENT"), SLICE("TRACKING"), SLICE("on")};
    tool_greeting_init(&s->greeting, &o->connection, o->resp3);
    if (o->tracking) tool_greeting_add(&s->greeting, "CLIENT TRACKING", tracking, 3);
    s->target.greeting = buffer_slice(&s->greeting.bytes);
    s->target.greeting_replies = s->greeting.count;
}

static void write_name(struct benchmark_server *s) {
    const struct peer_address *a = &s->target.address;
    if (a->path) {
        snprintf(s->name, sizeof(s->name), "%s", a->path);
    } else {
        snprintf(s->name, sizeof(s->name), "%s:%d", a->host, a->port);
    }
}

void benchmark_server_init(struct benchmark_server *s, const struct benchmark_options *options) {
    const struct tool_connection *c = &options->connection;
    *s = (struct benchmark_server){.target.address = tool_connection_address(c)};
    write_greeting(s, options);
    write_name(s);
}

bool benchmark_server_init_other(struct benchmark_server *s,
                                 const struct benchmark_options *options, const char *text,
                                 char reason[LOAD_REASON_CHARS]) {
    const char *colon = strrchr(text, ':');
    int64_t port = 0;
    *s = (struct benchmark_server){0};
    if (*text == '/' || *text == '.') {
        s->target.address.path = text;
    } else if (!colon || colon == text ||
               !number_parse_int64(colon + 1, strlen(colon + 1), &port) || port < 1 ||
               port > 65535) {
        snprintf(reason, LOAD_REASON_CHARS, "--compare wants host:port, or a path");
        return false;
    } else {
        struct slice host = {text, (size_t)(colon - text)};
        if (host.length > 2 && *text == '[' && colon[-1] == ']')
            host = (struct slice){text + 1, host.length - 2};
        s->target.address.host = slice_dup_c_string(host, MEMORY_OTHER);
        s->target.address.port = (int)port;
    }
    s->target.address.transport = peer_tls_transport(&options->connection.tls);
    write_greeting(s, options);
    write_name(s);
    return true;
}

void benchmark_server_init_node(struct benchmark_server *s, const struct benchmark_options *options,
                                const char *host, int port, const char *id) {
    *s = (struct benchmark_server){
        .target.address = {.host = memory_strdup(host, MEMORY_OTHER),
                           .port = port,
                           .transport = peer_tls_transport(&options->connection.tls)}};
    snprintf(s->id, sizeof(s->id), "%s", id);
    write_greeting(s, options);
    write_name(s);
}

/* The questions to a server, and its answers so far. */
struct asking {
    struct benchmark_server *server;
    unsigned told; /* values that CONFIG GET gave */
    bool refused;  /* the server refused the greeting; `reason` has its error */
    char *reason;
    const struct slice *words; /* a request instead of the configuration; NULL = none */
    size_t word_count;
    void (*take)(void *owner, const struct peer_reply *reply);
    void *take_owner;
};

static void take_greeting(void *owner, uintptr_t unused, const struct peer_reply *reply) {
    struct asking *a = owner;
    char shown[BENCHMARK_CONFIG_CHARS];
    if (!reply || a->refused || reply->type != PEER_ERROR) return;
    a->refused = true;
    snprintf(a->reason, LOAD_REASON_CHARS, "Error from server: %s",
             string_show(reply->text, shown, sizeof(shown)));
}

/* Takes the value from the reply to CONFIG GET, which is an array or, in RESP3, a map. */
static void take_config(void *owner, uintptr_t value, const struct peer_reply *reply) {
    struct asking *a = owner;
    if (!reply || !peer_reply_is_aggregate(reply) || reply->children != 2) return;
    const struct peer_reply *second = peer_reply_next(peer_reply_first(reply));
    if (second->type != PEER_BULK && second->type != PEER_STATUS) return;
    string_show(second->text, (char *)value, BENCHMARK_CONFIG_CHARS);
    a->told++;
}

static bool await_answers(struct peer_client *client) {
    while (peer_client_asked(client))
        if (!peer_client_turn(client, INT64_MAX)) return false;
    return true;
}

/* Asks CONFIG GET `name` and waits for the reply. False where the connection ended. */
static bool ask_config(struct peer_client *client, const char *name, char *value) {
    const struct peer_request request = {take_config, (uintptr_t)value};
    struct slice words[] = {SLICE("CONFIG"), SLICE("GET"), slice_of(name)};
    bool asked = peer_client_ask(client, &request, words, 3);
    ASSERT(asked);
    return await_answers(client);
}

static void take_reply(void *owner, uintptr_t unused, const struct peer_reply *reply) {
    struct asking *a = owner;
    if (reply) a->take(a->take_owner, reply);
}

static bool ask_words(struct asking *a, struct peer_client *client) {
    const struct peer_request request = {take_reply, 0};
    bool asked = peer_client_ask(client, &request, a->words, a->word_count);
    ASSERT(asked);
    return await_answers(client);
}

/* Connects, greets and asks. False where the connection failed or the greeting was refused. */
static bool ask_all(struct asking *a, struct peer_client *client) {
    struct benchmark_server *s = a->server;
    if (!peer_client_connect(client, &s->target.address)) return false;
    while (peer_client_state(client) != PEER_CLIENT_OPEN)
        if (!peer_client_turn(client, INT64_MAX)) return false;
    for (unsigned i = 0; i < s->greeting.count; i++)
        tool_greeting_ask(&s->greeting, i, client, take_greeting);
    if (!await_answers(client) || a->refused) return false;
    if (a->words) return ask_words(a, client);
    /* A server that gave no value for `save` is not asked for `appendonly`. */
    if (!ask_config(client, "save", s->save)) return false;
    return !a->told || ask_config(client, "appendonly", s->appendonly);
}

static bool reach_server(struct asking *asking) {
    struct benchmark_server *s = asking->server;
    const struct peer_client_settings settings = {.class = MEMORY_OTHER,
                                                  .reply = {TEXT_BYTES_MAX, NODES_MAX},
                                                  .asked_max = TOOL_GREETING_REQUESTS_MAX,
                                                  .owner = asking};
    struct peer_client *client = peer_client_create(&settings);
    peer_client_set_patience(client, ANSWER_MSEC);
    bool good = ask_all(asking, client);
    const char *why = peer_client_error(client);
    if (!good && !asking->refused) {
        size_t prefix = strncmp(why, REFUSED_PREFIX, sizeof(REFUSED_PREFIX) - 1) != 0
                            ? 0
                            : sizeof(REFUSED_PREFIX) - 1;
        snprintf(asking->reason, LOAD_REASON_CHARS, "Could not connect to Redis at %s: %s", s->name,
                 why + prefix);
    }
    peer_client_free(client);
    return good;
}

bool benchmark_server_ask(struct benchmark_server *s, char reason[LOAD_REASON_CHARS]) {
    struct asking asking = {.server = s, .reason = reason};
    bool good = reach_server(&asking);
    /* A server that refuses CONFIG GET can be measured all the same. */
    s->has_config = asking.told == 2;
    return good;
}

bool benchmark_server_call(struct benchmark_server *s, const struct slice *words, size_t count,
                           void (*take)(void *owner, const struct peer_reply *reply), void *owner,
                           char reason[LOAD_REASON_CHARS]) {
    struct asking asking = {.server = s,
                            .reason = reason,
                            .words = words,
                            .word_count = count,
                            .take = take,
                            .take_owner = owner};
    return reach_server(&asking);
}

void benchmark_server_free(struct benchmark_server *s) {
    for (unsigned i = 0; i < s->node_count; i++) tool_greeting_free(&s->nodes[i].greeting);
    memory_free(s->nodes, MEMORY_OTHER);
    memory_free(s->targets, MEMORY_OTHER);
    memory_free(s->names, MEMORY_OTHER);
    benchmark_slots_free(s->slots);
    tool_greeting_free(&s->greeting);
}
