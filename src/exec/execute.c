/* SPDX-License-Identifier: BSD-3-Clause
 * EXEC.
 *
 * Each queued command is run by call_run between run_nest_begin and run_nest_end, and so the limbo
 * (store/limbo.h) treats it as an outermost call: memory that one command retires is freed before
 * the next one, and a value is changed where it stands, without a copy. Before a group of commands
 * runs, the buckets and entries of their first keys are prefetched by the hashes that the queue has
 * kept. Replies go into the client's output as they are made. No other client's command runs during
 * EXEC, and clients that wait for keys are served after it. A queued command is freed when it has
 * run.
 *
 * If a command closes the client (POST, a reply that passes a limit), the others run all the same,
 * as in 6.2, because a transaction is never done by half. Until EXEC has ended the client is only
 * marked, because the other commands may still change its state.
 */
#include "exec/execute.h"

#include "command/call_make.h"
#include "exec/effects.h"
#include "exec/run.h"
#include "exec/transaction.h"
#include "exec/transaction_internal.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

/* As a batch does before it runs. Prefetching is only a hint, so a SELECT in the group does no
 * harm. */
static void prefetch_group(const struct client *c, const struct queued *first) {
    const struct queued *q = first;
    uint64_t hashes[BATCH_GROUP];
    size_t count = 0;
    for (int left = BATCH_GROUP; q && left; left--, q = q->next)
        if (q->hashed) hashes[count++] = q->key_hash;
    keyspace_prefetch(keyspace_at(c->database), hashes, count);
}

static void run_queued(struct client *c, const struct queued *q, enum call_origin origin) {
    struct call call;
    queued_make_call(&call, origin, c, q);
    call_run(&call);
    /* The client has killed itself: the commands that follow run, and their replies are dropped. */
    if (c->flags & CLIENT_CLOSE_AFTER_REPLY) reply_set_off(c, true);
}

void execute_queue(struct call *exec) {
    struct client *c = exec->client;
    struct run_nesting nesting;
    struct transaction *t = transaction_run_begin(c);
    int64_t count = transaction_count(c), run = 0;
    enum call_origin origin = call_origin_within(exec, CALL_QUEUED, CALL_QUEUED_AGAIN);
    reply_array(c, count);
    effects_frame();
    run_nest_begin(&nesting);
    for (const struct queued *q; (q = transaction_first(t)) != NULL; run++) {
        if (count > 1 && run % BATCH_GROUP == 0) prefetch_group(c, q);
        run_queued(c, q, origin);
        transaction_drop_first(t);
        /* Other clients that the command has closed are gone for the next one; the client that runs
         * EXEC is closed at the end. */
        if (!(c->flags & CLIENT_CLOSING)) client_finish_closing();
    }
    run_nest_end(&nesting);
    transaction_run_end(t);
}
