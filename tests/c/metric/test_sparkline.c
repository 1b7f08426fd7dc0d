/* SPDX-License-Identifier: BSD-3-Clause
 * Charts of characters, some of them as Redis 6.2.16 drew them for the same values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "metric/sparkline.h"

#define COLUMNS_MAX 200

static void assert_chart(const int64_t *values, const char *const *labels, size_t count,
                         const char *expected) {
    struct sparkline_column columns[COLUMNS_MAX];
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    for (size_t i = 0; i < count; i++) {
        columns[i].value = values[i];
        snprintf(columns[i].label, sizeof(columns[i].label), "%s", labels[i]);
    }
    sparkline_append(&out, columns, count);
    assert_string_equal(out.bytes ? out.bytes : "", expected);
    buffer_free(&out);
}

static void test_nothing(void **state) { assert_chart(NULL, NULL, 0, ""); }

static void test_one(void **state) {
    assert_chart((int64_t[]){20}, (const char *const[]){"0s"}, 1, " \n \n \n_\n \n0\ns\n");
}

static void test_as_redis(void **state) {
    assert_chart((int64_t[]){2, 40, 3, 7, 11, 90, 5},
                 (const char *const[]){"7s", "6s", "5s", "4s", "3s", "2s", "1s"}, 7,
                 "     # \n"
                 "     | \n"
                 " #   | \n"
                 "_|__o|_\n"
                 "       \n"
                 "7654321\n"
                 "sssssss\n");
}

/* Each of the twelve heights. */
static void test_heights(void **state) {
    int64_t values[12];
    const char *labels[12];
    for (int i = 0; i < 12; i++) {
        values[i] = i;
        labels[i] = "";
    }
    values[11] = 12;
    assert_chart(values, labels, 12,
                 "         _o#\n"
                 "      _o#|||\n"
                 "   _o#||||||\n"
                 "_o#|||||||||\n"
                 "            \n");
}

static void test_labels_of_several_lengths(void **state) {
    assert_chart((int64_t[]){5, 5, 5}, (const char *const[]){"12m", "", "9s"}, 3,
                 "   \n   \n   \n___\n   \n1 9\n2 s\nm  \n");
}

static void test_extremes(void **state) {
    assert_chart((int64_t[]){0, INT64_MAX}, (const char *const[]){"", ""}, 2,
                 " #\n |\n |\n_|\n  \n");
}

/* Charts of at most 80 columns, all to one scale. */
static void test_several_charts(void **state) {
    struct sparkline_column columns[COLUMNS_MAX];
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    memset(columns, 0, sizeof(columns));
    columns[0].value = 12;
    columns[80].value = 6;
    sparkline_append(&out, columns, 81);
    const char *second = strstr(out.bytes, "\n\n");
    assert_non_null(second);
    assert_int_equal(second - out.bytes, 5 * 81 - 1);
    assert_string_equal(second, "\n\n \n_\n|\n|\n \n");
    buffer_free(&out);
}

/* Whatever the values: a column has one top, bars below it and blanks above. */
static void test_random(void **state) {
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20261121;
    print_message("SEED=%llu\n", (unsigned long long)seed);
    random_seed(seed);
    for (int round = 0; round < 200; round++) {
        struct sparkline_column columns[SPARKLINE_WIDTH];
        size_t count = 1 + random_below(SPARKLINE_WIDTH);
        struct buffer out;
        buffer_init(&out, MEMORY_OTHER);
        memset(columns, 0, sizeof(columns));
        for (size_t i = 0; i < count; i++) columns[i].value = (int64_t)random_below(1000);
        sparkline_append(&out, columns, count);
        assert_int_equal(out.length, 5 * (count + 1));
        for (size_t i = 0; i < count; i++) {
            int tops = 0;
            for (size_t line = 0; line < 4; line++) {
                char c = out.bytes[line * (count + 1) + i];
                assert_true(c == (tops ? '|' : ' ') || (!tops && strchr("_o#", c)));
                if (c != ' ' && c != '|') tops++;
            }
            assert_int_equal(tops, 1);
        }
        buffer_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_as_redis),
        cmocka_unit_test(test_heights),
        cmocka_unit_test(test_labels_of_several_lengths),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_several_charts),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
