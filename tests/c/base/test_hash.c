/* SPDX-License-Identifier: BSD-3-Clause
 * SipHash-1-3 against a slow SipHash-c-d written from the paper, which must itself give the
 * paper's own value for SipHash-2-4. */
#include "base/hash.h"

#include <stdbool.h>

#include "seed.h"

static uint64_t word_at(const uint8_t *bytes) {
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) word = word * 256 + bytes[i];
    return word;
}

static uint64_t left(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static void rounds(uint64_t v[4], int count) {
    while (count-- > 0) {
        v[0] += v[1];
        v[1] = left(v[1], 13);
        v[1] ^= v[0];
        v[0] = left(v[0], 32);
        v[2] += v[3];
        v[3] = left(v[3], 16);
        v[3] ^= v[2];
        v[0] += v[3];
        v[3] = left(v[3], 21);
        v[3] ^= v[0];
        v[2] += v[1];
        v[1] = left(v[1], 17);
        v[1] ^= v[2];
        v[2] = left(v[2], 32);
    }
}

static uint64_t slow_siphash(int c, int d, const uint8_t key[16], const uint8_t *text,
                             size_t length) {
    const uint8_t *constant = (const uint8_t *)"uespemosmodnarodarenegylsetybdet";
    uint64_t v[4];
    for (int i = 0; i < 4; i++) v[i] = word_at(key + 8 * (i & 1)) ^ word_at(constant + 8 * i);
    /* The text, zeros up to seven bytes modulo eight, the length's low byte. */
    uint8_t padded[1100] = {0};
    memcpy(padded, text, length);
    size_t words = length / 8 + 1;
    padded[words * 8 - 1] = (uint8_t)length;
    for (size_t i = 0; i < words; i++) {
        v[3] ^= word_at(padded + 8 * i);
        rounds(v, c);
        v[0] ^= word_at(padded + 8 * i);
    }
    v[2] ^= 0xff;
    rounds(v, d);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void test_published_values(void **state) {
    uint8_t counting[16];
    for (int i = 0; i < 16; i++) counting[i] = (uint8_t)i;
    /* The example of the paper's appendix. */
    assert_true(slow_siphash(2, 4, counting, counting, 15) == 0xa129ca6149be45e5u);
    hash_set_key(counting);
    assert_true(hash_bytes("", 0) == 0xabac0158050fc4dcu);
    /* What Python 3.11, another SipHash-1-3, says under PYTHONHASHSEED=0 (a key of zeros) of
     * bytes(range(n)). */
    static const struct {
        size_t length;
        uint64_t hash;
    } rows[] = {{1, 0x68a914128e01e473u},  {2, 0x010bac45c41e3669u}, {7, 0x2f098ab0c751325au},
                {8, 0xead411e67ebe2eeau},  {9, 0x75927f9d95124362u}, {15, 0xf30eb725bb91c9eau},
                {16, 0x8972188433a5c5b7u}, {63, 0x385d3e39e5f37359u}};
    const uint8_t zeros[16] = {0};
    uint8_t text[64];
    for (int i = 0; i < 64; i++) text[i] = (uint8_t)i;
    hash_set_key(zeros);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(hash_bytes(text, rows[i].length) == rows[i].hash);
    }
}

static void test_against_slow(void **state) {
    uint8_t key[16], text[1024 + 8];
    seed_from_environment();
    for (int i = 0; i < 3000; i++) {
        for (size_t j = 0; j < sizeof(key); j++) key[j] = (uint8_t)random_u64();
        size_t length = i < 300 ? (size_t)i : random_below(1024);
        size_t offset = random_below(8);
        for (size_t j = 0; j < length; j++) text[offset + j] = (uint8_t)random_u64();
        hash_set_key(key);
        assert_true(hash_bytes(text + offset, length) ==
                    slow_siphash(1, 3, key, text + offset, length));
    }
}

/* Nothing before or after the text is read: the address sanitizer sees it, and so does this. */
static void test_only_the_text_counts(void **state) {
    uint8_t bytes[64];
    for (size_t length = 0; length < 48; length++) {
        memset(bytes, 0x11, sizeof(bytes));
        uint64_t first = hash_bytes(bytes + 8, length);
        memset(bytes, 0x22, sizeof(bytes));
        memset(bytes + 8, 0x11, length);
        assert_true(hash_bytes(bytes + 8, length) == first);
        char *exact = malloc(length + 1);
        memset(exact, 0x11, length);
        assert_true(hash_bytes(exact, length) == first);
        free(exact);
    }
}

static void test_key_matters(void **state) {
    uint8_t key[16] = {0};
    hash_set_key(key);
    uint64_t first = hash_bytes("key", 3);
    for (int i = 0; i < 16; i++) {
        memset(key, 0, sizeof(key));
        key[i] = 1;
        hash_set_key(key);
        assert_true(hash_bytes("key", 3) != first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_values),
        cmocka_unit_test(test_against_slow),
        cmocka_unit_test(test_only_the_text_counts),
        cmocka_unit_test(test_key_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
