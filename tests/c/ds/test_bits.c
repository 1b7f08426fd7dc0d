/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/bits against a naive model: one byte a bit, one step a bit.
 *
 * SEED=n runs the same random choices again; each run prints its seed. Bytes stand at the end of an
 * allocation of just their size, at any alignment, so that a sanitizer sees a read beyond them.
 */
#include "ds/bits.h"

#include "base/memory.h"
#include "base/seed.h"

#define ROUNDS 20000
#define LENGTH_MAX 100

static unsigned char *block;
static size_t skipped;

/* `length` bytes: random, all zero, all one, or one single bit apart. */
static unsigned char *make_bytes(size_t length) {
    skipped = random_below(8);
    block = memory_alloc(skipped + length, MEMORY_OTHER);
    unsigned char *bytes = block + skipped;
    uint64_t form = random_below(4);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(form == 0 ? random_u64() : form % 2 ? 0 : 0xff);
    if (form == 3 && length) bytes[random_below(length)] ^= (unsigned char)(1 << random_below(8));
    return bytes;
}

static void drop_bytes(void) { memory_free(block, MEMORY_OTHER); }

static bool model_bit(const unsigned char *bytes, size_t length, uint64_t at) {
    return at < length * 8 && (bytes[at / 8] & (128 >> (at % 8)));
}

static void test_count_and_find(void **state) {
    for (int round = 0; round < ROUNDS; round++) {
        size_t length = random_below(LENGTH_MAX);
        unsigned char *bytes = make_bytes(length);
        uint64_t ones = 0;
        int64_t first[2] = {-1, -1};
        for (uint64_t at = length * 8; at-- > 0;) {
            bool bit = model_bit(bytes, length, at);
            ones += bit;
            first[bit] = (int64_t)at;
        }
        assert_int_equal(bits_count(bytes, length), ones);
        assert_int_equal(bits_find(bytes, length, false), first[0]);
        assert_int_equal(bits_find(bytes, length, true), first[1]);
        drop_bytes();
    }
}

static void test_count_of_every_length(void **state) {
    unsigned char bytes[300];
    memset(bytes, 0xff, sizeof(bytes));
    for (size_t length = 0; length <= sizeof(bytes); length++) {
        assert_int_equal(bits_count(bytes, length), length * 8);
        assert_int_equal(bits_find(bytes, length, false), -1);
        assert_int_equal(bits_find(bytes, length, true), length ? 0 : -1);
    }
}

static void test_get_and_set(void **state) {
    for (int round = 0; round < ROUNDS; round++) {
        size_t length = 1 + random_below(LENGTH_MAX);
        unsigned char *bytes = make_bytes(length);
        unsigned char before[LENGTH_MAX + 1];
        memcpy(before, bytes, length);
        uint64_t at = random_below(length * 8);
        bool bit = random_below(2);
        assert_int_equal(bits_get(bytes, length, at), model_bit(bytes, length, at));
        bits_set(bytes, at, bit);
        for (uint64_t i = 0; i < length * 8; i++)
            assert_int_equal(model_bit(bytes, length, i),
                             i == at ? bit : model_bit(before, length, i));
        assert_false(bits_get(bytes, length, length * 8 + random_below(100)));
        drop_bytes();
    }
}

static void test_combine(void **state) {
    for (int round = 0; round < ROUNDS; round++) {
        size_t length = random_below(LENGTH_MAX);
        unsigned char *target = make_bytes(length);
        void *target_block = block;
        unsigned char *source = make_bytes(length);
        unsigned char expected[LENGTH_MAX];
        enum bits_operation operation = (enum bits_operation)random_below(3);
        for (size_t i = 0; i < length; i++)
            expected[i] = (unsigned char)(operation == BITS_AND  ? target[i] & source[i]
                                          : operation == BITS_OR ? target[i] | source[i]
                                                                 : target[i] ^ source[i]);
        bits_combine(operation, target, source, length);
        assert_memory_equal(target, expected, length);
        bits_invert(target, length);
        for (size_t i = 0; i < length; i++) assert_int_equal(target[i] ^ expected[i], 0xff);
        drop_bytes();
        memory_free(target_block, MEMORY_OTHER);
    }
}

/* ---- fields ---- */

static uint64_t model_field(const unsigned char *bytes, size_t length, uint64_t at,
                            unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value = value << 1 | model_bit(bytes, length, at + i);
    return value;
}

static int64_t model_signed(uint64_t value, unsigned width) {
    bool negative = value >> (width - 1) & 1;
    for (unsigned i = width; negative && i < 64; i++) value |= UINT64_C(1) << i;
    return (int64_t)value;
}

static void test_fields(void **state) {
    for (int round = 0; round < ROUNDS; round++) {
        unsigned width = 1 + (unsigned)random_below(64);
        size_t length = random_below(LENGTH_MAX);
        unsigned char *bytes = make_bytes(length);
        uint64_t at = random_below(length * 8 + 80);
        uint64_t expected = model_field(bytes, length, at, width);
        assert_int_equal(bits_field(bytes, length, at, width), expected);
        assert_int_equal(bits_field_signed(bytes, length, at, width),
                         model_signed(expected, width));
        if (at + width <= length * 8) {
            unsigned char before[LENGTH_MAX];
            memcpy(before, bytes, length);
            uint64_t value = random_u64();
            bits_field_set(bytes, length, at, width, value);
            for (uint64_t i = 0; i < length * 8; i++) {
                bool inside = i >= at && i < at + width;
                bool wanted =
                    inside ? value >> (at + width - 1 - i) & 1 : model_bit(before, length, i);
                assert_int_equal(model_bit(bytes, length, i), wanted);
            }
        }
        drop_bytes();
    }
}

/* ---- overflow: step by step over all numbers of small widths, then the edges of large ones ----
 */

static bool model_add(int64_t value, int64_t increment, int64_t low, int64_t high,
                      enum bits_overflow overflow, int64_t *result) {
    int64_t size = high - low + 1, sum = value + increment;
    if (overflow == BITS_FAIL && (sum < low || sum > high)) return false;
    if (overflow == BITS_SATURATE) {
        *result = sum < low ? low : sum > high ? high : sum;
        return true;
    }
    while (sum < low) sum += size;
    while (sum > high) sum -= size;
    *result = sum;
    return true;
}

static void test_overflow_of_small_widths(void **state) {
    for (unsigned width = 1; width <= 6; width++) {
        int64_t half = INT64_C(1) << (width - 1);
        for (int64_t value = -3 * half; value <= 3 * half; value++) {
            for (int64_t increment = -5 * half; increment <= 5 * half; increment++) {
                for (int overflow = BITS_WRAP; overflow <= BITS_FAIL; overflow++) {
                    enum bits_overflow o = (enum bits_overflow)overflow;
                    int64_t expected = 0, found = 0;
                    bool fits = model_add(value, increment, -half, half - 1, o, &expected);
                    assert_int_equal(bits_add_signed(value, increment, width, o, &found), fits);
                    if (fits) assert_int_equal(found, expected);
                    if (value < 0) continue;
                    uint64_t bare = 0;
                    fits = model_add(value, increment, 0, 2 * half - 1, o, &expected);
                    assert_int_equal(bits_add_unsigned((uint64_t)value, increment, width, o, &bare),
                                     fits);
                    if (fits) assert_int_equal(bare, expected);
                }
            }
        }
    }
}

static void check_signed(int64_t value, int64_t increment, enum bits_overflow overflow,
                         int64_t expected) {
    int64_t found;
    assert_true(bits_add_signed(value, increment, 64, overflow, &found));
    assert_int_equal(found, expected);
}

static void check_unsigned(uint64_t value, int64_t increment, enum bits_overflow overflow,
                           uint64_t expected) {
    uint64_t found;
    assert_true(bits_add_unsigned(value, increment, 63, overflow, &found));
    assert_int_equal(found, expected);
}

static void test_overflow_of_the_largest_widths(void **state) {
    check_signed(INT64_MAX, 1, BITS_WRAP, INT64_MIN);
    check_signed(INT64_MAX, 1, BITS_SATURATE, INT64_MAX);
    check_signed(INT64_MIN, -1, BITS_WRAP, INT64_MAX);
    check_signed(INT64_MIN, -1, BITS_SATURATE, INT64_MIN);
    check_signed(INT64_MIN, INT64_MIN, BITS_WRAP, 0);
    check_signed(INT64_MAX, INT64_MIN, BITS_FAIL, -1);
    int64_t found;
    assert_false(bits_add_signed(INT64_MAX, INT64_MAX, 64, BITS_FAIL, &found));
    /* A number far below a narrow field is below it. */
    assert_true(bits_add_signed(INT64_MIN, 0, 8, BITS_SATURATE, &found));
    assert_int_equal(found, -128);

    check_unsigned(INT64_MAX, 1, BITS_WRAP, 0);
    check_unsigned(INT64_MAX, 1, BITS_SATURATE, INT64_MAX);
    check_unsigned(0, -1, BITS_WRAP, INT64_MAX);
    check_unsigned(0, INT64_MIN, BITS_SATURATE, 0);
    check_unsigned(INT64_MAX, INT64_MIN, BITS_WRAP, INT64_MAX);
    check_unsigned(UINT64_MAX, 0, BITS_SATURATE, INT64_MAX);
    uint64_t bare;
    assert_false(bits_add_unsigned(UINT64_MAX, 0, 63, BITS_FAIL, &bare));
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count_and_find),
        cmocka_unit_test(test_count_of_every_length),
        cmocka_unit_test(test_get_and_set),
        cmocka_unit_test(test_combine),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_overflow_of_small_widths),
        cmocka_unit_test(test_overflow_of_the_largest_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
