/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/loop: delivery, removal inside callbacks, nesting, timers, the order of a turn.
 *
 * Descriptors are eventfds, which become readable by a write and stay writable. SEED=n repeats the
 * random tests.
 */
#include "io/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/seed.h"
#include "base/string.h"
#include "io/faults.h"

#define HANG_GUARD_SECONDS 300 /* no measure: only ends a test that waits for ever */

static struct loop *loop;

/* A watcher with its owner: on the heap, so that the sanitizer sees a use after free. */
struct source {
    struct loop_watcher watcher;
    int index;
    int calls;
    unsigned last_ready;
    void (*action)(struct source *source);
};

static void source_ready(struct loop_watcher *watcher, unsigned ready) {
    struct source *source = (struct source *)(void *)watcher;
    assert_int_not_equal(watcher->interest, 0);
    source->calls++;
    source->last_ready = ready;
    if (source->action != NULL) source->action(source);
}

static struct source *source_create(int index, void (*action)(struct source *source)) {
    struct source *source = memory_zalloc(sizeof(*source), MEMORY_OTHER);
    source->watcher.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(source->watcher.fd >= 0);
    source->watcher.callback = source_ready;
    source->index = index;
    source->action = action;
    assert_true(loop_watch(loop, &source->watcher, LOOP_READABLE));
    return source;
}

static void source_free(struct source *source) {
    loop_unwatch(loop, &source->watcher);
    close(source->watcher.fd);
    memset(source, 0xEE, sizeof(*source));
    memory_free(source, MEMORY_OTHER);
}

static void source_feed(struct source *source) {
    uint64_t one = 1;
    assert_int_equal(write(source->watcher.fd, &one, sizeof(one)), sizeof(one));
}

/* An action: takes what makes it readable. */
static void source_drain(struct source *source) {
    uint64_t count;
    ssize_t got = read(source->watcher.fd, &count, sizeof(count));
    assert_true(got == sizeof(count) || errno == EAGAIN);
}

static int setup(void **state) {
    loop = loop_create();
    return 0;
}

static int teardown(void **state) {
    clock_use_system();
    loop_check(loop);
    loop_free(loop);
    return 0;
}

static void test_delivers_what_is_ready(void **state) {
    struct source *a = source_create(0, source_drain), *b = source_create(1, source_drain);
    loop_turn(loop, 0);
    assert_int_equal(a->calls + b->calls, 0);
    source_feed(b);
    loop_turn(loop, -1);
    assert_int_equal(a->calls, 0);
    assert_int_equal(b->calls, 1);
    assert_int_equal(b->last_ready, LOOP_READABLE);
    loop_turn(loop, 0);
    assert_int_equal(b->calls, 1);
    assert_int_equal(loop_stats(loop)->turns, 3);
    assert_int_equal(loop_stats(loop)->events, 1);
    assert_int_equal(loop_stats(loop)->wakes, 1);
    loop_stats_clear(loop);
    assert_int_equal(loop_stats(loop)->turns, 0);
    source_free(a);
    source_free(b);
}

static void test_is_level_triggered(void **state) {
    struct source *a = source_create(0, NULL);
    source_feed(a);
    for (int i = 1; i <= 3; i++) {
        loop_turn(loop, 0);
        assert_int_equal(a->calls, i);
    }
    source_free(a);
}

static void test_interest_changes(void **state) {
    struct source *a = source_create(0, source_drain);
    assert_true(loop_watch(loop, &a->watcher, LOOP_READABLE | LOOP_WRITABLE));
    loop_turn(loop, 0);
    assert_int_equal(a->last_ready, LOOP_WRITABLE);
    source_feed(a);
    loop_turn(loop, 0);
    assert_int_equal(a->last_ready, LOOP_READABLE | LOOP_WRITABLE);
    assert_true(loop_watch(loop, &a->watcher, LOOP_WRITABLE));
    source_feed(a);
    loop_turn(loop, 0);
    assert_int_equal(a->last_ready, LOOP_WRITABLE);
    assert_int_equal(a->calls, 3);
    loop_unwatch(loop, &a->watcher);
    source_feed(a);
    loop_turn(loop, 0);
    assert_int_equal(a->calls, 3);
    assert_true(loop_watch(loop, &a->watcher, LOOP_READABLE));
    loop_turn(loop, 0);
    assert_int_equal(a->calls, 4);
    source_free(a);
}

/* A descriptor that does not exist tells whether epoll was asked. */
/* What epoll refuses is not taken for watched, and can be asked for again. */
static void test_epoll_refuses(void **state) {
    struct source *a = source_create(0, source_drain);
    loop_unwatch(loop, &a->watcher);
    for (int i = 0; i < 2; i++) { /* first a new one, then another interest */
        unsigned before = a->watcher.interest;
        fault_epoll_ctl = (struct fault){.failed = 1, .error = ENOSPC};
        assert_false(loop_watch(loop, &a->watcher, i ? LOOP_WRITABLE : LOOP_READABLE));
        assert_int_equal(errno, ENOSPC);
        assert_int_equal(fault_epoll_ctl.failed, 0);
        assert_int_equal(a->watcher.interest, before);
        source_feed(a);
        loop_turn(loop, 0);
        assert_int_equal(a->calls, 2 * i);
        assert_true(loop_watch(loop, &a->watcher, LOOP_READABLE));
        loop_turn(loop, 0);
        assert_int_equal(a->calls, i + 1);
        loop_check(loop);
    }
    /* One that epoll does not know any more is gone all the same. */
    fault_epoll_ctl = (struct fault){.failed = 1, .error = ENOENT};
    loop_unwatch(loop, &a->watcher);
    assert_int_equal(a->watcher.interest, 0);
    close(a->watcher.fd);
    memory_free(a, MEMORY_OTHER);
    loop_turn(loop, 0);
}

static void test_asks_epoll_only_for_changes(void **state) {
    struct source *a = source_create(0, NULL);
    int fd = a->watcher.fd;
    a->watcher.fd = -1;
    assert_true(loop_watch(loop, &a->watcher, LOOP_READABLE));
    assert_false(loop_watch(loop, &a->watcher, LOOP_WRITABLE));
    assert_int_equal(errno, EBADF);
    assert_int_equal(a->watcher.interest, LOOP_READABLE);
    loop_unwatch(loop, &a->watcher);
    assert_int_equal(a->watcher.interest, 0);
    loop_unwatch(loop, &a->watcher);
    assert_false(loop_watch(loop, &a->watcher, LOOP_READABLE));
    assert_int_equal(a->watcher.interest, 0);
    /* A plain file cannot be watched. */
    a->watcher.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(a->watcher.fd >= 0);
    assert_false(loop_watch(loop, &a->watcher, LOOP_READABLE));
    assert_int_equal(errno, EPERM);
    close(a->watcher.fd);
    a->watcher.fd = fd;
    source_free(a);
}

static void test_hangup_is_readable_whatever_the_interest(void **state) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    struct source *a = source_create(0, NULL);
    loop_unwatch(loop, &a->watcher);
    close(a->watcher.fd);
    a->watcher.fd = ends[1];
    assert_true(loop_watch(loop, &a->watcher, LOOP_WRITABLE));
    loop_turn(loop, 0);
    assert_int_equal(a->last_ready, LOOP_WRITABLE);
    close(ends[0]);
    loop_turn(loop, 0);
    assert_int_equal(a->last_ready, LOOP_WRITABLE | LOOP_READABLE);
    source_free(a);
}

/* Who does not read hears of the end, and of it alone, also where bytes came before it. */
static void test_hangup_without_reading(void **state) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    struct source *a = source_create(0, NULL);
    loop_unwatch(loop, &a->watcher);
    close(a->watcher.fd);
    a->watcher.fd = ends[1];
    assert_true(loop_watch(loop, &a->watcher, LOOP_HANGUP));
    assert_int_equal(write(ends[0], "x", 1), 1);
    loop_turn(loop, 0);
    assert_int_equal(a->calls, 0);
    assert_int_equal(shutdown(ends[0], SHUT_WR), 0);
    loop_turn(loop, 0);
    assert_int_equal(a->last_ready, LOOP_HANGUP);
    assert_true(loop_watch(loop, &a->watcher, LOOP_READABLE));
    loop_turn(loop, 0);
    assert_int_equal(a->last_ready, LOOP_READABLE);
    close(ends[0]);
    source_free(a);
}

/* --- removal inside callbacks ------------------------------------------------------------------
 */

#define HERD 300 /* more than LOOP_EVENTS_MAX */
static struct source *herd[HERD];
static int herd_calls;

static void free_all_others(struct source *source) {
    herd_calls++;
    int self = source->index;
    for (int i = 0; i < HERD; i++) {
        if (herd[i] == NULL || i == self) continue;
        source_free(herd[i]);
        herd[i] = NULL;
    }
    loop_check(loop);
}

static void free_itself(struct source *source) {
    herd_calls++;
    herd[source->index] = NULL;
    source_free(source);
}

static void herd_create(int count, void (*action)(struct source *source)) {
    herd_calls = 0;
    for (int i = 0; i < count; i++) {
        herd[i] = source_create(i, action);
        source_feed(herd[i]);
    }
}

static void herd_free(void) {
    for (int i = 0; i < HERD; i++) {
        if (herd[i] != NULL) source_free(herd[i]);
        herd[i] = NULL;
    }
}

static void test_callback_frees_all_others(void **state) {
    herd_create(100, free_all_others);
    loop_turn(loop, 0);
    assert_int_equal(herd_calls, 1);
    herd_free();
}

static void test_callback_frees_itself(void **state) {
    herd_create(100, free_itself);
    loop_turn(loop, 0);
    assert_int_equal(herd_calls, 100);
    loop_turn(loop, 0);
    assert_int_equal(herd_calls, 100);
    herd_free();
}

static void stop_reading_others(struct source *source) {
    herd_calls++;
    for (int i = 0; i < HERD; i++) {
        if (herd[i] == NULL || herd[i] == source) continue;
        assert_true(loop_watch(loop, &herd[i]->watcher, LOOP_WRITABLE));
    }
}

/* An event that its watcher no longer asks for is not delivered, without any removal. */
static void test_interest_taken_away_in_the_turn(void **state) {
    herd_create(10, stop_reading_others);
    loop_turn(loop, 0);
    assert_int_equal(herd_calls, 1);
    herd_free();
}

static void remove_and_add_others(struct source *source) {
    herd_calls++;
    for (int i = 0; i < HERD; i++) {
        if (herd[i] == NULL || herd[i] == source) continue;
        loop_unwatch(loop, &herd[i]->watcher);
        assert_true(loop_watch(loop, &herd[i]->watcher, LOOP_READABLE));
    }
}

static void test_removed_and_added_again_waits_for_the_next_turn(void **state) {
    herd_create(10, remove_and_add_others);
    loop_turn(loop, 0);
    assert_int_equal(herd_calls, 1);
    loop_turn(loop, 0);
    assert_int_equal(herd_calls, 2);
    herd_free();
}

static void test_a_turn_is_bounded_and_fair(void **state) {
    herd_create(HERD, NULL);
    loop_turn(loop, 0);
    assert_int_equal(loop_stats(loop)->events, LOOP_EVENTS_MAX);
    loop_turn(loop, 0);
    for (int i = 0; i < HERD; i++) assert_true(herd[i]->calls >= 1);
    herd_free();
}

/* Each callback does a few random things to random sources. source_ready sees a call for a source
 * that is gone: its memory is overwritten (or, with the sanitizer, poisoned). */
static void random_action(struct source *source) {
    herd_calls++;
    source_drain(source);
    for (uint64_t n = random_below(4); n > 0; n--) {
        int i = (int)random_below(64);
        if (herd[i] == NULL) {
            herd[i] = source_create(i, random_action);
        } else if (random_below(2) == 0) {
            source_free(herd[i]);
            herd[i] = NULL;
        } else {
            assert_true(loop_watch(loop, &herd[i]->watcher, (unsigned)random_below(4)));
        }
        if (herd[i] != NULL) source_feed(herd[i]);
    }
    if (random_below(8) == 0 && loop_depth(loop) < 4) loop_turn(loop, 0);
    loop_check(loop);
}

/* An action: stays readable and ends the turn. */
static void source_yield(struct source *source) { loop_yield(loop); }

/* Each that yields leaves the rest to the next turn, where the rest comes first: all are served
 * equally often although none ever stops being ready. */
static void test_yield_leaves_the_rest_for_the_next_turn(void **state) {
    enum { COUNT = 5 };
    struct source *sources[COUNT];
    for (int i = 0; i < COUNT; i++) {
        sources[i] = source_create(i, source_yield);
        source_feed(sources[i]);
    }
    for (int turns = 0; turns < 3 * COUNT; turns++) loop_turn(loop, 0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(sources[i]->calls, 3);
        source_free(sources[i]);
    }
}

static void test_random_removals(void **state) {
    herd_create(64, random_action);
    for (int i = 0; i < 2000; i++) {
        loop_turn(loop, 0);
        int fed = (int)random_below(64);
        if (herd[fed] == NULL) herd[fed] = source_create(fed, random_action);
        source_feed(herd[fed]);
    }
    assert_true(herd_calls > 1000);
    assert_int_equal(loop_depth(loop), 0);
    herd_free();
}

/* --- nested turns ------------------------------------------------------------------------------
 */

static int nested_timer_calls;
static unsigned nested_depth;

static int64_t count_nested_timer(struct loop_timer *timer) {
    nested_timer_calls++;
    return LOOP_TIMER_END;
}

/* As a long command does: stops its own reading, lets the others be served. */
static void turn_inside(struct source *source) {
    source_drain(source);
    if (loop_depth(loop) > 1) {
        nested_depth = loop_depth(loop);
        return;
    }
    loop_unwatch(loop, &source->watcher);
    int calls_before = source->calls;
    loop_turn(loop, 0);
    assert_int_equal(loop_depth(loop), 1);
    assert_int_equal(source->calls, calls_before);
    assert_int_equal(nested_timer_calls, 0);
    assert_true(loop_watch(loop, &source->watcher, LOOP_READABLE));
}

static void test_nested_turn_serves_each_event_once(void **state) {
    struct loop_timer timer = {.callback = count_nested_timer};
    nested_timer_calls = 0;
    nested_depth = 0;
    loop_timer_start(loop, &timer, 0);
    herd_create(20, turn_inside);
    loop_turn(loop, 0);
    for (int i = 0; i < 20; i++) assert_int_equal(herd[i]->calls, 1);
    assert_int_equal(nested_depth, 2);
    assert_int_equal(nested_timer_calls, 1);
    assert_int_equal(loop_depth(loop), 0);
    assert_int_equal(loop_stats(loop)->turns, 2);
    assert_int_equal(loop_stats(loop)->turn_cpu.total, 1);
    herd_free();
}

static struct source *outermost;

/* The outermost callback's own source is freed by a callback of the nested turn. */
static void free_outermost(struct source *source) {
    source_drain(source);
    herd_calls++;
    if (loop_depth(loop) == 1) {
        outermost = source;
        loop_turn(loop, 0);
        loop_check(loop);
    } else if (outermost != NULL) {
        herd[outermost->index] = NULL;
        source_free(outermost);
        outermost = NULL;
    }
}

static void test_nested_turn_frees_the_outer_owner(void **state) {
    outermost = NULL;
    herd_create(5, free_outermost);
    loop_turn(loop, 0);
    assert_int_equal(herd_calls, 5);
    int left = 0;
    for (int i = 0; i < 5; i++) left += herd[i] != NULL;
    assert_int_equal(left, 4);
    loop_turn(loop, 0);
    assert_int_equal(herd_calls, 5);
    herd_free();
}

static int64_t turn_inside_timer(struct loop_timer *timer) {
    nested_timer_calls++;
    loop_turn(loop, 0);
    return LOOP_TIMER_END;
}

static void test_nested_turn_from_a_timer(void **state) {
    struct loop_timer first = {.callback = turn_inside_timer};
    struct loop_timer second = {.callback = turn_inside_timer};
    nested_timer_calls = 0;
    loop_timer_start(loop, &first, 0);
    loop_timer_start(loop, &second, 0);
    herd_create(1, source_drain);
    loop_turn(loop, 0);
    assert_int_equal(nested_timer_calls, 2);
    assert_int_equal(herd[0]->calls, 1);
    herd_free();
}

/* --- watchers that are served first ------------------------------------------------------------
 */

#define HERD_OF_ORDINARY (LOOP_EVENTS_MAX * 3)
static struct source *ordinary[HERD_OF_ORDINARY];
static int ordinary_calls;

static void ordinary_action(struct source *source) {
    ordinary_calls++;
    loop_yield(loop);
}

/* It comes before every ordinary one of its turn. */
static void first_action(struct source *source) {
    assert_int_equal(ordinary_calls, 0);
    source_drain(source);
}

static struct source *first_create(void (*action)(struct source *source)) {
    struct source *source = source_create(0, action);
    loop_unwatch(loop, &source->watcher);
    assert_true(loop_watch(loop, &source->watcher, LOOP_READABLE | LOOP_FIRST));
    return source;
}

/* However many others are ready, and although each of them ends its turn's hand-out. */
static void test_served_first(void **state) {
    struct source *first = first_create(first_action);
    for (int i = 0; i < HERD_OF_ORDINARY; i++) {
        ordinary[i] = source_create(i, ordinary_action);
        source_feed(ordinary[i]);
    }
    for (int turn = 1; turn <= 20; turn++) {
        source_feed(first);
        ordinary_calls = 0;
        loop_turn(loop, 0);
        loop_check(loop);
        assert_int_equal(first->calls, turn);
        assert_int_equal(ordinary_calls, 1);
    }
    ordinary_calls = 0;
    loop_turn(loop, 0);
    assert_int_equal(first->calls, 20); /* nothing came */
    source_free(first);
    ordinary_calls = 0;
    loop_turn(loop, 0);
    assert_int_equal(ordinary_calls, 1);
    for (int i = 0; i < HERD_OF_ORDINARY; i++) source_free(ordinary[i]);
}

static void test_first_ends_a_wait(void **state) {
    ordinary_calls = 0;
    struct source *first = first_create(first_action);
    source_feed(first);
    loop_turn(loop, -1);
    assert_int_equal(first->calls, 1);
    assert_int_equal(first->last_ready, LOOP_READABLE);
    /* Another interest, and none. */
    assert_true(loop_watch(loop, &first->watcher, LOOP_WRITABLE | LOOP_FIRST));
    loop_turn(loop, -1);
    assert_int_equal(first->last_ready, LOOP_WRITABLE);
    loop_unwatch(loop, &first->watcher);
    loop_turn(loop, 0);
    assert_int_equal(first->calls, 2);
    source_free(first);
}

static struct source *firsts[3];

/* Frees the others, which are ready too, and turns the loop within. */
static void first_frees_others(struct source *source) {
    source_drain(source);
    for (int i = 0; i < 3; i++) {
        if (!firsts[i] || firsts[i] == source) continue;
        source_free(firsts[i]);
        firsts[i] = NULL;
    }
    source_feed(source);
    if (source->calls == 1) loop_turn_within(loop);
}

static void test_first_frees_others_of_its_turn(void **state) {
    for (int i = 0; i < 3; i++) {
        firsts[i] = first_create(first_frees_others);
        source_feed(firsts[i]);
    }
    loop_turn(loop, 0);
    int left = 0;
    for (int i = 0; i < 3; i++) {
        if (!firsts[i]) continue;
        left++;
        assert_int_equal(firsts[i]->calls, 2); /* once in the turn within */
        source_free(firsts[i]);
    }
    assert_int_equal(left, 1);
    loop_check(loop);
}

static void test_epoll_refuses_a_first_one(void **state) {
    struct source *a = source_create(0, source_drain);
    loop_unwatch(loop, &a->watcher);
    for (int passed = 0; passed < 2; passed++) { /* its set, and then itself */
        fault_epoll_ctl = (struct fault){.passed = passed, .failed = 1, .error = ENOSPC};
        assert_false(loop_watch(loop, &a->watcher, LOOP_READABLE | LOOP_FIRST));
        assert_int_equal(errno, ENOSPC);
        assert_int_equal(a->watcher.interest, 0);
    }
    assert_true(loop_watch(loop, &a->watcher, LOOP_READABLE | LOOP_FIRST));
    source_feed(a);
    loop_turn(loop, 0);
    assert_int_equal(a->calls, 1);
    source_free(a);
}

/* --- timers ------------------------------------------------------------------------------------
 */

#define TIMERS 6
struct test_timer {
    struct loop_timer timer; /* first */
    char name;
    int64_t again;
    struct loop_timer *stops;
    struct loop_timer *starts;
};
static struct test_timer timers[TIMERS];
static struct buffer trace;

static char taken[128];

/* The trace since the last call; valid until the next one. */
static const char *trace_take(void) {
    snprintf(taken, sizeof(taken), "%.*s", (int)trace.length, trace.length > 0 ? trace.bytes : "");
    buffer_clear(&trace);
    return taken;
}

static int64_t test_timer_run(struct loop_timer *timer) {
    struct test_timer *self = (struct test_timer *)(void *)timer;
    buffer_append_char(&trace, self->name);
    if (self->stops != NULL) loop_timer_stop(loop, self->stops);
    if (self->starts != NULL) loop_timer_start(loop, self->starts, 0);
    return self->again;
}

static int setup_timers(void **state) {
    buffer_init(&trace, MEMORY_OTHER);
    memset(timers, 0, sizeof(timers));
    for (int i = 0; i < TIMERS; i++) {
        timers[i].timer.callback = test_timer_run;
        timers[i].name = (char)('a' + i);
        timers[i].again = LOOP_TIMER_END;
    }
    clock_use_fixed(1000000, 1000000000);
    return setup(state);
}

static int teardown_timers(void **state) {
    buffer_free(&trace);
    return teardown(state);
}

static const char *run_after_msec(int64_t msec) {
    clock_advance_usec(msec * 1000);
    loop_turn(loop, 0);
    loop_check(loop);
    return trace_take();
}

static void test_timers_run_in_order_of_due_time(void **state) {
    const int64_t after[TIMERS] = {30, 10, 20, 10, 0, 500};
    for (int i = 0; i < TIMERS; i++) loop_timer_start(loop, &timers[i].timer, after[i]);
    loop_check(loop);
    assert_string_equal(run_after_msec(0), "e");
    assert_string_equal(run_after_msec(9), "");
    assert_string_equal(run_after_msec(1), "bd");
    assert_string_equal(run_after_msec(20), "ca");
    assert_string_equal(run_after_msec(469), "");
    assert_string_equal(run_after_msec(1), "f");
    assert_string_equal(run_after_msec(100000), "");
}

static void test_timer_starts_anew_and_stops(void **state) {
    loop_timer_stop(loop, &timers[0].timer);
    loop_timer_start(loop, &timers[0].timer, 10);
    loop_timer_start(loop, &timers[0].timer, 30);
    loop_timer_start(loop, &timers[1].timer, 20);
    assert_string_equal(run_after_msec(10), "");
    assert_string_equal(run_after_msec(20), "ba");
    loop_timer_start(loop, &timers[0].timer, 0);
    loop_timer_stop(loop, &timers[0].timer);
    loop_timer_stop(loop, &timers[0].timer);
    assert_string_equal(run_after_msec(10), "");
    loop_timer_start(loop, &timers[0].timer, INT64_MAX);
    assert_string_equal(run_after_msec(1000000), "");
}

static void test_timers_stop_and_start_each_other(void **state) {
    for (int i = 0; i < 4; i++) loop_timer_start(loop, &timers[i].timer, 10);
    timers[0].stops = &timers[1].timer;  /* due in this turn too */
    timers[2].starts = &timers[3].timer; /* due too: moves to the next turn */
    timers[3].stops = &timers[0].timer;  /* has run already */
    assert_string_equal(run_after_msec(10), "ac");
    assert_string_equal(run_after_msec(0), "d");
    assert_string_equal(run_after_msec(10), "");
}

static void test_timer_wants_to_run_at_once(void **state) {
    timers[0].again = 0;
    loop_timer_start(loop, &timers[0].timer, 0);
    assert_string_equal(run_after_msec(0), "a");
    assert_string_equal(run_after_msec(0), "a");
    loop_timer_stop(loop, &timers[0].timer);
    assert_string_equal(run_after_msec(0), "");
}

/* A run that is 3 ms late does not put off the next ones; one that is very late is not followed by
 * a burst. */
static void test_timer_holds_its_rate(void **state) {
    timers[0].again = 10;
    loop_timer_start(loop, &timers[0].timer, 10);
    assert_string_equal(run_after_msec(13), "a");
    assert_string_equal(run_after_msec(6), "");
    assert_string_equal(run_after_msec(1), "a");  /* 20 */
    assert_string_equal(run_after_msec(19), "a"); /* 39; the next is due at 40, too soon */
    assert_string_equal(run_after_msec(4), "");
    assert_string_equal(run_after_msec(1), "a"); /* 44 */
    assert_string_equal(run_after_msec(1000), "a");
    assert_string_equal(run_after_msec(4), "");
    assert_string_equal(run_after_msec(1), "a");
}

static int64_t free_timer(struct loop_timer *timer) {
    memset(timer, 0xEE, sizeof(*timer));
    memory_free(timer, MEMORY_OTHER);
    buffer_append_char(&trace, 'x');
    return LOOP_TIMER_END;
}

static void test_timer_frees_itself(void **state) {
    struct loop_timer *timer = memory_zalloc(sizeof(*timer), MEMORY_OTHER);
    timer->callback = free_timer;
    loop_timer_start(loop, timer, 5);
    loop_timer_start(loop, &timers[0].timer, 5);
    assert_string_equal(run_after_msec(5), "xa");
}

/* Thousands of timers, started and stopped at random: each that is left runs once, in order. */
#define MANY_TIMERS 5000
static struct many_timer {
    struct loop_timer timer; /* first */
    int64_t after_msec;
    int runs;
} many[MANY_TIMERS];
static int64_t many_last_msec;

static int64_t many_run(struct loop_timer *timer) {
    struct many_timer *self = (struct many_timer *)(void *)timer;
    assert_true(self->after_msec >= many_last_msec);
    many_last_msec = self->after_msec;
    self->runs++;
    return LOOP_TIMER_END;
}

static void test_thousands_of_timers(void **state) {
    memset(many, 0, sizeof(many));
    many_last_msec = 0;
    for (int i = 0; i < MANY_TIMERS; i++) {
        many[i].timer.callback = many_run;
        many[i].after_msec = 1 + (int64_t)random_below(1000);
        loop_timer_start(loop, &many[i].timer, many[i].after_msec);
    }
    for (int i = 0; i < MANY_TIMERS; i += 3) loop_timer_stop(loop, &many[i].timer);
    for (int msec = 0; msec < 1000; msec += 10) run_after_msec(10);
    for (int i = 0; i < MANY_TIMERS; i++) assert_int_equal(many[i].runs, i % 3 != 0);
}

/* A wait ends by the timer even where the clock does not move; nothing runs then. */
static void test_fixed_clock_does_not_sleep_for_ever(void **state) {
    loop_timer_start(loop, &timers[0].timer, 3);
    loop_turn(loop, -1);
    assert_string_equal(trace_take(), "");
    loop_turn(loop, 1);
    assert_string_equal(run_after_msec(3), "a");
}

static void test_system_clock_runs_timers(void **state) {
    clock_use_system();
    timers[0].again = 1;
    loop_timer_start(loop, &timers[0].timer, 1);
    int64_t before = clock_monotonic_nsec();
    for (int i = 0; i < 1000000 && trace.length < 3; i++) loop_turn(loop, -1);
    assert_string_equal(trace_take(), "aaa");
    assert_true(clock_monotonic_nsec() - before >=
                2000000); /* 1, 2 and 3 ms, or half a step less */
}

/* --- the order of a turn -----------------------------------------------------------------------
 */

static bool hook_more;
static int hook_calls_until_stop;

static bool hook_before(void) {
    buffer_append_char(&trace, 'B');
    if (hook_calls_until_stop > 0 && --hook_calls_until_stop == 0) loop_stop(loop);
    return hook_more;
}
static bool hook_before_last(void) {
    buffer_append_char(&trace, 'b');
    return false;
}
static void hook_wake(void) {
    assert_int_equal(clock_cached_usec(), clock_wall_usec());
    buffer_append_char(&trace, 'W');
}
static void hook_after(void) { buffer_append_char(&trace, 'A'); }
static void trace_event(struct source *source) {
    source_drain(source);
    buffer_append_char(&trace, 'e');
}

static bool (*const hooks_before[])(void) = {hook_before, hook_before_last, NULL};
static void (*const hooks_wake[])(void) = {hook_wake, NULL};
static void (*const hooks_after[])(void) = {hook_after, NULL};
static const struct loop_hooks hooks = {hooks_wake, hooks_after, hooks_before};

static void register_hooks(void) {
    hook_more = false;
    hook_calls_until_stop = 0;
    loop_set_hooks(loop, &hooks);
}

static void test_order_of_a_turn(void **state) {
    register_hooks();
    herd_create(2, trace_event);
    loop_timer_start(loop, &timers[0].timer, 0);
    clock_advance_usec(12345);
    loop_turn(loop, -1);
    assert_string_equal(trace_take(), "BbWeeAa");
    herd_free();
}

/* Without a timer and without an event: only "more to do" can end these waits. */
static void test_more_to_do_does_not_sleep(void **state) {
    register_hooks();
    hook_more = true;
    loop_turn(loop, -1);
    loop_turn(loop, 1000000000);
    assert_string_equal(trace_take(), "BbWABbWA");
}

static void test_stop_in_a_hook_does_not_sleep(void **state) {
    register_hooks();
    hook_calls_until_stop = 1;
    loop_run(loop);
    assert_string_equal(trace_take(), "BbWA");
}

/* There may be as many as there are, and NULL stands for none. */
static void test_other_hooks(void **state) {
    bool (*before[33])(void) = {NULL};
    char wanted[40] = "";
    for (int i = 0; i < 32; i++) before[i] = i % 2 ? hook_before_last : hook_before;
    for (int i = 0; i < 32; i++) wanted[i] = i % 2 ? 'b' : 'B';
    register_hooks();
    loop_set_hooks(loop, &(struct loop_hooks){.before_sleep = before});
    loop_turn(loop, 0);
    assert_string_equal(trace_take(), wanted);
    loop_set_hooks(loop, &(struct loop_hooks){NULL, NULL, NULL});
    loop_turn(loop, 0);
    assert_string_equal(trace_take(), "");
}

static int64_t stop_from_timer(struct loop_timer *timer) {
    loop_stop(loop);
    return LOOP_TIMER_END;
}

static void stop_from_event(struct source *source) { loop_stop(loop); }

static void test_run_until_stop(void **state) {
    struct loop_timer timer = {.callback = stop_from_timer};
    loop_timer_start(loop, &timer, 0);
    loop_run(loop);
    assert_int_equal(loop_stats(loop)->turns, 1);
    herd_create(1, stop_from_event);
    loop_run(loop);
    assert_int_equal(herd[0]->calls, 1);
    loop_stop(loop);
    loop_run(loop);
    assert_int_equal(herd[0]->calls, 1);
    herd_free();
}

static void *wake_from_thread(void *argument) {
    errno = EXDEV;
    loop_wake(loop);
    return errno == EXDEV ? loop : NULL;
}

static void test_wake_from_another_thread(void **state) {
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, wake_from_thread, NULL), 0);
    loop_turn(loop, -1);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, loop);
    assert_int_equal(loop_stats(loop)->wakes, 1);
    /* The wake is used up. */
    loop_turn(loop, 0);
    assert_int_equal(loop_stats(loop)->wakes, 1);
    /* Several are one; one that comes before the wait counts. */
    loop_wake(loop);
    loop_wake(loop);
    loop_turn(loop, -1);
    loop_turn(loop, 0);
    assert_int_equal(loop_stats(loop)->wakes, 2);
}

/* --- CPU time ----------------------------------------------------------------------------------
 */

#define BURN_USEC 20000 /* far more than a turn that does nothing can take */

static int64_t burn(struct loop_timer *timer) {
    int64_t until = clock_thread_cpu_nsec() + BURN_USEC * 1000;
    while (clock_thread_cpu_nsec() < until) continue;
    return LOOP_TIMER_END;
}

static void test_cpu_time_of_a_turn(void **state) {
    struct loop_timer timer = {.callback = burn};
    burn(&timer); /* outside of a turn: does not count */
    loop_turn(loop, 0);
    const struct histogram *cpu = &loop_stats(loop)->turn_cpu;
    assert_int_equal(cpu->total, 1);
    uint64_t idle_usec = cpu->sum_usec;
    assert_true(idle_usec < BURN_USEC);
    loop_timer_start(loop, &timer, 0);
    loop_turn(loop, 0);
    assert_int_equal(cpu->total, 2);
    assert_true(cpu->sum_usec - idle_usec >= BURN_USEC);
    assert_true(cpu->maximum_usec >= BURN_USEC);
    loop_set_cpu_accounting(loop, false);
    loop_turn(loop, 0);
    assert_int_equal(cpu->total, 2);
    loop_set_cpu_accounting(loop, true);
    loop_turn(loop, 0);
    assert_int_equal(cpu->total, 3);
}

static void test_dump(void **state) {
    loop_timer_start(loop, &timers[0].timer, 7);
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    loop_dump(loop, &out);
    assert_non_null(strstr(out.bytes, "depth 0"));
    assert_non_null(strstr(out.bytes, "timers: 1, the first due in 7000 us"));
    buffer_free(&out);
}

int main(void) {
#define PLAIN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define TIMED(test) cmocka_unit_test_setup_teardown(test, setup_timers, teardown_timers)
    const struct CMUnitTest tests[] = {
        PLAIN(test_delivers_what_is_ready),
        PLAIN(test_is_level_triggered),
        PLAIN(test_interest_changes),
        PLAIN(test_epoll_refuses),
        PLAIN(test_asks_epoll_only_for_changes),
        PLAIN(test_hangup_is_readable_whatever_the_interest),
        PLAIN(test_hangup_without_reading),
        PLAIN(test_callback_frees_all_others),
        PLAIN(test_callback_frees_itself),
        PLAIN(test_interest_taken_away_in_the_turn),
        PLAIN(test_removed_and_added_again_waits_for_the_next_turn),
        PLAIN(test_a_turn_is_bounded_and_fair),
        PLAIN(test_yield_leaves_the_rest_for_the_next_turn),
        PLAIN(test_random_removals),
        PLAIN(test_nested_turn_serves_each_event_once),
        PLAIN(test_nested_turn_frees_the_outer_owner),
        PLAIN(test_nested_turn_from_a_timer),
        TIMED(test_timers_run_in_order_of_due_time),
        TIMED(test_timer_starts_anew_and_stops),
        TIMED(test_timers_stop_and_start_each_other),
        TIMED(test_timer_wants_to_run_at_once),
        TIMED(test_timer_holds_its_rate),
        TIMED(test_timer_frees_itself),
        TIMED(test_thousands_of_timers),
        PLAIN(test_served_first),
        PLAIN(test_first_ends_a_wait),
        PLAIN(test_first_frees_others_of_its_turn),
        PLAIN(test_epoll_refuses_a_first_one),
        TIMED(test_fixed_clock_does_not_sleep_for_ever),
        TIMED(test_system_clock_runs_timers),
        TIMED(test_order_of_a_turn),
        TIMED(test_more_to_do_does_not_sleep),
        TIMED(test_stop_in_a_hook_does_not_sleep),
        TIMED(test_other_hooks),
        PLAIN(test_run_until_stop),
        PLAIN(test_wake_from_another_thread),
        PLAIN(test_cpu_time_of_a_turn),
        TIMED(test_dump),
    };
    alarm(HANG_GUARD_SECONDS);
    seed_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
