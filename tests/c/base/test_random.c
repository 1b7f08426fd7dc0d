/* SPDX-License-Identifier: BSD-3-Clause
 * The generator against its papers, and its uses against chance. A fair generator fails one of
 * the bounds below less than once in a hundred million runs. */
#include "base/random.h"

#include "seed.h"

/* SplitMix64 and xoshiro256** once more, from their descriptions. */
static uint64_t model[4];

static void model_seed(uint64_t seed) {
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
        z ^= z >> 30;
        z *= 0xbf58476d1ce4e5b9u;
        z ^= z >> 27;
        z *= 0x94d049bb133111ebu;
        z ^= z >> 31;
        model[i] = z;
    }
}

static uint64_t left(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static uint64_t model_next(void) {
    uint64_t a = model[0], b = model[1], c = model[2] ^ model[0], d = model[3] ^ model[1];
    model[0] = a ^ d;
    model[1] = b ^ c;
    model[2] = c ^ b << 17;
    model[3] = left(d, 45);
    return left(b * 5, 7) * 9;
}

/* Must run first: the generator has not been seeded yet. */
static void test_unseeded_is_seed_zero(void **state) {
    model_seed(0);
    for (int i = 0; i < 100; i++) assert_true(random_u64() == model_next());
}

static void test_against_model(void **state) {
    for (uint64_t seed = 0; seed < 50; seed++) {
        random_seed(seed * seed * 0x123456789abcdefu);
        model_seed(seed * seed * 0x123456789abcdefu);
        for (int i = 0; i < 100; i++) assert_true(random_u64() == model_next());
    }
    model_seed(0);
    assert_true(model[0] == 0xe220a8397b1dcdafu); /* a published value of SplitMix64 */
}

static double chi_square(const unsigned *counts, unsigned cells, unsigned draws) {
    double expected = (double)draws / cells, sum = 0;
    for (unsigned i = 0; i < cells; i++) {
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

static void test_below_is_fair(void **state) {
    static const unsigned bounds[] = {1, 2, 3, 7, 10, 64, 100};
    seed_from_environment();
    for (unsigned b = 0; b < sizeof(bounds) / sizeof(bounds[0]); b++) {
        unsigned counts[100] = {0};
        for (int i = 0; i < 100000; i++) {
            uint64_t drawn = random_below(bounds[b]);
            assert_true(drawn < bounds[b]);
            counts[drawn]++;
        }
        /* Mean = degrees of freedom d, deviation sqrt(2 d). */
        double freedom = bounds[b] - 1;
        assert_true(chi_square(counts, bounds[b], 100000) <= freedom + 35 + 5 * freedom / 10);
    }
}

/* A remainder or a bare multiplication would favour two thirds or the like of this range. */
static void test_below_has_no_bias_at_large_bounds(void **state) {
    unsigned counts[3] = {0};
    seed_from_environment();
    for (int i = 0; i < 60000; i++) counts[random_below(UINT64_C(3) << 62) >> 62]++;
    assert_true(chi_square(counts, 3, 60000) < 40);
    for (int i = 0; i < 100; i++) assert_true(random_below(UINT64_MAX) < UINT64_MAX);
}

static void test_double(void **state) {
    unsigned counts[64] = {0};
    seed_from_environment();
    for (int i = 0; i < 100000; i++) {
        double drawn = random_double();
        assert_true(drawn >= 0 && drawn < 1);
        counts[(int)(drawn * 64)]++;
    }
    assert_true(chi_square(counts, 64, 100000) < 63 + 100);
}

static void test_secrets(void **state) {
    uint8_t a[1000], b[1000];
    const char digits[] = "0123456789abcdef";
    unsigned counts[16] = {0};
    random_secret(a, sizeof(a));
    random_secret(b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    char hex[16001];
    hex[16000] = 'X';
    random_hex(hex, 16000);
    assert_int_equal(hex[16000], 'X');
    for (int i = 0; i < 16000; i++) {
        const char *digit = strchr(digits, hex[i]);
        assert_non_null(digit);
        counts[digit - digits]++;
    }
    for (int i = 0; i < 16; i++) assert_true(counts[i] > 700 && counts[i] < 1300);
    random_seed(1);
    random_hex(hex, 40);
    random_seed(1);
    random_hex(hex + 40, 40); /* the seed has no say in it */
    assert_memory_not_equal(hex, hex + 40, 40);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unseeded_is_seed_zero),
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_below_is_fair),
        cmocka_unit_test(test_below_has_no_bias_at_large_bounds),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
