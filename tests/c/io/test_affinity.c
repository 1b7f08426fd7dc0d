/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/affinity: what a list of processors means, what is none, and that binding binds.
 */
#include "io/affinity.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include "option/option.h"

static char reason[OPTION_REASON_BYTES];

/* A role as a folder above declares one. */
static struct affinity_role own;
static const struct option_row own_rows[] = {
    AFFINITY_OPTION("test_cpulist", 70, own, "Processors of the test's child.")};

static int setup(void **state) {
    affinity_register();
    option_register(own_rows, 1);
    return 0;
}

static int teardown(void **state) {
    affinity_restore();
    option_reset_all();
    return 0;
}

/* `expected` has an x for each processor from 0 on that must be in the list. */
static void assert_list(const char *list, const char *expected) {
    cpu_set_t processors;
    if (!affinity_parse(slice_of(list), &processors, reason, sizeof(reason)))
        fail_msg("'%s': %s", list, reason);
    int count = 0;
    for (int i = 0; expected[i]; i++) {
        assert_int_equal(CPU_ISSET(i, &processors) != 0, expected[i] == 'x');
        count += expected[i] == 'x';
    }
    assert_int_equal(CPU_COUNT(&processors), count);
}

static void test_lists(void **state) {
    assert_list("0", "x");
    assert_list("3", "---x");
    assert_list("0,2,4-7", "x-x-xxxx");
    assert_list("0-7:2", "x-x-x-x");
    assert_list("1-8:3", "-x--x--x");
    assert_list("2-2", "--x");
    assert_list("2-3:9", "--x");
    assert_list("5,5,5-5", "-----x");
    assert_list("007", "-------x");
    cpu_set_t processors;
    assert_true(affinity_parse(SLICE("1023"), &processors, reason, sizeof(reason)));
    assert_true(CPU_ISSET(1023, &processors));
    assert_true(affinity_parse(SLICE("0-1023"), &processors, reason, sizeof(reason)));
    assert_int_equal(CPU_COUNT(&processors), 1024);
}

static void test_what_is_no_list(void **state) {
    static const char *const lists[] = {
        "",    ",",    "x",      "1,",    ",1",    "1,,2", "-1",  "1-",
        "3-1", "1-2-", "0-3:",   "0-3:0", "0-3:x", "1:2",  " 1",  "1 ",
        "1 2", "1024", "0-1024", "0x1",   "+1",    "1.5",  "1;2", "0-3:99999999999999999999",
        "1\n"};
    cpu_set_t processors;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (affinity_parse(slice_of(lists[i]), &processors, reason, sizeof(reason)))
            fail_msg("taken: '%s'", lists[i]);
        assert_non_null(strstr(reason, "argument must be a list of processors"));
    }
}

static bool set(const char *name, const char *value) {
    struct slice word = slice_of(value);
    return option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_FILE, reason,
                      sizeof(reason));
}

static int first_processor(void) {
    cpu_set_t now;
    assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &now)) return i;
    fail();
    return -1;
}

static int processors_now(void) {
    cpu_set_t now;
    return sched_getaffinity(0, sizeof(now), &now) == 0 ? CPU_COUNT(&now) : -1;
}

static void *background_thread(void *argument) {
    int *counts = argument;
    counts[0] = processors_now();
    affinity_apply(&affinity_background);
    counts[1] = processors_now();
    return NULL;
}

static void test_binding(void **state) {
    char list[16];
    int at_start = processors_now();
    snprintf(list, sizeof(list), "%d", first_processor());
    assert_false(set("server_cpulist", "bad"));
    affinity_apply(&affinity_server);
    assert_int_equal(processors_now(), at_start);
    assert_true(set("server_cpulist", list));
    affinity_apply(&own);
    assert_int_equal(processors_now(), at_start); /* an empty list of a role that keeps its own */
    assert_false(set("test_cpulist", "bad"));
    assert_true(set("test_cpulist", list));
    affinity_apply(&own);
    assert_int_equal(processors_now(), 1);
    affinity_restore();
    affinity_apply(&affinity_server);
    assert_int_equal(processors_now(), 1);

    /* A thread begins where its maker is; one of the background goes back to all of them. */
    pthread_t thread;
    int counts[2];
    assert_int_equal(pthread_create(&thread, NULL, background_thread, counts), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], at_start);

    affinity_restore();
    assert_int_equal(processors_now(), at_start);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_list, setup, teardown),
        cmocka_unit_test_setup_teardown(test_binding, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
