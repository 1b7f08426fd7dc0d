/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of experiment/experiment_record and experiment/experiment_report: the judgement over
 * blocks, the verdict, the table, JSON and CSV.
 */
#include "experiment/experiment_report.h"

#include <math.h>
#include <string.h>

#include "base/seed.h"

static char *labels[] = {"5", "2\"5", "100"};
static struct experiment_plan plan;
static struct experiment_record record;
static struct buffer out = {.class = MEMORY_OTHER};

/* Blocks of three arms: the second one's p99 is a third of the first one's, and the third one is
 * the first one's like. */
static void measure(unsigned rounds, unsigned extra_blocks) {
    static const double times[] = {90, 30, 91};
    plan = (struct experiment_plan){.arm_count = 3, .rounds = 10};
    for (unsigned i = 0; i < 3; i++) plan.arms[i].label = labels[i];
    plan.arms[0].is_old = true;
    record = (struct experiment_record){.plan = &plan, .seed = 3};
    record.goal = (unsigned)experiment_figure_find("p99", 3, false);
    record.server_count = 1;
    record.servers[0] = "127.0.0.1:7000";
    record.versions[0] = "Evenkeel 1";
    random_seed(5);
    for (unsigned i = 0; i < rounds * 3 + extra_blocks; i++) {
        struct experiment_block *block = experiment_record_add_block(&record);
        *block = (struct experiment_block){.round = i / 3, .arm = i % 3, .begin_s = i};
        for (unsigned f = 0; f < experiment_figure_count(); f++) block->values[f] = NAN;
        block->values[record.goal] = times[i % 3] * (1 + random_double() / 5);
    }
    experiment_record_judge(&record);
    buffer_clear(&out);
}

static void test_verdicts(void **state) {
    measure(10, 2);
    assert_int_equal(record.rounds, 10);
    assert_int_equal(record.best, 1);
    assert_true(experiment_record_differs(&record, record.goal, 0, 1));
    assert_false(experiment_record_differs(&record, record.goal, 0, 2));
    experiment_report_verdict(&record, &out);
    assert_non_null(strstr(out.bytes, "Best by PING p99: 2\"5, "));
    assert_null(strstr(out.bytes, "Not to be told"));
    experiment_record_free(&record);

    measure(3, 0);
    experiment_report_verdict(&record, &out);
    assert_string_equal(out.bytes,
                        "With 3 rounds nothing can be told from noise: --rounds 6 at least.");
    experiment_record_free(&record);

    measure(0, 2);
    experiment_report_verdict(&record, &out);
    assert_string_equal(out.bytes, "No round is complete: nothing can be said.");
    buffer_clear(&out);
    experiment_report_json(&record, &out);
    assert_non_null(strstr(out.bytes, "\"best\":null"));
    experiment_record_free(&record);
}

static void test_a_trace(void **state) {
    static const char *const ends[] = {" The load was not through its trace once.",
                                       " The load was through its trace 1 time.",
                                       " The load was through its trace 2 times."};
    for (unsigned passes = 0; passes < 3; passes++) {
        measure(10, 0);
        record.trace = "load\".trace";
        record.trace_passes = passes;
        experiment_report_verdict(&record, &out);
        assert_string_equal(strstr(out.bytes, " The load"), ends[passes]);
        buffer_clear(&out);
        experiment_report_json(&record, &out);
        assert_non_null(strstr(out.bytes, "\"trace\":{\"file\":\"load\\\".trace\",\"passes\":"));
        experiment_record_free(&record);
    }
}

static void test_table(void **state) {
    measure(10, 0);
    experiment_report_table(&record, &out);
    assert_non_null(strstr(out.bytes, "PING p99, the goal"));
    assert_non_null(strstr(out.bytes, "(as it was)"));
    assert_non_null(strstr(out.bytes, "  * p=0."));
    /* A figure that nobody has is not shown. */
    assert_null(strstr(out.bytes, "hits"));
    experiment_record_free(&record);
}

static void test_csv_and_json(void **state) {
    measure(10, 1);
    experiment_report_csv(&record, &out);
    unsigned lines = 0;
    for (const char *at = out.bytes; *at; at++) lines += *at == '\n';
    assert_int_equal(lines, 1 + 31);
    assert_non_null(strstr(out.bytes, "\n1,1,\"2\"\"5\",0.000,1.000,0.000,"));
    buffer_clear(&out);
    experiment_report_json(&record, &out);
    assert_non_null(strstr(out.bytes, "\"label\":\"2\\\"5\""));
    assert_non_null(strstr(out.bytes, "\"outcome\":\"complete\""));
    assert_int_equal(out.bytes[out.length - 1], '\n');
    assert_null(strstr(out.bytes, "nan"));
    experiment_record_free(&record);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_a_trace),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_csv_and_json),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buffer_free(&out);
    return failed;
}
