/* SPDX-License-Identifier: BSD-3-Clause
 * A client's queue, as exec/transaction and exec/execute share it.
 */
#ifndef EVENKEEL_EXEC_TRANSACTION_INTERNAL_H
#define EVENKEEL_EXEC_TRANSACTION_INTERNAL_H
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "command/call_make.h"

struct blob;
struct client;
struct command;
struct transaction;

struct queued {
    struct queued *next;
    struct command *command;
    size_t bytes;        /* of this struct and its blobs, when the command was queued */
    struct blob **blobs; /* each argument's own block, or NULL; NULL if no argument has one */
    int hashed;          /* the argument whose hash key_hash is; 0 = none */
    uint64_t key_hash;
    int argc;
    struct slice argv[];
};

/* Makes `*call` that of a queued command, in the database that the client has selected. */
static inline void queued_make_call(struct call *call, enum call_origin origin, struct client *c,
                                    const struct queued *q) {
    call_make(call, origin, c,
              (struct call_parts){.command = q->command,
                                  .argc = q->argc,
                                  .argv = q->argv,
                                  .blobs = q->blobs,
                                  .hashed = q->hashed,
                                  .key_hash = q->key_hash});
}

/* EXEC begins: forgets the watched keys and sets TRANSACTION_RUNS. The client must be in a
 * transaction; the struct that is returned stays where it is until transaction_run_end. */
struct transaction *transaction_run_begin(struct client *c);
/* The next command to be run; NULL: all have run. A call that is made of it may take its blobs. */
const struct queued *transaction_first(const struct transaction *t);
/* Frees the first command of the queue, after it has run. */
void transaction_drop_first(struct transaction *t);
/* Ends the transaction, after all commands have run. */
void transaction_run_end(struct transaction *t);
#endif
