/* SPDX-License-Identifier: BSD-3-Clause
 * The load's histogram tells shares to 3 %, the greatest value exactly.
 */
#include "../../measure/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../measure/histogram.c"

static struct histogram h;

static int clear(void **state) {
    h = (struct histogram){.count = 0};
    return 0;
}

static void test_nothing_noted_tells_nothing(void **state) {
    assert_true(histogram_at(&h, 0.5) == 0);
    assert_true(histogram_at(&h, 1) == 0);
}

static void test_shares_of_an_even_row(void **state) {
    for (uint64_t i = 1; i <= 100000; i++) histogram_note(&h, i * 1000, 1);
    for (int percent = 10; percent < 100; percent += 10) {
        double told = histogram_at(&h, percent / 100.0), wanted = percent * 1e6;
        assert_true(told > wanted * 0.97 && told < wanted * 1.03);
    }
    assert_true(histogram_at(&h, 1) == 1e8);
}

static void test_small_values_are_exact(void **state) {
    histogram_note(&h, 3, 5);
    histogram_note(&h, 31, 4);
    assert_true(histogram_at(&h, 0.4) == 3);
    assert_true(histogram_at(&h, 0.9) == 31);
}

static void test_no_share_lies_above_the_greatest(void **state) {
    histogram_note(&h, 1025, 10); /* the least of a slot of 32 */
    assert_true(histogram_at(&h, 0.5) == 1025);
    histogram_note(&h, UINT64_MAX, 1);
    assert_true(histogram_at(&h, 1) == (double)UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_noted_tells_nothing, clear),
        cmocka_unit_test_setup(test_shares_of_an_even_row, clear),
        cmocka_unit_test_setup(test_small_values_are_exact, clear),
        cmocka_unit_test_setup(test_no_share_lies_above_the_greatest, clear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
