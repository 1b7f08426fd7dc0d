/* SPDX-License-Identifier: BSD-3-Clause
 * The greeting of the tools.
 *
 * The greeting is kept encoded, because redis-benchmark sends it over thousands of connections.
 */
#include "tools/tool_greeting.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "peer/peer.h"
#include "tools/tool_connection.h"

void tool_greeting_add(struct tool_greeting *g, const char *name, const struct slice *words,
                       size_t count) {
    ASSERT(g->count < TOOL_GREETING_REQUESTS_MAX);
    struct tool_greeting_request *request = &g->requests[g->count++];
    peer_encode(&g->bytes, words, count);
    request->end = g->bytes.length;
    snprintf(request->name, sizeof(request->name), "%s", name);
}

void tool_greeting_init(struct tool_greeting *g, const struct tool_connection *c, bool resp3) {
    *g = (struct tool_greeting){.bytes.class = MEMORY_OTHER};
    struct slice auth[PEER_AUTH_WORDS_MAX];
    if (c->password) {
        size_t count = peer_auth_words(auth, c->user ? slice_of(c->user) : (struct slice){0},
                                       slice_of(c->password));
        tool_greeting_add(g, "AUTH", auth, count);
    }
    if (resp3) tool_greeting_add(g, "HELLO 3", (struct slice[]){SLICE("HELLO"), SLICE("3")}, 2);
    if (c->database) {
        char number[NUMBER_INT64_CHARS], name[TOOL_GREETING_NAME_CHARS];
        struct slice words[] = {SLICE("SELECT"),
                                {number, number_format_int64(number, c->database)}};
        snprintf(name, sizeof(name), "SELECT %" PRId64, c->database);
        tool_greeting_add(g, name, words, 2);
    }
}

void tool_greeting_ask(const struct tool_greeting *g, unsigned i, struct peer_client *client,
                       void (*answered)(void *owner, uintptr_t i, const struct peer_reply *reply)) {
    const struct peer_request request = {answered, i};
    size_t begin = i ? g->requests[i - 1].end : 0;
    struct slice bytes = {g->bytes.bytes + begin, g->requests[i].end - begin};
    bool asked = peer_client_ask_bytes(client, &request, bytes);
    ASSERT(asked || peer_client_state(client) == PEER_CLIENT_CLOSED);
}

void tool_greeting_free(struct tool_greeting *g) { buffer_free(&g->bytes); }
