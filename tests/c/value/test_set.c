/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of value/set: a model in both encodings, the limits, walks, picks, copies.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "value/set.h"

#include "values.h"

#include "base/number.h"
#include "ds/intset.h"
#include "value/types.h"

#define MEMBERS 1000

struct model {
    struct value set;
    bool inside[MEMBERS], seen[MEMBERS];
    size_t count;
    bool letters; /* members from the half on are no integers */
};

static struct model m;

static struct slice member_name(unsigned member, char out[32]) {
    size_t length = 0;
    if (m.letters && member >= MEMBERS / 2) out[length++] = 'm';
    int64_t number = ((int64_t)member - 500) * 77777777777;
    return (struct slice){out, length + number_format_int64(out + length, number)};
}

static void see(struct slice member, void *context) {
    char name[32];
    int64_t number;
    size_t skip = member.bytes[0] == 'm';
    assert_true(number_parse_int64(member.bytes + skip, member.length - skip, &number));
    unsigned index = (unsigned)(number / 77777777777 + 500);
    assert_true(index < MEMBERS && m.inside[index]);
    assert_true(slice_equal(member, member_name(index, name)));
    assert_true(context || !m.seen[index]); /* with a context it may come twice */
    m.seen[index] = true;
}

static void assert_all_seen(void) {
    assert_memory_equal(m.seen, m.inside, sizeof(m.seen));
    memset(m.seen, 0, sizeof(m.seen));
}

static void model_check(void) {
    char name[32], scratch[LISTPACK_SCRATCH];
    set_check(m.set);
    assert_int_equal(set_count(m.set), m.count);
    assert_int_equal(value_type(VALUE_SET)->bytes(m.set),
                     memory_used(MEMORY_DATASET) - used_before);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_int_equal(set_has(m.set, member_name(i, name)), m.inside[i]);
    assert_false(set_has(m.set, SLICE("none")));
    set_each(m.set, see, NULL);
    assert_all_seen();
    bool twice = true;
    uint64_t cursor = 0;
    do {
        cursor = set_scan(m.set, cursor, 3, see, &twice);
    } while (cursor);
    assert_all_seen();
    if (m.count == 0) return;
    struct listpack_value v = set_random(m.set);
    assert_true(set_has(m.set, listpack_value_text(&v, scratch)));
}

static void model_run(bool letters, size_t steps) {
    char name[32];
    unsigned add_percent = 0;
    m.letters = letters;
    m.set = set_create();
    for (size_t step = 0; step < steps; step++) {
        if (step % 3000 == 0) add_percent = 20 + (unsigned)random_below(60);
        unsigned member = (unsigned)random_below(MEMBERS);
        struct slice text = member_name(member, name);
        bool adds = random_below(100) < add_percent;
        bool changed = adds ? set_add(&m.set, text) : set_remove(&m.set, text);
        assert_int_equal(changed, adds != m.inside[member]);
        m.inside[member] = adds;
        m.count += changed ? (adds ? 1 : (size_t)-1) : 0;
        if (step % 500 == 0) model_check();
    }
    struct value copy = value_type(VALUE_SET)->copy(m.set, SLICE(""), SLICE(""));
    assert_true(digests_equal(VALUE_SET, m.set, copy));
    set_free(m.set);
    m.set = copy;
    model_check();
    for (unsigned i = 0; i < MEMBERS; i++) {
        set_remove(&m.set, member_name(i, name));
        m.inside[i] = false;
    }
    m.count = 0;
    model_check();
    set_free(m.set);
}

static void test_model(void **state) {
    seed_from_environment();
    set_option("set-max-intset-entries", "2000");
    model_run(false, 20000);
    model_run(true, 20000);
    set_option("set-max-intset-entries", "100");
    model_run(false, 20000);
    set_option("set-max-intset-entries", "512");
}

static void test_limits(void **state) {
    static const char *const texts[] = {"a", "01", "+1", "-0", "", "9223372036854775808", "1 "};
    char name[32];
    m.letters = false;
    struct value v = set_create();
    for (unsigned i = 0; i < 512; i++) set_add(&v, member_name(i, name));
    assert_string_equal(encoding_of(VALUE_SET, v), "intset");
    set_add(&v, member_name(0, name));
    assert_string_equal(encoding_of(VALUE_SET, v), "intset");
    struct value copy = value_type(VALUE_SET)->copy(v, SLICE(""), SLICE(""));
    set_add(&v, member_name(512, name));
    assert_string_equal(encoding_of(VALUE_SET, v), "hashtable");
    assert_false(digests_equal(VALUE_SET, v, copy));
    set_remove(&v, member_name(512, name));
    assert_string_equal(encoding_of(VALUE_SET, v), "hashtable");
    assert_true(digests_equal(VALUE_SET, v, copy));
    set_free(v);
    set_free(copy);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        v = set_create();
        set_add(&v, SLICE("9223372036854775807"));
        set_add(&v, SLICE("-9223372036854775808"));
        assert_string_equal(encoding_of(VALUE_SET, v), "intset");
        assert_true(set_add(&v, slice_of(texts[i])));
        assert_string_equal(encoding_of(VALUE_SET, v), "hashtable");
        assert_int_equal(set_count(v), 3);
        assert_true(set_has(v, slice_of(texts[i])));
        assert_true(set_has(v, SLICE("9223372036854775807")));
        set_free(v);
    }
    set_option("set-max-intset-entries", "0");
    v = set_create();
    set_add(&v, SLICE("1"));
    assert_string_equal(encoding_of(VALUE_SET, v), "hashtable");
    set_free(v);
    struct intset *s = intset_create();
    intset_add(&s, 5);
    v = set_take_intset(s);
    assert_string_equal(encoding_of(VALUE_SET, v), "hashtable");
    set_free(v);
    set_option("set-max-intset-entries", "512");
}

/* Expecting many takes the table's form at once; expecting few changes nothing. */
static void test_expect(void **state) {
    struct value v = set_create();
    set_expect(&v, 512);
    assert_string_equal(encoding_of(VALUE_SET, v), "intset");
    set_add(&v, SLICE("7"));
    set_expect(&v, 513);
    assert_string_equal(encoding_of(VALUE_SET, v), "hashtable");
    assert_true(set_has(v, SLICE("7")));
    size_t bytes = value_type(VALUE_SET)->bytes(v);
    set_expect(&v, 1000000);
    assert_true(value_type(VALUE_SET)->bytes(v) > bytes);
    assert_true(value_type(VALUE_SET)->bytes(v) < 200000); /* bounded */
    set_check(v);
    set_free(v);
}

/* Lengths on both sides of each form's limit. */
static void test_lengths(void **state) {
    static const size_t lengths[] = {0, 1, 7, 8, 15, 16, 252, 253, 254, 255, 256, 70000};
    enum { COUNT = sizeof(lengths) / sizeof(lengths[0]) };
    char *bytes = memory_alloc(70000, MEMORY_OTHER);
    memset(bytes, 0xff, 70000);
    struct value v = set_create();
    for (unsigned i = 0; i < COUNT; i++) {
        struct slice member = {bytes, lengths[i]};
        assert_true(set_add(&v, member));
        assert_false(set_add(&v, member));
        set_check(v);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        struct slice member = {bytes, lengths[i]};
        assert_true(set_has(v, member));
        assert_true(set_remove(&v, member));
        assert_false(set_has(v, member));
        set_check(v);
    }
    assert_int_equal(set_count(v), 0);
    set_free(v);
    memory_free(bytes, MEMORY_OTHER);
}

/* Bytes a member: its text and at most so many, in a table filled at the worst. */
#define OVERHEAD_BYTES_MAX 19

/* Also: freed in steps, between which the bytes fall. */
static void test_bytes(void **state) {
    enum { COUNT = 200000, LENGTH = 13 };
    const struct value_type *type = value_type(VALUE_SET);
    struct value v = set_create();
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32];
        memset(name, 'm', sizeof(name));
        number_format_uint64(name, i + 100000000);
        set_add(&v, (struct slice){name, LENGTH});
    }
    size_t bytes = type->bytes(v), steps = 0;
#ifndef EVENKEEL_SANITIZER
    assert_true(bytes < (size_t)COUNT * (LENGTH + OVERHEAD_BYTES_MAX));
#endif
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
    const struct CMUnitTest tests[] = {TEST(test_model), TEST(test_limits), TEST(test_expect),
                                       TEST(test_lengths), TEST(test_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
