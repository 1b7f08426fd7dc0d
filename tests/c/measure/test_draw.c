/* SPDX-License-Identifier: BSD-3-Clause
 * What the load draws follows the laws that it is asked for.
 *
 * The load's files are no part of the library, so this program takes them in whole. Seeds are
 * fixed: the bounds are several standard deviations wide, and the draws are the same in every run.
 */
#include "../../measure/draw.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../measure/draw.c"

#define DRAWS 200000

static void test_numbers_below_a_range_are_even(void **state) {
    struct draw d;
    unsigned counts[10] = {0};
    draw_init(&d, 1);
    for (int i = 0; i < DRAWS; i++) counts[draw_below(&d, 10)]++;
    for (int i = 0; i < 10; i++) assert_in_range(counts[i], DRAWS / 10 - 700, DRAWS / 10 + 700);
}

static void test_another_seed_draws_other_numbers(void **state) {
    struct draw a, b, c;
    draw_init(&a, 1);
    draw_init(&b, 2);
    draw_init(&c, 1);
    uint64_t first = draw_bits(&a);
    assert_int_not_equal(first, draw_bits(&b));
    assert_int_equal(first, draw_bits(&c));
}

/* The share of each of the first ranks is that of its weight in the exact sum. */
static void check_zipf(double exponent) {
    enum { COUNT = 1000 };
    unsigned counts[COUNT + 1] = {0};
    struct draw d;
    struct zipf z;
    double sum = 0;
    draw_init(&d, 3);
    zipf_init(&z, COUNT, exponent);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t rank = zipf_draw(&z, &d);
        assert_in_range(rank, 1, COUNT);
        counts[rank]++;
    }
    for (int i = 1; i <= COUNT; i++) sum += pow(i, -exponent);
    for (int i = 1; i <= 20; i++) {
        double expected = DRAWS * pow(i, -exponent) / sum;
        assert_true(fabs(counts[i] - expected) < 5 * sqrt(expected) + 1);
    }
}

static void test_zipf_ranks_have_their_weights(void **state) {
    check_zipf(0.5);
    check_zipf(0.99);
    check_zipf(1);
    check_zipf(1.5);
}

static void test_one_key_is_always_drawn(void **state) {
    struct draw d;
    struct zipf z;
    draw_init(&d, 4);
    zipf_init(&z, 1, 0.9);
    for (int i = 0; i < 100; i++) assert_int_equal(zipf_draw(&z, &d), 1);
}

static void test_sizes_follow_their_law(void **state) {
    struct draw d;
    struct size_law law;
    draw_init(&d, 5);
    assert_true(size_law_parse("uniform:10:12", 100, &law));
    unsigned counts[13] = {0};
    for (int i = 0; i < 3000; i++) {
        uint64_t size = size_law_draw(&law, &d);
        assert_in_range(size, 10, 12);
        counts[size]++;
    }
    for (int i = 10; i <= 12; i++) assert_in_range(counts[i], 850, 1150);
    assert_true(size_law_parse("lognormal:200:0.8", 5000, &law));
    int below = 0, capped = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint64_t size = size_law_draw(&law, &d);
        assert_in_range(size, 1, 5000);
        below += size < 200;
        capped += size == 5000;
    }
    assert_in_range(below, DRAWS / 2 - 1500, DRAWS / 2 + 1500);
    assert_true(capped > 0);
}

static void test_sizes_that_make_no_sense_are_refused(void **state) {
    struct size_law law;
    static const char *const wrong[] = {"",           "0",           "101",           "-1",
                                        "x",          "10x",         "uniform:5",     "uniform:9:5",
                                        "uniform:5:", "uniform:0:5", "uniform:5:101", "normal:5:1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(size_law_parse(wrong[i], 100, &law));
    assert_true(size_law_parse("100", 100, &law));
}

static void test_constant_arrivals_stand_evenly(void **state) {
    struct draw d;
    struct arrivals a = {.kind = ARRIVAL_CONSTANT};
    draw_init(&d, 6);
    assert_true(arrivals_parse("1000", &a));
    uint64_t last = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t due = arrivals_next(&a, &d);
        assert_in_range(due - last, 999000, 1001000);
        last = due;
    }
}

static void test_poisson_gaps_are_exponential(void **state) {
    struct draw d;
    struct arrivals a = {.kind = ARRIVAL_POISSON};
    draw_init(&d, 7);
    assert_true(arrivals_parse("1000", &a));
    double last = 0, sum = 0, squares = 0;
    for (int i = 0; i < DRAWS; i++) {
        double due = (double)arrivals_next(&a, &d), gap = (due - last) / 1e6;
        sum += gap;
        squares += gap * gap;
        last = due;
    }
    double mean = sum / DRAWS, variance = squares / DRAWS - mean * mean;
    assert_true(fabs(mean - 1) < 0.02);
    assert_true(fabs(variance - 1) < 0.05);
}

static void test_steps_change_the_rate_at_their_moments(void **state) {
    struct draw d;
    struct arrivals a = {.kind = ARRIVAL_POISSON};
    unsigned counts[4] = {0};
    draw_init(&d, 8);
    assert_true(arrivals_parse("0:1000,1:0,2:5000,3:0", &a));
    for (uint64_t due; (due = arrivals_next(&a, &d)) != UINT64_MAX;) {
        assert_true(due < 3000000000u);
        counts[due / 1000000000u]++;
    }
    assert_in_range(counts[0], 850, 1150);
    assert_int_equal(counts[1], 0);
    assert_in_range(counts[2], 4700, 5300);
}

static void test_rates_that_make_no_sense_are_refused(void **state) {
    struct arrivals a = {.kind = ARRIVAL_POISSON};
    static const char *const wrong[] = {"", "x", "-5", "1:5", "0:5,0:6", "0:5,3", "0:5,", "5,6"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(arrivals_parse(wrong[i], &a));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_below_a_range_are_even),
        cmocka_unit_test(test_another_seed_draws_other_numbers),
        cmocka_unit_test(test_zipf_ranks_have_their_weights),
        cmocka_unit_test(test_one_key_is_always_drawn),
        cmocka_unit_test(test_sizes_follow_their_law),
        cmocka_unit_test(test_sizes_that_make_no_sense_are_refused),
        cmocka_unit_test(test_constant_arrivals_stand_evenly),
        cmocka_unit_test(test_poisson_gaps_are_exponential),
        cmocka_unit_test(test_steps_change_the_rate_at_their_moments),
        cmocka_unit_test(test_rates_that_make_no_sense_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
