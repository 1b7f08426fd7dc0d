/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes what is computed from bytes and numbers that clients send: fields of bits, common
 * subsequences, positions on the earth, each against a plain way.
 *
 * Covers: src/ds/bits.c src/ds/lcs.c src/ds/geohash.c
 *
 * The input's first byte chooses. Bits: three bytes are offset, width and overflow, eight are the
 * number, the rest the bytes. LCS: a byte where the first text ends, both texts. Earth: six doubles
 * and the cell.
 */
#include <math.h>

#include "base/memory.h"
#include "base/panic.h"
#include "ds/bits.h"
#include "ds/geohash.h"
#include "ds/lcs.h"

#define BITS_HEAD_BYTES 11
#define LCS_BYTES_MAX 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- bits ---- */

static uint64_t field_bit_by_bit(const unsigned char *bytes, size_t length, uint64_t offset,
                                 unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value = value << 1 | (uint64_t)bits_get(bytes, length, offset + i);
    return value;
}

static void try_overflow(int64_t number, int64_t increment, unsigned width,
                         enum bits_overflow overflow) {
    __int128 sum = (__int128)number + increment, top = ((__int128)1 << (width - 1)) - 1;
    uint64_t unsigned_result = 0;
    int64_t result = 0;
    bool fits = sum <= top && sum >= -top - 1;
    ASSERT(bits_add_signed(number, increment, width, overflow, &result) ==
           (fits || overflow != BITS_FAIL));
    if (fits) ASSERT(result == (int64_t)sum);
    if (!fits && overflow == BITS_SATURATE) ASSERT(result == (int64_t)(sum > 0 ? top : -top - 1));
    if (width == 64) return;
    uint64_t low = (uint64_t)number & (((uint64_t)1 << width) - 1);
    sum = (__int128)low + increment;
    top = ((__int128)1 << width) - 1;
    fits = sum <= top && sum >= 0;
    ASSERT(bits_add_unsigned(low, increment, width, overflow, &unsigned_result) ==
           (fits || overflow != BITS_FAIL));
    if (fits) ASSERT(unsigned_result == (uint64_t)sum);
    if (!fits && overflow == BITS_WRAP) ASSERT(unsigned_result <= (uint64_t)top);
}

static void try_bits(const uint8_t *data, size_t size) {
    if (size < BITS_HEAD_BYTES) return;
    uint64_t offset = data[0], number;
    unsigned width = data[1] % 64 + 1;
    memcpy(&number, data + 3, sizeof(number));
    size -= BITS_HEAD_BYTES;
    unsigned char *exact = memory_alloc(size + 1, MEMORY_OTHER);
    memcpy(exact, data + BITS_HEAD_BYTES, size);
    ASSERT(bits_field(exact, size, offset, width) == field_bit_by_bit(exact, size, offset, width));
    uint64_t ones = 0;
    int64_t first[2] = {-1, -1};
    for (uint64_t i = size * 8; i-- > 0;) {
        bool bit = bits_get(exact, size, i);
        ones += bit;
        first[bit] = (int64_t)i;
    }
    ASSERT(bits_count(exact, size) == ones);
    ASSERT(bits_find(exact, size, false) == first[0] && bits_find(exact, size, true) == first[1]);
    if (offset + width <= size * 8) {
        bits_field_set(exact, size, offset, width, number);
        uint64_t mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
        ASSERT(bits_field(exact, size, offset, width) == (number & mask));
    }
    int64_t value = bits_field_signed(exact, size, offset, width);
    try_overflow(value, (int64_t)number, width, (enum bits_overflow)(data[2] % 3));
    memory_free(exact, MEMORY_OTHER);
}

/* ---- the longest common subsequence ---- */

static uint16_t cells[LCS_BYTES_MAX + 1][LCS_BYTES_MAX + 1];

static size_t lcs_by_table(struct slice a, struct slice b) {
    for (size_t i = 0; i <= a.length; i++)
        for (size_t j = 0; j <= b.length; j++) {
            if (!i || !j)
                cells[i][j] = 0;
            else if (a.bytes[i - 1] == b.bytes[j - 1])
                cells[i][j] = (uint16_t)(cells[i - 1][j - 1] + 1);
            else
                cells[i][j] = cells[i - 1][j] > cells[i][j - 1] ? cells[i - 1][j] : cells[i][j - 1];
        }
    return cells[a.length][b.length];
}

static void try_lcs(const uint8_t *data, size_t size) {
    if (size < 1) return;
    size_t cut = data[0], all = size - 1 < LCS_BYTES_MAX ? size - 1 : LCS_BYTES_MAX;
    const char *bytes = (const char *)data + 1;
    if (cut > all) cut = all;
    struct slice a = {bytes, cut}, b = {bytes + cut, all - cut};
    size_t expected = lcs_by_table(a, b), seen = 0, a_end = a.length, b_end = b.length;
    struct lcs *short_form = lcs_create(a, b, false), *lcs = lcs_create(a, b, true);
    struct lcs_range range;
    ASSERT(lcs && short_form);
    ASSERT(lcs_length(lcs) == expected && lcs_length(short_form) == expected);
    while (lcs_previous(lcs, &range)) {
        ASSERT(range.a_start + range.length <= a_end && range.b_start + range.length <= b_end);
        ASSERT(memcmp(a.bytes + range.a_start, b.bytes + range.b_start, range.length) == 0);
        a_end = range.a_start;
        b_end = range.b_start;
        seen += range.length;
    }
    ASSERT(seen == expected);
    lcs_free(short_form);
    lcs_free(lcs);
}

/* ---- positions ---- */

static void try_shape(const struct geohash_shape *shape, uint64_t cell) {
    struct geohash_range ranges[GEOHASH_RANGES_MAX];
    double distance;
    size_t count = geohash_cover(shape, ranges);
    ASSERT(count <= GEOHASH_RANGES_MAX);
    for (size_t i = 0; i < count; i++) ASSERT(ranges[i].first < ranges[i].end);
    geohash_contains(shape, geohash_decode(cell), &distance);
}

static void try_earth(const uint8_t *data, size_t size) {
    double numbers[6];
    char text[GEOHASH_TEXT_CHARS + 1];
    uint64_t cell;
    if (size < sizeof(numbers) + sizeof(cell)) return;
    memcpy(numbers, data, sizeof(numbers));
    memcpy(&cell, data + sizeof(numbers), sizeof(cell));
    struct geohash_position centre = {numbers[0], numbers[1]}, middle = geohash_decode(cell);
    ASSERT(geohash_position_is_valid(middle));
    geohash_text(cell, text);
    ASSERT(strlen(text) == GEOHASH_TEXT_CHARS);
    if (!geohash_position_is_valid(centre)) centre = middle;
    uint64_t encoded = geohash_encode(centre);
    ASSERT(encoded >> 54 == 0); /* the very edge lies beyond the last column or row: as 6.2 */
    struct geohash_position back = geohash_decode(encoded);
    ASSERT(fabs(back.longitude - centre.longitude) < 1e-5);
    ASSERT(fabs(back.latitude - centre.latitude) < 1e-5);
    for (int i = 2; i < 6; i++)
        if (isnan(numbers[i]) || numbers[i] < 0) numbers[i] = 0;
    try_shape(&(struct geohash_shape){centre, false, numbers[2], 0, 0}, cell);
    try_shape(&(struct geohash_shape){centre, true, 0, numbers[3], numbers[4]}, cell);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    if (data[0] % 3 == 0)
        try_bits(data + 1, size - 1);
    else if (data[0] % 3 == 1)
        try_lcs(data + 1, size - 1);
    else
        try_earth(data + 1, size - 1);
    return 0;
}
