/* SPDX-License-Identifier: BSD-3-Clause
 * The event loop over epoll.
 *
 * The kernel gives back the watcher's address with each event, so a turn costs one epoll_wait and,
 * for each ready descriptor, one call through the watcher; there is no table of descriptors. The
 * events of a wait stand in one array in the loop and are handed out from the front.
 *
 * Invariants:
 *  1. The events [next .. count) of a hand-out are still to be served; the address in each is NULL
 *     or that of a watcher with an interest. Removing a watcher clears its address there, so that a
 *     freed watcher is never called. A removal scans at most LOOP_EVENTS_MAX words; an index in
 *     each watcher would save the scan, and cost every client eight bytes.
 *     There are two hand-outs: `ready`, and `first` for watchers with LOOP_FIRST. The latter have
 *     an epoll instance of their own, which is asked in each turn before `ready` is served. The
 *     main instance watches that one, so that its events end a wait as well.
 *  2. A turn that yielded leaves its events to the next one, nested or not. A nested turn uses the
 *     same array. It begins by dropping what the outer one still hands out (level-triggered epoll
 *     reports it again, in the nested turn's own wait) and ends with nothing left, or yields; so
 *     the outer turn's hand-out ends too.
 *  3. A round is a wait, its events, and then what was pending before it: `pending` is in the order
 *     of the rounds in which its members began or were last called. A turn that yields leaves the
 *     rest of its round, of both parts, to the next turn: so neither part starves the other.
 *  4. `timers` is a priority queue by due time; of two timers that are due at once the one that was
 *     started earlier comes first. A timer whose callback runs is in no queue and in no list.
 *     Timers that are due in this turn are in a list on run_timers' stack; they can be stopped
 *     there, too.
 *  5. Only the outermost turn runs timers and books CPU time; loop_turn_within never does.
 *  6. Time in a wait is loop_cause_idle, time from the wait to the end of the ready events is
 *     loop_cause_io, the rest of a turn is cause_other, unless a callee names a narrower cause.
 *
 * Ownership: watchers and timers are their owners'; the loop owns the two descriptors (epoll and
 * an eventfd for loop_wake) and itself.
 */
#include "io/loop.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/string.h"
#include "base/system.h"
#include "metric/attribution.h"
#include "metric/cause.h"

struct cause loop_cause_io = {.name = "io", .place = 80};
static struct cause loop_cause_idle = {.name = "idle", .place = 90};

void loop_register(void) {
    cause_register(&loop_cause_io);
    cause_register(&loop_cause_idle);
}

#define NSEC_PER_MSEC 1000000
#define NSEC_PER_USEC 1000
/* About 100 years: later due times are cut, so that their nanoseconds fit. */
#define TIMER_MSEC_MAX ((int64_t)3000000000000)

enum restless { RESTLESS_STOP = 1, RESTLESS_PENDING = 2 };

/* The events that one wait of an epoll instance has returned. */
struct hand_out {
    struct epoll_event *events;
    int next, count;
};

struct loop {
    int epoll_fd;
    struct loop_watcher wake; /* the eventfd of loop_wake */
    unsigned restless;        /* enum restless: why it does not sleep; 0 = it may */
    bool yield;
    unsigned depth;
    struct heap timers;
    uint64_t timers_started;  /* so far: gives each its order */
    struct list_link pending; /* of struct loop_pending */
    uint64_t round;

    struct loop_hooks hooks; /* none of the arrays is NULL */

    bool cpu_accounting;
    int64_t cpu_mark_nsec; /* thread CPU time at the end of the last turn */
    int64_t wake_nsec;     /* when the last wait ended */
    struct loop_stats stats;
    struct loop_watcher first_set; /* the epoll instance of LOOP_FIRST; fd -1 until there is one */
    unsigned first_watchers;       /* in it */
    struct hand_out ready, first;
    struct epoll_event ready_events[LOOP_EVENTS_MAX];
    struct epoll_event first_events[LOOP_FIRST_EVENTS_MAX];
};

static void (*const no_calls[])(void) = {NULL};
static bool (*const no_steps[])(void) = {NULL};
static const struct loop_hooks no_hooks = {no_calls, no_calls, no_steps};

static uint32_t epoll_events_of(unsigned interest) {
    return (interest & LOOP_READABLE ? (uint32_t)EPOLLIN : 0) |
           (interest & LOOP_WRITABLE ? (uint32_t)EPOLLOUT : 0) |
           (interest & LOOP_HANGUP ? (uint32_t)EPOLLRDHUP : 0);
}

/* Resets the eventfd's count after loop_wake, so that the next wait sleeps. */
static void wake_ready(struct loop_watcher *watcher, unsigned ready) {
    uint64_t count;
    ssize_t got = system_read(watcher->fd, &count, sizeof(count));
    (void)got; /* EAGAIN: another turn has taken it */
}

/* The main instance reports that the instance of LOOP_FIRST is ready. There is nothing to do,
 * because this turn has already served it. */
static void first_set_ready(struct loop_watcher *watcher, unsigned ready) {}

/* ---- the order of timers ---- */

static struct loop_timer *timer_of(const struct heap_item *item) {
    return item ? LIST_ENTRY(item, struct loop_timer, item) : NULL;
}

static bool timer_before(const struct heap_item *a, const struct heap_item *b) {
    const struct loop_timer *one = timer_of(a), *other = timer_of(b);
    if (one->due_nsec != other->due_nsec) return one->due_nsec < other->due_nsec;
    return one->order < other->order;
}

static struct loop_timer *first_timer(const struct loop *loop) {
    return timer_of(heap_first(&loop->timers));
}

struct loop *loop_create(void) {
    struct loop *loop = memory_zalloc(sizeof(*loop), MEMORY_OTHER);
    heap_init(&loop->timers, timer_before, MEMORY_OTHER);
    list_init(&loop->pending);
    loop->hooks = no_hooks;
    loop->cpu_accounting = true;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0) PANIC("epoll_create1: %s", strerror(errno));
    loop->wake.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (loop->wake.fd < 0) PANIC("eventfd: %s", strerror(errno));
    loop->wake.callback = wake_ready;
    loop->first_set = (struct loop_watcher){.fd = -1, .callback = first_set_ready};
    loop->ready.events = loop->ready_events;
    loop->first.events = loop->first_events;
    if (!loop_watch(loop, &loop->wake, LOOP_READABLE)) {
        PANIC("epoll_ctl refuses an eventfd: %s", strerror(errno));
    }
    return loop;
}

void loop_free(struct loop *loop) {
    ASSERT(loop->depth == 0);
    heap_free(&loop->timers);
    LIST_FOR_EACH (link, following, &loop->pending) list_remove(link);
    system_close(loop->wake.fd);
    if (loop->first_set.fd >= 0) system_close(loop->first_set.fd);
    system_close(loop->epoll_fd);
    memory_free(loop, MEMORY_OTHER);
}

/* Clears the watcher's event (invariant 1). A descriptor is at most once among the events of a
 * wait. */
static void forget_pending(struct hand_out *h, const struct loop_watcher *watcher) {
    for (int i = h->next; i < h->count; i++) {
        if (h->events[i].data.ptr == watcher) {
            h->events[i].data.ptr = NULL;
            return;
        }
    }
}

/* Makes the epoll instance of LOOP_FIRST, when its first watcher comes. */
static bool open_first_set(struct loop *loop) {
    if (loop->first_set.fd >= 0) return true;
    loop->first_set.fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->first_set.fd < 0) return false;
    if (loop_watch(loop, &loop->first_set, LOOP_READABLE)) return true;
    int error = errno;
    system_close(loop->first_set.fd);
    loop->first_set.fd = -1;
    errno = error;
    return false;
}

bool loop_watch(struct loop *loop, struct loop_watcher *watcher, unsigned interest) {
    ASSERT((interest & ~(unsigned)(LOOP_READABLE | LOOP_WRITABLE | LOOP_HANGUP | LOOP_FIRST)) == 0);
    if (interest == watcher->interest) return true;
    if (interest == 0) {
        loop_unwatch(loop, watcher);
        return true;
    }
    bool first = interest & LOOP_FIRST, begins = watcher->interest == 0;
    ASSERT(begins || first == !!(watcher->interest & LOOP_FIRST));
    if (first && !open_first_set(loop)) return false;
    struct epoll_event event = {.events = epoll_events_of(interest), .data.ptr = watcher};
    int set = first ? loop->first_set.fd : loop->epoll_fd;
    int operation = begins ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (system_epoll_ctl(set, operation, watcher->fd, &event) != 0) return false;
    watcher->interest = interest;
    loop->first_watchers += first && begins;
    return true;
}

void loop_unwatch(struct loop *loop, struct loop_watcher *watcher) {
    if (watcher->interest == 0) return;
    bool first = watcher->interest & LOOP_FIRST;
    watcher->interest = 0;
    loop->first_watchers -= first;
    forget_pending(first ? &loop->first : &loop->ready, watcher);
    int set = first ? loop->first_set.fd : loop->epoll_fd;
    int status = system_epoll_ctl(set, EPOLL_CTL_DEL, watcher->fd, NULL);
    (void)status; /* closing the descriptor removes it in any case */
}

void loop_pending_begin(struct loop *loop, struct loop_pending *pending) {
    if (!pending->link.next) list_init(&pending->link);
    if (!list_is_empty(&pending->link)) return;
    pending->round = loop->round;
    list_append(&loop->pending, &pending->link);
    loop->restless |= RESTLESS_PENDING;
}

void loop_pending_end(struct loop *loop, struct loop_pending *pending) {
    if (!pending->link.next || list_is_empty(&pending->link)) return;
    list_remove(&pending->link);
    if (list_is_empty(&loop->pending)) loop->restless &= ~(unsigned)RESTLESS_PENDING;
}

static void timer_insert(struct loop *loop, struct loop_timer *timer) {
    timer->order = loop->timers_started++;
    heap_insert(&loop->timers, &timer->item);
}

static int64_t timer_span_nsec(int64_t msec) {
    return (msec < TIMER_MSEC_MAX ? msec : TIMER_MSEC_MAX) * NSEC_PER_MSEC;
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t after_msec) {
    ASSERT_COMPARE(after_msec, >=, 0);
    loop_timer_stop(loop, timer);
    timer->due_nsec = clock_monotonic_nsec() + timer_span_nsec(after_msec);
    timer_insert(loop, timer);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer) {
    if (heap_has(&timer->item)) heap_remove(&loop->timers, &timer->item);
    if (timer->link.next) list_remove(&timer->link);
}

static void timer_rearm(struct loop *loop, struct loop_timer *timer, int64_t after_msec) {
    int64_t span = timer_span_nsec(after_msec);
    int64_t earliest = clock_monotonic_nsec() + span / 2;
    loop_timer_stop(loop, timer);
    timer->due_nsec += span;
    if (timer->due_nsec < earliest) timer->due_nsec = earliest;
    timer_insert(loop, timer);
}

/* The timers that are due now are moved to a list first, so that a timer that is started again with
 * no delay waits for the next turn and does not prolong this one. */
static void run_timers(struct loop *loop) {
    if (!heap_first(&loop->timers)) return;
    int64_t now = clock_monotonic_nsec();
    struct list_link due;
    struct loop_timer *timer;
    list_init(&due);
    while ((timer = first_timer(loop)) && timer->due_nsec <= now) {
        heap_remove(&loop->timers, &timer->item);
        list_append(&due, &timer->link);
    }
    while (!list_is_empty(&due)) {
        timer = LIST_ENTRY(due.next, struct loop_timer, link);
        list_remove(&timer->link);
        int64_t after_msec = timer->callback(timer);
        if (after_msec >= 0) timer_rearm(loop, timer, after_msec);
    }
}

void loop_set_hooks(struct loop *loop, const struct loop_hooks *hooks) {
    ASSERT_COMPARE(loop->depth, ==, 0);
    loop->hooks.after_wake = hooks->after_wake ? hooks->after_wake : no_calls;
    loop->hooks.after_events = hooks->after_events ? hooks->after_events : no_calls;
    loop->hooks.before_sleep = hooks->before_sleep ? hooks->before_sleep : no_steps;
}

static void call_all(void (*const *hook)(void)) {
    for (; *hook; hook++) (*hook)();
}

static bool call_before_sleep(const struct loop_hooks *hooks) {
    bool more = false;
    for (bool (*const *hook)(void) = hooks->before_sleep; *hook; hook++)
        if ((*hook)()) more = true;
    return more;
}

/* How long this turn may sleep. The time is rounded up to whole milliseconds, because a wait that
 * ends before the timer is due would only be repeated. */
static int sleep_msec(const struct loop *loop, int64_t timeout_msec) {
    const struct loop_timer *timer = first_timer(loop);
    if (loop->depth == 1 && timeout_msec != 0 && timer) {
        int64_t left = timer->due_nsec - clock_monotonic_nsec();
        int64_t msec = left <= 0 ? 0 : left / NSEC_PER_MSEC + (left % NSEC_PER_MSEC != 0);
        if (timeout_msec < 0 || msec < timeout_msec) timeout_msec = msec;
    }
    return timeout_msec > INT_MAX ? INT_MAX : (int)timeout_msec;
}

/* The next pending member that this round calls, or NULL. */
static struct loop_pending *next_pending(const struct loop *loop) {
    if (list_is_empty(&loop->pending)) return NULL;
    struct loop_pending *p = LIST_ENTRY(loop->pending.next, struct loop_pending, link);
    return p->round == loop->round ? NULL : p;
}

static bool round_is_left(const struct loop *loop) {
    return loop->ready.next < loop->ready.count || next_pending(loop);
}

/* Fills `ready`; an interrupted wait returns no events. The events that a turn left when it yielded
 * are served first, without a wait: if they were dropped, the kernel would report the same ones in
 * the same order again, and the last of them might never be served. Enters loop_cause_io and
 * returns the cause before. */
static const struct cause *wait_ready(struct loop *loop, int64_t timeout_msec) {
    loop->stats.turns++;
    if (loop->yield && round_is_left(loop))
        return cause_enter(&loop_cause_io, clock_monotonic_nsec());
    loop->ready.next = loop->ready.count = 0;
    loop->round++;
    int sleep = sleep_msec(loop, timeout_msec);
    int64_t begin_nsec = clock_monotonic_nsec();
    const struct cause *before = cause_enter(&loop_cause_idle, begin_nsec);
    int count = system_epoll_wait(loop->epoll_fd, loop->ready_events, LOOP_EVENTS_MAX, sleep);
    if (count < 0 && errno != EINTR) PANIC("epoll_wait: %s", strerror(errno));
    loop->wake_nsec = clock_monotonic_nsec();
    cause_enter(&loop_cause_io, loop->wake_nsec);
    attribution_waited(begin_nsec, loop->wake_nsec);
    loop->ready.count = count < 0 ? 0 : count;
    loop->stats.wakes += loop->ready.count > 0;
    return before;
}

static inline void serve_event(struct loop *loop, const struct epoll_event *event) {
    struct loop_watcher *watcher = event->data.ptr;
    if (watcher == NULL) return;
    uint32_t events = event->events;
    unsigned ready = (events & EPOLLIN ? LOOP_READABLE : 0u) |
                     (events & EPOLLOUT ? LOOP_WRITABLE : 0u) |
                     (events & EPOLLRDHUP ? LOOP_HANGUP : 0u);
    /* An earlier callback of this turn may have taken the interest away. */
    ready &= watcher->interest;
    if (events & (EPOLLERR | EPOLLHUP)) ready |= LOOP_READABLE;
    if (ready == 0) return;
    loop->stats.events++;
    watcher->callback(watcher, ready);
}

static void serve_ready(struct loop *loop) {
    loop->yield = false;
    while (loop->ready.next < loop->ready.count && !loop->yield)
        serve_event(loop, &loop->ready.events[loop->ready.next++]);
}

/* Serves all events of LOOP_FIRST, whatever loop_yield says, because they are few. */
static __attribute__((noinline)) void serve_first(struct loop *loop) {
    struct hand_out *h = &loop->first;
    int count = system_epoll_wait(loop->first_set.fd, h->events, LOOP_FIRST_EVENTS_MAX, 0);
    h->next = 0;
    h->count = count < 0 ? 0 : count;
    while (h->next < h->count) serve_event(loop, &h->events[h->next++]);
}

static __attribute__((noinline)) void serve_pending(struct loop *loop) {
    struct loop_pending *p;
    while (!loop->yield && (p = next_pending(loop))) {
        p->round = loop->round;
        list_remove(&p->link);
        list_append(&loop->pending, &p->link);
        loop->stats.events++;
        p->watcher->callback(p->watcher, LOOP_PENDING);
    }
}

static void book_cpu(struct loop *loop) {
    int64_t now = clock_thread_cpu_nsec();
    histogram_add(&loop->stats.turn_cpu, (uint64_t)(now - loop->cpu_mark_nsec) / NSEC_PER_USEC);
    loop->cpu_mark_nsec = now;
    attribution_turn_end(clock_monotonic_nsec(), now);
}

/* Sets the mark to now, so that CPU time since the last turn is charged to nobody. */
static void mark_cpu(struct loop *loop) {
    loop->cpu_mark_nsec = clock_thread_cpu_nsec();
    attribution_start(clock_monotonic_nsec(), loop->cpu_mark_nsec);
}

/* Runs one turn. With `no_hooks` it is a turn within something else, and runs no timers, either. */
static void run_turn(struct loop *loop, int64_t timeout_msec, const struct loop_hooks *hooks) {
    ASSERT_COMPARE(loop->depth, <, LOOP_DEPTH_MAX);
    loop->depth++;
    if (call_before_sleep(hooks) || loop->restless) timeout_msec = 0;
    const struct cause *before = wait_ready(loop, timeout_msec);
    clock_refresh();
    call_all(hooks->after_wake);
    if (__builtin_expect(loop->first_watchers != 0, 0)) serve_first(loop);
    serve_ready(loop);
    if (__builtin_expect(loop->restless != 0, 0)) serve_pending(loop);
    call_all(hooks->after_events);
    cause_leave(before, clock_monotonic_nsec());
    if (loop->depth == 1 && hooks != &no_hooks) {
        run_timers(loop);
        if (loop->cpu_accounting) book_cpu(loop);
    }
    loop->depth--;
}

void loop_yield(struct loop *loop) { loop->yield = true; }

void loop_run(struct loop *loop) {
    mark_cpu(loop);
    while (!loop_is_stopping(loop)) run_turn(loop, -1, &loop->hooks);
    loop->restless &= ~(unsigned)RESTLESS_STOP;
}

void loop_stop(struct loop *loop) { loop->restless |= RESTLESS_STOP; }

void loop_turn(struct loop *loop, int64_t timeout_msec) {
    /* CPU time between two single turns (loading) belongs to neither of them. */
    if (loop->depth == 0 && loop->cpu_accounting) mark_cpu(loop);
    run_turn(loop, timeout_msec, &loop->hooks);
}

void loop_turn_within(struct loop *loop) {
    int64_t wake_nsec = loop->wake_nsec;
    run_turn(loop, 0, &no_hooks);
    loop->wake_nsec = wake_nsec; /* the outer turn's events were ready at this time */
}

bool loop_is_stopping(const struct loop *loop) { return loop->restless & RESTLESS_STOP; }

int64_t loop_wake_nsec(const struct loop *loop) { return loop->wake_nsec; }

unsigned loop_depth(const struct loop *loop) { return loop->depth; }

void loop_wake(struct loop *loop) {
    int saved_errno = errno;
    uint64_t one = 1;
    ssize_t written = system_write(loop->wake.fd, &one, sizeof(one));
    (void)written; /* fails only where the count is full, and then a wake is due anyway */
    errno = saved_errno;
}

const struct loop_stats *loop_stats(const struct loop *loop) { return &loop->stats; }

void loop_stats_clear(struct loop *loop) { memset(&loop->stats, 0, sizeof(loop->stats)); }

void loop_set_cpu_accounting(struct loop *loop, bool on) {
    if (on && !loop->cpu_accounting) mark_cpu(loop);
    loop->cpu_accounting = on;
}

static void check_hand_out(const struct hand_out *h, int most, unsigned first) {
    ASSERT_COMPARE(h->next, >=, 0);
    ASSERT_COMPARE(h->count, <=, most);
    for (int i = h->next; i < h->count; i++) {
        const struct loop_watcher *watcher = h->events[i].data.ptr;
        ASSERT(watcher == NULL || watcher->interest != 0);
        ASSERT(watcher == NULL || (watcher->interest & LOOP_FIRST) == first);
    }
}

void loop_check(const struct loop *loop) {
    check_hand_out(&loop->ready, LOOP_EVENTS_MAX, 0);
    check_hand_out(&loop->first, LOOP_FIRST_EVENTS_MAX, LOOP_FIRST);
    ASSERT(list_is_empty(&loop->pending) == !(loop->restless & RESTLESS_PENDING));
    heap_check(&loop->timers);
}

void loop_dump(const struct loop *loop, struct buffer *out) {
    const struct loop_stats *stats = &loop->stats;
    buffer_printf(out, "loop: depth %u, turns %llu, wakes %llu, events %llu, pending %d%s\n",
                  loop->depth, (unsigned long long)stats->turns, (unsigned long long)stats->wakes,
                  (unsigned long long)stats->events, loop->ready.count - loop->ready.next,
                  loop_is_stopping(loop) ? ", stopping" : "");
    int64_t now = clock_monotonic_nsec();
    const struct loop_timer *first = first_timer(loop);
    buffer_printf(out, "timers: %zu", loop->timers.count);
    if (first)
        buffer_printf(out, ", the first due in %lld us",
                      (long long)(first->due_nsec - now) / NSEC_PER_USEC);
    buffer_append_char(out, '\n');
}
