/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of clusterctl/ctl_balance: transfers as 6.2 plans them, and what holds for any weights.
 */
#include "clusterctl/ctl_balance.h"

#include "base/key_slot.h"
#include "base/seed.h"

#define SCALES_MAX 8

static struct ctl_scale scales[SCALES_MAX];
static struct ctl_transfer transfers[SCALES_MAX];

static void test_plans(void **state) {
    const struct {
        unsigned slots[4];
        double weights[4]; /* below 0 = takes no part */
        double threshold;
        const char *plan; /* from>to:slots */
    } rows[] = {
        {{5461, 5462, 5461, 0}, {1, 1, 1, -1}, 2, ""},
        {{5469, 5459, 5456, 0}, {1, 1, 1, -1}, 0.01, "0>2:5 0>1:3 "},
        {{5469, 5459, 5456, 0}, {2, 1, 0.5, -1}, 2, "2>0:3116 1>0:778 "},
        {{5461, 5462, 5461, 0}, {1, 1, 1, 1}, 2, "1>3:1366 2>3:1365 0>3:1365 "},
        {{16384, 0, 0, 0}, {0, 1, -1, -1}, 2, "0>1:16384 "},
        {{8192, 8192, 0, 0}, {1, 1, -1, -1}, 0, ""},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char plan[256] = "";
        for (size_t i = 0; i < 4; i++)
            scales[i] = (struct ctl_scale){.slots = rows[row].slots[i],
                                           .weight = rows[row].weights[i],
                                           .takes_part = rows[row].weights[i] >= 0};
        bool far = ctl_balance_weigh(scales, 4, rows[row].threshold);
        size_t count = far ? ctl_balance_plan(scales, 4, transfers) : 0;
        for (size_t i = 0; i < count; i++) {
            size_t used = strlen(plan);
            snprintf(plan + used, sizeof(plan) - used, "%zu>%zu:%u ", transfers[i].from,
                     transfers[i].to, transfers[i].slots);
        }
        assert_string_equal(plan, rows[row].plan);
    }
}

/* At random: nobody gives more than it has; afterwards each has its part, give or take what the
 * floors left over. */
static void test_random(void **state) {
    for (int round = 0; round < 1000; round++) {
        size_t count = 1 + random_below(SCALES_MAX);
        unsigned left = KEY_SLOTS;
        double weights = 0;
        for (size_t i = 0; i < count; i++) {
            unsigned part = i == count - 1 ? left : (unsigned)random_below(left + 1);
            left -= part;
            scales[i] = (struct ctl_scale){part, (double)(1 + random_below(9)), true, 0};
            weights += scales[i].weight;
        }
        (void)ctl_balance_weigh(scales, count, 0);
        size_t planned = ctl_balance_plan(scales, count, transfers);
        assert_true(planned <= count);
        for (size_t i = 0; i < planned; i++) {
            assert_true(transfers[i].slots <= scales[transfers[i].from].slots);
            scales[transfers[i].from].slots -= transfers[i].slots;
            scales[transfers[i].to].slots += transfers[i].slots;
        }
        for (size_t i = 0; i < count; i++) {
            double part = KEY_SLOTS / weights * scales[i].weight;
            assert_true(scales[i].slots + SCALES_MAX >= part);
            assert_true(scales[i].slots <= part + SCALES_MAX);
        }
    }
}

static int seed_once(void **state) {
    seed_from_environment();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans), cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, seed_once, NULL);
}
