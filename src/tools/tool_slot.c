/* SPDX-License-Identifier: BSD-3-Clause
 * Hash slots, for tools that hash a key now and then: by bits, without a table.
 */
#include "tools/tool_slot.h"

#include <stdint.h>
#include <string.h>

#define POLYNOMIAL 0x1021u
#define TOP_BIT 0x8000u

static uint16_t sum_crc16(struct slice bytes) {
    unsigned sum = 0;
    for (size_t i = 0; i < bytes.length; i++) {
        sum ^= (unsigned)(unsigned char)bytes.bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++) sum = sum & TOP_BIT ? sum << 1 ^ POLYNOMIAL : sum << 1;
    }
    return (uint16_t)sum;
}

/* Returns the part of the key that is hashed. */
static struct slice hashed_part(struct slice key) {
    const char *open = key.length ? memchr(key.bytes, '{', key.length) : NULL;
    if (!open) return key;
    const char *end = key.bytes + key.length;
    const char *close = memchr(open + 1, '}', (size_t)(end - open - 1));
    if (!close || close == open + 1) return key;
    return (struct slice){open + 1, (size_t)(close - open - 1)};
}

unsigned tool_slot_of_key(struct slice key) { return sum_crc16(hashed_part(key)) % TOOL_SLOTS; }
