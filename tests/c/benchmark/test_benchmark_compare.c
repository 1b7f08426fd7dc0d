/* SPDX-License-Identifier: BSD-3-Clause
 * Ratios of two servers over rounds.
 */
#include "benchmark/benchmark_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_close(double value, double expected) {
    assert_true(value > expected - 1e-9 && value < expected + 1e-9);
}

static void test_a_ratio_is_of_pairs(void **state) {
    /* The machine gets twice as fast in the third round; the ratio does not change. */
    const double first[] = {100, 110, 220}, second[] = {50, 55, 110};
    struct benchmark_ratio r = benchmark_ratio_of(first, second, 3);
    assert_close(r.first, 110);
    assert_close(r.second, 55);
    assert_close(r.median, 2);
    assert_close(r.least, 2);
    assert_close(r.most, 2);
}

static void test_spread_and_even_numbers(void **state) {
    const double first[] = {4, 1, 2, 3}, second[] = {1, 1, 1, 1};
    struct benchmark_ratio r = benchmark_ratio_of(first, second, 4);
    assert_close(r.median, 2.5);
    assert_close(r.least, 1);
    assert_close(r.most, 4);
}

static void test_nothing_to_divide_by(void **state) {
    const double first[] = {4, 6}, second[] = {0, 2}, none[] = {0, 0};
    struct benchmark_ratio r = benchmark_ratio_of(first, second, 2);
    assert_close(r.median, 3);
    r = benchmark_ratio_of(first, none, 2);
    assert_close(r.median, 0);
    assert_close(r.most, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_ratio_is_of_pairs),
        cmocka_unit_test(test_spread_and_even_numbers),
        cmocka_unit_test(test_nothing_to_divide_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
