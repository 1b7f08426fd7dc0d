/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that wait until the data that they flushed is freed.
 *
 * The thread that frees does its jobs in order. So a job that is submitted behind those of the
 * databases runs when the databases are freed, and it ends the client's wait.
 */
#include "exec/flush.h"

#include "command/call.h"
#include "exec/blocked.h"
#include "io/background.h"
#include "net/client.h"
#include "net/reply.h"
#include "option/option.h"
#include "store/limbo.h"

/* Less data than this is freed within the command: that takes about 2 ms, if it is many small
 * blocks. */
#define KEYS_AT_ONCE 10000
#define BYTES_AT_ONCE ((size_t)2 << 20)

static const struct flush_observer *const no_observers[] = {NULL};
static const struct flush_observer *const *observers = no_observers;

static bool lazy_user_flush;

static const struct option_row option_rows[] = {
    OPTION_BOOL("lazyfree-lazy-user-flush", &lazy_user_flush, false, OPTION_MUTABLE, "lazyfree", 50,
                "FLUSHALL, FLUSHDB and SCRIPT FLUSH free in the background unless they say SYNC."),
};

void flush_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

bool flush_is_lazy(void) { return lazy_user_flush; }

void flush_set_observers(const struct flush_observer *const *list) { observers = list; }

void flush_begins(int database) {
    for (const struct flush_observer *const *o = observers; *o; o++) (*o)->begins(database);
}

void flush_done(int database) {
    for (const struct flush_observer *const *o = observers; *o; o++) (*o)->done(database);
}

bool flush_is_long(size_t keys, size_t bytes) {
    return keys > KEYS_AT_ONCE || bytes > BYTES_AT_ONCE;
}

bool flush_can_wait(const struct call *call) { return call->request && !limbo_nested(); }

static void flush_answer(struct client *c, void *state) { reply_ok(c); }

static const struct blocked_kind flush_kind = {
    .timed_out = flush_answer, .came = flush_answer, .kept = true};

static void all_is_freed(void *ticket) { blocked_end_from_thread(ticket); }

void flush_wait(struct call *call) {
    blocked_begin(call, &flush_kind, 0, 0, 0, BLOCKED_FOREVER, NULL);
    struct blocked_ticket *ticket = blocked_ticket(call->client);
    if (ticket) background_submit(&background_free, all_is_freed, ticket);
}
