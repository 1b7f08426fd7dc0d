/* SPDX-License-Identifier: BSD-3-Clause
 * Edits: what stands in the keyspace after each state, who is told of it, when and how often, and
 * what is counted. Without calls: keys and values only.
 */
#include "exec/edit.h"

#include "base/hash.h"
#include "store/keys.h"
#include "store/limbo.h"
#include "value/set.h"
#include "value/types.h"
#include "value/value.h"

/* ---- what is told, in order: "w k" for a key that was written, and whether it is there ---- */

static struct buffer told = {.class = MEMORY_OTHER};

static void note(const char *who, const struct key *key, enum keyspace_cause cause) {
    bool there = keyspace_presence(key) == KEYSPACE_PRESENT;
    const char *const causes[] = {"written", "expired", "evicted"};
    buffer_printf(&told, "%s %d:%.*s %s%s;", who, keyspace_index(key->keyspace),
                  (int)key->name.length, key->name.bytes, causes[cause], there ? "" : " gone");
}

static void first_changed(const struct key *key, enum keyspace_cause cause) {
    note("first", key, cause);
}
static void second_changed(const struct key *key, enum keyspace_cause cause) {
    note("second", key, cause);
}

static const struct keyspace_observer first = {.changed = first_changed};
static const struct keyspace_observer second = {.changed = second_changed};
static const struct keyspace_observer *const observers[] = {&first, &second, NULL};

static void assert_told(const char *wanted) {
    buffer_append(&told, "", 1);
    assert_string_equal(told.bytes, wanted);
    buffer_clear(&told);
}

/* ---- helpers ---- */

static struct key key_in(int database, const char *name) {
    struct slice text = slice_of(name);
    return (struct key){keyspace_at(database), text, hash_bytes(text.bytes, text.length)};
}

static struct entry *find(int database, const char *name) {
    const struct key key = key_in(database, name);
    return keyspace_find(&key);
}

/* Counted by edits, and by the keyspace. */
static uint64_t edits_before, changes_before;

static void assert_counted(uint64_t changes) {
    assert_int_equal(keyspace_written() - edits_before, changes);
    assert_int_equal(keyspace_changes() - changes_before, changes);
    edits_before = keyspace_written();
    changes_before = keyspace_changes();
}

static void open_key(struct edit *edit, const char *name, enum entry_type type) {
    const struct key key = key_in(0, name);
    assert_true(edit_open_key(edit, &key, type));
}

static void add_members(const char *name, const char *const *members, size_t count) {
    struct edit edit;
    open_key(&edit, name, ENTRY_SET);
    struct value *v = edit_value(&edit, set_create);
    for (size_t i = 0; i < count; i++) set_add(v, slice_of(members[i]));
    edit_close(&edit, count, NOTIFY_SET, "sadd");
    buffer_clear(&told);
    edits_before = keyspace_written();
    changes_before = keyspace_changes();
}

#define ADD(name, ...)                                    \
    add_members(name, (const char *const[]){__VA_ARGS__}, \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void put_text(int database, const char *name, const char *text) {
    struct edit edit;
    const struct key key = key_in(database, name);
    struct string_value value = {.text = slice_of(text)};
    edit_find(&edit, &key);
    edit_put_string(&edit, &value, ENTRY_NO_DEADLINE);
    edit_close(&edit, 1, NOTIFY_STRING, "set");
}

static void forget(void) {
    buffer_clear(&told);
    edits_before = keyspace_written();
    changes_before = keyspace_changes();
}

/* ---- single keys ---- */

static void test_looked_at_only(void **state) {
    struct edit edit;
    ADD("s", "a");
    open_key(&edit, "s", ENTRY_SET);
    assert_non_null(edit.entry);
    edit_close(&edit, 0, NOTIFY_SET, "sadd");
    open_key(&edit, "none", ENTRY_SET);
    assert_null(edit.entry);
    assert_null(edit_value(&edit, NULL));
    edit_close(&edit, 0, NOTIFY_SET, "sadd");
    assert_told("");
    assert_counted(0);
    assert_null(find(0, "none"));
}

static void test_another_type(void **state) {
    struct edit edit;
    const struct key key = key_in(0, "s");
    ADD("s", "a");
    assert_false(edit_open_key(&edit, &key, ENTRY_LIST));
    assert_true(edit_open_key(&edit, &key, ENTRY_SET));
    edit_close(&edit, 0, NOTIFY_SET, NULL);
}

static void test_made(void **state) {
    struct edit edit;
    open_key(&edit, "s", ENTRY_SET);
    struct value *v = edit_value(&edit, set_create);
    assert_ptr_equal(edit_value(&edit, set_create), v); /* asked again it is the same */
    assert_true(set_add(v, SLICE("a")));
    assert_null(find(0, "s")); /* not before it is closed */
    assert_told("");
    edit_close(&edit, 1, NOTIFY_SET, "sadd");
    assert_told("first 0:s written;second 0:s written;");
    assert_counted(1);
    assert_int_equal(set_count(entry_object(find(0, "s"))), 1);
}

static void test_made_and_dropped(void **state) {
    size_t bytes = memory_used(MEMORY_DATASET);
    struct edit edit;
    open_key(&edit, "s", ENTRY_SET);
    set_add(edit_value(&edit, set_create), SLICE("a"));
    edit_close(&edit, 0, NOTIFY_SET, "sadd");
    assert_told("");
    assert_counted(0);
    assert_null(find(0, "s"));
    assert_int_equal(memory_used(MEMORY_DATASET), bytes);
}

static void test_value_goes_back(void **state) {
    struct edit edit;
    char member[16];
    ADD("s", "1", "2");
    open_key(&edit, "s", ENTRY_SET);
    struct value *v = edit_value(&edit, NULL);
    /* It grows out of two encodings, so that pointer and encoding are others. */
    set_add(v, SLICE("text"));
    for (int i = 0; i < 1000; i++) {
        snprintf(member, sizeof(member), "m%d", i);
        set_add(v, slice_of(member));
    }
    edit_close(&edit, 1001, NOTIFY_SET, "sadd");
    assert_told("first 0:s written;second 0:s written;");
    assert_counted(1001);
    assert_int_equal(set_count(entry_object(find(0, "s"))), 1003);
    keyspace_check(keyspace_at(0));
}

/* Changed in form and yet by 0: it goes back all the same. */
static void test_value_goes_back_uncounted(void **state) {
    struct edit edit;
    ADD("s", "1");
    open_key(&edit, "s", ENTRY_SET);
    struct value *v = edit_value(&edit, NULL);
    set_add(v, SLICE("text"));
    set_remove(v, SLICE("text"));
    edit_close(&edit, 0, NOTIFY_SET, "sadd");
    assert_told("");
    assert_counted(0);
    assert_int_equal(set_count(entry_object(find(0, "s"))), 1);
    keyspace_check(keyspace_at(0));
}

static void test_emptied(void **state) {
    struct edit edit;
    ADD("s", "a");
    open_key(&edit, "s", ENTRY_SET);
    assert_true(set_remove(edit_value(&edit, NULL), SLICE("a")));
    edit_close(&edit, 1, NOTIFY_SET, "srem");
    assert_told("first 0:s written gone;second 0:s written gone;");
    assert_counted(1); /* that it went is no further change */
    assert_null(find(0, "s"));
    assert_int_equal(keyspace_count(keyspace_at(0)), 0);
}

static void test_closed_anyway(void **state) {
    struct edit edit;
    ADD("s", "a");
    open_key(&edit, "s", ENTRY_SET);
    edit_value(&edit, NULL);
    edit_close_anyway(&edit, 0, NOTIFY_SET, "sadd");
    assert_told("first 0:s written;second 0:s written;");
    assert_counted(0);
}

static void test_closed_untold(void **state) {
    struct edit edit;
    ADD("s", "a");
    open_key(&edit, "s", ENTRY_SET);
    set_add(edit_value(&edit, NULL), SLICE("b"));
    edit_close_untold(&edit, 1, NOTIFY_SET, "sadd");
    assert_told("");
    assert_counted(1);
    assert_int_equal(set_count(entry_object(find(0, "s"))), 2);
}

static void test_strings(void **state) {
    struct edit edit;
    struct slice text;
    char digits[ENTRY_STRING_SCRATCH];
    put_text(0, "t", "old");
    assert_told("first 0:t written;second 0:t written;");
    open_key(&edit, "t", ENTRY_STRING);
    memcpy(edit_put_bytes(&edit, 5), "bytes", 5);
    edit_close(&edit, 1, NOTIFY_STRING, "setrange");
    text = entry_string(find(0, "t"), digits);
    assert_true(slice_equal(text, SLICE("bytes")));
    open_key(&edit, "t", ENTRY_STRING);
    edit_put_deadline(&edit, START_MSEC + 100);
    edit_close(&edit, 1, NOTIFY_GENERIC, "expire");
    assert_int_equal(entry_deadline(find(0, "t")), START_MSEC + 100);
    struct string_value value = {.text = SLICE("kept")};
    open_key(&edit, "t", ENTRY_STRING);
    edit_put_string(&edit, &value, KEYSPACE_KEEP_DEADLINE);
    edit_close(&edit, 1, NOTIFY_STRING, "set");
    assert_int_equal(entry_deadline(find(0, "t")), START_MSEC + 100);
    assert_told(
        "first 0:t written;second 0:t written;first 0:t written;second 0:t written;"
        "first 0:t written;second 0:t written;");
    assert_counted(4);
}

/* What a nested call changes does not touch what the outer one reads. */
static void test_nested_call_changes_a_copy(void **state) {
    struct edit edit;
    ADD("s", "a", "b");
    limbo_enter();
    struct value outer = entry_object(find(0, "s"));
    limbo_enter();
    open_key(&edit, "s", ENTRY_SET);
    set_remove(edit_value(&edit, NULL), SLICE("a"));
    edit_close(&edit, 1, NOTIFY_SET, "srem");
    assert_int_equal(set_count(outer), 2);
    assert_int_equal(set_count(entry_object(find(0, "s"))), 1);
    limbo_leave();
    assert_true(set_has(outer, SLICE("a")));
    limbo_leave();
    keyspace_check(keyspace_at(0));
}

/* ---- whole edits ---- */

static void test_delete(void **state) {
    const struct key key = key_in(0, "s");
    ADD("s", "a");
    assert_true(edit_delete(&key, false));
    assert_told("first 0:s written gone;second 0:s written gone;");
    assert_counted(1);
    assert_false(edit_delete(&key, true));
    assert_told("");
    assert_counted(0);
}

/* A key that is due expires instead: no change of the call's. */
static void test_delete_of_due(void **state) {
    const struct key key = key_in(0, "s");
    struct edit edit;
    ADD("s", "a");
    open_key(&edit, "s", ENTRY_SET);
    edit_put_deadline(&edit, START_MSEC + 10);
    edit_close(&edit, 1, NOTIFY_GENERIC, "expire");
    forget();
    clock_set_msec(START_MSEC + 11);
    assert_false(edit_delete(&key, false));
    assert_told("first 0:s expired gone;second 0:s expired gone;");
    assert_int_equal(keyspace_written(), edits_before);
}

static void test_store(void **state) {
    const struct key key = key_in(0, "s");
    struct value v = set_create();
    set_add(&v, SLICE("a"));
    set_add(&v, SLICE("b"));
    put_text(0, "s", "another type");
    forget();
    edit_store(&key, ENTRY_SET, v, 2, NOTIFY_SET, "sunionstore");
    assert_told("first 0:s written;second 0:s written;");
    assert_counted(2);
    assert_int_equal(find(0, "s")->type, ENTRY_SET);
    edit_store(&key, ENTRY_SET, set_create(), 0, NOTIFY_SET, "sunionstore");
    assert_told("first 0:s written gone;second 0:s written gone;");
    assert_counted(1);
    edit_store(&key, ENTRY_SET, set_create(), 0, NOTIFY_SET, "sunionstore");
    assert_told("");
    assert_counted(0);
}

static void test_rename(void **state) {
    const struct key from = key_in(0, "from"), to = key_in(0, "to");
    struct edit edit;
    put_text(0, "from", "v");
    put_text(0, "to", "gone");
    open_key(&edit, "from", ENTRY_STRING);
    edit_put_deadline(&edit, START_MSEC + 100);
    edit_close(&edit, 1, NOTIFY_GENERIC, "expire");
    forget();
    edit_find(&edit, &from);
    edit_rename(&edit, &to);
    assert_told(
        "first 0:from written gone;second 0:from written gone;"
        "first 0:to written;second 0:to written;");
    assert_counted(1);
    assert_null(find(0, "from"));
    assert_int_equal(entry_deadline(find(0, "to")), START_MSEC + 100);
}

static void test_move_and_copy(void **state) {
    const struct key here = key_in(0, "k"), there = key_in(1, "k"), copy = key_in(1, "copy");
    struct edit edit;
    put_text(0, "k", "v");
    forget();
    edit_find(&edit, &here);
    edit_copy(&edit, &copy);
    assert_told("first 1:copy written;second 1:copy written;");
    assert_counted(1);
    edit_find(&edit, &here);
    edit_move(&edit, there.keyspace);
    assert_told(
        "first 0:k written gone;second 0:k written gone;"
        "first 1:k written;second 1:k written;");
    assert_counted(1);
    assert_null(find(0, "k"));
    assert_non_null(find(1, "k"));
    assert_non_null(find(1, "copy"));
}

static void test_swap_and_flush(void **state) {
    put_text(0, "a", "1");
    put_text(0, "b", "2");
    forget();
    edit_swap(keyspace_at(0), keyspace_at(1));
    assert_counted(1);
    assert_non_null(find(1, "a"));
    assert_int_equal(edit_flush(keyspace_at(0), LAZYFREE_NOW), 0);
    assert_counted(0);
    assert_int_equal(edit_flush(keyspace_at(1), LAZYFREE_NOW), 2);
    assert_counted(0); /* the command counts what it flushes */
    assert_int_equal(keyspace_count(keyspace_at(1)), 0);
}

static int open_all(void **state) {
    int result = keys_open();
    value_register();
    keyspace_set_observers(observers);
    keyspace_add_interest(KEYSPACE_WRITES, 1);
    keyspace_add_interest(KEYSPACE_REMOVALS, 1);
    return result;
}

static int begin(void **state) {
    int result = keys_begin(state);
    forget();
    return result;
}

static int end(void **state) {
    int result = keys_nothing_left(state);
    buffer_free(&told);
    return result;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_looked_at_only),
        TEST(test_another_type),
        TEST(test_made),
        TEST(test_made_and_dropped),
        TEST(test_value_goes_back),
        TEST(test_value_goes_back_uncounted),
        TEST(test_emptied),
        TEST(test_closed_anyway),
        TEST(test_closed_untold),
        TEST(test_strings),
        TEST(test_nested_call_changes_a_copy),
        TEST(test_delete),
        TEST(test_delete_of_due),
        TEST(test_store),
        TEST(test_rename),
        TEST(test_move_and_copy),
        TEST(test_swap_and_flush),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
