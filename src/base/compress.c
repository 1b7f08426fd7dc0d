/* SPDX-License-Identifier: BSD-3-Clause
 * Compressing by LZF, and back.
 *
 * The format (D is 13 bits, the distance less 1):
 *
 *    000nnnnn, n+1 bytes          a run of n+1 literal bytes
 *    lllddddd dddddddd            a match: a copy of l+2 bytes from D+1 bytes back (l is 1 to 6)
 *    111ddddd llllllll dddddddd   a match of l+9 bytes
 *
 * Greedy matching: a table has for each hash of three bytes the place where bytes of that hash were
 * seen last. Only 16 bits of a place are kept. The distance that they give is used only if the
 * bytes there are equal, so neither a stale nor a cleared entry does harm.
 *
 * Compressing ends as soon as the output cannot fit any more: `last` is the last place at which a
 * match can begin so that the whole still fits. In a text without repetitions it is far from the
 * end.
 */
#include "base/compress.h"

#include <stdint.h>

#include "base/panic.h"

#define RUN_MAX 32 /* literals behind one byte */
#define MATCH_MIN 3
#define MATCH_SHORT_MAX 8 /* longer ones take a byte more */
#define MATCH_MAX 264
#define DISTANCE_MAX 8192
#define PLACE_BITS_MIN 6
#define PLACE_BITS_MAX 13 /* as many places as a distance can reach back: 16 KiB */

struct packer {
    const unsigned char *literals; /* from here on nothing is written yet */
    const unsigned char *end;      /* of the text */
    unsigned char *next, *limit;   /* where the next byte goes */
};

static inline uint32_t compress_load_32(const unsigned char *at) {
    uint32_t word;
    ASSERT_SLOW(at);
    memcpy(&word, at, sizeof(word));
    return word;
}

static inline uint64_t compress_load_64(const unsigned char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Writes the literals before `to`; false where there is no room. Copies RUN_MAX bytes where it can,
 * because a copy of constant length is faster even though most runs are shorter. */
static inline bool put_literals(struct packer *p, const unsigned char *to) {
    while (p->literals < to) {
        size_t run = (size_t)(to - p->literals), room = (size_t)(p->limit - p->next);
        if (run > RUN_MAX) run = RUN_MAX;
        if (room <= run) return false;
        *p->next++ = (unsigned char)(run - 1);
        if (room > RUN_MAX && (size_t)(p->end - p->literals) >= RUN_MAX)
            memcpy(p->next, p->literals, RUN_MAX);
        else
            memcpy(p->next, p->literals, run);
        p->next += run;
        p->literals += run;
    }
    return true;
}

static bool put_match(struct packer *p, size_t distance, size_t length) {
    size_t high = (distance - 1) >> 8;
    if (p->limit - p->next < (length <= MATCH_SHORT_MAX ? 2 : 3)) return false;
    if (length <= MATCH_SHORT_MAX) {
        *p->next++ = (unsigned char)((length - 2) << 5 | high);
    } else {
        *p->next++ = (unsigned char)(7 << 5 | high);
        *p->next++ = (unsigned char)(length - 9);
    }
    *p->next++ = (unsigned char)(distance - 1);
    p->literals += length;
    return true;
}

/* How many bytes are equal from both places on, up to `most`; the first MATCH_MIN are known to be.
 */
static inline size_t match_length(const unsigned char *a, const unsigned char *b, size_t most) {
    size_t length = MATCH_MIN;
    for (; length + sizeof(uint64_t) <= most; length += sizeof(uint64_t)) {
        uint64_t differs = compress_load_64(a + length) ^ compress_load_64(b + length);
        if (differs) return length + ((size_t)__builtin_ctzll(differs) >> 3);
    }
    while (length < most && a[length] == b[length]) length++;
    return length;
}

/* The last place at which a match may begin: four bytes of text are left there, and the literals
 * before it leave room for the match. */
static const unsigned char *last_place(const struct packer *p) {
    size_t left = (size_t)(p->end - p->literals), room = (size_t)(p->limit - p->next);
    if (left < sizeof(uint32_t) || room < 2) return NULL;
    size_t literals = (room - 2) * RUN_MAX / (RUN_MAX + 1);
    if (literals > left - sizeof(uint32_t)) literals = left - sizeof(uint32_t);
    return p->literals + literals;
}

static inline uint32_t place_of(uint32_t word, unsigned bits) {
    return (word << 8) * UINT32_C(2654435761) >> (32 - bits);
}

/* Writes the text from p->literals on, but for the last run of literals. */
static bool put_matches(struct packer *p, uint16_t *places, unsigned bits) {
    const unsigned char *start = p->literals, *at = start, *last = last_place(p);
    while (at <= last) {
        uint32_t word = compress_load_32(at);
        uint16_t *place = &places[place_of(word, bits)];
        size_t position = (size_t)(at - start);
        size_t distance = (uint16_t)(position - *place);
        *place = (uint16_t)position;
        if (distance - 1 >= DISTANCE_MAX || distance > position ||
            (compress_load_32(at - distance) ^ word) << 8) {
            at++;
            continue;
        }
        size_t most = (size_t)(p->end - at);
        size_t length = match_length(at, at - distance, most < MATCH_MAX ? most : MATCH_MAX);
        if (!put_literals(p, at) || !put_match(p, distance, length)) return false;
        at = p->literals;
        last = last_place(p);
        if (at > last) break;
        /* The places at the match's end are noted too: repetitions often go on behind a match. */
        for (int back = 2; back > 0; back--)
            places[place_of(compress_load_32(at - back), bits)] = (uint16_t)(at - back - start);
    }
    return true;
}

size_t compress_lzf(struct slice text, void *out, size_t room) {
    uint16_t places[1 << PLACE_BITS_MAX];
    unsigned bits = PLACE_BITS_MIN;
    struct packer p = {.literals = (const unsigned char *)text.bytes,
                       .end = (const unsigned char *)text.bytes + text.length,
                       .next = out,
                       .limit = (unsigned char *)out + room};
    if (text.length == 0) return 0;
    while (bits < PLACE_BITS_MAX && (size_t)1 << bits < text.length) bits++;
    memset(places, 0, sizeof(places[0]) << bits);
    if (!put_matches(&p, places, bits) || !put_literals(&p, p.end)) return 0;
    return (size_t)(p.next - (unsigned char *)out);
}

/* ---- Back ---- */

/* Bytes that are copied at once: few matches are longer. */
#define STEP ((size_t)16)

/* Copies `length` (<= room) bytes that stand `distance` bytes back. Where source and target
 * overlap, bytes that were just copied are copied again. */
static inline void copy_match(unsigned char *to, size_t distance, size_t length, size_t room) {
    const unsigned char *from = to - distance;
    if (distance >= STEP && room >= length + STEP) {
        size_t done = 0;
        do {
            memcpy(to + done, from + done, STEP);
            done += STEP;
        } while (done < length);
        return;
    }
    for (size_t i = 0; i < length; i++) to[i] = from[i];
}

/* Expands the match whose first byte is `head` and whose other bytes begin at `*at`; returns its
 * length, 0 where it is malformed or does not fit. */
static inline size_t put_copy(unsigned head, const unsigned char **at, const unsigned char *end,
                              const unsigned char *start, unsigned char *next, size_t room) {
    size_t length = (head >> 5) + 2;
    if (length == MATCH_SHORT_MAX + 1 && *at < end) length += *(*at)++;
    if (*at == end || length > room) return 0;
    size_t distance = ((size_t)(head & 31) << 8 | *(*at)++) + 1;
    if (distance > (size_t)(next - start)) return 0;
    copy_match(next, distance, length, room);
    return length;
}

bool decompress_lzf(struct slice packed, void *out, size_t length) {
    const unsigned char *at = (const unsigned char *)packed.bytes, *end = at + packed.length;
    unsigned char *start = out, *next = out, *limit = next + length;
    while (at < end) {
        unsigned head = *at++;
        size_t room = (size_t)(limit - next);
        if (head >= RUN_MAX) {
            size_t copied = put_copy(head, &at, end, start, next, room);
            if (!copied) return false;
            next += copied;
            continue;
        }
        size_t run = head + 1, left = (size_t)(end - at);
        if (run > left || run > room) return false;
        if (left >= RUN_MAX && room >= RUN_MAX) /* of constant length, as in put_literals */
            memcpy(next, at, RUN_MAX);
        else
            memcpy(next, at, run);
        at += run;
        next += run;
    }
    return next == limit;
}
