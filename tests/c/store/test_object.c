/* SPDX-License-Identifier: BSD-3-Clause
 * Values of other types than string in the keyspace: storing, changing, copying, renaming and
 * freeing them, and the bytes that a database counts.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/quicklist.h"
#include "ds/table.h"
#include "io/background.h"
#include "store/digest.h"
#include "store/keys.h"
#include "store/lazyfree.h"
#include "store/limbo.h"
#include "value/hash.h"
#include "value/list.h"
#include "value/types.h"

static struct keyspace *ks;

static int begin(void **state) {
    ks = keyspace_at(0);
    return keys_begin(state);
}

static struct value hash_of(unsigned fields) {
    struct value v = hash_create();
    for (unsigned i = 0; i < fields; i++) {
        char name[16];
        int length = snprintf(name, sizeof(name), "field:%u", i);
        hash_set(&v, (struct slice){name, (size_t)length}, SLICE("some text"));
    }
    return v;
}

static struct entry *store_hash(unsigned number, unsigned fields, int64_t deadline) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    return told_object(ks, key, key_hash(key), told_find(ks, key, key_hash(key)), ENTRY_HASH,
                       hash_of(fields), deadline);
}

static void test_store(void **state) {
    struct entry *e = store_hash(1, 10, START_MSEC + 5000);
    assert_string_equal(entry_type_name(e), "hash");
    assert_string_equal(entry_encoding_name(e), "ziplist");
    assert_int_equal(entry_deadline(e), START_MSEC + 5000);
    assert_int_equal(hash_count(entry_object(e)), 10);
    e = store_hash(1, 1000, KEYSPACE_KEEP_DEADLINE);
    assert_string_equal(entry_encoding_name(e), "hashtable");
    assert_int_equal(entry_deadline(e), START_MSEC + 5000);
    assert_int_equal(keyspace_count(ks), 1);
    keyspace_check(ks);
    /* A string in its place, and the other way round. */
    key_store(ks, 1, SLICE("text"), ENTRY_NO_DEADLINE);
    assert_string_equal(entry_type_name(key_find(ks, 1)), "string");
    keyspace_check(ks);
    e = store_hash(1, 5, KEYSPACE_KEEP_DEADLINE);
    assert_int_equal(entry_deadline(e), ENTRY_NO_DEADLINE);
    keyspace_check(ks);
}

/* The value grows into another form and another place; the database's bytes follow. */
static void test_change(void **state) {
    struct key_text name;
    struct slice key = key_of(&name, 8);
    store_hash(8, 1, START_MSEC + 1000);
    for (unsigned i = 0; i < 2000; i++) {
        struct value v;
        char field[16];
        struct entry *e = told_begin(ks, key_find(ks, 8), key_hash(key), &v);
        size_t length = (size_t)snprintf(field, sizeof(field), "f%u", i);
        assert_true(hash_set(&v, (struct slice){field, length}, SLICE("text")));
        told_end(ks, e, v);
        if (i % 100 == 0) keyspace_check(ks);
    }
    assert_string_equal(entry_encoding_name(key_find(ks, 8)), "hashtable");
    assert_int_equal(hash_count(entry_object(key_find(ks, 8))), 2001);
    assert_int_equal(entry_deadline(key_find(ks, 8)), START_MSEC + 1000);
    keyspace_check(ks);
}

/* A nested call changes a copy: what the outer one reads stays. */
static void test_nested_change(void **state) {
    struct key_text name;
    struct slice key = key_of(&name, 3);
    struct listpack_value text;
    struct value v;
    struct entry *outer = store_hash(3, 4, ENTRY_NO_DEADLINE);
    struct value before = entry_object(outer);
    limbo_enter();
    assert_true(hash_get(before, SLICE("field:2"), &text));
    limbo_enter();
    struct entry *e = told_begin(ks, outer, key_hash(key), &v);
    assert_ptr_not_equal(e, outer);
    hash_set(&v, SLICE("field:2"), SLICE("a text of another length, which moves the block"));
    told_end(ks, e, v);
    limbo_leave();
    assert_true(slice_equal(text.text, SLICE("some text")));
    assert_ptr_equal(key_find(ks, 3), e);
    limbo_leave();
    keyspace_check(ks);
}

static void test_moves(void **state) {
    struct key_text name, other;
    struct slice key = key_of(&name, 1), new_key = key_of(&other, 16);
    unsigned char first[SHA1_BYTES], second[SHA1_BYTES];
    struct entry *e = store_hash(1, 600, ENTRY_NO_DEADLINE);
    digest_value(e, first);
    struct entry *copy = told_copy(ks, new_key, key_hash(new_key), e);
    digest_value(copy, second);
    assert_memory_equal(first, second, SHA1_BYTES);
    assert_ptr_not_equal(entry_object(copy).pointer, entry_object(e).pointer);
    keyspace_check(ks);
    e = told_rename(ks, e, key_hash(key), new_key, key_hash(new_key));
    digest_value(e, second);
    assert_memory_equal(first, second, SHA1_BYTES);
    assert_int_equal(keyspace_count(ks), 1);
    e = told_deadline(ks, e, key_hash(new_key), START_MSEC + 9);
    assert_int_equal(hash_count(entry_object(e)), 600);
    keyspace_check(ks);
    assert_true(told_delete(ks, new_key, key_hash(new_key)));
    keyspace_check(ks);
}

/* A table that owes shrinking leaves the main thread's list before another thread frees it. */
static void test_freed_in_background(void **state) {
    struct key_text name;
    struct slice key = key_of(&name, 2);
    struct value v;
    struct entry *e = told_begin(ks, store_hash(2, 20000, ENTRY_NO_DEADLINE), key_hash(key), &v);
    for (unsigned i = 0; i < 19000; i++) {
        char field[16];
        int length = snprintf(field, sizeof(field), "field:%u", i);
        assert_true(hash_delete(&v, (struct slice){field, (size_t)length}));
    }
    told_end(ks, e, v);
    keyspace_check(ks);
    assert_true(lazyfree_is_large(e));
    assert_true(told_delete_with(ks, key, key_hash(key), true));
    background_drain(&background_free);
    assert_int_equal(lazyfree_pending_bytes(), 0);
}

static void change_fields(struct entry *e, unsigned number, unsigned first, unsigned end,
                          bool add) {
    struct key_text name;
    struct value v;
    e = told_begin(ks, e, key_hash(key_of(&name, number)), &v);
    for (unsigned i = first; i < end; i++) {
        char field[16];
        struct slice text = {field, (size_t)snprintf(field, sizeof(field), "field:%u", i)};
        if (add)
            hash_set(&v, text, SLICE("some text"));
        else
            hash_delete(&v, text);
    }
    told_end(ks, e, v);
    keyspace_check(ks);
}

/* A table within a value grows and shrinks when nobody changes the value, too; the database's sum
 * stays that of its entries, and what they take is known again after the next change. */
static void test_paid_between_changes(void **state) {
    struct entry *e = store_hash(2, 1000, ENTRY_NO_DEADLINE);
    table_set_resize(TABLE_RESIZE_AVOID);
    change_fields(e, 2, 1000, 1900, true);
    table_set_resize(TABLE_RESIZE_FREE);
    assert_true(table_pay_owed(SIZE_MAX) > 0);
    keyspace_check(ks);
    change_fields(e, 2, 0, 1800, false);
    assert_true(table_pay_owed(SIZE_MAX) > 0);
    keyspace_check(ks);
    change_fields(e, 2, 0, 1900, true);
    size_t bytes = keyspace_entry_bytes(ks);
    struct entry *same = store_hash(16, 1900, ENTRY_NO_DEADLINE);
    assert_int_equal(entry_outside_bytes(e), entry_outside_bytes(same));
    assert_int_equal(keyspace_entry_bytes(ks), bytes + entry_bytes(same));
    keyspace_check(ks);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, keys_nothing_left)

int main(void) {
    int by_slot = keys_in_both_forms();
    value_register();
    keys_open();
    const struct CMUnitTest tests[] = {
        TEST(test_store),
        TEST(test_change),
        TEST(test_nested_change),
        TEST(test_moves),
        TEST(test_freed_in_background),
        TEST(test_paid_between_changes),
    };
    assert_true(background_start(&background_free));
    int failed = by_slot + cmocka_run_group_tests(tests, NULL, NULL);
    background_stop();
    return failed;
}
