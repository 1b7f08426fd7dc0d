/* SPDX-License-Identifier: BSD-3-Clause
 * Fields of snapshots: where they stand in the file, and who gets what it says.
 */
#include "rdb/rdb_fields.h"

#include "server/whole.h"

#include "base/stream.h"
#include "rdb/rdb_load.h"
#include "rdb/rdb_save.h"

static char taken[200];
static bool refuses;

static void save_two(struct rdb_field_values *values) {
    rdb_field_say(values, SLICE("one"));
    rdb_field_say(values, SLICE("7"));
}
static void save_last(struct rdb_field_values *values) { rdb_field_say(values, SLICE("end")); }
static void save_nothing(struct rdb_field_values *values) {}

static bool take(struct slice value, char *reason, size_t reason_size) {
    size_t length = strlen(taken);
    snprintf(taken + length, sizeof(taken) - length, "%.*s;", (int)value.length, value.bytes);
    snprintf(reason, reason_size, "it is %.*s", (int)value.length, value.bytes);
    return !refuses;
}

static const struct rdb_field two = {"two", false, save_two, take},
                              last = {"last", true, save_last, take},
                              silent = {"silent", false, save_nothing, take};
static const struct rdb_field *const rows[] = {&last, &two, &silent, NULL};

static struct buffer file = {.class = MEMORY_OTHER};

static void save(bool (*by)(struct sink *out)) {
    struct buffer_sink out;
    buffer_clear(&file);
    buffer_sink_init(&out, &file);
    assert_true(by(&out.sink));
}

static bool load(struct rdb_loaded *result) {
    struct source in;
    taken[0] = '\0';
    slice_source_init(&in, buffer_slice(&file));
    return rdb_load(&in, &(struct rdb_loading){0}, result);
}

static bool has(const char *bytes) { return memmem(file.bytes, file.length, bytes, strlen(bytes)); }

static void test_file(void **state) {
    struct rdb_loaded result;
    save(rdb_save);
    assert_true(has("\xfa\3two\3one\xfa\3two\xc0\7"));
    assert_true(has("\xfa\4last\3end\xff"));
    assert_false(has("silent"));
    assert_true(load(&result));
    assert_string_equal(taken, "one;7;end;");
}

static void test_beginning_of_a_log_has_none(void **state) {
    save(rdb_save_preamble);
    assert_false(has("two"));
    assert_false(has("last"));
}

static void test_refusal(void **state) {
    struct rdb_loaded result;
    save(rdb_save);
    refuses = true;
    assert_false(load(&result));
    refuses = false;
    assert_string_equal(result.reason, "it is one");
    assert_int_equal(result.stage, RDB_AT_AUXILIARY);
}

static void test_unknown_names_are_passed_over(void **state) {
    struct rdb_loaded result;
    save(rdb_save);
    rdb_fields_set(NULL);
    assert_true(load(&result));
    assert_string_equal(taken, "");
    assert_null(rdb_field_named(SLICE("two")));
    rdb_fields_set(rows);
    assert_ptr_equal(rdb_field_named(SLICE("two")), &two);
    assert_null(rdb_field_named(SLICE("tw")));
}

static int open_all(void **state) {
    int status = whole_open();
    rdb_fields_set(rows);
    return status;
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, whole_nothing_left)
        TEST(test_file),
        TEST(test_beginning_of_a_log_has_none),
        TEST(test_refusal),
        TEST(test_unknown_names_are_passed_over),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
