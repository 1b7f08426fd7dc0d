/* SPDX-License-Identifier: BSD-3-Clause
 * CRC-64 by tables of eight bytes (Kounavis and Berry, "A Systematic Approach to Building High
 * Performance Software-based CRC Generators", 2005) or by carry-less multiplication (Gopal and
 * others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009).
 *
 * A text is a polynomial over bits, its first bit the highest power; the sum is text * x^64 modulo
 * P. In reflected order a word's lowest bit is its highest power: bit i stands for x^(63 - i), and
 * multiplying by x is a shift to the right.
 *
 * Folding keeps 16 bytes H * x^64 + L that are congruent to all of the text up to there. To move
 * them over n bits of text: (H * (x^(64 + n) mod P) + L * (x^n mod P)), 128 bits again, which are
 * added to the 16 bytes of text that stand there. A product of reflected words comes out shifted by
 * one bit, so each factor is one power less. At the end the tables take the 16 bytes as if they
 * were text.
 *
 * Tables and factors are computed before main, and never change: any thread may sum.
 */
#include "base/checksum.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as they lie in memory");

#define POLYNOMIAL UINT64_C(0x95ac9329ac4bc9b5) /* 0xad93d23594c935a9, reflected */
#define ONE (UINT64_C(1) << 63)                 /* x^0 */

#define TABLE_WORDS 8

/* tables[n][b]: byte b with n zero bytes behind it. */
static uint64_t tables[TABLE_WORDS][256];

static inline uint64_t load_word(const unsigned char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static inline uint64_t times_x(uint64_t word) { return word >> 1 ^ (word & 1 ? POLYNOMIAL : 0); }

/* a * b mod P. */
static uint64_t multiply_polynomials(uint64_t a, uint64_t b) {
    uint64_t product = 0;
    for (uint64_t bit = ONE; bit; bit >>= 1) {
        if (a & bit) product ^= b;
        b = times_x(b);
    }
    return product;
}

/* x^n mod P. */
static uint64_t power_of_x(uint64_t n) {
    uint64_t result = ONE, square = ONE >> 1;
    for (; n; n >>= 1) {
        if (n & 1) result = multiply_polynomials(result, square);
        square = multiply_polynomials(square, square);
    }
    return result;
}

/* ---- By tables ---- */

static void make_tables(void) {
    for (unsigned byte = 0; byte < 256; byte++) {
        uint64_t sum = byte;
        for (int bit = 0; bit < 8; bit++) sum = times_x(sum);
        tables[0][byte] = sum;
    }
    for (int n = 1; n < TABLE_WORDS; n++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            uint64_t sum = tables[n - 1][byte];
            tables[n][byte] = sum >> 8 ^ tables[0][sum & 0xff];
        }
    }
}

static inline uint64_t sum_word(uint64_t word) {
    return tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^ tables[5][word >> 16 & 0xff] ^
           tables[4][word >> 24 & 0xff] ^ tables[3][word >> 32 & 0xff] ^
           tables[2][word >> 40 & 0xff] ^ tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
}

uint64_t checksum_crc64_by_tables(uint64_t sum, const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    for (; length >= sizeof(uint64_t); length -= sizeof(uint64_t), at += sizeof(uint64_t))
        sum = sum_word(sum ^ load_word(at));
    for (; length; length--, at++) sum = sum >> 8 ^ tables[0][(sum ^ *at) & 0xff];
    return sum;
}

/* ---- By carry-less multiplication ---- */

#if defined(__x86_64__)

#define LANE_BYTES 16
#define LANES 4 /* enough products in flight to hide a product's latency */
#define ROUND_BYTES ((size_t)LANE_BYTES * LANES)

static bool multiplies;
/* The factors that move 16 bytes over one lane and over a round: for the low word (the higher
 * powers) and the high one. */
static uint64_t lane_factors[2], round_factors[2];

static void make_factors(uint64_t factors[2], uint64_t bits) {
    factors[0] = power_of_x(64 + bits - 1);
    factors[1] = power_of_x(bits - 1);
}

__attribute__((target("pclmul"))) static inline __m128i fold_lane(__m128i lane, __m128i factors,
                                                                  __m128i text) {
    __m128i low = _mm_clmulepi64_si128(lane, factors, 0x00);
    __m128i high = _mm_clmulepi64_si128(lane, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), text);
}

static inline __m128i load_lane(const unsigned char *at) {
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* `length` is a round at least. */
__attribute__((target("pclmul"))) static uint64_t sum_by_folding(uint64_t sum,
                                                                 const unsigned char *at,
                                                                 size_t length) {
    __m128i round = load_lane((const unsigned char *)round_factors);
    __m128i next = load_lane((const unsigned char *)lane_factors);
    __m128i lanes[LANES];
    for (int i = 0; i < LANES; i++) lanes[i] = load_lane(at + i * LANE_BYTES);
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi64_si128((long long)sum));
    for (at += ROUND_BYTES, length -= ROUND_BYTES; length >= ROUND_BYTES;
         at += ROUND_BYTES, length -= ROUND_BYTES) {
        for (int i = 0; i < LANES; i++)
            lanes[i] = fold_lane(lanes[i], round, load_lane(at + i * LANE_BYTES));
    }
    __m128i lane = lanes[0];
    for (int i = 1; i < LANES; i++) lane = fold_lane(lane, next, lanes[i]);
    for (; length >= LANE_BYTES; at += LANE_BYTES, length -= LANE_BYTES)
        lane = fold_lane(lane, next, load_lane(at));
    unsigned char rest[LANE_BYTES];
    _mm_storeu_si128((__m128i *)(void *)rest, lane);
    return checksum_crc64_by_tables(checksum_crc64_by_tables(0, rest, sizeof(rest)), at, length);
}

static void make_folding(void) {
    make_factors(lane_factors, 8 * LANE_BYTES);
    make_factors(round_factors, 8 * ROUND_BYTES);
    multiplies = __builtin_cpu_supports("pclmul");
}

uint64_t checksum_crc64(uint64_t sum, const void *bytes, size_t length) {
    if (multiplies && length >= ROUND_BYTES) return sum_by_folding(sum, bytes, length);
    return checksum_crc64_by_tables(sum, bytes, length);
}

#else

static void make_folding(void) {}

uint64_t checksum_crc64(uint64_t sum, const void *bytes, size_t length) {
    return checksum_crc64_by_tables(sum, bytes, length);
}

#endif

__attribute__((constructor)) static void make_all(void) {
    make_tables();
    make_folding();
}

/* ---- Two texts ---- */
