/* SPDX-License-Identifier: BSD-3-Clause
 * Hash slots: CRC-16 with the polynomial P = 0x11021, highest bit first, which begins with 0 and is
 * not inverted; the sum of "123456789" is 31c3.
 *
 * A text is a polynomial over bits, its first bit the highest power, and its sum is text * x^16
 * modulo P. Zeros before a text do not change its sum, because the sum begins with 0.
 *
 * Where the processor has carry-less multiplication (Gopal and others, "Fast CRC Computation for
 * Generic Polynomials Using PCLMULQDQ", 2009), the text's first 1 to 16 bytes are loaded as a
 * number of 128 bits, so that whole blocks of 16 bytes are left. Each block moves the number over
 * 128 bits of text:
 *
 *   high * x^64 + low  becomes  high * (x^192 mod P) + low * (x^128 mod P) + block
 *
 * The sum is number * x^16 - quotient * P, of which only the lowest 16 bits can be other than zero.
 * So the quotient's lowest 16 bits are enough. Barrett's quotient is exact for polynomials:
 *
 *   quotient = number * M / x^128,  M = floor(x^144 / P) = x^128 + M_high * x^64 + M_low
 *
 * Its lowest 16 bits are the sum of the lowest 16 bits of `low` and of high * M_high, and of bits
 * 64 to 79 of high * M_low and of low * M_high. The three products depend on nothing but the
 * number, so they are computed side by side.
 *
 * On other processors eight bytes are summed at a time, by tables of a byte with zero bytes behind
 * it (Kounavis and Berry, "A Systematic Approach to Building High Performance Software-based CRC
 * Generators", 2005). The sum's two bytes are added to the first two bytes of text.
 *
 * The search for the hash tag is a part of the sum: a key without '{', as nearly all are, is read
 * once.
 *
 * Tables and factors are computed before main and never change, so any thread may sum.
 */
#include "base/key_slot.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are swapped into text order");

#define POLYNOMIAL 0x1021 /* without its highest power */
#define SUMMED_BYTES 8

/* ---- by tables ---- */

/* tables[n][b]: the sum of byte b and n zero bytes behind it. */
static uint16_t tables[SUMMED_BYTES][256];

static void make_byte_sums(void) {
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned sum = byte << 8;
        for (int bit = 0; bit < 8; bit++) sum = sum << 1 ^ (sum & 0x8000 ? POLYNOMIAL : 0);
        tables[0][byte] = (uint16_t)sum;
    }
    for (int n = 1; n < SUMMED_BYTES; n++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            unsigned sum = tables[n - 1][byte];
            tables[n][byte] = (uint16_t)(sum << 8 ^ tables[0][sum >> 8]);
        }
    }
}

static unsigned sum_by_tables(struct slice text) {
    const unsigned char *at = (const unsigned char *)text.bytes;
    size_t length = text.length;
    unsigned sum = 0;
    for (; length >= SUMMED_BYTES; length -= SUMMED_BYTES, at += SUMMED_BYTES)
        sum = tables[7][at[0] ^ sum >> 8] ^ tables[6][at[1] ^ (sum & 0xff)] ^ tables[5][at[2]] ^
              tables[4][at[3]] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
              tables[0][at[7]];
    for (; length; length--, at++) sum = (sum << 8 & 0xffff) ^ tables[0][*at ^ sum >> 8];
    return sum;
}

/* ---- the tag ---- */

static struct slice tag_of(struct slice name) {
    const char *end = name.bytes + name.length;
    const char *open = name.length ? memchr(name.bytes, '{', name.length) : NULL;
    if (!open) return name;
    const char *tag = open + 1, *close = memchr(tag, '}', (size_t)(end - tag));
    if (!close || close == tag) return name;
    return (struct slice){tag, (size_t)(close - tag)};
}

unsigned key_slot_by_tables(struct slice name) { return sum_by_tables(tag_of(name)) % KEY_SLOTS; }

/* ---- by carry-less multiplication ---- */

#if defined(__x86_64__)

#define BLOCK_BYTES 16
#define WITH_PRODUCTS __attribute__((target("ssse3,pclmul")))
#define ALIGNED __attribute__((aligned(BLOCK_BYTES)))

static bool multiplies;
/* For the low half of a number and the high one. */
static uint64_t block_factors[2] ALIGNED, quotient_factors[2] ALIGNED;
/* orders[n]: which bytes of two loads of 8 bytes, the first and the last of n, are the number of n
 * bytes, from the lowest on; as pshufb takes them: 0x80 is a zero. */
static uint8_t orders[BLOCK_BYTES + 1][BLOCK_BYTES] ALIGNED;

/* x^n mod P. */
static unsigned rest_of_power(unsigned n) {
    unsigned rest = 1;
    for (; n; n--) rest = (rest << 1 & 0xffff) ^ (rest & 0x8000 ? POLYNOMIAL : 0);
    return rest;
}

/* 64 bits of floor(x^144 / P), from x^lowest on. The long division yields them one after the other,
 * the highest first: each is the highest bit of the rest before it. */
static uint64_t quotient_bits(unsigned lowest) {
    uint64_t bits = 0;
    for (unsigned n = 80 - lowest; n < 144 - lowest; n++)
        bits = bits << 1 | (rest_of_power(n) >> 15 & 1);
    return bits;
}

static void make_orders(void) {
    for (unsigned n = BLOCK_BYTES / 2; n <= BLOCK_BYTES; n++)
        for (unsigned i = 0; i < BLOCK_BYTES; i++)
            orders[n][i] = (uint8_t)(i < 8 ? 15 - i : i < n ? n - 1 - i : 0x80);
}

static void make_slot_factors(void) {
    block_factors[0] = rest_of_power(128);
    block_factors[1] = rest_of_power(192);
    quotient_factors[0] = quotient_bits(0);
    quotient_factors[1] = quotient_bits(64);
    make_orders();
    multiplies = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3");
}

static inline uint64_t load_32(const unsigned char *at) {
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return __builtin_bswap32(word);
}

/* The number that 0 to 7 bytes are. The overlapping loads agree on the bytes that they share. */
static inline __m128i load_few(const unsigned char *at, size_t length) {
    if (!length) return _mm_setzero_si128();
    const unsigned char *last = at + length - 1, *middle = at + length / 2;
    uint64_t word;
    if (length >= 4)
        word = load_32(at) << 8 * (length - 4) | load_32(last - 3);
    else
        word =
            (uint64_t)*at << 8 * (length - 1) | (uint64_t)*middle << 8 * ((length - 1) / 2) | *last;
    return _mm_cvtsi64_si128((long long)word);
}

static inline __m128i load_pair(const void *at) { return _mm_load_si128(at); }

/* The number that 8 to 16 bytes are. */
WITH_PRODUCTS static inline __m128i load_many(const unsigned char *at, size_t length) {
    __m128i first = _mm_loadl_epi64((const __m128i *)(const void *)at);
    __m128i last = _mm_loadl_epi64((const __m128i *)(const void *)(at + length - 8));
    return _mm_shuffle_epi8(_mm_unpacklo_epi64(first, last), load_pair(orders[length]));
}

WITH_PRODUCTS static inline unsigned sum_of_number(__m128i number) {
    __m128i factors = load_pair(quotient_factors);
    __m128i crossed = _mm_xor_si128(_mm_clmulepi64_si128(number, factors, 0x01),
                                    _mm_clmulepi64_si128(number, factors, 0x10));
    __m128i high = _mm_clmulepi64_si128(number, factors, 0x11);
    __m128i bits = _mm_xor_si128(_mm_xor_si128(number, high), _mm_srli_si128(crossed, 8));
    unsigned quotient = (unsigned)_mm_cvtsi128_si32(bits);
    return (quotient ^ quotient << 5 ^ quotient << 12) & 0xffff;
}

/* All bits of each byte that is '{'. */
static inline __m128i match_braces(__m128i number) {
    return _mm_cmpeq_epi8(number, _mm_set1_epi8('{'));
}

static inline bool is_any(__m128i matches) { return _mm_movemask_epi8(matches) != 0; }

/* The sum of a text of any length, and whether there is a '{' in it. */
WITH_PRODUCTS static unsigned sum_by_products(struct slice text, bool *has_brace) {
    const unsigned char *at = (const unsigned char *)text.bytes;
    size_t done = text.length > BLOCK_BYTES ? (text.length - 1) % BLOCK_BYTES + 1 : text.length;
    __m128i number = done >= 8 ? load_many(at, done) : load_few(at, done);
    __m128i braces = match_braces(number), factors = load_pair(block_factors);
    for (; done != text.length; done += BLOCK_BYTES) {
        __m128i block = load_many(at + done, BLOCK_BYTES);
        braces = _mm_or_si128(braces, match_braces(block));
        number = _mm_xor_si128(_mm_clmulepi64_si128(number, factors, 0x00),
                               _mm_clmulepi64_si128(number, factors, 0x11));
        number = _mm_xor_si128(number, block);
    }
    *has_brace = is_any(braces);
    return sum_of_number(number);
}

WITH_PRODUCTS static __attribute__((noinline)) unsigned slot_by_tag(struct slice name) {
    bool has_brace; /* within a tag a '{' means nothing */
    return sum_by_products(tag_of(name), &has_brace) % KEY_SLOTS;
}

WITH_PRODUCTS static __attribute__((noinline)) unsigned slot_of_any(struct slice name) {
    bool has_brace;
    unsigned sum = sum_by_products(name, &has_brace);
    return has_brace ? slot_by_tag(name) : sum % KEY_SLOTS;
}

/* Most keys have 8 to 16 bytes and no tag. The other functions are called last, so that these keys
 * cost no more than they must. */
WITH_PRODUCTS static unsigned slot_by_products(struct slice name) {
    if (name.length - 8 > BLOCK_BYTES - 8) return slot_of_any(name);
    __m128i number = load_many((const unsigned char *)name.bytes, name.length);
    if (__builtin_expect(is_any(match_braces(number)), 0)) return slot_by_tag(name);
    return sum_of_number(number) % KEY_SLOTS;
}

unsigned key_slot_of(struct slice name) {
    return __builtin_expect(multiplies, 1) ? slot_by_products(name) : key_slot_by_tables(name);
}

#else

static void make_slot_factors(void) {}

unsigned key_slot_of(struct slice name) { return key_slot_by_tables(name); }

#endif

__attribute__((constructor)) static void prepare_sums(void) {
    make_byte_sums();
    make_slot_factors();
}
