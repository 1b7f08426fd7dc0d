/* SPDX-License-Identifier: BSD-3-Clause
 * The steps of a report against all steps, walked one by one.
 */
#include "benchmark/benchmark_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"

#define ROUNDS 50

/* What the report says from its steps to its summary; to be freed. */
static char *steps_of(const struct load_result *result) {
    static const struct benchmark_options options = {.decimals = 3};
    static const struct benchmark_server server;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    benchmark_report_whole(out, "a test", result, &options, &server);
    fclose(out);
    char *steps = strstr(text, "\nCumulative distribution of latencies:\n");
    char *summary = strstr(text, "\nSummary:\n");
    assert_true(steps && summary && steps < summary);
    char *found = strndup(steps, (size_t)(summary - steps));
    free(text);
    return found;
}

static char *steps_walked(const struct load_latency *l) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    uint64_t counted = UINT64_MAX;
    fputs("\nCumulative distribution of latencies:\n", out);
    for (uint64_t usec = 100; l->count && (counted == UINT64_MAX || counted < l->count);
         usec += usec < 2000 ? 100 : 1000) {
        uint64_t count = load_latency_count_to(l, usec);
        if (count == counted) continue;
        counted = count;
        fprintf(out, "%.3f%% <= %.3f milliseconds (cumulative count %llu)\n",
                100 * (double)count / (double)l->count, (double)usec / 1000,
                (unsigned long long)count);
    }
    fclose(out);
    return text;
}

static void assert_steps(const struct load_result *result) {
    char *found = steps_of(result), *expected = steps_walked(&result->latency);
    assert_string_equal(found, expected);
    free(found);
    free(expected);
}

static void test_steps_are_those_at_which_more_are_counted(void **state) {
    struct load_result *result = memory_zalloc(sizeof(*result), MEMORY_OTHER);
    assert_steps(result);
    random_seed(7);
    for (int round = 0; round < ROUNDS; round++) {
        memset(result, 0, sizeof(*result));
        for (unsigned i = 0; i < 40; i++) {
            int64_t usec = (int64_t)(random_u64() >> (44 + random_u64() % 20));
            load_latency_note(&result->latency, usec * 1000, 1);
        }
        assert_steps(result);
    }
    memory_free(result, MEMORY_OTHER);
}

static void test_a_latency_of_an_hour(void **state) {
    struct load_result *result = memory_zalloc(sizeof(*result), MEMORY_OTHER);
    load_latency_note(&result->latency, INT64_C(3600000000) * 1000, 1);
    char *found = steps_of(result);
    assert_string_equal(found,
                        "\nCumulative distribution of latencies:\n"
                        "0.000% <= 0.100 milliseconds (cumulative count 0)\n"
                        "100.000% <= 3598713.000 milliseconds (cumulative count 1)\n");
    free(found);
    memory_free(result, MEMORY_OTHER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_those_at_which_more_are_counted),
        cmocka_unit_test(test_a_latency_of_an_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
