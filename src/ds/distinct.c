/* SPDX-License-Identifier: BSD-3-Clause
 * Equal texts of a listpack, found by a hash table of places. distinct.h has the idea.
 *
 * Short texts, the usual ones, are hashed by one multiplication with two secret numbers; long texts
 * by hash_bytes.
 */
#include "ds/distinct.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"

#define SHORT_BYTES (2 * sizeof(uint64_t))

static uint64_t secrets[2];

void distinct_open(void) { random_secret(secrets, sizeof(secrets)); }

static inline uint64_t hash_short(struct slice text) {
    uint64_t first = 0, last = text.length;
    if (text.length >= sizeof(first)) {
        memcpy(&first, text.bytes, sizeof(first));
        memcpy(&last, text.bytes + text.length - sizeof(last), sizeof(last));
    } else {
        for (size_t i = 0; i < text.length; i++) first = first << 8 | (unsigned char)text.bytes[i];
    }
    __extension__ unsigned __int128 product =
        (unsigned __int128)(first ^ secrets[0]) * (last ^ secrets[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t distinct_hash(struct slice text) {
    return text.length <= SHORT_BYTES ? hash_short(text) : hash_bytes(text.bytes, text.length);
}

void distinct_begin(struct distinct *d, size_t most) {
    size_t size = 16;
    while (size < 2 * most) size *= 2;
    d->mask = size - 1;
    d->left = most;
    d->places = d->few;
    if (most <= DISTINCT_FEW)
        memset(d->few, 0, size * sizeof(d->few[0]));
    else
        d->places = memory_zalloc(size * sizeof(d->places[0]), MEMORY_OTHER);
}

bool distinct_add(struct distinct *d, const struct listpack *lp, uint32_t at, struct slice text) {
    uint64_t hash = distinct_hash(text), tag = hash >> 32;
    size_t i = hash & d->mask;
    ASSERT(d->left-- > 0);
    for (; d->places[i]; i = (i + 1) & d->mask) {
        if (d->places[i] >> 32 == tag && listpack_equal(lp, (uint32_t)d->places[i], text))
            return false;
    }
    d->places[i] = tag << 32 | at;
    return true;
}

void distinct_end(struct distinct *d) {
    if (d->places != d->few) memory_free(d->places, MEMORY_OTHER);
}
