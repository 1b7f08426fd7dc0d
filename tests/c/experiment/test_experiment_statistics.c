/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of experiment/experiment_statistics: false alarms where arms are equal, differences that
 * are found, and the order statistics.
 *
 * The tests of false alarms draw many experiments from one seed, which is fixed: a rate has a
 * spread, and a test must not fail now and then.
 */
#include "experiment/experiment_statistics.h"

#include <math.h>

#include "base/seed.h"

#define ARMS_MAX 4
#define ROUNDS_MAX 20
#define FIGURES_HERE 6

static double values[FIGURES_HERE * ROUNDS_MAX * ARMS_MAX];
static double p[FIGURES_HERE * ARMS_MAX * ARMS_MAX];
static const bool shares[FIGURES_HERE] = {false, false, true, false, false, true};
static const unsigned chosen[FIGURES_HERE] = {0, 1, 2, 3, 4, 5};

static double *value_at(const struct experiment_figures *f, unsigned figure, unsigned round,
                        unsigned arm) {
    return &values[(figure * f->rounds + round) * f->arms + arm];
}

/* Noise with rare great values, with steps, with a drift, and with hardly any variation. */
static void draw_noise(const struct experiment_figures *f) {
    for (unsigned round = 0; round < f->rounds; round++) {
        for (unsigned arm = 0; arm < f->arms; arm++) {
            double u = random_double();
            *value_at(f, 0, round, arm) = 50 / (u + 0.001);
            *value_at(f, 1, round, arm) = 100 + round * 20 + u;
            *value_at(f, 2, round, arm) = u < 0.5 ? 0 : 1;
            *value_at(f, 3, round, arm) = (double)random_below(3);
            *value_at(f, 4, round, arm) = 7;
            *value_at(f, 5, round, arm) = u < 0.1 ? NAN : u;
        }
    }
}

/* The least p of all pairs of the figures. */
static double least_p(const struct experiment_figures *f) {
    double least = 1;
    for (unsigned i = 0; i < FIGURES_HERE * f->arms * f->arms; i++)
        if (p[i] < least) least = p[i];
    return least;
}

static unsigned count_alarms(unsigned arms, unsigned rounds, unsigned runs) {
    const struct experiment_figures f = {rounds, arms, values, shares};
    unsigned alarms = 0;
    for (unsigned run = 0; run < runs; run++) {
        random_seed(1000 * arms + run);
        draw_noise(&f);
        experiment_compare(&f, chosen, FIGURES_HERE, run + 1, p);
        alarms += least_p(&f) <= EXPERIMENT_LIMIT_P;
    }
    return alarms;
}

static void test_equal_arms(void **state) {
    /* At 0.5 percent 2 alarms are expected in 400 runs; more than 7 have a chance of 1 in 1,000. */
    assert_in_range(count_alarms(2, 10, 400), 0, 7);
    assert_in_range(count_alarms(4, 6, 40), 0, 2);
}

static void test_a_difference_is_found(void **state) {
    const struct experiment_figures f = {10, 4, values, shares};
    for (unsigned run = 0; run < 5; run++) {
        random_seed(run + 1);
        draw_noise(&f);
        /* The last arm takes half as long in figure 1 as the others: far above its noise. */
        for (unsigned round = 0; round < 10; round++) *value_at(&f, 1, round, 3) /= 2;
        experiment_compare(&f, chosen, FIGURES_HERE, run + 1, p);
        for (unsigned i = 0; i < 3; i++) {
            assert_true(p[1 * 16 + i * 4 + 3] <= EXPERIMENT_LIMIT_P);
            assert_true(p[1 * 16 + i * 4 + 3] == p[1 * 16 + 3 * 4 + i]);
        }
        assert_true(p[1 * 16 + 0 * 4 + 1] > EXPERIMENT_LIMIT_P);
        assert_true(p[1 * 16 + 2 * 4 + 2] == 1);
    }
}

static void test_a_spoilt_round_hides_nothing(void **state) {
    const struct experiment_figures f = {20, 2, values, shares};
    for (unsigned figure = 0; figure < 3; figure += 2) { /* one by logarithms, and a share */
        random_seed(3);
        for (unsigned round = 0; round < 20; round++) {
            *value_at(&f, figure, round, 0) = 1 + random_double() / 4;
            *value_at(&f, figure, round, 1) = 3 + random_double() / 4;
        }
        *value_at(&f, figure, 11, 0) = 90;
        experiment_compare(&f, &chosen[figure], 1, 1, p);
        assert_true(p[figure * 4 + 1] <= EXPERIMENT_LIMIT_P);
    }
}

static void test_two_arms_try_all_permutations(void **state) {
    const struct experiment_figures f = {9, 2, values, shares};
    for (unsigned round = 0; round < 9; round++) {
        *value_at(&f, 0, round, 0) = 10 + round;
        *value_at(&f, 0, round, 1) = 20 + round * 3;
    }
    experiment_compare(&f, chosen, 1, 1, p);
    assert_true(p[1] == 2.0 / 512);
    assert_int_equal(experiment_rounds_least(2), 9);
    assert_int_equal(experiment_rounds_least(4), 5);
    assert_int_equal(experiment_rounds_least(32), 3);
}

static void test_nothing_known(void **state) {
    const struct experiment_figures f = {10, 2, values, shares};
    for (unsigned i = 0; i < 20; i++) values[i] = NAN;
    experiment_compare(&f, chosen, 1, 1, p);
    assert_true(p[1] == 1);
    assert_true(isnan(experiment_spread_of(values, 10, 2).median));
    assert_true(isnan(experiment_change_of(&f, 0, 0, 1).median));
}

static void test_order_statistics(void **state) {
    const double some[] = {4, NAN, 1, 2, 3, 5};
    struct experiment_spread spread = experiment_spread_of(some, 6, 1);
    assert_true(spread.median == 3 && spread.low == 2 && spread.high == 4);
    spread = experiment_spread_of(some, 3, 2);
    assert_true(spread.median == 3 && spread.low == 2 && spread.high == 3.5);

    const struct experiment_figures f = {10, 2, values, shares};
    for (unsigned round = 0; round < 10; round++) {
        *value_at(&f, 0, round, 0) = 100;
        *value_at(&f, 0, round, 1) = 101 + round;
    }
    struct experiment_change change = experiment_change_of(&f, 0, 0, 1);
    /* Of ten the second and the ninth: 1 - 2 * 11 / 1024 = 97.9 percent. */
    assert_true(change.is_ratio);
    assert_true(fabs(change.median - 0.055) < 1e-9);
    assert_true(fabs(change.low - 0.02) < 1e-9 && fabs(change.high - 0.09) < 1e-9);
    *value_at(&f, 0, 3, 0) = 0;
    change = experiment_change_of(&f, 0, 0, 1);
    assert_false(change.is_ratio);
    assert_true(change.low == 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_arms),
        cmocka_unit_test(test_a_difference_is_found),
        cmocka_unit_test(test_a_spoilt_round_hides_nothing),
        cmocka_unit_test(test_two_arms_try_all_permutations),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_order_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
