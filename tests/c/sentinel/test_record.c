/* SPDX-License-Identifier: BSD-3-Clause
 * The record: one write a turn, tries again after a failure, and what is said of it.
 */
#include "sentinel/watching.h"

#include <errno.h>

static int writes, disk_error; /* 0 = the disk is well */
static char said[4096];

static bool write_or_fail(void) {
    writes++;
    errno = disk_error;
    return disk_error == 0;
}

static void note_line(const char *line, size_t length) {
    size_t used = strlen(said);
    const char *text = strstr(line, "# ");
    if (!text) return;
    text += 2;
    snprintf(said + used, sizeof(said) - used, "%.*s\n", (int)(length - (size_t)(text - line)),
             text);
}

static int begin(void **state) {
    clock_use_fixed(WATCHING_START_USEC, INT64_C(5000000000));
    clock_refresh();
    log_set_observer(note_line);
    sentinel_record_open(write_or_fail);
    writes = disk_error = 0;
    said[0] = '\0';
    return 0;
}

static int end(void **state) {
    log_set_observer(NULL);
    clock_use_system();
    return 0;
}

static void pass_msec(int64_t msec) {
    clock_advance_usec(msec * 1000);
    clock_refresh();
}

static void test_one_write_a_turn(void **state) {
    assert_false(sentinel_record_step());
    assert_int_equal(writes, 0);
    sentinel_record_later();
    sentinel_record_later();
    assert_int_equal(writes, 0);
    assert_false(sentinel_record_step());
    assert_int_equal(writes, 1);
    sentinel_record_step();
    assert_int_equal(writes, 1);
    sentinel_record_later();
    assert_true(sentinel_record_write()); /* has what was wanted, too */
    sentinel_record_step();
    assert_int_equal(writes, 2);
    assert_string_equal(said, "");
}

#define WARNING_OF "WARNING: Sentinel was not able to save the new configuration on disk!!!: "

static void test_failures(void **state) {
    disk_error = ENOSPC;
    assert_false(sentinel_record_write());
    assert_string_equal(said, WARNING_OF "No space left on device\n");
    /* Not before a second has passed, however many ask for it. */
    sentinel_record_later();
    sentinel_record_step();
    pass_msec(999);
    sentinel_record_step();
    assert_int_equal(writes, 1);
    pass_msec(1);
    sentinel_record_step();
    assert_int_equal(writes, 2);
    pass_msec(999);
    sentinel_record_step();
    assert_int_equal(writes, 2);
    /* A vote tries at once. */
    assert_false(sentinel_record_write());
    assert_int_equal(writes, 3);
    /* The same error is said once, another one again. */
    assert_string_equal(said, WARNING_OF "No space left on device\n");
    disk_error = EIO;
    assert_false(sentinel_record_write());
    assert_string_equal(said,
                        WARNING_OF "No space left on device\n" WARNING_OF "Input/output error\n");
    said[0] = '\0';
    disk_error = 0;
    pass_msec(1000);
    sentinel_record_step();
    assert_string_equal(said, "The configuration is saved on disk again.\n");
    assert_int_equal(writes, 5);
    pass_msec(5000);
    sentinel_record_step();
    assert_int_equal(writes, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_write_a_turn, begin, end),
        cmocka_unit_test_setup_teardown(test_failures, begin, end),
    };
    return cmocka_run_group_tests_name("sentinel/record", tests, NULL, NULL);
}
