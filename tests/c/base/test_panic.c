/* SPDX-License-Identifier: BSD-3-Clause
 * How the process ends when something is wrong; each end in a child. */
#include "base/panic.h"

#include <pthread.h>

#include "base/log.h"
#include "seed.h"

static int evaluations;

static int counted(int value) {
    evaluations++;
    return value;
}

static void test_what_holds_goes_on(void **state) {
    ASSERT(counted(1) == 1);
    assert_int_equal(evaluations, 1);
    ASSERT_COMPARE(counted(1), <, 2);
    assert_int_equal(evaluations, 2);
    ASSERT_SLOW(1 + 1 == 2);
}

static void fail_assertion(void) { ASSERT(counted(1) == 2); }

static void fail_comparison(void) {
    int small = -7, large = 12;
    ASSERT_COMPARE(small, >=, large);
}

static void fail_slowly(void) { ASSERT_SLOW(counted(1) == 2); }

static void panic_plainly(void) { PANIC("the %s of %d", "end", 42); }

static void panic_at_length(void) {
    char text[5000];
    memset(text, 'x', sizeof(text));
    PANIC("%.*s", (int)sizeof(text), text);
}

static void test_reports(void **state) {
    assert_aborts(fail_assertion, "ASSERTION FAILED: counted(1) == 2 ");
    assert_aborts(fail_assertion, "test_panic.c:");
    assert_aborts(fail_comparison, "small >= large");
    assert_aborts(fail_comparison, "-7 and 12");
    assert_aborts(panic_plainly, "the end of 42");
    assert_aborts(panic_at_length, "xxxxxxxx");
}

static void test_slow_assertions(void **state) {
#ifdef EVENKEEL_DEBUG
    assert_aborts(fail_slowly, "counted(1) == 2");
#else
    evaluations = 0;
    fail_slowly();
    assert_int_equal(evaluations, 0);
#endif
}

static void say(const char *text) {
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(1);
}

static void hook_that_reports(const char *title, const char *detail, const char *file, int line) {
    char text[200];
    snprintf(text, sizeof(text), "hook: %s, %s, %d %d", title, detail, line > 0,
             strstr(file, "test_panic.c") != NULL);
    say(text);
}

static void panic_with_hook(void) {
    panic_set_hook(hook_that_reports);
    panic_plainly();
}

static void hook_that_fails(const char *title, const char *detail, const char *file, int line) {
    say("hook once.");
    panic_plainly();
}

static void panic_twice(void) {
    panic_set_hook(hook_that_fails);
    panic_plainly();
}

static void write_here(const char *line) {
    say("written: ");
    say(line);
}

static void panic_with_writer(void) {
    panic_set_writer(write_here);
    panic_plainly();
}

static void panic_into_log(void) {
    panic_set_writer(log_panic);
    panic_plainly();
}

/* Standard output is the log's target. */
static void panic_without_output(void) {
    close(STDOUT_FILENO);
    panic_plainly();
}

static void test_writer(void **state) {
    assert_aborts(panic_with_writer, "written: Guru Meditation: the end of 42 (");
    assert_aborts(panic_into_log, " # Guru Meditation: the end of 42 (");
    assert_aborts(panic_without_output, "Guru Meditation: the end of 42 (");
}

static void *panicking_thread(void *ignored) {
    panic_plainly();
    return NULL;
}

/* Another thread fails during the report, which still comes to its end. */
static void hook_with_second_thread(const char *title, const char *detail, const char *file,
                                    int line) {
    pthread_t other;
    pthread_create(&other, NULL, panicking_thread, NULL);
    usleep(50000);
    say("report complete");
}

static void panic_in_two_threads(void) {
    panic_set_hook(hook_with_second_thread);
    panic_plainly();
}

static void test_hook(void **state) {
    char out[8192];
    assert_aborts(panic_with_hook, "hook: Guru Meditation, the end of 42, 1 1");
    assert_aborts(panic_twice, "hook once.");
    run_in_child(panic_twice, out, sizeof(out));
    const char *first = strstr(out, "hook once.");
    assert_non_null(first);
    assert_null(strstr(first + 1, "hook once."));
    assert_aborts(panic_in_two_threads, "report complete");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_holds_goes_on),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_slow_assertions),
        cmocka_unit_test(test_writer),
        cmocka_unit_test(test_hook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
