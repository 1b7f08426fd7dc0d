/* SPDX-License-Identifier: BSD-3-Clause
 * Requests of redis-benchmark as bytes, chance in them, and its named tests.
 */
#include "benchmark/benchmark_request.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/number.h"
#include "benchmark/benchmark_tests.h"

static void assert_bytes(const struct benchmark_request *r, const char *expected) {
    assert_int_equal(r->bytes.length, strlen(expected));
    assert_memory_equal(r->bytes.bytes, expected, strlen(expected));
}

static void test_places_are_found_in_words(void **state) {
    struct benchmark_request r;
    struct slice words[] = {SLICE("MSET"), SLICE("a:__rand_int__:__rand_int__"), SLICE("x"),
                            SLICE("__rand_int_")};
    assert_true(benchmark_request_of_words(&r, words, 4, true));
    assert_int_equal(r.place_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_memory_equal(r.bytes.bytes + r.places[i], BENCHMARK_RANDOM_WORD, 12);
    }
    benchmark_request_free(&r);
    assert_true(benchmark_request_of_words(&r, words, 2, false));
    assert_int_equal(r.place_count, 0);
    assert_bytes(&r, "*2\r\n$4\r\nMSET\r\n$27\r\na:__rand_int__:__rand_int__\r\n");
    benchmark_request_free(&r);
}

static void test_drawn_numbers_are_below_the_bound_and_all_come(void **state) {
    struct benchmark_request r;
    struct slice words[] = {SLICE("GET"), SLICE("key:__rand_int__")};
    assert_true(benchmark_request_of_words(&r, words, 2, true));
    char *batch = memory_alloc(r.bytes.length * 16, MEMORY_OTHER);
    benchmark_request_repeat(&r, batch, 16);
    unsigned seen[10] = {0};
    uint64_t chance = 42;
    for (size_t turn = 0; turn < 1000; turn++) {
        benchmark_request_draw(&r, batch, 16, 10, &chance);
        for (size_t i = 0; i < 16; i++) {
            int64_t number = 0;
            const char *digits = batch + i * r.bytes.length + r.places[0];
            while (digits[0] == '0' && digits[1] != '\r') digits++;
            size_t length = strcspn(digits, "\r");
            assert_true(number_parse_int64(digits, length, &number));
            assert_in_range(number, 0, 9);
            seen[number]++;
        }
    }
    for (size_t i = 0; i < 10; i++) assert_in_range(seen[i], 1400, 1800);
    benchmark_request_draw(&r, batch, 1, 0, &chance); /* no keys to choose from: the first */
    assert_memory_equal(batch + r.places[0], "000000000000", 12);
    memory_free(batch, MEMORY_OTHER);
    benchmark_request_free(&r);
}

static void test_drawn_numbers_have_all_twelve_digits(void **state) {
    struct benchmark_request r;
    assert_true(benchmark_request_of_words(&r, &SLICE(BENCHMARK_RANDOM_WORD), 1, true));
    uint64_t chance = 7, most = UINT64_C(1000000000000), seen = 0;
    unsigned at_place[BENCHMARK_RANDOM_DIGITS] = {0};
    for (size_t turn = 0; turn < 1000; turn++) {
        uint64_t same = chance, number = 0;
        benchmark_request_draw(&r, r.bytes.bytes, 1, most, &chance);
        for (size_t i = 0; i < BENCHMARK_RANDOM_DIGITS; i++) {
            char digit = r.bytes.bytes[r.places[0] + i];
            assert_in_range(digit, '0', '9');
            at_place[i] |= 1u << (digit - '0');
            number = number * 10 + (uint64_t)(digit - '0');
        }
        /* Scaled down, the same chance gives the same leading digits, within the last one. */
        benchmark_request_draw(&r, r.bytes.bytes, 1, most / 100000, &same);
        uint64_t shorter = 0;
        for (size_t i = 0; i < BENCHMARK_RANDOM_DIGITS; i++) {
            shorter = shorter * 10 + (uint64_t)(r.bytes.bytes[r.places[0] + i] - '0');
        }
        assert_int_equal(shorter, number / 100000);
        seen += number / 100000 != 0;
    }
    assert_true(seen > 900);
    for (size_t i = 0; i < BENCHMARK_RANDOM_DIGITS; i++) assert_int_equal(at_place[i], 0x3ff);
    benchmark_request_free(&r);
}

static void test_too_many_places_are_refused(void **state) {
    struct benchmark_request r;
    struct slice words[BENCHMARK_PLACES_MAX + 1];
    for (size_t i = 0; i <= BENCHMARK_PLACES_MAX; i++) words[i] = SLICE("__rand_int__");
    assert_true(benchmark_request_of_words(&r, words, BENCHMARK_PLACES_MAX, true));
    benchmark_request_free(&r);
    assert_false(benchmark_request_of_words(&r, words, BENCHMARK_PLACES_MAX + 1, true));
    benchmark_request_free(&r);
}

static size_t count_chosen(const char *names) {
    size_t count = 0;
    for (size_t i = 0; i < benchmark_test_count(); i++) count += benchmark_test_is_chosen(i, names);
    return count;
}

static void test_tests_are_chosen_by_their_names(void **state) {
    size_t length;
    assert_int_equal(count_chosen(NULL), 20);
    assert_int_equal(count_chosen("ping"), 2);
    assert_int_equal(count_chosen("PING_mbulk,set"), 2);
    assert_int_equal(count_chosen("lrange"), 5);
    assert_int_equal(count_chosen("lrange_300"), 2); /* with what fills the list */
    assert_int_equal(count_chosen("se,sett,"), 0);
    assert_null(benchmark_tests_unknown("get,Set,mset", &length));
    assert_string_equal(benchmark_tests_unknown("get,xadd", &length), "xadd");
    assert_int_equal(length, 4);
    assert_non_null(benchmark_tests_unknown("get,,set", &length));
    assert_int_equal(length, 0);
}

static void test_values_and_scores(void **state) {
    struct benchmark_request r;
    for (size_t i = 0; i < benchmark_test_count(); i++) {
        const char *title = benchmark_test_title(i);
        benchmark_test_request(i, 5, false, false, &r);
        if (!strcmp(title, "SET")) {
            assert_bytes(&r, "*3\r\n$3\r\nSET\r\n$16\r\nkey:__rand_int__\r\n$5\r\nxxxxx\r\n");
        }
        if (!strcmp(title, "PING_INLINE")) assert_bytes(&r, "PING\r\n");
        if (!strcmp(title, "ZADD")) {
            assert_bytes(&r,
                         "*4\r\n$4\r\nZADD\r\n$6\r\nmyzset\r\n$1\r\n0\r\n$20\r\n"
                         "element:__rand_int__\r\n");
        }
        benchmark_request_free(&r);
        benchmark_test_request(i, 5, true, false, &r);
        if (!strcmp(title, "ZADD")) assert_int_equal(r.place_count, 2);
        if (!strncmp(title, "MSET", 4)) assert_int_equal(r.place_count, 10);
        benchmark_request_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_are_found_in_words),
        cmocka_unit_test(test_drawn_numbers_are_below_the_bound_and_all_come),
        cmocka_unit_test(test_drawn_numbers_have_all_twelve_digits),
        cmocka_unit_test(test_too_many_places_are_refused),
        cmocka_unit_test(test_tests_are_chosen_by_their_names),
        cmocka_unit_test(test_values_and_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
