/* SPDX-License-Identifier: BSD-3-Clause
 * redis-check-aof: up to where files are sound, what it says of the rest, and what it cuts off.
 */
#include "aof/check_aof.h"

#include <sys/stat.h>

#include "rdb/printed.h"

#define BYTES(literal) ((struct slice){literal, sizeof(literal) - 1})
#define SET "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"  /* 27 bytes */
#define MULTI "*1\r\n$5\r\nMULTI\r\n"                    /* 15 */
#define EXEC "*1\r\n$4\r\nEXEC\r\n"                      /* 14 */
#define PREAMBLE "REDIS0009\0\1k\1v\xff\0\0\0\0\0\0\0\0" /* 23 */

static int check_as_it_is(bool fix) {
    printed_begin();
    int status = check_aof(printed_path, fix);
    printed_end();
    return status;
}

static int check(struct slice bytes) {
    write_file(bytes);
    return check_as_it_is(false);
}

static void test_sound(void **state) {
    assert_int_equal(check(BYTES(SET SET)), 0);
    assert_printed("AOF analyzed: size=54, ok_up_to=54, ");
    assert_printed("diff=0\nAOF is valid\n");
    assert_int_equal(check(BYTES(SET MULTI SET SET EXEC SET)), 0);
    assert_printed("ok_up_to=137, ");
    assert_int_equal(file_size(), 137);
}

/* Wherever a file ends, it is sound up to its last command that is whole, and ends a transaction
 * if it stands in one. */
static void test_cut_anywhere(void **state) {
    static const char file[] = SET MULTI SET EXEC SET;
    char line[64];
    for (size_t length = 1; length < sizeof(file); length++) {
        size_t sound = length < 27 ? 0 : length < 83 ? 27 : length < 110 ? 83 : 110;
        assert_int_equal(check((struct slice){file, length}), length != sound);
        snprintf(line, sizeof(line), "size=%zu, ok_up_to=%zu, ", length, sound);
        assert_printed(line);
        snprintf(line, sizeof(line), "diff=%zu\n", length - sound);
        assert_printed(line);
        assert_printed(length == sound ? "AOF is valid\n" : "Use the --fix option");
        assert_int_equal(file_size(), length);
    }
}

static void test_damaged(void **state) {
    assert_int_equal(check(BYTES(SET "!" SET)), 1);
    assert_printed("0x              1b: Expected prefix '*', got: '!'\n");
    assert_printed("ok_up_to=27, ");
    assert_int_equal(check(BYTES(SET EXEC)), 1);
    assert_printed("0x              1b: Unexpected EXEC\n");
    assert_printed("ok_up_to=27, ");
    assert_int_equal(check(BYTES(MULTI SET MULTI EXEC)), 1);
    assert_printed("0x              2a: Unexpected MULTI\n");
    assert_printed("ok_up_to=0, ");
    assert_int_equal(check(BYTES(SET MULTI SET)), 1);
    assert_printed("Reached EOF before reading EXEC for MULTI\n");
    assert_printed("ok_up_to=27, ");
}

static void test_preamble(void **state) {
    assert_int_equal(check(BYTES(PREAMBLE SET)), 0);
    assert_printed("The AOF appears to start with an RDB preamble.\n");
    assert_printed("[offset 23] \\o/ RDB looks OK! \\o/\n");
    assert_printed("RDB preamble is OK, proceeding with AOF tail...\n");
    assert_printed("size=50, ok_up_to=50, ");
    assert_int_equal(check(BYTES(PREAMBLE)), 0);
    assert_printed("ok_up_to=23, ");
    assert_int_equal(check(BYTES(PREAMBLE SET "*1")), 1);
    assert_printed("ok_up_to=50, ");
    /* What is wrong within the preamble is not cut off: all that follows would go with it. */
    write_file(BYTES("REDIS0009\0\1k\1v\x10" SET));
    answer("y\n");
    assert_int_equal(check_as_it_is(true), 1);
    assert_printed("RDB preamble of AOF file is not sane, aborting.\n");
    assert_int_equal(file_size(), 42);
}

static void test_fix(void **state) {
    write_file(BYTES(SET MULTI SET));
    answer("n\n");
    assert_int_equal(check_as_it_is(true), 1);
    assert_printed("This will shrink the AOF from 69 bytes, with 42 bytes, to 27 bytes\n");
    assert_printed("Continue? [y/N]: Aborting...\n");
    assert_int_equal(file_size(), 69);
    answer("");
    assert_int_equal(check_as_it_is(true), 1);
    assert_int_equal(file_size(), 69);
    answer("yes\n");
    assert_int_equal(check_as_it_is(true), 0);
    assert_printed("Successfully truncated AOF\n");
    assert_int_equal(file_size(), 27);
    answer("");
    assert_int_equal(check_as_it_is(true), 0); /* nothing is asked */
    assert_not_printed("Continue?");
    assert_printed("AOF is valid\n");
}

static void test_fix_fails(void **state) {
    write_file(BYTES(SET "*"));
    answer("y\n");
    faults_fail(FAULT_TRUNCATE, EIO, 0, 1, printed_path);
    assert_int_equal(check_as_it_is(true), 1);
    assert_printed("Failed to truncate AOF\n");
    answer("y\n");
    faults_fail(FAULT_FSYNC, EIO, 0, 1, printed_path);
    assert_int_equal(check_as_it_is(true), 1);
    faults_clear();
    assert_printed("Failed to truncate AOF\n");
}

/* That reading fails is no fault of the file: nothing is cut off. */
static void test_reading_fails(void **state) {
    write_file(BYTES(SET SET));
    answer("y\n");
    faults_fail(FAULT_READ, EIO, 0, 1, printed_path);
    assert_int_equal(check_as_it_is(true), 1);
    faults_clear();
    assert_printed("Input/output error");
    assert_not_printed("Continue?");
    assert_int_equal(file_size(), 54);
}

static void test_no_file(void **state) {
    assert_int_equal(check(SLICE("")), 1);
    assert_printed("Empty file: /tmp/");
    unlink(printed_path);
    assert_int_equal(check_as_it_is(true), 1);
    assert_printed("Cannot open file: /tmp/");
    assert_int_equal(access(printed_path, F_OK), -1);
    printed_begin();
    int status = check_aof(printed_folder, false);
    printed_end();
    assert_int_equal(status, 1);
    assert_printed("Not a regular file: /tmp/");
    /* A pipe that nobody writes to is not waited for. */
    assert_int_equal(mkfifo(printed_path, 0600), 0);
    for (int fix = 0; fix < 2; fix++) {
        assert_int_equal(check_as_it_is(fix), 1);
        assert_printed("Not a regular file: /tmp/");
    }
    unlink(printed_path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, whole_nothing_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_sound), TEST(test_cut_anywhere), TEST(test_damaged), TEST(test_preamble),
        TEST(test_fix),   TEST(test_fix_fails),    TEST(test_no_file), TEST(test_reading_fails),
    };
    return cmocka_run_group_tests(tests, printed_open, printed_close);
}
