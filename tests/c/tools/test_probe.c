/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of tools/probe: times of answers by a clock of the test's own.
 */
#include "tools/probe.h"

#include "base/seed.h"
#include "tools/figures.h"

#define MSEC INT64_C(1000000)

static struct probe *probe;

static int begin(void **state) {
    probe = probe_create();
    return 0;
}

static int end(void **state) {
    probe_free(probe);
    return 0;
}

/* So many answers come at once. */
static void answer(int count, int64_t now_nsec) {
    while (count-- > 0) probe_answered(probe, now_nsec);
}

static void test_quantiles(void **state) {
    for (int i = 0; i < 100; i++) probe_sends(probe, i * MSEC);
    /* Answered in order; each takes a millisecond more than the one before. */
    for (int i = 0; i < 100; i++) answer(1, 2 * i * MSEC + MSEC);
    struct figures_measured measured = {.now_nsec = 0};
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 100);
    assert_int_equal(measured.probe_p50_usec, 50000);
    assert_int_equal(measured.probe_p99_usec, 99000);
    assert_int_equal(measured.probe_max_usec, 100000);
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 0);
    /* Of three, half are two: ranks are rounded up. */
    for (int i = 0; i < 3; i++) probe_sends(probe, 0);
    for (int i = 1; i <= 3; i++) answer(1, i * MSEC);
    probe_collect(probe, &measured);
    assert_int_equal(measured.probe_p50_usec, 2000);
    assert_int_equal(measured.probe_p99_usec, 3000);
    assert_int_equal(measured.probe_max_usec, 3000);
}

static void test_a_stall_counts_for_each_probe(void **state) {
    for (int i = 0; i < 10; i++) probe_sends(probe, i * 5 * MSEC);
    assert_int_equal(probe_waiting_nsec(probe, 100 * MSEC), 100 * MSEC);
    answer(4, 100 * MSEC);
    assert_int_equal(probe_waiting_nsec(probe, 100 * MSEC), 80 * MSEC);
    answer(6, 100 * MSEC);
    assert_int_equal(probe_waiting_nsec(probe, 200 * MSEC), 0);
    struct figures_measured measured = {.now_nsec = 0};
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 10);
    assert_int_equal(measured.probe_max_usec, 100000);
    assert_int_equal(measured.probe_p50_usec, 75000); /* 55, 60 ... 100 */
}

/* Answers that waited while this process was stopped say nothing about the server. */
static void test_stopped_and_continued(void **state) {
    for (int i = 0; i < 3; i++) probe_sends(probe, i * MSEC);
    answer(1, 3 * MSEC);
    probe_resume(probe, 9000 * MSEC);
    assert_int_equal(probe_waiting_nsec(probe, 9005 * MSEC), 5 * MSEC);
    probe_sends(probe, 9001 * MSEC);
    answer(3, 9002 * MSEC);
    struct figures_measured measured = {.now_nsec = 0};
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 2);
    assert_int_equal(measured.probe_max_usec, 3000);
    probe_sends(probe, 9003 * MSEC);
    answer(1, 9004 * MSEC);
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 1);
}

static void test_unanswered_ones_are_bounded(void **state) {
    for (int i = 0; i < PROBE_UNANSWERED_MAX; i++) {
        assert_true(probe_may_send(probe));
        probe_sends(probe, i);
    }
    assert_int_equal(probe_sent(probe), PROBE_UNANSWERED_MAX);
    assert_false(probe_may_send(probe));
    probe_restart(probe);
    assert_int_equal(probe_sent(probe), 0);
    assert_int_equal(probe_waiting_nsec(probe, MSEC), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_quantiles, begin, end),
        cmocka_unit_test_setup_teardown(test_a_stall_counts_for_each_probe, begin, end),
        cmocka_unit_test_setup_teardown(test_stopped_and_continued, begin, end),
        cmocka_unit_test_setup_teardown(test_unanswered_ones_are_bounded, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
