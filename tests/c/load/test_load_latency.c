/* SPDX-License-Identifier: BSD-3-Clause
 * Latencies in slots against the same values sorted.
 */
#include "load/load_latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/memory.h"

#define VALUES 20000

static uint64_t values[VALUES];

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct load_latency *create(void) {
    return memory_zalloc(sizeof(struct load_latency), MEMORY_OTHER);
}

static uint64_t values[VALUES];

static void test_percentiles_are_those_of_the_sorted_values(void **state) {
    static const double shares[] = {0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.9999, 1};
    struct load_latency *l = create();
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < VALUES; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        values[i] = x >> (34 + x % 30); /* microseconds of all sizes */
        load_latency_note(l, (int64_t)values[i] * 1000 + 999, 1);
    }
    qsort(values, VALUES, sizeof(values[0]), compare);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        size_t rank = (size_t)(shares[i] * VALUES);
        if (rank * 1.0 < shares[i] * VALUES) rank++;
        uint64_t exact = values[rank ? rank - 1 : 0];
        uint64_t found = load_latency_usec_at(l, shares[i]);
        assert_in_range(found, exact, exact < 2048 ? exact : exact + exact / 1000);
    }
    assert_int_equal(l->least_usec, values[0]);
    assert_int_equal(l->most_usec, values[VALUES - 1]);
    assert_int_equal(load_latency_count_to(l, values[VALUES - 1]), VALUES);
    memory_free(l, MEMORY_OTHER);
}

static void test_the_next_latency(void **state) {
    struct load_latency *l = create();
    assert_int_equal(load_latency_next_usec(l, 0), 0);
    load_latency_note(l, 0, 1);
    load_latency_note(l, INT64_C(70) * 1000, 1);
    load_latency_note(l, INT64_C(300000001) * 1000, 1);
    load_latency_note(l, INT64_MAX, 1);
    assert_int_equal(load_latency_next_usec(l, 0), 70);
    assert_int_equal(load_latency_next_usec(l, 69), 70);
    /* The least of a slot, which begins at or before the latency itself. */
    uint64_t found = load_latency_next_usec(l, 70);
    assert_in_range(found, 300000001 - 300000001 / 1000, 300000001);
    assert_int_equal(load_latency_count_to(l, found - 1), 2);
    assert_int_equal(load_latency_count_to(l, found), 3);
    assert_true(load_latency_next_usec(l, found) > found);
    assert_int_equal(load_latency_next_usec(l, UINT64_MAX), 0);
    memory_free(l, MEMORY_OTHER);
}

static void test_times_and_sums(void **state) {
    struct load_latency *a = create(), *b = create();
    load_latency_note(a, 1500000, 3);
    load_latency_note(b, 500000, 1);
    load_latency_note(b, -7, 1); /* clocks of two processors: counts as 0 */
    load_latency_add(a, b);
    assert_int_equal(a->count, 5);
    assert_int_equal(a->least_usec, 0);
    assert_int_equal(a->most_usec, 1500);
    assert_int_equal(load_latency_count_to(a, 1499), 2);
    assert_int_equal(load_latency_count_to(a, 1500), 5);
    assert_true(load_latency_average_msec(a) > 0.99999);
    assert_true(load_latency_average_msec(a) < 1.00001);
    memory_free(a, MEMORY_OTHER);
    memory_free(b, MEMORY_OTHER);
}

static void test_nothing_and_too_much(void **state) {
    struct load_latency *l = create();
    assert_int_equal(load_latency_usec_at(l, 0.5), 0);
    assert_true(load_latency_average_msec(l) == 0);
    load_latency_note(l, INT64_MAX, 1); /* beyond the last slot */
    assert_true(load_latency_usec_at(l, 1) > 0);
    assert_int_equal(load_latency_count_to(l, UINT64_MAX), 1);
    memory_free(l, MEMORY_OTHER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentiles_are_those_of_the_sorted_values),
        cmocka_unit_test(test_the_next_latency),
        cmocka_unit_test(test_times_and_sums),
        cmocka_unit_test(test_nothing_and_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
