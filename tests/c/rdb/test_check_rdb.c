/* SPDX-License-Identifier: BSD-3-Clause
 * redis-check-rdb: what it says of sound, damaged, absent and unreadable files, and its status.
 */
#include "rdb/check_rdb.h"

#include "rdb/printed.h"

#include "base/stream.h"
#include "rdb/rdb_save.h"

#define MAGIC "REDIS0009"
#define BYTES(literal) ((struct slice){literal, sizeof(literal) - 1})
#define NO_SUM "\xff\0\0\0\0\0\0\0\0"

static int check(struct slice bytes) {
    write_file(bytes);
    printed_begin();
    int status = check_rdb(printed_path);
    printed_end();
    return status;
}

static void test_sound(void **state) {
    assert_int_equal(check(BYTES(MAGIC "\xfa\3abc\1d"
                                       "\xfe\x02\xfb\x02\x01"
                                       "\xfc\1\0\0\0\0\0\0\0\0\1k\1v"
                                       "\0\1l\1v" NO_SUM)),
                     0);
    assert_printed("[offset 0] Checking RDB file /tmp/");
    assert_printed("[offset 16] AUX FIELD abc = 'd'\n");
    assert_printed("[offset 18] Selecting DB ID 2\n");
    assert_printed("RDB file was saved with checksum disabled");
    assert_printed(
        "[offset 49] \\o/ RDB looks OK! \\o/\n[info] 2 keys read\n[info] 1 expires\n"
        "[info] 1 already expired\n");
    for (int i = 0; i < keyspace_databases(); i++)
        assert_int_equal(keyspace_count(keyspace_at(i)), 0);
}

/* What a server saves is sound, its checksum too; and not when a byte of that is another one. */
static void test_saved(void **state) {
    struct buffer file;
    struct buffer_sink out;
    buffer_init(&file, MEMORY_OTHER);
    buffer_sink_init(&out, &file);
    assert_true(rdb_save(&out.sink));
    assert_int_equal(check(buffer_slice(&file)), 0);
    assert_printed("AUX FIELD redis-ver = '6.2.");
    assert_printed("Checksum OK\n");
    file.bytes[file.length - 3] ^= 1;
    assert_int_equal(check(buffer_slice(&file)), 1);
    assert_printed("--- RDB ERROR DETECTED ---\n");
    assert_printed("RDB CRC error");
    assert_printed("While doing: check-sum\n");
    buffer_free(&file);
}

static void test_damaged(void **state) {
    assert_int_equal(check(BYTES(MAGIC "\xfe\3\0\1a\1v\x0d\2k\n\5abcde" NO_SUM)), 1);
    assert_printed("[offset 26] Ziplist integrity check failed\n");
    assert_printed("While doing: read-object-value\n");
    assert_printed("Reading key 'k\\x0a'\n");
    assert_printed("Reading type 13 (hash-ziplist)\n");
    assert_printed("The key begins at offset 16, in database 3\n[info] 2 keys read\n");
    assert_not_printed("looks OK");
}

/* Of each beginning of a file it says where it ends, and what was being read. */
static void test_cut(void **state) {
    static const char file[] = MAGIC "\xfe\0\0\1k\1v\xff";
    static const struct {
        size_t length;
        const char *doing;
    } cuts[] = {{0, "start"},      {8, "start"},     {9, "read-type"},
                {10, "read-len"},  {12, "read-key"}, {14, "read-object-value"},
                {16, "read-type"}, {17, "check-sum"}};
    char line[80];
    for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
        assert_int_equal(check((struct slice){file, cuts[i].length}), 1);
        snprintf(line, sizeof(line), "[offset %zu] Unexpected EOF reading RDB file\n",
                 cuts[i].length);
        assert_printed(line);
        snprintf(line, sizeof(line), "While doing: %s\n", cuts[i].doing);
        assert_printed(line);
    }
}

/* What a file says of itself stays on its line. */
static void test_foreign_text(void **state) {
    assert_int_equal(check(BYTES(MAGIC "\xfa\3a\nb\4\x1b[0m" NO_SUM)), 0);
    assert_printed("AUX FIELD a\\x0ab = '\\x1b[0m'\n");
}

static void test_keys_without_members(void **state) {
    assert_int_equal(check(BYTES(MAGIC "\4\1m\0" NO_SUM)), 0);
    assert_printed("[offset 13] Key 'm' has no members: a server passes it over\n");
}

static void test_no_file(void **state) {
    unlink(printed_path);
    printed_begin();
    int status = check_rdb(printed_path);
    printed_end();
    assert_int_equal(status, 1);
    assert_printed("Cannot open it: No such file or directory\n");
    printed_begin();
    status = check_rdb(printed_folder);
    printed_end();
    assert_int_equal(status, 1);
    assert_printed("Is a directory\n");
}

static void test_reading_fails(void **state) {
    faults_fail(FAULT_READ, EIO, 0, 1, printed_path);
    assert_int_equal(check(BYTES(MAGIC NO_SUM)), 1);
    faults_clear();
    assert_printed("[offset 0] Input/output error\n");
    assert_int_equal(check(BYTES(MAGIC NO_SUM)), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, whole_nothing_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_sound),   TEST(test_saved),         TEST(test_damaged),
        TEST(test_cut),     TEST(test_foreign_text),  TEST(test_keys_without_members),
        TEST(test_no_file), TEST(test_reading_fails),
    };
    return cmocka_run_group_tests(tests, printed_open, printed_close);
}
