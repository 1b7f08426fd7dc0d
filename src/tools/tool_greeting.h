/* SPDX-License-Identifier: BSD-3-Clause
 * What a tool says first on each of its connections: AUTH, HELLO 3, SELECT, and what the tool adds.
 */
#ifndef EVENKEEL_TOOLS_TOOL_GREETING_H
#define EVENKEEL_TOOLS_TOOL_GREETING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "peer/peer_client.h"

#define TOOL_GREETING_REQUESTS_MAX 4
#define TOOL_GREETING_NAME_CHARS 32

struct tool_connection;

/* Its requests stand encoded in `bytes`, one behind the other. */
struct tool_greeting {
    struct buffer bytes;
    unsigned count;
    struct tool_greeting_request {
        size_t end;                          /* in `bytes` */
        char name[TOOL_GREETING_NAME_CHARS]; /* its words without secrets: "AUTH", "SELECT 3" */
    } requests[TOOL_GREETING_REQUESTS_MAX];
};

/* AUTH where there is a password, HELLO 3 with `resp3`, SELECT of a database other than 0. */
void tool_greeting_init(struct tool_greeting *g, const struct tool_connection *connection,
                        bool resp3);
/* One request more; `name` (copied) is what messages call it. */
void tool_greeting_add(struct tool_greeting *g, const char *name, const struct slice *words,
                       size_t count);
/* Asks the client request `i`, about which `answered` is told `i`. The client's asked_max has room
 * for it (asserted). Nothing happens where the client neither connects nor is open. */
void tool_greeting_ask(const struct tool_greeting *g, unsigned i, struct peer_client *client,
                       void (*answered)(void *owner, uintptr_t i, const struct peer_reply *reply));
void tool_greeting_free(struct tool_greeting *g);
#endif
