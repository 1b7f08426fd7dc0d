/* SPDX-License-Identifier: BSD-3-Clause
 * Tables of elements of one text or two, in one allocation: the large forms of sets and hashes.
 *
 *   first's length (1) | second's length (1) | first | second
 *   PACKED_LONG (1) | first's length (4) | second's length (4) | first | second
 *
 * The second form is used where either text is longer than PACKED_SHORT_MAX. An element of one text
 * has no second length. The table finds an element by its first text; the second is in the same
 * memory, so reading it costs no further cache miss. Elements are allocated by ds/twins, in
 * multiples of 8 bytes.
 *
 * `texts`, 1 or 2, is a constant at each call, so the inlined functions cost no more than two sets
 * of functions would.
 */
#ifndef EVENKEEL_VALUE_PACKED_H
#define EVENKEEL_VALUE_PACKED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "base/string.h"
#include "ds/table.h"
#include "ds/twins.h"

#define PACKED_SHORT_MAX 253
#define PACKED_LONG 254 /* TWINS_VACANT is no length either */

struct packed {
    struct table *table;
    struct twins twins;
};

struct packed_texts {
    struct slice first, second;
};

/* The table types of elements with one text and with two. */
extern const struct table_type packed_one, packed_two;

static inline bool packed_is_short(size_t first_length, size_t second_length) {
    return first_length <= PACKED_SHORT_MAX && second_length <= PACKED_SHORT_MAX;
}

static inline size_t packed_header(unsigned texts, bool is_short) {
    return is_short ? texts : 1 + texts * sizeof(uint32_t);
}

static inline size_t packed_allocation(unsigned texts, size_t first_length, size_t second_length) {
    return packed_header(texts, packed_is_short(first_length, second_length)) + first_length +
           second_length;
}

static inline struct packed_texts packed_texts(unsigned texts, const void *element) {
    const char *bytes = element;
    uint32_t first_length = (unsigned char)bytes[0], second_length = 0;
    if (__builtin_expect(first_length == PACKED_LONG, 0)) {
        memcpy(&first_length, bytes + 1, sizeof(first_length));
        if (texts == 2)
            memcpy(&second_length, bytes + 1 + sizeof(first_length), sizeof(second_length));
        bytes += packed_header(texts, false);
    } else {
        if (texts == 2) second_length = (unsigned char)bytes[1];
        bytes += packed_header(texts, true);
    }
    return (struct packed_texts){{bytes, first_length}, {bytes + first_length, second_length}};
}

static inline struct slice packed_first(unsigned texts, const void *element) {
    return packed_texts(texts, element).first;
}

static inline size_t packed_size(unsigned texts, const void *element) {
    struct packed_texts t = packed_texts(texts, element);
    return packed_allocation(texts, t.first.length, t.second.length);
}

/* Writes the header and the second text; returns the first text's place, which the caller fills
 * unless it is filled already. */
static inline char *packed_write(unsigned texts, void *element, size_t first_length,
                                 struct slice second) {
    char *bytes = element;
    const uint32_t lengths[] = {(uint32_t)first_length, (uint32_t)second.length};
    bool is_short = packed_is_short(first_length, second.length);
    if (is_short) {
        bytes[0] = (char)first_length;
        if (texts == 2) bytes[1] = (char)second.length;
    } else {
        bytes[0] = (char)PACKED_LONG;
        memcpy(bytes + 1, lengths, texts * sizeof(lengths[0]));
    }
    bytes += packed_header(texts, is_short);
    if (texts == 2 && second.length) memcpy(bytes + first_length, second.bytes, second.length);
    return bytes;
}

/* Allocates an element; does not put it into the table. */
static inline void *packed_new(unsigned texts, struct packed *p, struct slice first,
                               struct slice second) {
    ASSERT(first.length <= UINT32_MAX && second.length <= UINT32_MAX);
    void *element = twins_alloc(&p->twins, packed_allocation(texts, first.length, second.length));
    char *to = packed_write(texts, element, first.length, second);
    if (first.length) memcpy(to, first.bytes, first.length);
    return element;
}

static inline void packed_free(unsigned texts, struct packed *p, void *element) {
    twins_free(&p->twins, element, packed_size(texts, element));
}

/* An empty table of packed_one or packed_two. */
struct packed *packed_create(const struct table_type *type);
/* Frees about `effort` elements; true when all is gone. After the first call only this function may
 * be called. Any thread. */
bool packed_release_step(unsigned texts, struct packed *p, size_t effort);
size_t packed_bytes(const struct packed *p); /* O(1) */
/* Moves blocks that are wanted elsewhere, from a cursor on (0 = the beginning) until `r`'s budget
 * is spent; returns the next cursor, 0 at the end. May move `*p`. The struct and the table are
 * looked at with cursor 0. */
MUST_USE uint64_t packed_relocate(unsigned texts, struct packed **p, uint64_t cursor,
                                  struct relocation *r);
/* Asserts that each element is found, and that the twins' bytes are those of the elements and of
 * vacant halves. */
void packed_check(unsigned texts, const struct packed *p);
#endif
