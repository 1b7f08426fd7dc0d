/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of strings that are written in place: keyspace_put_bytes against a model of bytes,
 * through all forms of entries, and the cost of growing.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/table.h"
#include "store/keys.h"
#include "store/limbo.h"
#include "value/types.h"

#define ROUNDS 20000
#define KEYS 24
#define LENGTH_MAX 6000

struct model {
    bool there;
    char bytes[LENGTH_MAX];
    size_t length;
    int64_t deadline;
};

static struct model models[KEYS];

static void model_set(struct model *m, struct slice text, int64_t deadline) {
    m->there = true;
    m->deadline = deadline;
    m->length = text.length;
    memcpy(m->bytes, text.bytes, text.length);
}

static void verify(struct keyspace *ks, unsigned number, const struct model *m) {
    struct key_text text;
    struct slice key = key_of(&text, number);
    struct entry *e = told_find(ks, key, key_hash(key));
    assert_int_equal(e != NULL, m->there);
    if (!e) return;
    char scratch[ENTRY_STRING_SCRATCH];
    struct slice found = entry_string(e, scratch);
    assert_int_equal(found.length, m->length);
    assert_memory_equal(found.bytes, m->bytes, m->length);
    assert_int_equal(entry_deadline(e), m->deadline);
}

/* An integer or random bytes around the lengths at which an entry's form changes. */
static struct slice random_value(char *bytes) {
    if (random_below(3) == 0) {
        int64_t number = (int64_t)random_u64() >> random_below(64);
        return (struct slice){bytes, number_format_int64(bytes, number)};
    }
    size_t length = random_below(3) ? random_below(60) : random_below(2000);
    for (size_t i = 0; i < length; i++) bytes[i] = (char)random_u64();
    return (struct slice){bytes, length};
}

static void store_random(struct keyspace *ks, unsigned number, struct model *m) {
    struct key_text text;
    struct slice key = key_of(&text, number);
    char bytes[2000];
    struct slice value_text = random_value(bytes);
    int64_t deadline =
        random_below(2) ? ENTRY_NO_DEADLINE : START_MSEC + 1000 + (int64_t)random_below(1000);
    struct string_value value = string_value_of_text(value_text);
    struct entry *existing = told_find(ks, key, key_hash(key));
    told_store(ks, key, key_hash(key), existing, &value, deadline);
    model_set(m, value_text, deadline);
}

/* Writes a byte at a random place of a string made long enough. */
static void write_random(struct keyspace *ks, unsigned number, struct model *m) {
    struct key_text text;
    struct slice key = key_of(&text, number);
    size_t wanted = random_below(4) ? m->length + random_below(20) : random_below(LENGTH_MAX);
    if (wanted > LENGTH_MAX) wanted = LENGTH_MAX;
    struct entry *existing = told_find(ks, key, key_hash(key));
    if (!m->there) model_set(m, SLICE(""), ENTRY_NO_DEADLINE);
    if (wanted > m->length) {
        memset(m->bytes + m->length, 0, wanted - m->length);
        m->length = wanted;
    }
    char *bytes = told_bytes(ks, key, key_hash(key), existing, wanted);
    assert_memory_equal(bytes, m->bytes, m->length);
    if (m->length) {
        size_t at = random_below(m->length);
        bytes[at] = m->bytes[at] = (char)random_u64();
    }
    existing = told_find(ks, key, key_hash(key));
    assert_string_equal(entry_encoding_name(existing), "raw");
}

static void test_against_a_model(void **state) {
    struct keyspace *ks = keyspace_at(0);
    memset(models, 0, sizeof(models));
    for (int round = 0; round < ROUNDS; round++) {
        unsigned number = (unsigned)random_below(KEYS);
        struct model *m = &models[number];
        uint64_t choice = random_below(10);
        struct key_text text;
        struct slice key = key_of(&text, number);
        if (choice == 0) {
            assert_int_equal(told_delete(ks, key, key_hash(key)), m->there);
            m->there = false;
            m->length = 0;
        } else if (choice < 3) {
            store_random(ks, number, m);
        } else {
            write_random(ks, number, m);
        }
        verify(ks, number, m);
        if (round % 100 == 0) keyspace_check(ks);
    }
    for (unsigned i = 0; i < KEYS; i++) verify(ks, i, &models[i]);
    keyspace_check(ks);
}

/* ---- the cost of growing ---- */

static size_t allocated_bytes, allocations;

static void note_allocated(size_t bytes) {
    allocated_bytes += bytes;
    allocations++;
}
static void note_freed(size_t bytes) {}
static const struct memory_hook hook = {note_allocated, note_freed};

/* Growing to 4 MiB by 7 bytes a time allocates a small multiple of that in all. */
static void test_growing_is_amortised(void **state) {
    struct keyspace *ks = keyspace_at(0);
    struct slice key = SLICE("growing");
    size_t end = 4 << 20;
    allocated_bytes = allocations = 0;
    memory_set_hook(&hook);
    for (size_t length = 7; length <= end; length += 7) {
        struct entry *existing = told_find(ks, key, key_hash(key));
        char *bytes = told_bytes(ks, key, key_hash(key), existing, length);
        bytes[length - 1] = 'x';
    }
    memory_set_hook(NULL);
    assert_true(allocated_bytes < 12 * end);
    assert_true(allocations < 200);
    struct entry *e = told_find(ks, key, key_hash(key));
    assert_true(entry_bytes(e) < end + end / 2);
    const char *bytes = entry_raw_bytes(e);
    for (size_t i = 0; i < end / 7 * 7; i++) assert_int_equal(bytes[i], i % 7 == 6 ? 'x' : 0);
}

/* A string that is made by one write gets no more room than it needs. */
static void test_one_write_wastes_nothing(void **state) {
    struct keyspace *ks = keyspace_at(0);
    struct slice key = SLICE("once");
    told_bytes(ks, key, key_hash(key), NULL, 1000000);
    struct entry *e = told_find(ks, key, key_hash(key));
    assert_true(entry_bytes(e) <=
                memory_good_size(blob_allocation(1000000)) + memory_good_size(64));
    told_bytes(ks, key, key_hash(key), e, 10);
    char scratch[ENTRY_STRING_SCRATCH];
    assert_int_equal(entry_string(e, scratch).length, 1000000);
}

/* A nested call that stores or writes leaves what the outer one reads as it was. */
static void test_nested_store(void **state) {
    struct keyspace *ks = keyspace_at(0);
    char scratch[ENTRY_STRING_SCRATCH];
    for (int way = 0; way < 2; way++) {
        struct key_text text;
        struct slice key = key_of(&text, 3);
        struct entry *outer =
            key_store(ks, 3, SLICE("what the outer one reads"), ENTRY_NO_DEADLINE);
        limbo_enter();
        struct slice read = entry_string(outer, scratch);
        limbo_enter();
        if (way) {
            memset(told_bytes(ks, key, key_hash(key), outer, read.length), 'x', read.length);
        } else {
            struct string_value value = string_value_of_text(SLICE("what the inner one wrote"));
            told_store(ks, key, key_hash(key), outer, &value, ENTRY_NO_DEADLINE);
        }
        limbo_leave();
        assert_true(slice_equal(read, SLICE("what the outer one reads")));
        assert_ptr_not_equal(told_find(ks, key, key_hash(key)), outer);
        limbo_leave();
        keyspace_check(ks);
    }
}

int main(void) {
    int by_slot = keys_in_both_forms();
    value_register();
    keys_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_against_a_model, keys_begin, keys_nothing_left),
        cmocka_unit_test_setup_teardown(test_nested_store, keys_begin, keys_nothing_left),
        cmocka_unit_test_setup_teardown(test_growing_is_amortised, keys_begin, keys_nothing_left),
        cmocka_unit_test_setup_teardown(test_one_write_wastes_nothing, keys_begin,
                                        keys_nothing_left),
    };
    return by_slot + cmocka_run_group_tests(tests, NULL, NULL);
}
