/* SPDX-License-Identifier: BSD-3-Clause
 * Arrays of bits: counting, finding, combining, and fields of up to 64 bits at any offset.
 *
 * Everything runs over words of 8 bytes that are read with memcpy, so that the bytes need no
 * alignment; the rest at the end is read as one more word, filled up. Counting uses the processor's
 * instruction where it has one, in four sums that do not wait for each other.
 *
 * A field is read and written through a window of 16 bytes, the big-endian number of 128 bits that
 * begins at the field's first byte: a field of 64 bits that begins within a byte touches 9 bytes.
 *
 * Overflow is found by computing the exact sum in 128 bits.
 */
#include "ds/bits.h"

#include <string.h>

#include "base/panic.h"

__extension__ typedef unsigned __int128 window_t;
__extension__ typedef __int128 wide_t;

#define WORD_BYTES sizeof(uint64_t)
/* Bytes that one round of counting takes. */
#define COUNT_ROUND (4 * WORD_BYTES)

static inline uint64_t load_word(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* A word of up to 7 bytes, its other bytes taken from `fill`. */
static inline uint64_t load_tail(const unsigned char *bytes, size_t length, uint64_t fill) {
    if (length) memcpy(&fill, bytes, length);
    return fill;
}

/* ---- counting ---- */

/* Inlined twice: with the processor's instruction, and without it. */
static inline __attribute__((always_inline)) uint64_t count_words(const unsigned char *bytes,
                                                                  size_t length) {
    uint64_t sums[4] = {0, 0, 0, 0};
    for (; length >= COUNT_ROUND; bytes += COUNT_ROUND, length -= COUNT_ROUND)
        for (size_t i = 0; i < 4; i++)
            sums[i] += (uint64_t)__builtin_popcountll(load_word(bytes + i * WORD_BYTES));
    for (; length >= WORD_BYTES; bytes += WORD_BYTES, length -= WORD_BYTES)
        sums[0] += (uint64_t)__builtin_popcountll(load_word(bytes));
    sums[1] += (uint64_t)__builtin_popcountll(load_tail(bytes, length, 0));
    return sums[0] + sums[1] + sums[2] + sums[3];
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) static uint64_t count_fast(const unsigned char *bytes,
                                                             size_t length) {
    return count_words(bytes, length);
}
static bool fast_count_available(void) { return __builtin_cpu_supports("popcnt"); }
#else
static uint64_t count_fast(const unsigned char *bytes, size_t length) {
    return count_words(bytes, length);
}
static bool fast_count_available(void) { return true; }
#endif

static uint64_t count_portable(const unsigned char *bytes, size_t length) {
    return count_words(bytes, length);
}

uint64_t bits_count(const void *bytes, size_t length) {
    return fast_count_available() ? count_fast(bytes, length) : count_portable(bytes, length);
}

/* ---- finding ---- */

int64_t bits_find(const void *bytes, size_t length, bool bit) {
    const unsigned char *start = bytes, *at = start;
    uint64_t none = bit ? 0 : UINT64_MAX; /* a word without the bit */
    size_t left = length;
    while (left >= WORD_BYTES && load_word(at) == none) {
        at += WORD_BYTES;
        left -= WORD_BYTES;
    }
    uint64_t word = left >= WORD_BYTES ? load_word(at) : load_tail(at, left, none);
    if (word == none) return -1;
    uint64_t ones = __builtin_bswap64(word ^ none); /* the wanted bits are 1, the first on top */
    return (int64_t)(at - start) * 8 + __builtin_clzll(ones);
}

/* ---- combining ---- */

static inline uint64_t combine_words(enum bits_operation operation, uint64_t a, uint64_t b) {
    return operation == BITS_AND ? a & b : operation == BITS_OR ? a | b : a ^ b;
}

static inline __attribute__((always_inline)) void combine_all(enum bits_operation operation,
                                                              unsigned char *restrict target,
                                                              const unsigned char *restrict source,
                                                              size_t length) {
    size_t i = 0;
    for (; i + WORD_BYTES <= length; i += WORD_BYTES) {
        uint64_t word = combine_words(operation, load_word(target + i), load_word(source + i));
        memcpy(target + i, &word, sizeof(word));
    }
    for (; i < length; i++)
        target[i] = (unsigned char)combine_words(operation, target[i], source[i]);
}

void bits_combine(enum bits_operation operation, unsigned char *target, const unsigned char *source,
                  size_t length) {
    switch (operation) {
    case BITS_AND: combine_all(BITS_AND, target, source, length); break;
    case BITS_OR: combine_all(BITS_OR, target, source, length); break;
    case BITS_XOR: combine_all(BITS_XOR, target, source, length); break;
    }
}

void bits_invert(unsigned char *bytes, size_t length) {
    size_t i = 0;
    for (; i + WORD_BYTES <= length; i += WORD_BYTES) {
        uint64_t word = ~load_word(bytes + i);
        memcpy(bytes + i, &word, sizeof(word));
    }
    for (; i < length; i++) bytes[i] = (unsigned char)~bytes[i];
}

/* ---- fields ---- */

/* The bytes that a field touches, from its first one on: at most 9. */
static size_t touched_bytes(uint64_t offset, unsigned width) {
    return (offset % 8 + width + 7) / 8;
}

static window_t window_read(const unsigned char *bytes, size_t length, uint64_t first,
                            size_t wanted) {
    unsigned char window[2 * WORD_BYTES] = {0};
    if (first < length) {
        size_t there = length - first < wanted ? (size_t)(length - first) : wanted;
        memcpy(window, bytes + first, there);
    }
    return (window_t)__builtin_bswap64(load_word(window)) << 64 |
           __builtin_bswap64(load_word(window + WORD_BYTES));
}

static uint64_t low_mask(unsigned width) { return UINT64_MAX >> (64 - width); }

uint64_t bits_field(const unsigned char *bytes, size_t length, uint64_t offset, unsigned width) {
    ASSERT_SLOW(width >= 1 && width <= 64);
    window_t window = window_read(bytes, length, offset / 8, touched_bytes(offset, width));
    return (uint64_t)(window >> (128 - offset % 8 - width)) & low_mask(width);
}

static int64_t sign_extend(uint64_t value, unsigned width) {
    return (int64_t)(value << (64 - width)) >> (64 - width);
}

int64_t bits_field_signed(const unsigned char *bytes, size_t length, uint64_t offset,
                          unsigned width) {
    return sign_extend(bits_field(bytes, length, offset, width), width);
}

void bits_field_set(unsigned char *bytes, size_t length, uint64_t offset, unsigned width,
                    uint64_t value) {
    size_t touched = touched_bytes(offset, width);
    ASSERT(width >= 1 && width <= 64 && offset / 8 + touched <= length);
    unsigned shift = 128 - (unsigned)(offset % 8) - width;
    window_t mask = (window_t)low_mask(width) << shift;
    window_t window = window_read(bytes, length, offset / 8, touched);
    window = (window & ~mask) | ((window_t)value << shift & mask);
    unsigned char out[2 * WORD_BYTES];
    uint64_t high = __builtin_bswap64((uint64_t)(window >> 64));
    uint64_t low = __builtin_bswap64((uint64_t)window);
    memcpy(out, &high, sizeof(high));
    memcpy(out + WORD_BYTES, &low, sizeof(low));
    memcpy(bytes + offset / 8, out, touched);
}

/* ---- overflow ---- */

/* `*result` is `sum` if it lies in [low, high], else the number that `overflow` makes of it, of
 * which only the field's low bits count. False where `overflow` is BITS_FAIL and it does not fit.
 */
static bool fit_sum(wide_t sum, wide_t low, wide_t high, enum bits_overflow overflow,
                    uint64_t *result) {
    *result = (uint64_t)sum;
    if (sum >= low && sum <= high) return true;
    if (overflow == BITS_SATURATE) *result = (uint64_t)(sum < low ? low : high);
    return overflow != BITS_FAIL;
}

bool bits_add_signed(int64_t value, int64_t increment, unsigned width, enum bits_overflow overflow,
                     int64_t *result) {
    wide_t high = (wide_t)low_mask(width) >> 1;
    uint64_t bits;
    if (!fit_sum((wide_t)value + increment, -high - 1, high, overflow, &bits)) return false;
    *result = sign_extend(bits, width);
    return true;
}

bool bits_add_unsigned(uint64_t value, int64_t increment, unsigned width,
                       enum bits_overflow overflow, uint64_t *result) {
    uint64_t bits;
    if (!fit_sum((wide_t)value + increment, 0, low_mask(width), overflow, &bits)) return false;
    *result = bits & low_mask(width);
    return true;
}
