/* SPDX-License-Identifier: BSD-3-Clause
 * Histograms: buckets, quantiles against a sorted list, printing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "metric/metric.h"

#define VALUES 1000

static void test_empty(void **state) {
    struct histogram h = {.total = 1};
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    histogram_clear(&h);
    assert_int_equal(h.total, 0);
    assert_int_equal(histogram_quantile_usec(&h, 0.5), 0);
    histogram_print(&h, &out);
    assert_int_equal(out.length, 0);
    buffer_free(&out);
}

static void test_buckets(void **state) {
    static const uint64_t values[] = {0, 1, 2, 3, 4, 7, 8, 1023, 1024, UINT64_C(1) << 40};
    struct histogram h = {0};
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) histogram_add(&h, values[i]);
    histogram_print(&h, &out);
    assert_string_equal(out.bytes, "1=2,2=2,4=2,8=1,512=1,1024=1,2147483648=1");
    assert_int_equal(h.total, 10);
    assert_int_equal(h.maximum_usec, UINT64_C(1) << 40);
    assert_int_equal(h.sum_usec, 25 + 1023 + 1024 + (UINT64_C(1) << 40));
    assert_int_equal(histogram_quantile_usec(&h, 0), 2);
    assert_int_equal(histogram_quantile_usec(&h, 0.2), 2);
    assert_int_equal(histogram_quantile_usec(&h, 0.21), 4);
    assert_int_equal(histogram_quantile_usec(&h, 0.5), 8);
    assert_int_equal(histogram_quantile_usec(&h, 0.9), 2048);
    assert_int_equal(histogram_quantile_usec(&h, 1), UINT64_C(1) << 40);
    buffer_free(&out);
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The quantile's bound lies above the value of that rank, and at most twice as high. */
static void test_quantiles(void **state) {
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20260117, values[VALUES];
    print_message("SEED=%llu\n", (unsigned long long)seed);
    random_seed(seed);
    for (int round = 0; round < 50; round++) {
        struct histogram h = {0};
        for (size_t i = 0; i < VALUES; i++) {
            values[i] = 1 + random_below(UINT64_C(2) << random_below(30));
            histogram_add(&h, values[i]);
        }
        qsort(values, VALUES, sizeof(values[0]), compare);
        for (int percent = 1; percent <= 100; percent++) {
            uint64_t exact = values[percent * VALUES / 100 - 1];
            /* A hair below, so that rounding of the product cannot reach the next rank. */
            uint64_t bound = histogram_quantile_usec(&h, percent / 100.0 - 1e-9);
            assert_true(bound > exact && bound <= 2 * exact);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
