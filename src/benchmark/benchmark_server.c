/* SPDX-License-Identifier: BSD-3-Clause
 * A server of redis-benchmark: reached once over peer/peer before load is sent to it.
 */
#include "benchmark/benchmark_server.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"

/* 6.2 says what is wrong without the name of the call. */
#define REFUSED_PREFIX "connect: "
#define ANSWER_MSEC 10000 /* for a name to be found and the world to be crossed */

static const struct peer_limits limits = {1024 * 1024, 1024};

/* A text that is not there is no word. */
static void greet(struct benchmark_server *s, const char *const *texts, size_t count) {
    buffer_printf(&s->greeting, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++) {
        buffer_printf(&s->greeting, "$%zu\r\n%s\r\n", strlen(texts[i]), texts[i]);
    }
    s->target.greeting_replies++;
}

static void write_greeting(struct benchmark_server *s, const struct benchmark_options *o) {
    const struct tool_connection *c = &o->connection;
    char database[NUMBER_INT64_CHARS + 1];
    buffer_init(&s->greeting, MEMORY_OTHER);
    if (c->password && c->user) {
        greet(s, (const char *const[]){"AUTH", c->user, c->password}, 3);
    } else if (c->password) {
        greet(s, (const char *const[]){"AUTH", c->password}, 2);
    }
    if (o->resp3) greet(s, (const char *const[]){"HELLO", "3"}, 2);
    if (c->database) {
        database[number_format_int64(database, c->database)] = '\0';
        greet(s, (const char *const[]){"SELECT", database}, 2);
    }
    if (o->tracking) greet(s, (const char *const[]){"CLIENT", "TRACKING", "on"}, 3);
    s->target.greeting = buffer_slice(&s->greeting);
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
    *s = (struct benchmark_server){.target.address = {.host = c->host,
                                                      .port = (int)c->port,
                                                      .path = c->path,
                                                      .transport = peer_tls_transport(&c->tls)}};
    write_greeting(s, options);
    write_name(s);
}

bool benchmark_server_init_other(struct benchmark_server *s,
                                 const struct benchmark_options *options, const char *text,
                                 char reason[BENCHMARK_REASON_CHARS]) {
    const char *colon = strrchr(text, ':');
    int64_t port = 0;
    *s = (struct benchmark_server){0};
    if (*text == '/' || *text == '.') {
        s->target.address.path = text;
    } else if (!colon || colon == text ||
               !number_parse_int64(colon + 1, strlen(colon + 1), &port) || port < 1 ||
               port > 65535) {
        snprintf(reason, BENCHMARK_REASON_CHARS, "--compare wants host:port, or a path");
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

/* The value of CONFIG GET's answer, which is an array or RESP3's map. */
static bool take_config(const struct peer_reply *reply, char value[BENCHMARK_CONFIG_CHARS]) {
    if (!reply || !peer_reply_is_aggregate(reply) || reply->children != 2) return false;
    const struct peer_reply *second = peer_reply_next(peer_reply_first(reply));
    if (second->type != PEER_BULK && second->type != PEER_STATUS) return false;
    string_show(second->text, value, BENCHMARK_CONFIG_CHARS);
    return true;
}

static bool ask_config(struct peer *peer, const char *name, char value[BENCHMARK_CONFIG_CHARS]) {
    struct slice words[] = {SLICE("CONFIG"), SLICE("GET"), slice_of(name)};
    return take_config(peer_call(peer, ANSWER_MSEC, words, 3), value);
}

/* All of its replies have ANSWER_MSEC together: pushes between them give no more time. */
static bool greet_peer(const struct benchmark_server *s, struct peer *peer, char *reason) {
    int64_t due_msec = clock_monotonic_nsec() / 1000000 + ANSWER_MSEC;
    peer_send_bytes(peer, s->target.greeting);
    for (unsigned left = s->target.greeting_replies; left;) {
        const struct peer_reply *reply =
            peer_wait(peer, due_msec - clock_monotonic_nsec() / 1000000);
        if (!reply) break;
        if (reply->type == PEER_ERROR) {
            char shown[BENCHMARK_CONFIG_CHARS];
            snprintf(reason, BENCHMARK_REASON_CHARS, "Error from server: %s",
                     string_show(reply->text, shown, sizeof(shown)));
            return false;
        }
        left -= reply->type != PEER_PUSH;
    }
    return true;
}

bool benchmark_server_ask(struct benchmark_server *s, char reason[BENCHMARK_REASON_CHARS]) {
    struct peer *peer = peer_create(MEMORY_OTHER, &limits);
    bool good = peer_connect(peer, &s->target.address) && greet_peer(s, peer, reason);
    if (good) {
        s->has_config =
            ask_config(peer, "save", s->save) && ask_config(peer, "appendonly", s->appendonly);
    }
    /* A server that refuses CONFIG is there all the same. */
    const char *why = peer_error(peer);
    if (*why) {
        size_t prefix = strncmp(why, REFUSED_PREFIX, sizeof(REFUSED_PREFIX) - 1) != 0
                            ? 0
                            : sizeof(REFUSED_PREFIX) - 1;
        snprintf(reason, BENCHMARK_REASON_CHARS, "Could not connect to Redis at %s: %s", s->name,
                 why + prefix);
        good = false;
    }
    peer_free(peer);
    return good;
}

void benchmark_server_free(struct benchmark_server *s) { buffer_free(&s->greeting); }
