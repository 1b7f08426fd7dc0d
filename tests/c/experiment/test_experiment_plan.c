/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of experiment/experiment_plan and experiment/experiment_options: which arms a command line
 * makes, what is refused, and the order of the blocks.
 */
#include "experiment/experiment_plan.h"

#include <unistd.h>

#include "base/seed.h"
#include "experiment/experiment_options.h"

#define WORDS_MAX 32
static struct experiment_options options;
static struct experiment_plan plan;
static char text[1024]; /* options borrow from it */
static char reason[TOOL_REASON_CHARS];
static char out[1024];

/* Words, parted by blanks. */
static bool read_line(const char *line) {
    char *words[WORDS_MAX], *at = text;
    int count = 0;
    snprintf(text, sizeof(text), "%s", line);
    reason[0] = '\0';
    for (char *word; (word = strsep(&at, " "));)
        if (*word) words[count++] = word;
    return experiment_options_read(&options, count, words, reason);
}

/* The server prints yes for "on", and all other values as they are. */
static const char *as_printed(void *context, unsigned knob, const char *value) {
    return strcmp(value, "on") ? value : "yes";
}

/* The labels of the line's arms, joined by " | ", with * before old ones and > before the
 * reference.
 */
static const char *arms_of(const char *line, const char *const *old) {
    int used = 0;
    assert_true(read_line(line));
    assert_true(experiment_plan_init(&plan, &options, reason, sizeof(reason)));
    experiment_plan_compare_old(&plan, old, as_printed, NULL);
    out[0] = '\0';
    for (unsigned i = 0; i < plan.arm_count; i++)
        used += snprintf(out + used, sizeof(out) - (size_t)used, "%s%s%s%s", i ? " | " : "",
                         i == plan.reference ? ">" : "", plan.arms[i].is_old ? "*" : "",
                         plan.arms[i].label);
    experiment_plan_free(&plan);
    return out;
}

static void test_one_option(void **state) {
    const char *const old[] = {"10"};
    assert_string_equal(arms_of("--set hz=5,10,25", old), "5 | >*10 | 25");
    assert_string_equal(arms_of("--set hz=5,25", old), ">5 | 25");
    assert_string_equal(arms_of("--set HZ=25", old), ">*10 | 25");
    assert_string_equal(arms_of("--set hz=10,10", old), ">*10 | *10");
    assert_string_equal(arms_of("--set save=", old), ">*10 | \"\"");
    assert_string_equal(arms_of("--set hz=10 --against localhost:7000", old),
                        ">*10 | *10 | localhost:7000");
}

static void test_several_options(void **state) {
    const char *const old[] = {"10", "yes"};
    assert_string_equal(arms_of("--set hz=10,20 --set x=on,no", old), ">*as it is | hz=20 | x=no");
    assert_string_equal(arms_of("--set hz=10,20 --set x=on,no --grid", old),
                        ">*hz=10, x=on | hz=10, x=no | hz=20, x=on | hz=20, x=no");
}

static void test_profiles(void **state) {
    const char *const old[] = {"1", "900 1", "yes"};
    char path[] = "/tmp/experiment-profile-XXXXXX", line[256], expected[256];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    dprintf(fd, "# a comment\n\n  maxmemory 1\nsave 900 1\nSave 60 10000\r\nx \"on\"");
    snprintf(line, sizeof(line), "--profile %s", path);
    snprintf(expected, sizeof(expected), ">*as it is | %s", path + 5);
    assert_string_equal(arms_of(line, old), expected);
    assert_true(experiment_plan_init(&plan, &options, reason, sizeof(reason)));
    assert_int_equal(plan.knob_count, 3);
    assert_string_equal(plan.knobs[1], "save");
    assert_string_equal(plan.arms[1].values[1], "900 1 60 10000");
    assert_string_equal(plan.arms[1].values[2], "on");
    assert_null(plan.arms[0].values[0]);
    experiment_plan_free(&plan);
    dprintf(fd, "\ninclude other.conf\n");
    assert_false(experiment_plan_init(&plan, &options, reason, sizeof(reason)));
    assert_non_null(strstr(reason, "a line that is no option and value"));
    experiment_plan_free(&plan);
    close(fd);
    unlink(path);
    assert_false(experiment_plan_init(&plan, &options, reason, sizeof(reason)));
    assert_non_null(strstr(reason, "No such file"));
    experiment_plan_free(&plan);
}

/* The labels and servers of a line's arms, where the tool starts servers. */
static const char *started_of(const char *line, const char *first) {
    int used = 0;
    assert_true(read_line(line));
    assert_true(experiment_plan_init(&plan, &options, reason, sizeof(reason)));
    experiment_plan_name_started(&plan, first);
    assert_int_equal(plan.reference, 0);
    out[0] = '\0';
    for (unsigned i = 0; i < plan.arm_count; i++)
        used += snprintf(out + used, sizeof(out) - (size_t)used, "%s%s %u%s", i ? " | " : "",
                         plan.arms[i].label, plan.arms[i].server,
                         plan.arms[i].is_started ? "" : " runs");
    assert_int_equal(plan.server_count, plan.arms[plan.arm_count - 1].server + 1);
    experiment_plan_free(&plan);
    return out;
}

static void test_started(void **state) {
    assert_string_equal(started_of("--start s --set x=1,4 --rate 1 PING", NULL), "1 0 | 4 1");
    assert_string_equal(started_of("--start s --set x=4 --rate 1 PING", "1"), "1 0 | 4 1");
    assert_string_equal(started_of("--start s --set x=4 --set y=2 --rate 1 PING", NULL),
                        "as started 0 | x=4 1 | y=2 2");
    assert_string_equal(started_of("--start one --start two --rate 1 -t get", NULL),
                        "one 0 | two 1");
    assert_string_equal(started_of("--start one --against h:1 --rate 1 -t get", NULL),
                        "as started 0 | h:1 1 runs");
}

static void refused(const char *line, const char *why) {
    if (read_line(line)) {
        assert_false(experiment_plan_init(&plan, &options, reason, sizeof(reason)));
        experiment_plan_free(&plan);
    }
    assert_string_equal(reason, why);
}

static void test_refused(void **state) {
    refused("", "nothing to compare: --set, --profile or --against");
    refused("--set hz=1 --profile x", "--set and --profile exclude each other");
    refused("--set hz=1 --grid", "--grid wants two --set options at least");
    refused("--set hz", "--set wants name=value,...: hz");
    refused("--set =1", "--set wants name=value,...: =1");
    refused("--set hz=1 --set HZ=2", "--set hz is given twice");
    refused("--set hz=1 word", "word is no option; a command wants --rate");
    refused("--set hz=1 --rate 1", "--rate wants either -t or a command");
    refused("--set hz=1 --rate 1 -t get PING", "--rate wants either -t or a command");
    refused("--set hz=1 -t get", "-t wants --rate");
    refused("--start s --set hz=1,2", "--start wants --rate or --trace: nobody else sends a load");
    refused("--start s --rate 1 PING",
            "nothing to compare with --start: --set, --profile, --against or a second --start");
    refused("--start s --start t --set hz=1,2 --rate 1 PING",
            "several --start exclude --set and --profile");
    refused("--start s -p 7000 --set hz=1,2 --rate 1 PING",
            "--start chooses the address itself: no -h, -p, -s, -u or --tls");
    refused("--block 0", "--block wants a number from 1 to 300, with decimals or without");
    refused("--set a=1,2,3,4,5,6,7 --set b=1,2,3,4,5,6,7 --grid",
            "more than 32 combinations to try");
    refused(
        "--set a=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,"
        "29,30,31,32,33",
        "--set a: more than 32 values");
}

static void test_order(void **state) {
    unsigned first[3] = {0}, kept[30];
    assert_true(read_line("--set hz=1,2,3"));
    assert_true(experiment_plan_init(&plan, &options, reason, sizeof(reason)));
    experiment_plan_draw(&plan, 10, 7);
    memcpy(kept, plan.order, sizeof(kept));
    experiment_plan_draw(&plan, 10, 7);
    assert_memory_equal(kept, plan.order, sizeof(kept));
    experiment_plan_draw(&plan, 300, 8);
    for (unsigned round = 0; round < 300; round++) {
        unsigned seen = 0;
        for (unsigned place = 0; place < 3; place++) seen |= 1u << plan.order[round * 3 + place];
        assert_int_equal(seen, 7);
        first[plan.order[round * 3]]++;
    }
    for (unsigned arm = 0; arm < 3; arm++) assert_in_range(first[arm], 60, 140);
    experiment_plan_free(&plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_option), cmocka_unit_test(test_several_options),
        cmocka_unit_test(test_profiles),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_order),      cmocka_unit_test(test_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
