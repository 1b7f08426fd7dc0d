/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of replay/curve_distance against a list that is searched.
 */
#include "replay/curve_distance.h"

#include "base/seed.h"

#define KEYS 40
static uint32_t order[KEYS]; /* the last used first */
static int64_t bytes_of[KEYS];
static unsigned count;

static unsigned find_in_order(uint32_t key) {
    unsigned i = 0;
    while (i < count && order[i] != key) i++;
    return i;
}

static int64_t expected_distance(uint32_t key) {
    unsigned at = find_in_order(key);
    int64_t sum = 0;
    if (at == count) return -1;
    for (unsigned i = 0; i <= at; i++) sum += bytes_of[order[i]];
    return sum;
}

static void leave_order(uint32_t key) {
    unsigned at = find_in_order(key);
    if (at == count) return;
    count--;
    memmove(order + at, order + at + 1, (count - at) * sizeof(order[0]));
}

static void test_against_a_list(void **state) {
    struct curve_distance *d = curve_distance_create(KEYS);
    seed_from_environment();
    for (unsigned step = 0; step < 20000; step++) {
        uint32_t key = (uint32_t)random_below(KEYS);
        int64_t bytes = (int64_t)random_below(1000);
        assert_int_equal(curve_distance_of(d, key), expected_distance(key));
        switch (random_below(8)) {
        case 0:
            curve_distance_remove(d, key);
            leave_order(key);
            break;
        case 1:
            curve_distance_resize(d, key, bytes);
            if (find_in_order(key) < count) bytes_of[key] = bytes;
            break;
        default:
            curve_distance_use(d, key, bytes);
            leave_order(key);
            memmove(order + 1, order, count * sizeof(order[0]));
            order[0] = key;
            count++;
            bytes_of[key] = bytes;
        }
    }
    curve_distance_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_a_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
