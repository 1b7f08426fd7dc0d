/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of value/hash: a model in both encodings, the limits, walks, picks, copies.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "value/hash.h"

#include "values.h"

#include "base/number.h"
#include "ds/listpacks.h"
#include "value/types.h"

#define FIELDS 400
#define TEXT_MAX 300

/* ---- The model: an array by field number ---- */

struct model {
    struct value hash;
    struct buffer texts[FIELDS]; /* bytes NULL = no such field */
    size_t count;
    bool seen[FIELDS];
};

static struct model m;

static struct slice field_name(unsigned field, char out[32]) {
    /* Every second one is a number, which a listpack keeps as one. */
    size_t length = 0;
    if (field % 2) out[length++] = 'f';
    return (struct slice){out, length + number_format_uint64(out + length, field * 7919)};
}

static unsigned field_number(struct slice name) {
    uint64_t number;
    size_t skip = name.bytes[0] == 'f';
    assert_true(number_parse_uint64(name.bytes + skip, name.length - skip, &number));
    return (unsigned)(number / 7919);
}

static void see(struct slice field, struct slice text, void *context) {
    unsigned number = field_number(field);
    assert_true(number < FIELDS && m.texts[number].bytes);
    assert_true(slice_equal(text, buffer_slice(&m.texts[number])));
    assert_true(context || !m.seen[number]); /* with a context it may come twice */
    m.seen[number] = true;
}

static void assert_all_seen(void) {
    for (unsigned i = 0; i < FIELDS; i++) assert_int_equal(m.seen[i], m.texts[i].bytes != NULL);
    memset(m.seen, 0, sizeof(m.seen));
}

static void model_check(void) {
    char name[32], scratch[LISTPACK_SCRATCH];
    struct listpack_value v, field;
    hash_check(m.hash);
    assert_int_equal(hash_count(m.hash), m.count);
    assert_int_equal(value_type(VALUE_HASH)->bytes(m.hash),
                     memory_used(MEMORY_DATASET) - used_before);
    for (unsigned i = 0; i < FIELDS; i++) {
        bool there = hash_get(m.hash, field_name(i, name), &v);
        assert_int_equal(there, m.texts[i].bytes != NULL);
        if (there)
            assert_true(slice_equal(listpack_value_text(&v, scratch), buffer_slice(&m.texts[i])));
    }
    hash_each(m.hash, see, NULL);
    assert_all_seen();
    bool twice = true;
    uint64_t cursor = 0;
    do {
        cursor = hash_scan(m.hash, cursor, 3, see, &twice);
    } while (cursor);
    assert_all_seen();
    if (m.count == 0) return;
    hash_random(m.hash, &field, &v);
    unsigned number = field_number(listpack_value_text(&field, scratch));
    assert_true(slice_equal(listpack_value_text(&v, scratch), buffer_slice(&m.texts[number])));
}

static void model_set(unsigned field, struct slice text) {
    char name[32];
    assert_int_equal(hash_set(&m.hash, field_name(field, name), text), !m.texts[field].bytes);
    if (!m.texts[field].bytes) {
        buffer_init(&m.texts[field], MEMORY_OTHER);
        m.count++;
    }
    buffer_clear(&m.texts[field]);
    buffer_append(&m.texts[field], text.bytes, text.length);
}

static void model_delete(unsigned field) {
    char name[32];
    bool there = m.texts[field].bytes;
    assert_int_equal(hash_delete(&m.hash, field_name(field, name)), there);
    if (!there) return;
    buffer_free(&m.texts[field]);
    m.count--;
}

static char text[TEXT_MAX];

static struct slice random_text(size_t length_max) {
    static const char letters[] = "0123456789abcdef";

    size_t length = random_below(length_max + 1);
    if (random_below(2))
        return (struct slice){text, number_format_int64(text, (int64_t)random_below(1000))};
    for (size_t i = 0; i < length; i++) text[i] = letters[random_below(16)];
    return (struct slice){text, length};
}

static void model_run(size_t steps, size_t length_max) {
    unsigned set_percent = 0;
    m.hash = hash_create();
    for (size_t step = 0; step < steps; step++) {
        if (step % 2000 == 0) set_percent = 20 + (unsigned)random_below(60);
        unsigned field = (unsigned)random_below(FIELDS);
        if (random_below(100) < set_percent)
            model_set(field, random_text(length_max));
        else
            model_delete(field);
        if (step % 250 == 0) model_check();
    }
    struct value copy = value_type(VALUE_HASH)->copy(m.hash, SLICE(""), SLICE(""));
    assert_true(digests_equal(VALUE_HASH, m.hash, copy));
    hash_free(m.hash);
    m.hash = copy;
    model_check();
    for (unsigned i = 0; i < FIELDS; i++) model_delete(i);
    model_check();
    hash_free(m.hash);
}

static void test_model(void **state) {
    seed_from_environment();
    set_option("hash-max-ziplist-entries", "512");
    model_run(15000, 64);
    model_run(15000, TEXT_MAX);
    set_option("hash-max-ziplist-entries", "0");
    model_run(15000, TEXT_MAX);
    set_option("hash-max-ziplist-entries", "100");
    model_run(15000, 64);
}

/* ---- Limits ---- */

static void fill(struct value *v, unsigned fields) {
    char name[32];
    for (unsigned i = 0; i < fields; i++) hash_set(v, field_name(i, name), SLICE("x"));
}

static void assert_encoding_after(unsigned fields, size_t field_length, size_t text_length,
                                  const char *encoding) {
    char bytes[TEXT_MAX];
    memset(bytes, 'y', sizeof(bytes));
    struct value v = hash_create();
    fill(&v, fields - 1);
    hash_set(&v, (struct slice){bytes, field_length}, (struct slice){bytes, text_length});
    assert_int_equal(hash_count(v), fields);
    assert_string_equal(encoding_of(VALUE_HASH, v), encoding);
    /* It does not go back. */
    while (fields-- > 1) {
        char name[32];
        assert_true(hash_delete(&v, field_name(fields - 1, name)));
    }
    assert_true(hash_delete(&v, (struct slice){bytes, field_length}));
    assert_string_equal(encoding_of(VALUE_HASH, v), encoding);
    hash_free(v);
}

static void test_limits(void **state) {
    set_option("hash-max-ziplist-entries", "512");
    set_option("hash-max-ziplist-value", "64");
    assert_encoding_after(512, 64, 64, "ziplist");
    assert_encoding_after(513, 1, 1, "hashtable");
    assert_encoding_after(1, 65, 1, "hashtable");
    assert_encoding_after(1, 1, 65, "hashtable");
    set_option("hash-max-ziplist-value", "10");
    assert_encoding_after(3, 1, 11, "hashtable");
    set_option("hash-max-ziplist-value", "64");
    set_option("hash-max-ziplist-entries", "0");
    assert_encoding_after(1, 1, 1, "hashtable");
    set_option("hash-max-ziplist-entries", "512");
}

static void test_digest(void **state) {
    struct value small = hash_create(), large = hash_create();
    fill(&small, 100);
    set_option("hash-max-ziplist-entries", "10");
    char name[32];
    for (unsigned i = 100; i-- > 0;) hash_set(&large, field_name(i, name), SLICE("x"));
    set_option("hash-max-ziplist-entries", "512");
    assert_string_equal(encoding_of(VALUE_HASH, small), "ziplist");
    assert_string_equal(encoding_of(VALUE_HASH, large), "hashtable");
    assert_true(digests_equal(VALUE_HASH, small, large));
    hash_set(&small, field_name(7, name), SLICE("other"));
    assert_false(digests_equal(VALUE_HASH, small, large));
    hash_free(small);
    hash_free(large);
}

static void test_take_listpack(void **state) {
    struct listpack *lp = listpack_create();
    for (int i = 0; i < 20; i++) append_integer(&lp, i);
    struct value v = hash_take_listpack(listpack_dup(lp));
    assert_string_equal(encoding_of(VALUE_HASH, v), "ziplist");
    assert_int_equal(hash_count(v), 10);
    hash_free(v);
    set_option("hash-max-ziplist-entries", "9");
    v = hash_take_listpack(lp);
    assert_string_equal(encoding_of(VALUE_HASH, v), "hashtable");
    assert_int_equal(hash_count(v), 10);
    hash_check(v);
    set_option("hash-max-ziplist-entries", "512");
    hash_free(v);
}

/* Lengths on both sides of each form's limit, in a table; each text replaced by each other one. */
static void test_lengths(void **state) {
    static const size_t lengths[] = {0, 1, 10, 252, 253, 254, 255, 256, 257, 70000};
    enum { COUNT = sizeof(lengths) / sizeof(lengths[0]) };
    char *bytes = memory_alloc(70000, MEMORY_OTHER);
    memset(bytes, 0xff, 70000);
    set_option("hash-max-ziplist-entries", "0");
    struct value v = hash_create();
    for (unsigned i = 0; i < COUNT; i++) {
        struct slice field = {bytes, lengths[i]};
        for (unsigned j = 0; j < COUNT; j++) {
            for (unsigned k = 0; k < COUNT; k++) {
                struct slice first = {bytes, lengths[j]}, second = {bytes, lengths[k]};
                struct listpack_value now;
                hash_set(&v, field, first);
                assert_false(hash_set(&v, field, second));
                assert_true(hash_get(v, field, &now));
                assert_true(slice_equal(now.text, second));
            }
        }
        hash_check(v);
    }
    assert_int_equal(hash_count(v), COUNT);
    for (unsigned i = 0; i < COUNT; i += 2)
        assert_true(hash_delete(&v, (struct slice){bytes, lengths[i]}));
    hash_check(v);
    hash_free(v);
    set_option("hash-max-ziplist-entries", "512");
    memory_free(bytes, MEMORY_OTHER);
}

/* Bytes a pair: its two texts and at most so many, in a table filled at the worst. */
#define OVERHEAD_BYTES_MAX 25

/* Also: freed in steps, between which the bytes fall. */
static void test_bytes(void **state) {
    enum { COUNT = 200000, FIELD = 12, TEXT = 10 };
    struct value v = hash_create();
    const struct value_type *type = value_type(VALUE_HASH);
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32];
        memset(name, '0', sizeof(name));
        number_format_uint64(name, i + 100000000);
        hash_set(&v, (struct slice){name, FIELD}, (struct slice){name, TEXT});
    }
    size_t bytes = type->bytes(v), steps = 0;
#ifndef EVENKEEL_SANITIZER
    assert_true(bytes < (size_t)COUNT * (FIELD + TEXT + OVERHEAD_BYTES_MAX));
#endif
    assert_int_equal(type->free_effort(v, SLICE("")), COUNT);
    type->unlink(v, SLICE(""));
    while (!type->release_step(v, COUNT / 20)) {
        assert_true(type->bytes(v) < bytes);
        bytes = type->bytes(v);
        steps++;
    }
    assert_in_range(steps, 10, 40);
}

int main(void) {
    value_register();
    const struct CMUnitTest tests[] = {
        TEST(test_model),         TEST(test_limits), TEST(test_digest),
        TEST(test_take_listpack), TEST(test_bytes),  TEST(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
