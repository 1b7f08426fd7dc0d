/* SPDX-License-Identifier: BSD-3-Clause
 * Hash slots: against known ones, and against a sum a bit at a time.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "base/key_slot.h"

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

static void test_each_length(void **state) {
    char text[300];
    for (size_t length = 0; length < sizeof(text); length++) {
        for (size_t i = 0; i < length; i++) {
            text[i] = (char)random_u64();
            if (text[i] == '{') text[i] = 'x';
        }
        assert_int_equal(key_slot_of((struct slice){text, length}), slot_by_bits(text, length));
    }
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_each_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
