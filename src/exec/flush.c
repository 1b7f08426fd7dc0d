/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that wait until what they flushed is freed.
 *
 * The freeing thread does its jobs in order, so a job submitted behind those of the databases tells
 * by its end that these are gone. It counts up `finished` and wakes the loop, which answers all
 * waiters whose ticket is reached.
 *
 * Invariants
 *  1. The waiters stand in the list in the order of their tickets, which is that of the jobs.
 *  2. A waiter names its client by id: a client that closes leaves its waiter behind, which goes
 *     when its ticket is reached.
 */
#include "exec/flush.h"

#include <stdatomic.h>

#include "base/list.h"
#include "base/memory.h"
#include "command/call.h"
#include "command/command.h"
#include "io/background.h"
#include "io/loop.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/limbo.h"

/* What is less is freed within the command: about 2 ms, where it is many small blocks. */
#define KEYS_AT_ONCE 10000
#define BYTES_AT_ONCE ((size_t)2 << 20)

struct waiter {
    struct list_link link;
    uint64_t client_id;
    size_t ticket;
};

static struct list_link waiters = {&waiters, &waiters};
static size_t tickets;
static atomic_size_t finished;

static const struct flush_observer *const no_observers[] = {NULL};
static const struct flush_observer *const *observers = no_observers;

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

static void finish(void *loop) {
    atomic_fetch_add(&finished, 1);
    loop_wake(loop);
}

void flush_wait(struct call *call) {
    struct waiter *w = memory_alloc(sizeof(*w), MEMORY_OTHER);
    w->client_id = call->client->id;
    w->ticket = ++tickets;
    list_append(&waiters, &w->link);
    batch_hold(call->client);
    background_submit(BACKGROUND_FREE, finish, client_loop());
}

bool flush_resume(void) {
    size_t reached = list_is_empty(&waiters) ? 0 : atomic_load(&finished);
    while (!list_is_empty(&waiters)) {
        struct waiter *w = LIST_ENTRY(waiters.next, struct waiter, link);
        if (w->ticket > reached) break;
        struct client *c = client_find(w->client_id);
        if (c && !(c->flags & CLIENT_CLOSING)) {
            reply_ok(c);
            batch_resume(c);
        }
        list_remove(&w->link);
        memory_free(w, MEMORY_OTHER);
    }
    return false;
}
