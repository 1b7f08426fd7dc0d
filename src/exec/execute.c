/* SPDX-License-Identifier: BSD-3-Clause
 * EXEC.
 *
 * Each queued command is run by call_run, between run_nest_begin and run_nest_end and so each as an
 * outermost call: nothing that one retires waits for the next, and no value is copied for being
 * changed. Ahead of a group of commands buckets and entries are asked for, by the hashes that were
 * kept. Replies are streamed into the client's as they come; nobody else runs meanwhile, and who
 * waits for keys is served after EXEC. A command is freed when it has run.
 *
 * Where one of them closes the client (POST, a reply that passes a limit), the others run all the
 * same, as in 6.2: a transaction is never done by half. The client is only marked until EXEC has
 * ended, so that what they may still set for it goes with it.
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

/* As batches do before they run: only hints, so a SELECT among them does no harm. */
static void prefetch_group(const struct client *c, const struct queued *first) {
    const struct keyspace *ks = keyspace_at(c->database);
    const struct queued *q = first;
    for (int left = BATCH_GROUP; q && left; left--, q = q->next)
        if (q->hashed) keyspace_prefetch_bucket(ks, q->key_hash);
    q = first;
    for (int left = BATCH_GROUP; q && left; left--, q = q->next)
        if (q->hashed) keyspace_prefetch_entry(ks, q->key_hash);
}

static void run_queued(struct client *c, const struct queued *q, enum call_origin origin) {
    struct call call;
    queued_make_call(&call, origin, c, q);
    call_run(&call);
    /* It has killed itself: what follows runs, and its replies go nowhere. */
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
        /* Others that it has closed are gone for what follows; its own client waits for the end. */
        if (!(c->flags & CLIENT_CLOSING)) client_finish_closing();
    }
    run_nest_end(&nesting);
    transaction_run_end(t);
}
