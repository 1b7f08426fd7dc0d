/* SPDX-License-Identifier: BSD-3-Clause
 * The first requests of a tool on each of its connections: AUTH, HELLO 3, SELECT, and requests that
 * the tool adds.
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

/* `bytes` has the encoded requests, one after the other. */
struct tool_greeting {
    struct buffer bytes;
    unsigned count;
    struct tool_greeting_request {
        size_t end;                          /* in `bytes` */
        char name[TOOL_GREETING_NAME_CHARS]; /* the request without secrets: "AUTH", "SELECT 3" */
    } requests[TOOL_GREETING_REQUESTS_MAX];
};

/* Encodes AUTH where `connection` has a password, HELLO 3 with `resp3`, and SELECT of a database
 * other than 0. */
void tool_greeting_init(struct tool_greeting *g, const struct tool_connection *connection,
                        bool resp3);
/* Appends a request; messages call it `name`, which is copied. */
void tool_greeting_add(struct tool_greeting *g, const char *name, const struct slice *words,
                       size_t count);
/* Sends request `i` by the client; `answered` gets `i` and the reply. The client's asked_max must
 * leave room for the request (asserted). Does nothing where the client is neither connecting nor
 * open. */
void tool_greeting_ask(const struct tool_greeting *g, unsigned i, struct peer_client *client,
                       void (*answered)(void *owner, uintptr_t i, const struct peer_reply *reply));
void tool_greeting_free(struct tool_greeting *g);
#endif
