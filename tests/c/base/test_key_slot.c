/* SPDX-License-Identifier: BSD-3-Clause
 * Hash slots: against known ones, and against a sum a bit at a time.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "base/key_slot.h"

#include "base/memory.h"
#include "base/seed.h"

/* As the definition says: a bit at a time, the highest first. */
static unsigned slot_by_bits(const char *bytes, size_t length) {
    unsigned sum = 0;
    for (size_t i = 0; i < length; i++) {
        for (int bit = 7; bit >= 0; bit--) {
            unsigned out = (sum >> 15 ^ (unsigned char)bytes[i] >> bit) & 1;
            sum = (sum << 1 & 0xffff) ^ (out ? 0x1021 : 0);
        }
    }
    return sum % 16384;
}

/* What CLUSTER KEYSLOT of Redis 6.2.16 answers. */
static void test_known(void **state) {
    assert_int_equal(key_slot_of(SLICE("123456789")), 0x31c3);
    assert_int_equal(key_slot_of(SLICE("a")), 15495);
    assert_int_equal(key_slot_of(SLICE("{}a")), 10875);
    assert_int_equal(key_slot_of(SLICE("x{}{a}")), 15756);
    assert_int_equal(key_slot_of(SLICE("{a")), 10276);
    assert_int_equal(key_slot_of(SLICE("x{{a}}y")), 10276);
    assert_int_equal(key_slot_of(SLICE("{{a")), 221);
    assert_int_equal(key_slot_of(SLICE("")), 0);
    assert_int_equal(key_slot_of((struct slice){NULL, 0}), 0);
    assert_int_equal(key_slot_by_tables((struct slice){NULL, 0}), 0);
}

static void test_tags(void **state) {
    unsigned a = key_slot_of(SLICE("a"));
    assert_int_equal(key_slot_of(SLICE("{a}")), a);
    assert_int_equal(key_slot_of(SLICE("x{a}y{b}")), a);
    assert_int_equal(key_slot_of(SLICE("}{a}")), a);
    assert_int_equal(key_slot_of(SLICE("{a}}")), a);
    assert_int_equal(key_slot_of(SLICE("{")), slot_by_bits("{", 1));
    assert_int_equal(key_slot_of(SLICE("}{")), slot_by_bits("}{", 2));
    assert_int_equal(key_slot_of(SLICE("{}")), slot_by_bits("{}", 2));
    assert_int_equal(key_slot_of(SLICE("{a\0b}c")), slot_by_bits("a\0b", 3));
}

/* Key and hash tag as the definition says, with the sum a bit at a time. */
static unsigned slot_by_definition(const char *bytes, size_t length) {
    size_t open = 0, close;
    while (open < length && bytes[open] != '{') open++;
    for (close = open + 1; close < length && bytes[close] != '}';) close++;
    if (close >= length || close == open + 1) return slot_by_bits(bytes, length);
    return slot_by_bits(bytes + open + 1, close - open - 1);
}

/* In a block of its own, so that the address sanitizer sees a read beyond either end. */
static void check_both(const char *bytes, size_t length) {
    char *own = memory_alloc(length, MEMORY_OTHER);
    memcpy(own, bytes, length);
    struct slice name = {own, length};
    unsigned slot = slot_by_definition(own, length);
    assert_int_equal(key_slot_of(name), slot);
    assert_int_equal(key_slot_by_tables(name), slot);
    memory_free(own, MEMORY_OTHER);
}

static void test_each_length(void **state) {
    char text[300];
    for (size_t length = 1; length < sizeof(text); length++) {
        for (size_t i = 0; i < length; i++) {
            text[i] = (char)random_u64();
            if (text[i] == '{') text[i] = 'x';
        }
        check_both(text, length);
    }
}

/* A sum is linear: with each bit alone and with none it is known for all texts. */
static void test_each_bit(void **state) {
    char text[65];
    for (size_t length = 1; length < sizeof(text); length++) {
        memset(text, 0, sizeof(text));
        check_both(text, length);
        for (size_t bit = 0; bit < 8 * length; bit++) {
            text[bit / 8] = (char)(1 << bit % 8);
            check_both(text, length);
            text[bit / 8] = 0;
        }
    }
}

/* The braces at each two places of a key of each length, in either order. */
static void test_each_tag(void **state) {
    char text[41];
    for (size_t length = 1; length < sizeof(text); length++) {
        for (size_t open = 0; open < length; open++) {
            for (size_t close = 0; close < length; close++) {
                for (size_t i = 0; i < length; i++) text[i] = (char)random_u64();
                text[close] = '}';
                text[open] = '{';
                check_both(text, length);
            }
        }
    }
}

/* Many braces, at either side of each other, and zero bytes. */
static void test_many_braces(void **state) {
    static const char letters[] = {'{', '}', 'a', 0, '\xfb', '\x7b' ^ 1};
    char text[64];
    for (int i = 0; i < 100000; i++) {
        size_t length = 1 + random_below(sizeof(text));
        size_t kinds = 2 + random_below(sizeof(letters) - 1);
        for (size_t k = 0; k < length; k++) text[k] = letters[random_below(kinds)];
        check_both(text, length);
    }
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),       cmocka_unit_test(test_tags),
        cmocka_unit_test(test_each_length), cmocka_unit_test(test_each_bit),
        cmocka_unit_test(test_each_tag),    cmocka_unit_test(test_many_braces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
