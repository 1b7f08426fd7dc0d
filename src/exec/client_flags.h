/* SPDX-License-Identifier: BSD-3-Clause
 * The flags of a client that exec/transaction keeps.
 */
#ifndef EVENKEEL_EXEC_CLIENT_FLAGS_H
#define EVENKEEL_EXEC_CLIENT_FLAGS_H
#include <stdbool.h>

#include "net/client.h"

extern struct client_state transaction_client_state; /* for server/wiring, and the two below */

enum transaction_flags {
    TRANSACTION_OPEN = 1 << 0,         /* from MULTI to the end of EXEC: requests are queued */
    TRANSACTION_QUEUE_FAILED = 1 << 1, /* a request was refused: EXEC answers EXECABORT */
    TRANSACTION_WATCH_FAILED = 1 << 2, /* a watched key has changed: EXEC runs nothing */
    TRANSACTION_RUNS = 1 << 3,         /* EXEC runs the queue */
};

static inline bool client_in_transaction(const struct client *c) {
    return client_flags(c, &transaction_client_state) & TRANSACTION_OPEN;
}

/* Whether a command may block its client. A client cannot be blocked within EXEC, without a
 * connection, or while it is sent a stream instead of replies (a replica). */
static inline bool client_may_wait(const struct client *c) {
    return !(client_flags(c, &transaction_client_state) & TRANSACTION_RUNS ||
             c->flags & (CLIENT_CAPTURED | CLIENT_STREAMED));
}
#endif
