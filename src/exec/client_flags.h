/* SPDX-License-Identifier: BSD-3-Clause
 * What exec/transaction keeps in a client's flags.
 */
#ifndef EVENKEEL_EXEC_CLIENT_FLAGS_H
#define EVENKEEL_EXEC_CLIENT_FLAGS_H
#include <stdbool.h>

#include "net/client.h"

extern struct client_state transaction_client_state; /* for server/wiring, and the two below */

enum transaction_flags {
    TRANSACTION_OPEN = 1 << 0,         /* from MULTI to the end of EXEC: requests are queued */
    TRANSACTION_QUEUE_FAILED = 1 << 1, /* one of them was refused: EXEC answers EXECABORT */
    TRANSACTION_WATCH_FAILED = 1 << 2, /* a key that it watches has changed: EXEC runs nothing */
    TRANSACTION_RUNS = 1 << 3,         /* EXEC runs what was queued */
};

static inline bool client_in_transaction(const struct client *c) {
    return client_flags(c, &transaction_client_state) & TRANSACTION_OPEN;
}

/* Whether a command of its may block it: not within EXEC, not without a connection, and not where
 * nobody waits for its replies. */
static inline bool client_may_wait(const struct client *c) {
    return !(client_flags(c, &transaction_client_state) & TRANSACTION_RUNS ||
             c->flags & (CLIENT_CAPTURED | CLIENT_STREAMED));
}
#endif
