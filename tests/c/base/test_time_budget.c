/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of base/time_budget: no window holds more than the share, the share is really given, debt
 * is paid, and a turn gets its grant once.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "base/time_budget.h"

#include "base/seed.h"

#define MSEC INT64_C(1000000)
#define WINDOW (TIME_BUDGET_WINDOW_MSEC * MSEC)
#define SPENDINGS_MAX 200000

static struct { int64_t begin, end; } spent[SPENDINGS_MAX];
static int spent_count;

static void spend(struct time_budget *b, int64_t begin, int64_t end) {
    assert_true(spent_count < SPENDINGS_MAX);
    time_budget_spend(b, begin, end);
    spent[spent_count].begin = begin;
    spent[spent_count++].end = end;
}

/* The most that any window holds: one that ends with a spending holds no less than its neighbours.
 */
static int64_t fullest_window(void) {
    int64_t fullest = 0, sum = 0;
    int first = 0;
    for (int i = 0; i < spent_count; i++) {
        int64_t from = spent[i].end - WINDOW;
        sum += spent[i].end - spent[i].begin;
        while (spent[first].end <= from) {
            sum -= spent[first].end - spent[first].begin;
            first++;
        }
        int64_t outside = spent[first].begin < from ? from - spent[first].begin : 0;
        if (sum - outside > fullest) fullest = sum - outside;
    }
    return fullest;
}

/* Turns and steps of random length, all the time there is work. */
static int64_t run(struct time_budget *b, int64_t share, int64_t step_max, int64_t length) {
    int64_t start = 1000 * MSEC + (int64_t)random_below(1000000), now = start, total = 0;
    spent_count = 0;
    time_budget_start(b, share, now);
    while (now < start + length) {
        time_budget_turn(b);
        for (int command = 0; command < 20; command++) {
            while (time_budget_left(b, now) > 0) {
                int64_t step = 1 + (int64_t)random_below((uint64_t)step_max);
                spend(b, now, now + step);
                now += step;
                total += step;
            }
            now += (int64_t)random_below(50000);
        }
    }
    assert_in_range(total, (uint64_t)((now - start) / 100 * share * 9 / 10),
                    (uint64_t)((now - start) / 100 * share + share * MSEC + step_max));
    return total;
}

static void test_share_holds_in_any_window(void **state) {
    static const int64_t shares[] = {1, 2, 5, 10, 25, 50, 90, 99};
    struct time_budget b;
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        int64_t step_max = 50000;
        run(&b, shares[i], step_max, 3000 * MSEC);
        int64_t fullest = fullest_window();
        assert_in_range(fullest, 1, shares[i] * MSEC + step_max);
    }
}

static void test_a_turn_gets_its_grant_once(void **state) {
    struct time_budget b;
    time_budget_start(&b, 10, 500 * MSEC);
    time_budget_turn(&b);
    int64_t granted = time_budget_left(&b, 500 * MSEC);
    assert_int_equal(granted, MSEC); /* a tenth of the window's share */
    spend(&b, 500 * MSEC, 500 * MSEC + granted);
    assert_true(time_budget_left(&b, 501 * MSEC) <= 0);
    /* However long the turn lasts. */
    assert_true(time_budget_left(&b, 560 * MSEC) <= 0);
    time_budget_turn(&b);
    assert_int_equal(time_budget_left(&b, 560 * MSEC), MSEC);
}

static void test_debt_is_paid(void **state) {
    struct time_budget b;
    int64_t now = 700 * MSEC;
    time_budget_start(&b, 10, now);
    spend(&b, now, now + 31 * MSEC); /* 30 more than there was: 300 ms of the share */
    now += 31 * MSEC;
    int64_t free_at = 0;
    for (int64_t passed = 0; passed < 400 && !free_at; passed++) {
        time_budget_turn(&b);
        if (time_budget_left(&b, now + passed * MSEC) > 0) free_at = passed;
    }
    assert_in_range(free_at, 265, 275); /* the 31 ms themselves have paid 3.1 of it */
}

/* A pause of any length, and a step longer than the window. */
static void test_long_times(void **state) {
    struct time_budget b;
    time_budget_start(&b, 50, 0);
    spend(&b, 0, 1000 * MSEC);
    time_budget_turn(&b);
    assert_true(time_budget_left(&b, 1000 * MSEC) < 0);
    time_budget_turn(&b);
    assert_true(time_budget_left(&b, INT64_C(100000000) * MSEC) > 0);
    assert_int_equal(b.window_nsec, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_holds_in_any_window),
        cmocka_unit_test(test_a_turn_gets_its_grant_once),
        cmocka_unit_test(test_debt_is_paid),
        cmocka_unit_test(test_long_times),
    };
    seed_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
