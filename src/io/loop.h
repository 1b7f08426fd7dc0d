/* SPDX-License-Identifier: BSD-3-Clause
 * The event loop: one epoll instance, timers, and the order of a turn.
 *
 * A turn is: before-sleep hooks, wait, refresh the wall clock, after-wake hooks, ready descriptors
 * (at most LOOP_EVENTS_MAX, those of LOOP_FIRST before), after-events hooks, due timers. The
 * watcher lives in its owner's struct. Each turn's thread CPU time goes into a histogram (one clock
 * read a turn).
 *
 * Turns nest: a callback, hook or timer may call loop_turn, so that the server goes on answering
 * while a long command or a load runs. A nested turn serves descriptors and calls all hooks (they
 * can ask loop_depth), but runs no timers: what they do (expiry, eviction, cron) must not happen
 * in the middle of a command. What the outer turn had not yet handed out is dropped and comes
 * again from epoll, which is level-triggered; so no event is delivered twice or late. The callback
 * that called loop_turn must expect that its own watcher is called again inside, or take its
 * interest away first, and that its owner may be freed there. loop_turn_within is such a turn
 * without hooks.
 *
 * One thread uses a loop; only loop_wake may be called from elsewhere. A forked child shares the
 * epoll instance with its parent and must not call anything here.
 */
#ifndef EVENKEEL_IO_LOOP_H
#define EVENKEEL_IO_LOOP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/heap.h"
#include "base/list.h"
#include "metric/metric.h"

/* So many ready descriptors a turn at most: a herd of waking clients is served over several turns,
 * and timers and new connections get their time between them. */
#define LOOP_EVENTS_MAX 256
/* So many turns inside each other at most (asserted). Each is of a command or a load that turns the
 * loop while it runs; a few are within each other, and more are a recursion without an end. */
#define LOOP_DEPTH_MAX 16

struct buffer;
struct cause;
struct loop;

/* Registers the causes of the loop's time. Once, at start. */
void loop_register(void);
/* The cause of time in which the main thread reads, parses and writes. */
extern struct cause loop_cause_io;

/* Ready descriptors of LOOP_FIRST that one turn serves at most; the next turn goes on. */
#define LOOP_FIRST_EVENTS_MAX 64

/* LOOP_HANGUP: the other end sends no more; for a watcher that does not read now and still must
 * notice that. LOOP_FIRST: each turn serves the watcher before those without it, and before a
 * hand-out that loop_yield has put off; for the few connections that must not look dead while a
 * herd of clients is ready. Its callback should read until nothing is left. */
enum {
    LOOP_READABLE = 1,
    LOOP_WRITABLE = 2,
    LOOP_HANGUP = 4,
    LOOP_PENDING = 8, /* only passed to callbacks: see struct loop_pending */
    LOOP_FIRST = 16,  /* only given with an interest */
};

/* Embedded in its owner (a client, a listener). Zeroed before first use; must not move in memory
 * while it has an interest. */
struct loop_watcher {
    int fd;
    unsigned interest; /* what is watched now, LOOP_ bits; set by loop_watch */
    /* `ready` holds what is ready of the interest; on hang-up and error LOOP_READABLE is set
     * whatever the interest, so that a read finds out. The callback may free the watcher's owner,
     * and any other watcher (its pending event is dropped), after loop_unwatch. */
    void (*callback)(struct loop_watcher *watcher, unsigned ready);
};

/* Of a watcher that is ready without the system's knowledge: a transport has taken more from its
 * socket than was asked for. Zeroed before first use, in its owner's struct. From
 * loop_pending_begin to loop_pending_end the watcher is called with LOOP_PENDING once a turn, after
 * the ready descriptors, and no turn sleeps; in nested turns as well. */
struct loop_pending {
    struct list_link link;
    struct loop_watcher *watcher;
    uint64_t round; /* the loop's: that it began in, or was last called in */
};

/* One timer, zeroed before first use, in its owner's struct. `callback` returns the milliseconds
 * until it wants to run again, or LOOP_TIMER_END; what it returns wins over what it started or
 * stopped itself. It may free the timer if it returns LOOP_TIMER_END. The next run counts from
 * when this one was due, so that the rate holds; but at least half of the time lies between the
 * end of one run and the next. */
#define LOOP_TIMER_END (-1)
struct loop_timer {
    struct heap_item item; /* in the loop's queue, or */
    struct list_link link; /* in the list of those that the running turn calls */
    int64_t due_nsec;
    uint64_t order; /* of starting: of two that are due at once the earlier one comes first */
    int64_t (*callback)(struct loop_timer *timer);
};

/* Never NULL: a process without epoll cannot run and panics. */
MUST_USE struct loop *loop_create(void);
/* Not during a turn. Watchers stay their owners'; timers are stopped. */
void loop_free(struct loop *loop);
/* Sets what is watched (0: as loop_unwatch): one system call, none where nothing changes. Returns
 * false (errno set) where epoll refuses; the interest then stays as it was. LOOP_FIRST may be given
 * or taken away only together with the first, or the last, of the interest (asserted). */
MUST_USE bool loop_watch(struct loop *loop, struct loop_watcher *watcher, unsigned interest);
/* Removes it from epoll, where it is there, and forgets its pending event: to be done before the
 * descriptor is closed. */
void loop_unwatch(struct loop *loop, struct loop_watcher *watcher);
/* Begin and end a pending state; harmless where it is begun, or ended, already. To be ended before
 * the struct or the watcher is freed. */
void loop_pending_begin(struct loop *loop, struct loop_pending *pending);
void loop_pending_end(struct loop *loop, struct loop_pending *pending);
/* Runs the callback `after_msec` (0 or more) from now, in a turn to come; a timer that is started
 * already starts anew. O(log(timers)). */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t after_msec);
/* Harmless for a timer that is not started. O(log(timers)). */
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);
/* What a turn calls: arrays in the order of calling, each ended by NULL; NULL for an empty one. */
struct loop_hooks {
    void (*const *after_wake)(void);   /* first after waking, once wall time is refreshed */
    void (*const *after_events)(void); /* once after a turn's ready descriptors, before timers */
    /* Before each wait; true if it has more to do and the loop should not sleep. */
    bool (*const *before_sleep)(void);
};
/* Sets the hooks in place of earlier ones; at first there are none. The arrays are borrowed for the
 * loop's life. Not during a turn. */
void loop_set_hooks(struct loop *loop, const struct loop_hooks *hooks);

/* Ends the turn's hand-out of events after the callback that runs: what is left comes first in the
 * next turn, before anything is waited for. For callbacks that have used up the turn's time. */
void loop_yield(struct loop *loop);

/* Turns until loop_stop; a stop that came before it counts too. */
void loop_run(struct loop *loop);
/* The running turn is finished, without sleeping any more; loop_run then returns. */
void loop_stop(struct loop *loop);
/* One turn; waits at most `timeout_msec` (-1 = until something happens), and no longer than until
 * the next timer, once: when the clock is fixed and no timer comes due it returns all the same. For
 * tests and for replying while a long command or load runs. */
void loop_turn(struct loop *loop, int64_t timeout_msec);
/* Calls the watchers that are ready now, and nothing else: no hook, no timer, no wait, at any
 * depth. For long work that serves connections in between, and that does the hooks' work itself as
 * far as it may. */
void loop_turn_within(struct loop *loop);
/* Whether loop_stop was called, and the turn is to come to its end. */
bool loop_is_stopping(const struct loop *loop);
/* Turns in progress: 0 outside of the loop, 1 in an ordinary turn, more in nested ones. */
unsigned loop_depth(const struct loop *loop);
/* When the last wait for events ended (monotonic time): as of then the loop knows that what is
 * being served was ready. */
int64_t loop_wake_nsec(const struct loop *loop);
/* Ends the present or the next wait. From any thread and from signal handlers; keeps errno. */
void loop_wake(struct loop *loop);

struct loop_stats {
    uint64_t turns;            /* waits, nested turns included */
    uint64_t events;           /* callbacks of watchers */
    uint64_t wakes;            /* waits that ended with something ready */
    struct histogram turn_cpu; /* thread CPU time a turn; a nested turn's is its outer turn's */
};
const struct loop_stats *loop_stats(const struct loop *loop);
void loop_stats_clear(struct loop *loop);
/* Switches the reading of the thread's CPU clock (about 0.2 us a turn) off or on; on at first. */
void loop_set_cpu_accounting(struct loop *loop, bool on);

/* Asserts the invariants. O(timers). */
FOR_TESTS void loop_check(const struct loop *loop);
/* Appends a few lines of text about the loop's state. */
FOR_TESTS void loop_dump(const struct loop *loop, struct buffer *out);
#endif
