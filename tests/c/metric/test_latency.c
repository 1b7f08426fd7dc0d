/* SPDX-License-Identifier: BSD-3-Clause
 * The latency monitor: threshold, one sample a second, the ring, reset, bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "metric/latency.h"

#define SECOND_USEC 1000000

static int begin(void **state) {
    clock_use_fixed((int64_t)1000 * SECOND_USEC, 0);
    latency_set_threshold_msec(10);
    return 0;
}

static int end(void **state) {
    latency_reset_all();
    latency_set_threshold_msec(0);
    clock_use_system();
    return 0;
}

static const struct latency_event *find(const char *name) { return latency_find(slice_of(name)); }

static void test_off(void **state) {
    latency_set_threshold_msec(0);
    assert_false(latency_is_on());
    latency_note("command", 1000);
    assert_int_equal(latency_event_count(), 0);
    assert_null(find("command"));
}

static void test_threshold(void **state) {
    assert_true(latency_is_on());
    latency_note("command", 9);
    assert_int_equal(latency_event_count(), 0);
    latency_note("command", 10);
    assert_int_equal(latency_event_count(), 1);
    const struct latency_event *e = find("command");
    assert_string_equal(latency_event_name(e), "command");
    assert_int_equal(latency_sample_count(e), 1);
    assert_int_equal(latency_sample_at(e, 0).msec, 10);
    assert_int_equal(latency_sample_at(e, 0).wall_seconds, 1000);
    assert_null(find("COMMAND"));
    assert_null(find("comman"));
}

static void test_longest_of_a_second(void **state) {
    latency_note("fork", 20);
    latency_note("fork", 50);
    latency_note("fork", 30);
    const struct latency_event *e = find("fork");
    assert_int_equal(latency_sample_count(e), 1);
    assert_int_equal(latency_sample_at(e, 0).msec, 50);
    clock_advance_usec(SECOND_USEC);
    latency_note("fork", 30);
    assert_int_equal(latency_sample_count(e), 2);
    assert_int_equal(latency_sample_at(e, 0).msec, 50);
    assert_int_equal(latency_sample_at(e, 1).msec, 30);
    assert_int_equal(latency_sample_at(e, 1).wall_seconds, 1001);
    assert_int_equal(latency_event_msec_max(e), 50);
}

/* Old samples give way, the longest ever stays. */
static void test_ring(void **state) {
    for (int i = 0; i < 3 * LATENCY_SAMPLES_MAX; i++) {
        latency_note("command", i == 0 ? 9999 : 100 + i);
        const struct latency_event *e = find("command");
        size_t count = (size_t)i + 1 < LATENCY_SAMPLES_MAX ? (size_t)i + 1 : LATENCY_SAMPLES_MAX;
        assert_int_equal(latency_sample_count(e), count);
        for (size_t back = 0; back < count; back++) {
            int sample = i - (int)back;
            struct latency_sample s = latency_sample_at(e, count - 1 - back);
            assert_int_equal(s.msec, sample == 0 ? 9999 : 100 + sample);
            assert_int_equal(s.wall_seconds, 1000 + sample);
        }
        assert_int_equal(latency_event_msec_max(e), 9999);
        clock_advance_usec(SECOND_USEC);
    }
}

static void test_reset(void **state) {
    latency_note("a", 10);
    latency_note("b", 10);
    latency_note("c", 10);
    assert_int_equal(latency_reset(SLICE("nosuch")), 0);
    assert_int_equal(latency_reset(SLICE("B")), 1);
    assert_int_equal(latency_reset(SLICE("b")), 0);
    assert_int_equal(latency_event_count(), 2);
    assert_string_equal(latency_event_name(latency_event_at(0)), "a");
    assert_string_equal(latency_event_name(latency_event_at(1)), "c");
    latency_note("b", 20);
    assert_int_equal(latency_event_msec_max(find("b")), 20);
    assert_int_equal(latency_reset_all(), 3);
    assert_int_equal(latency_reset_all(), 0);
}

/* Reset ignores the case, nothing else does. */
static void test_reset_of_several(void **state) {
    latency_note("x", 10);
    latency_note("X", 10);
    latency_note("y", 10);
    assert_int_equal(latency_event_count(), 3);
    assert_int_equal(latency_reset(SLICE("x")), 2);
    assert_int_equal(latency_event_count(), 1);
    assert_non_null(find("y"));
}

static void test_bounded(void **state) {
    size_t before = memory_used(MEMORY_OTHER);
    for (int i = 0; i < 10 * LATENCY_EVENTS_MAX; i++) {
        char name[32];
        snprintf(name, sizeof(name), "event-%d", i);
        latency_note(name, 10);
    }
    assert_int_equal(latency_event_count(), LATENCY_EVENTS_MAX);
    assert_non_null(find("event-0"));
    latency_note("event-0", 77);
    assert_int_equal(latency_event_msec_max(find("event-0")), 77);
    assert_int_equal(latency_reset_all(), LATENCY_EVENTS_MAX);
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_off),     TEST(test_threshold), TEST(test_longest_of_a_second),
        TEST(test_ring),    TEST(test_reset),     TEST(test_reset_of_several),
        TEST(test_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
