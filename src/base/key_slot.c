/* SPDX-License-Identifier: BSD-3-Clause
 * Hash slots: CRC-16 with the polynomial 0x1021, highest bit first, which begins with 0 and is not
 * inverted; the sum of "123456789" is 31c3.
 *
 * Eight bytes are summed at a time, by tables of a byte with zero bytes behind it (Kounavis and
 * Berry, "A Systematic Approach to Building High Performance Software-based CRC Generators", 2005).
 * The sum's two bytes are added to the first two bytes of text. The tables are computed before main
 * and never change, so any thread may sum.
 */
#include "base/key_slot.h"

#include <stdint.h>
#include <string.h>

#define POLYNOMIAL 0x1021
#define SUMMED_BYTES 8

/* tables[n][b]: the sum of byte b and n zero bytes behind it. */
static uint16_t tables[SUMMED_BYTES][256];

__attribute__((constructor)) static void compute_tables(void) {
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

static unsigned sum_of(const unsigned char *at, size_t length) {
    unsigned sum = 0;
    for (; length >= SUMMED_BYTES; length -= SUMMED_BYTES, at += SUMMED_BYTES)
        sum = tables[7][at[0] ^ sum >> 8] ^ tables[6][at[1] ^ (sum & 0xff)] ^ tables[5][at[2]] ^
              tables[4][at[3]] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
              tables[0][at[7]];
    for (; length; length--, at++) sum = (sum << 8 & 0xffff) ^ tables[0][*at ^ sum >> 8];
    return sum;
}

static struct slice tag_of(struct slice name) {
    const char *end = name.bytes + name.length;
    const char *open = name.length ? memchr(name.bytes, '{', name.length) : NULL;
    if (!open) return name;
    const char *tag = open + 1, *close = memchr(tag, '}', (size_t)(end - tag));
    if (!close || close == tag) return name;
    return (struct slice){tag, (size_t)(close - tag)};
}

unsigned key_slot_of(struct slice name) {
    struct slice tag = tag_of(name);
    return sum_of((const unsigned char *)tag.bytes, tag.length) % KEY_SLOTS;
}
