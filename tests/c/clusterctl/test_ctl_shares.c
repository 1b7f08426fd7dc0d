/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of clusterctl/ctl_shares: parts of a reshard as 6.2 cuts them.
 */
#include "clusterctl/ctl_shares.h"

#include "base/seed.h"

#define SOURCES_MAX 3
#define WANTED_MAX 20

static struct ctl_slots sets[SOURCES_MAX];
static const struct ctl_slots *sources[SOURCES_MAX] = {&sets[0], &sets[1], &sets[2]};
static struct ctl_share shares[WANTED_MAX];

static void test_plans(void **state) {
    const struct {
        const char *slots[SOURCES_MAX];
        size_t wanted;
        const char *plan; /* source:slot */
    } rows[] = {
        {{"0-99", "100-199", NULL}, 4, "0:0 0:1 1:100 1:101 "},
        {{"0-99", "100-199", NULL}, 5, "0:0 0:1 0:2 1:100 1:101 "},
        {{"0-99", "100-200", NULL}, 5, "1:100 1:101 1:102 0:0 0:1 "},
        {{"0-9", "10-19", "20-29"}, 5, "0:0 0:1 1:10 2:20 "}, /* floors: 4 of 5 */
        {{"7", NULL, NULL}, 5, "0:7 "},
        {{NULL, "3", NULL}, 1, "1:3 "},
        {{NULL, NULL, NULL}, 3, ""},
        {{"0-1", "5-6", NULL}, 20, "0:0 0:1 1:5 1:6 "},
        {{"0-9", NULL, NULL}, 0, ""},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        char plan[256] = "";
        for (size_t i = 0; i < SOURCES_MAX; i++) {
            sets[i] = (struct ctl_slots){0};
            if (rows[row].slots[i])
                assert_true(ctl_slots_parse(&sets[i], slice_of(rows[row].slots[i])));
        }
        size_t count = ctl_shares_plan(sources, SOURCES_MAX, rows[row].wanted, shares);
        for (size_t i = 0; i < count; i++) {
            size_t used = strlen(plan);
            snprintf(plan + used, sizeof(plan) - used, "%zu:%u ", shares[i].source, shares[i].slot);
        }
        assert_string_equal(plan, rows[row].plan);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
