/* SPDX-License-Identifier: BSD-3-Clause
 * Loading snapshots: what a fault says of its place, byte by byte; what a check hears; modules'
 * data. Files are written here, as bytes, so that their places are known.
 */
#include "rdb/rdb_load.h"

#include "server/whole.h"

#include "base/log.h"
#include "base/stream.h"
#include "rdb/rdb_module.h"
#include "value/saved.h"

#define MAGIC "REDIS0009"
/* A literal with NULs in it, without the one at its end. */
#define BYTES(literal) ((struct slice){literal, sizeof(literal) - 1})
#define NO_SUM "\xff\0\0\0\0\0\0\0\0"

static struct rdb_loaded result;

/* ---- what a check hears ---- */

static struct buffer heard = {.class = MEMORY_OTHER};

static void hear_auxiliary(uint64_t offset, struct slice name, struct slice value) {
    buffer_printf(&heard, "%d %.*s=%.*s;", (int)offset, (int)name.length, name.bytes,
                  (int)value.length, value.bytes);
}
static void hear_database(uint64_t offset, uint64_t index) {
    buffer_printf(&heard, "%d db%d;", (int)offset, (int)index);
}
static void hear_module(uint64_t offset, const char *name) {
    buffer_printf(&heard, "%d module %s;", (int)offset, name);
}
static void hear_empty(uint64_t offset, const char *key) {
    buffer_printf(&heard, "%d empty %s;", (int)offset, key);
}
static void hear_checksum(uint64_t offset, enum rdb_checksum what) {
    buffer_printf(&heard, "%d %s;", (int)offset, what == RDB_CHECKSUM_RIGHT ? "right" : "absent");
}

static const struct rdb_listener listener = {hear_auxiliary, hear_database, hear_module, hear_empty,
                                             hear_checksum};

static bool check(struct slice file) {
    struct source in;
    buffer_clear(&heard);
    slice_source_init(&in, file);
    return rdb_load(&in, &(struct rdb_loading){.checks_for = &listener}, &result);
}

static bool load(struct slice file) {
    struct source in;
    slice_source_init(&in, file);
    return rdb_load(&in, &(struct rdb_loading){0}, &result);
}

static void assert_heard(const char *wanted) {
    buffer_append(&heard, "", 1);
    assert_string_equal(heard.bytes, wanted);
}

static void test_check_hears_all(void **state) {
    assert_true(check(BYTES(MAGIC "\xfa\x03"
                                  "abc\x01"
                                  "d"                                    /* to 16 */
                                  "\xfe\x00\xfb\x02\x01"                 /* to 21 */
                                  "\xfc\1\0\0\0\0\0\0\0\0\1k\1v"         /* to 35 */
                                  "\xfe\x30\xfd\0\0\0\x70\xf8\5\0\1l\1v" /* to 49 */
                                  "\xf9\5\4\1m\0" NO_SUM)));
    assert_heard("16 abc=d;18 db0;37 db48;55 empty m;64 absent;");
    assert_int_equal(result.read, 3);
    assert_int_equal(result.with_deadline, 2);
    assert_int_equal(result.expired, 1);
    assert_int_equal(result.empty, 1);
    assert_int_equal(result.keys, 0);
    assert_string_equal(result.reason, "");
    assert_int_equal(keyspace_count(keyspace_at(0)), 0);
}

static void test_checksum_is_checked(void **state) {
    assert_true(check(BYTES("REDIS0004\xff")));
    assert_heard("");
    assert_false(check(BYTES(MAGIC "\xff\1\0\0\0\0\0\0\0")));
    assert_int_equal(result.stage, RDB_AT_CHECKSUM);
    assert_int_equal(result.offset, 18);
    assert_non_null(strstr(result.reason, "RDB CRC error"));
    assert_false(result.has_key);
}

/* ---- faults ---- */

static void assert_described(const char *wanted) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    rdb_describe_fault(&result, &text);
    assert_string_equal(text.bytes, wanted);
    buffer_free(&text);
}

static void test_fault_names_the_key(void **state) {
    assert_false(load(BYTES(MAGIC "\xfe\3\0\1a\1v"
                                  "\xfc\0\0\0\0\0\0\0\x70\x0d\1k\5abcde" NO_SUM)));
    assert_int_equal(result.stage, RDB_AT_VALUE);
    assert_int_equal(result.key_offset, 25);
    assert_int_equal(result.form, SAVED_HASH_ZIPLIST);
    assert_described(
        "at offset 34, after 1 keys, in key 'k' of database 3 (hash-ziplist, from "
        "offset 25): Ziplist integrity check failed");
    assert_int_equal(keyspace_count(keyspace_at(3)), 1);
}

static void test_duplicate_key(void **state) {
    struct slice file = BYTES(MAGIC "\0\1k\1v\0\1k\1w" NO_SUM);
    assert_false(load(file));
    assert_described("at offset 19, after 1 keys: RDB has duplicated key 'k' in DB 0");
    assert_true(check(file));
}

static void test_key_is_shown_on_its_line(void **state) {
    assert_false(load(BYTES(MAGIC "\0\3\n'\xff\xc3")));
    assert_string_equal(result.key, "\\x0a'\\xff");
    /* A long one is cut, never within a byte's four characters. */
    struct buffer file;
    buffer_init(&file, MEMORY_OTHER);
    buffer_append(&file, MAGIC "\0\x40\xc8", 12);
    for (int i = 0; i < 200; i++) buffer_append_char(&file, i < 122 ? 'x' : '\n');
    assert_false(load(buffer_slice(&file)));
    assert_int_equal(strlen(result.key), 126);
    assert_string_equal(result.key + 120, "xx\\x0a");
    buffer_free(&file);
}

static struct buffer logged = {.class = MEMORY_OTHER};

static void note_line(const char *line, size_t length) {
    buffer_append(&logged, line, length);
    buffer_append_char(&logged, '\n');
}

/* What a file says of its origin may be anything of any length: the log gets the beginning, as what
 * a line can show. */
static void test_origin_is_shown_on_its_line(void **state) {
    struct buffer file;
    buffer_init(&file, MEMORY_OTHER);
    buffer_append(&file,
                  MAGIC
                  "\xfa\x09redis-ver\x05"
                  "6\n7\0\xff",
                  9 + 1 + 1 + 9 + 1 + 5);
    buffer_append(&file, "\xfa\x03%a\n\x43\xe8", 7);
    for (int i = 0; i < 1000; i++) buffer_append_char(&file, 'x');
    buffer_append(&file,
                  "\xfa\x05"
                  "ctime\x14-9223372036854775808" NO_SUM,
                  2 + 5 + 21 + 9);
    log_set_observer(note_line);
    assert_true(load(buffer_slice(&file)));
    log_set_observer(NULL);
    assert_non_null(strstr(logged.bytes, "Loading RDB produced by version 6\\x0a7\\x00\\xff\n"));
    const char *at = strstr(logged.bytes, "RDB '%a\\x0a': xxxx");
    assert_non_null(at);
    assert_in_range(strcspn(at, "\n"), 100, 200);
    buffer_clear(&logged);
    buffer_free(&file);
}

/* How many keys come stands in the file. Where nobody knows how much of that follows room is made
 * for some; the table grows for the others as they come. */
static ssize_t read_lie(struct source *s, void *bytes, size_t length) {
    static const char lie[] = MAGIC "\xfe\0\xfb\x81\x10\0\0\0\0\0\0\0\0\0\1k\1v" NO_SUM;
    size_t left = sizeof(lie) - 1 - s->fetched;
    if (length > left) length = left;
    memcpy(bytes, lie + s->fetched, length);
    return (ssize_t)length;
}

static void test_room_for_what_may_not_come(void **state) {
    static const struct source_type type = {read_lie};
    char window[64];
    struct source in;
    source_init(&in, &type, window, sizeof(window), SOURCE_LENGTH_UNKNOWN);
    assert_true(rdb_load(&in, &(struct rdb_loading){0}, &result));
    assert_int_equal(result.keys, 1);
    assert_in_range(keyspace_table_bytes(keyspace_at(0)), 1 << 20, 64 << 20);
}

/* A file that promises more keys than it has bytes for, in each database anew, and again for the
 * same one, gets room for as many as it can have: once, not once a promise. */
static void test_room_is_made_once_a_file(void **state) {
    enum { PROMISES = 64, BYTES_MORE = 1 << 20 };
    struct buffer file;
    size_t room = 0;
    buffer_init(&file, MEMORY_OTHER);
    buffer_append_c_string(&file, MAGIC);
    for (int i = 0; i < PROMISES; i++) {
        buffer_append_char(&file, '\xfe');
        buffer_append_char(&file, (char)(i % keyspace_databases()));
        buffer_append(&file, "\xfb\x81\x10\0\0\0\0\0\0\0\0", 11);
    }
    buffer_append(&file, "\0\1k\x80\0\x10\0\0", 8);
    memset(buffer_reserve(&file, BYTES_MORE), 'x', BYTES_MORE);
    file.length += BYTES_MORE;
    buffer_append(&file, NO_SUM, sizeof(NO_SUM) - 1);
    assert_true(load(buffer_slice(&file)));
    assert_int_equal(result.keys, 1);
    for (int i = 0; i < keyspace_databases(); i++) room += keyspace_table_bytes(keyspace_at(i));
    assert_in_range(room, BYTES_MORE / 2, 2 * BYTES_MORE);
    buffer_free(&file);
}

/* Each beginning of a good file is refused, at its end, with what was being read there. */
static void test_cut_anywhere(void **state) {
    static const char file[] = MAGIC
        "\xfa\1a\1b\xfe\1\xfb\1\1"
        "\xfc\0\0\0\0\0\0\0\x70\xf8\1\2\1s\2\1m\1n\xff";
    static const char stages[] = "SSSSSSSSSMXXXXMLMLLMDDDDDDDDMMMKKVVVVVM";
    static const char letters[RDB_STAGES + 1] = "SMDKVCLX.";
    for (size_t length = 0; length < sizeof(file) - 1; length++) {
        assert_false(check((struct slice){file, length}));
        assert_string_not_equal(result.reason, "");
        assert_int_equal(letters[result.stage], stages[length]);
        assert_int_equal(result.has_key, stages[length] == 'V');
        assert_true(result.offset <= length);
    }
    assert_false(check((struct slice){file, sizeof(file) - 1}));
    assert_int_equal(result.stage, RDB_AT_CHECKSUM);
    assert_string_equal(result.reason, "Unexpected EOF reading RDB file");
}

static void test_forms_have_names(void **state) {
    enum value_kind kind;
    for (int form = 0; form < 256; form++)
        if (saved_form_kind((unsigned)form, &kind))
            assert_string_not_equal(rdb_form_name(form), "unknown");
    assert_string_equal(rdb_form_name(RDB_NO_FORM), "unknown");
    assert_string_equal(rdb_form_name(8), "unknown");
    assert_string_equal(rdb_form_name(16), "unknown");
}

/* ---- modules ---- */

/* The number of a type "ReJSON-RL" in its version 3, and data: one part of each kind. */
#define MODULE "\x81\x45\xe2\x52\x38\xdf\x91\x17\x03"
#define PARTS "\1\5\2\5\3abcd\4abcdefgh\5\3xyz\0"

static void test_module_has_a_name(void **state) {
    char name[RDB_MODULE_NAME_BYTES];
    struct source in;
    slice_source_init(&in, BYTES("\x81\x04\x14\x61\xc8\x25\x96\x8f\xff"));
    assert_true(rdb_module_read_name(&in, name));
    assert_int_equal(strlen(name), 9);
    assert_string_equal(name, "BBRhyCWWj");
    slice_source_init(&in, BYTES("\x81\xff\xff"));
    assert_false(rdb_module_read_name(&in, name));
}

static void test_module_is_passed_over_by_a_check(void **state) {
    assert_true(
        check(BYTES(MAGIC "\xf7" MODULE "\2\1" PARTS "\7\1k" MODULE PARTS "\0\1l\1v" NO_SUM)));
    assert_int_equal(result.read, 2);
    assert_non_null(memmem(heard.bytes, heard.length, "module ", 7));
    /* The server has none: it says whose data it is. */
    assert_false(load(BYTES(MAGIC "\7\1k" MODULE PARTS NO_SUM)));
    assert_non_null(strstr(result.reason, "module data I can't load: no matching module '"));
    assert_false(load(BYTES(MAGIC "\xf7" MODULE "\2\1" PARTS NO_SUM)));
    assert_non_null(strstr(result.reason, "AUX module data I can't load: no matching module '"));
    assert_int_equal(result.stage, RDB_AT_MODULE);
    /* The old form has no end. */
    assert_false(check(BYTES(MAGIC "\6\1k" MODULE PARTS NO_SUM)));
}

static void test_damaged_module(void **state) {
    static const char good[] = MAGIC "\7\1k" MODULE PARTS;
    for (size_t length = 0; length < sizeof(good) - 1; length++)
        assert_false(check((struct slice){good, length}));
    assert_false(check(BYTES(MAGIC "\7\1k" MODULE "\6\0" NO_SUM)));
    assert_string_equal(result.reason, "a part of a module's data has an unknown mark");
    assert_false(check(BYTES(MAGIC "\xf7" MODULE PARTS NO_SUM)));
    assert_string_equal(result.reason, "a module's data does not say when it is due");
}

static int open(void **state) { return whole_open(); }

static int close_all(void **state) {
    buffer_free(&heard);
    buffer_free(&logged);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, whole_nothing_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_check_hears_all),
        TEST(test_checksum_is_checked),
        TEST(test_fault_names_the_key),
        TEST(test_duplicate_key),
        TEST(test_key_is_shown_on_its_line),
        TEST(test_origin_is_shown_on_its_line),
        TEST(test_room_for_what_may_not_come),
        TEST(test_room_is_made_once_a_file),
        TEST(test_cut_anywhere),
        TEST(test_forms_have_names),
        TEST(test_module_has_a_name),
        TEST(test_module_is_passed_over_by_a_check),
        TEST(test_damaged_module),
    };
    return cmocka_run_group_tests(tests, open, close_all);
}
