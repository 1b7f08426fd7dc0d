/* SPDX-License-Identifier: BSD-3-Clause
 * Nodes and their connections.
 *
 * A wait for a reply has no time limit, because a person waits and can interrupt; requests that may
 * take long have a limit of their own (MIGRATE).
 *
 * Invariant: between two calls a client has no request without its reply, or is closed.
 */
#include "clusterctl/ctl_node.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "clusterctl/ctl_talk.h"
#include "peer/peer_client.h"
#include "tools/tool_connection.h"
#include "tools/tool_greeting.h"

/* The limits of a reply: CLUSTER NODES of the greatest cluster fits, and a slice of a slot's keys.
 */
#define TEXT_BYTES_MAX ((size_t)1 << 30)
#define NODES_MAX ((uint32_t)1 << 24)
#define WORDS_MAX 64
/* No server has so many keys, and a sum over all nodes stays in range. */
#define KEYS_MAX (INT64_C(1) << 48)

struct ctl_node *ctl_node_create(const char *host, int port, const struct tool_connection *login) {
    static const struct peer_client_settings settings = {
        .class = MEMORY_OTHER,
        .reply = {TEXT_BYTES_MAX, NODES_MAX},
        .asked_max = TOOL_GREETING_REQUESTS_MAX,
        .takes = true,
    };
    struct ctl_node *node = memory_zalloc(sizeof(*node), MEMORY_OTHER);
    snprintf(node->host, sizeof(node->host), "%s", host);
    node->port = port;
    snprintf(node->name, sizeof(node->name), "%s:%d", host, port);
    node->login = login;
    node->client = peer_client_create(&settings);
    return node;
}

void ctl_node_free(struct ctl_node *node) {
    if (!node) return;
    peer_client_free(node->client);
    ctl_line_free(&node->self);
    memory_free(node, MEMORY_OTHER);
}

/* --- connecting ------------------------------------------------------------------------------- */

struct greeted {
    bool failed;
    char why[128];
};
/* The greeting that is under way; its replies come while greet_node runs. */
static struct greeted greeting_state;

static void take_greeting(void *unused, uintptr_t i, const struct peer_reply *reply) {
    if (!reply || reply->type != PEER_ERROR) return;
    greeting_state.failed = true;
    string_show(reply->text, greeting_state.why, sizeof(greeting_state.why));
}

/* False where the greeting was refused, with a message, or the connection ended. */
static bool greet_node(struct ctl_node *node, bool *refused) {
    struct tool_connection login = *node->login;
    struct tool_greeting greeting;
    login.database = 0; /* a node of a cluster has no other */
    greeting_state = (struct greeted){0};
    tool_greeting_init(&greeting, &login, false);
    for (unsigned i = 0; i < greeting.count; i++)
        tool_greeting_ask(&greeting, i, node->client, take_greeting);
    while (peer_client_asked(node->client) && peer_client_turn(node->client, INT64_MAX)) {
    }
    if (greeting_state.failed) ctl_complain("AUTH failed: %s\n", greeting_state.why);
    *refused = greeting_state.failed;
    tool_greeting_free(&greeting);
    return !greeting_state.failed && peer_client_state(node->client) == PEER_CLIENT_OPEN;
}

bool ctl_node_connect(struct ctl_node *node, const char *dot) {
    bool refused = false;
    struct tool_connection login = *node->login;
    login.host = node->host;
    login.port = node->port;
    login.path = NULL;
    struct peer_address address = tool_connection_address(&login);
    bool good = peer_client_connect(node->client, &address);
    while (good && peer_client_state(node->client) != PEER_CLIENT_OPEN)
        good = peer_client_turn(node->client, INT64_MAX);
    if (good && greet_node(node, &refused)) return true;
    if (!refused) {
        ctl_complain("Could not connect to Redis at %s: %s%s\n", node->name,
                     tool_connection_error(node->client), dot);
    }
    peer_client_close(node->client);
    return false;
}

/* --- requests --------------------------------------------------------------------------------- */

const struct peer_reply *ctl_node_call(struct ctl_node *node, const struct slice *words,
                                       size_t count) {
    peer_client_send(node->client, words, count);
    for (;;) {
        const struct peer_reply *reply = peer_client_take(node->client);
        if (reply && reply->type != PEER_PUSH) return reply;
        if (!reply && !peer_client_turn(node->client, INT64_MAX)) break;
    }
    snprintf(node->error, sizeof(node->error), "%s", tool_connection_error(node->client));
    if (!*node->error) snprintf(node->error, sizeof(node->error), "not connected");
    return NULL;
}

const struct peer_reply *ctl_node_ask(struct ctl_node *node, const struct slice *words,
                                      size_t count) {
    const struct peer_reply *reply = ctl_node_call(node, words, count);
    if (!reply || reply->type != PEER_ERROR) return reply;
    string_show(reply->text, node->error, sizeof(node->error));
    return NULL;
}

static const struct peer_reply *ask_formatted(struct ctl_node *node, const char *format,
                                              va_list arguments) {
    struct buffer line = {.class = MEMORY_OTHER};
    struct slice words[WORDS_MAX];
    size_t count = 0;
    buffer_vprintf(&line, format, arguments);
    for (const char *at = line.bytes; *at;) {
        size_t length = strcspn(at, " ");
        ASSERT(count < WORDS_MAX);
        words[count++] = (struct slice){at, length};
        at += length;
        at += strspn(at, " ");
    }
    const struct peer_reply *reply = ctl_node_ask(node, words, count);
    buffer_free(&line);
    return reply;
}

const struct peer_reply *ctl_node_ask_line(struct ctl_node *node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const struct peer_reply *reply = ask_formatted(node, format, arguments);
    va_end(arguments);
    return reply;
}

void ctl_node_say_error(const struct ctl_node *node) {
    ctl_say(CTL_BAD, "Node %s replied with error:\n%s\n", node->name, node->error);
}

bool ctl_node_order(struct ctl_node *node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    bool good = ask_formatted(node, format, arguments) != NULL;
    va_end(arguments);
    if (!good) ctl_node_say_error(node);
    return good;
}

/* --- questions -------------------------------------------------------------------------------- */

/* Asks for a text; NULL where the reply is none, which is said. */
static const struct peer_reply *ask_text(struct ctl_node *node, const char *line) {
    const struct peer_reply *reply = ctl_node_ask_line(node, "%s", line);
    if (reply && reply->type != PEER_BULK) {
        snprintf(node->error, sizeof(node->error), "the reply to %s is no text", line);
        reply = NULL;
    }
    if (!reply) ctl_node_say_error(node);
    return reply;
}

static bool has_field(struct slice text, const char *field) {
    return text.length && memmem(text.bytes, text.length, field, strlen(field)) != NULL;
}

bool ctl_node_view(struct ctl_node *node, struct ctl_view *view) {
    char reason[CTL_VIEW_REASON_CHARS];
    const struct peer_reply *reply = ask_text(node, "CLUSTER NODES");
    if (!reply) return false;
    if (ctl_view_parse(view, reply->text, reason)) return true;
    ctl_say(CTL_BAD, "[ERR] Node %s: %s\n", node->name, reason);
    return false;
}

bool ctl_node_check_mode(struct ctl_node *node) {
    const struct peer_reply *reply = ask_text(node, "INFO");
    if (!reply) return false;
    if (has_field(reply->text, "cluster_enabled:1")) return true;
    ctl_say(CTL_BAD, "[ERR] Node %s is not configured as a cluster node.\n", node->name);
    return false;
}

bool ctl_node_load(struct ctl_node *node) {
    struct ctl_view view;
    if (!ctl_node_view(node, &view)) return false;
    ctl_line_free(&node->self);
    struct ctl_line *own = (struct ctl_line *)ctl_view_myself(&view);
    node->self = *own;
    own->open = NULL;
    own->open_count = 0;
    ctl_view_free(&view);
    return true;
}

static int64_t take_count(struct ctl_node *node, const struct peer_reply *reply) {
    if (reply && reply->type == PEER_INTEGER && reply->integer >= 0 && reply->integer <= KEYS_MAX)
        return reply->integer;
    if (reply) snprintf(node->error, sizeof(node->error), "the reply is no number of keys");
    ctl_node_say_error(node);
    return -1;
}

int64_t ctl_node_count_keys(struct ctl_node *node, unsigned slot) {
    return take_count(node, ctl_node_ask_line(node, "CLUSTER COUNTKEYSINSLOT %u", slot));
}

int64_t ctl_node_count_all_keys(struct ctl_node *node) {
    return take_count(node, ctl_node_ask_line(node, "DBSIZE"));
}

bool ctl_node_check_empty(struct ctl_node *node) {
    const struct peer_reply *reply = ask_text(node, "CLUSTER INFO");
    if (!reply) return false;
    bool alone = has_field(reply->text, "cluster_known_nodes:1\r");
    int64_t keys = alone ? ctl_node_count_all_keys(node) : 0;
    if (keys < 0) return false;
    if (alone && !keys) return true;
    ctl_say(CTL_BAD,
            "[ERR] Node %s is not empty. Either the node already knows other nodes (check with "
            "CLUSTER NODES) or contains some key in database 0.\n",
            node->name);
    return false;
}
