/* SPDX-License-Identifier: BSD-3-Clause
 * The clocks: the system's, and hands that a test sets. */
#include "base/clock.h"

#include "seed.h"

static void test_system_clocks(void **state) {
    clock_use_system();
    int64_t low = (int64_t)time(NULL) - 1;
    int64_t usec = clock_wall_usec();
    int64_t msec = clock_wall_msec();
    int64_t high = (int64_t)time(NULL) + 2;
    assert_true(usec >= low * 1000000 && usec <= high * 1000000);
    assert_true(msec >= low * 1000 && msec <= high * 1000);
    int64_t last = clock_monotonic_nsec();
    for (int i = 0; i < 1000; i++) {
        int64_t now = clock_monotonic_nsec();
        assert_true(now >= last);
        last = now;
    }
    assert_true(clock_monotonic_usec() >= last / 1000);
    usleep(1000);
    assert_true(clock_monotonic_nsec() >= last + 1000000);
}

static void test_thread_cpu_counts_work_only(void **state) {
    int64_t before = clock_thread_cpu_nsec(), real = clock_monotonic_nsec();
    usleep(50000);
    int64_t slept = clock_thread_cpu_nsec() - before;
    assert_true(slept >= 0 && slept < clock_monotonic_nsec() - real);
    volatile unsigned work = 0;
    before = clock_thread_cpu_nsec();
    for (unsigned i = 0; i < 1000000; i++) work += i;
    assert_true(work != 0 && clock_thread_cpu_nsec() > before);
}

static void test_fixed_clock_and_cache(void **state) {
    clock_use_fixed(1795221669956789, 5000000123);
    assert_int_equal(clock_wall_usec(), 1795221669956789);
    assert_int_equal(clock_wall_msec(), 1795221669956);
    assert_int_equal(clock_monotonic_nsec(), 5000000123);
    assert_int_equal(clock_monotonic_usec(), 5000000);
    assert_int_equal(clock_monotonic_msec(), 5000);
    assert_int_equal(clock_monotonic_sec(), 5);
    clock_refresh();
    assert_int_equal(clock_cached_usec(), 1795221669956789);
    clock_advance_usec(1500);
    assert_int_equal(clock_wall_usec(), 1795221669958289);
    assert_int_equal(clock_monotonic_nsec(), 5001500123);
    assert_int_equal(clock_cached_usec(), 1795221669956789); /* until it is read again */
    assert_int_equal(clock_cached_msec(), 1795221669956);
    clock_refresh();
    assert_int_equal(clock_cached_msec(), 1795221669958);
    clock_use_system();
    assert_true(clock_monotonic_nsec() != 5001500123);
    clock_refresh();
    assert_true(clock_cached_usec() != 1795221669958289);
}

static void test_follows_by_the_millisecond(void **state) {
    clock_use_fixed(1795221669956789, 5000000123);
    clock_refresh();
    clock_advance_usec(210); /* the millisecond has 211 left */
    clock_follow(clock_monotonic_nsec());
    assert_int_equal(clock_cached_usec(), 1795221669956789);
    clock_advance_usec(1);
    clock_follow(clock_monotonic_nsec());
    assert_int_equal(clock_cached_usec(), 1795221669957000);
    assert_int_equal(clock_cached_msec(), 1795221669957);
    /* Wall time has jumped, back and far ahead: seen when the millisecond is over. */
    for (int i = 0; i < 2; i++) {
        int64_t jumped = i ? INT64_C(2000000000000500) : 1795221000000500;
        clock_use_fixed(jumped - 1000, clock_monotonic_nsec());
        clock_advance_usec(1000);
        clock_follow(clock_monotonic_nsec());
        assert_int_equal(clock_cached_usec(), jumped);
    }
    clock_use_system();
    clock_refresh();
}

static void test_held_time_stands_still(void **state) {
    clock_use_fixed(1795221669956789, 5000000123);
    clock_refresh();
    assert_int_equal(clock_held_usec(), 1795221669956789);
    clock_hold();
    clock_hold();
    clock_advance_usec(5000);
    clock_follow(clock_monotonic_nsec());
    assert_int_equal(clock_cached_msec(), 1795221669961);
    assert_int_equal(clock_held_msec(), 1795221669956);
    clock_let_go();
    clock_refresh();
    assert_int_equal(clock_held_usec(), 1795221669956789);
    clock_let_go();
    assert_int_equal(clock_held_usec(), 1795221669961789);
    clock_advance_usec(5000);
    clock_refresh();
    assert_int_equal(clock_held_msec(), clock_cached_msec());
    clock_use_system();
    clock_refresh();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_system_clocks),
        cmocka_unit_test(test_thread_cpu_counts_work_only),
        cmocka_unit_test(test_fixed_clock_and_cache),
        cmocka_unit_test(test_follows_by_the_millisecond),
        cmocka_unit_test(test_held_time_stands_still),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
