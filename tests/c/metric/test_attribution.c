/* SPDX-License-Identifier: BSD-3-Clause
 * Off-CPU time: what is a command's, what is a turn's, and what is nobody's. Wall time is given;
 * the CPU clock is the thread's own, so that a test burns what it wants to have used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "metric/attribution.h"
#include "metric/latency.h"

#define MSEC INT64_C(1000000)
#define BEGIN (1000 * MSEC)
/* CPU time that the test itself may use between two of its steps. */
#define SLACK_USEC 10000

static void burn(int64_t nsec) {
    int64_t until = clock_thread_cpu_nsec() + nsec;
    while (clock_thread_cpu_nsec() < until) continue;
}

static int begin(void **state) {
    attribution_set(true);
    attribution_reset();
    attribution_start(BEGIN, clock_thread_cpu_nsec());
    return 0;
}

static int end(void **state) {
    latency_set_threshold_msec(0);
    latency_reset_all();
    return 0;
}

static void test_command_that_did_not_run(void **state) {
    struct attribution_span span;
    attribution_command_begin(BEGIN);
    attribution_explain(BEGIN, BEGIN + 200 * MSEC, &span);
    assert_int_equal(span.wall_usec, 200000);
    assert_int_equal(span.cpu_usec + span.off_cpu_usec, span.wall_usec);
    assert_in_range(span.off_cpu_usec, 200000 - SLACK_USEC, 200000);
    assert_true(span.involuntary_switches >= 0);
}

static void test_command_that_worked(void **state) {
    struct attribution_span span;
    attribution_command_begin(BEGIN);
    burn(50 * MSEC);
    attribution_explain(BEGIN, BEGIN + 50 * MSEC, &span);
    assert_int_equal(span.off_cpu_usec, 0);
    assert_int_equal(span.cpu_usec, 50000);
}

static void test_mixed_command(void **state) {
    struct attribution_span span;
    attribution_command_begin(BEGIN);
    burn(50 * MSEC);
    attribution_explain(BEGIN, BEGIN + 150 * MSEC, &span);
    assert_in_range(span.cpu_usec, 50000, 50000 + SLACK_USEC);
    assert_in_range(span.off_cpu_usec, 100000 - SLACK_USEC, 100000);
}

/* The thread stands still in a read; then a command works. */
static void test_time_before_a_command_is_not_its_own(void **state) {
    struct attribution_span span;
    int64_t start = BEGIN + 300 * MSEC;
    attribution_command_begin(start);
    burn(30 * MSEC);
    attribution_explain(start, start + 30 * MSEC, &span);
    assert_int_equal(span.off_cpu_usec, 0);
    assert_in_range(attribution_sums().off_cpu_nsec, 290 * MSEC, 300 * MSEC);
}

static void test_wait_is_nobodys(void **state) {
    attribution_waited(BEGIN, BEGIN + 500 * MSEC);
    attribution_turn_end(BEGIN + 500 * MSEC, clock_thread_cpu_nsec());
    assert_int_equal(attribution_sums().off_cpu_nsec, 0);
    assert_int_equal(attribution_sums().off_cpu_turn_nsec_max, 0);
}

static void test_unclaimed_time_is_an_event(void **state) {
    latency_set_threshold_msec(50);
    attribution_turn_end(BEGIN + 80 * MSEC, clock_thread_cpu_nsec());
    assert_in_range(attribution_sums().unclaimed_nsec, 70 * MSEC, 80 * MSEC);
    assert_non_null(latency_find(SLICE("off-cpu")));
}

static void test_claimed_time_is_no_event(void **state) {
    struct attribution_span span;
    latency_set_threshold_msec(50);
    attribution_command_begin(BEGIN);
    attribution_explain(BEGIN, BEGIN + 80 * MSEC, &span);
    attribution_turn_end(BEGIN + 80 * MSEC, clock_thread_cpu_nsec());
    assert_in_range(attribution_sums().off_cpu_turn_nsec_max, 70 * MSEC, 80 * MSEC);
    assert_true(attribution_sums().unclaimed_nsec < (uint64_t)MSEC);
    assert_null(latency_find(SLICE("off-cpu")));
}

static struct cause evicting = {.name = "evicting", .place = 1},
                    expiring = {.name = "expiring", .place = 2},
                    freeing = {.name = "freeing", .place = 3};

static void test_causes_within_a_command(void **state) {
    struct attribution_span span;
    const struct cause *outer = cause_enter(&evicting, BEGIN - 20 * MSEC);
    cause_leave(outer, BEGIN - 10 * MSEC); /* before the command */
    attribution_command_begin(BEGIN);
    outer = cause_enter(&evicting, BEGIN + MSEC);
    const struct cause *inner = cause_enter(&freeing, BEGIN + 3 * MSEC);
    cause_leave(inner, BEGIN + 4 * MSEC);
    cause_leave(outer, BEGIN + 6 * MSEC);
    attribution_explain(BEGIN, BEGIN + 10 * MSEC, &span);
    assert_int_equal(span.cause_usec[evicting.number], 4000);
    assert_int_equal(span.cause_usec[freeing.number], 1000);
    assert_int_equal(span.cause_usec[expiring.number], 0);
}

/* A command runs two others: the outer one's account is from its own begin on. */
static void test_commands_within_a_command(void **state) {
    struct attribution_nesting outer;
    struct attribution_span span;
    attribution_command_begin(BEGIN);
    cause_leave(cause_enter(&evicting, BEGIN + MSEC), BEGIN + 3 * MSEC);
    attribution_nest_begin(&outer);
    attribution_command_begin(BEGIN + 10 * MSEC);
    attribution_explain(BEGIN + 10 * MSEC, BEGIN + 60 * MSEC, &span);
    assert_in_range(span.off_cpu_usec, 50000 - SLACK_USEC, 50000);
    assert_int_equal(span.cause_usec[evicting.number], 0);
    attribution_command_begin(BEGIN + 60 * MSEC);
    cause_leave(cause_enter(&expiring, BEGIN + 61 * MSEC), BEGIN + 66 * MSEC);
    burn(20 * MSEC);
    attribution_explain(BEGIN + 60 * MSEC, BEGIN + 80 * MSEC, &span);
    assert_int_equal(span.cause_usec[expiring.number], 5000);
    attribution_nest_end(&outer);
    attribution_explain(BEGIN, BEGIN + 100 * MSEC, &span);
    assert_in_range(span.cpu_usec, 20000, 20000 + SLACK_USEC);
    assert_int_equal(span.cause_usec[evicting.number], 2000);
    assert_int_equal(span.cause_usec[expiring.number], 5000);
}

static void test_switched_off(void **state) {
    struct attribution_span span;
    attribution_set(false);
    attribution_command_begin(BEGIN);
    attribution_explain(BEGIN, BEGIN + 10 * MSEC, &span);
    attribution_turn_end(BEGIN + 10 * MSEC, clock_thread_cpu_nsec());
    assert_int_equal(span.wall_usec, 10000);
    assert_int_equal(span.cpu_usec, -1);
    assert_int_equal(span.off_cpu_usec, -1);
    assert_int_equal(attribution_sums().off_cpu_nsec, 0);
}

int main(void) {
    cause_register(&evicting);
    cause_register(&expiring);
    cause_register(&freeing);
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(test_command_that_did_not_run),
        CASE(test_command_that_worked),
        CASE(test_mixed_command),
        CASE(test_time_before_a_command_is_not_its_own),
        CASE(test_wait_is_nobodys),
        CASE(test_unclaimed_time_is_an_event),
        CASE(test_claimed_time_is_no_event),
        CASE(test_causes_within_a_command),
        CASE(test_commands_within_a_command),
        CASE(test_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
