/* SPDX-License-Identifier: BSD-3-Clause
 * Allocation of one structure's small elements, two of them a block where that is smaller.
 *
 * The allocator's sizes below 64 bytes are multiples of 16; an element of 17..24, 33..40 or 49..56
 * bytes takes half of a block of 48, 80 or 112 instead. All others are blocks of their own. So each
 * element takes a multiple of 8 bytes up to 64, at no cost in time: there is half as much to
 * allocate.
 *
 * The user writes the first byte of an element before anything else happens to the structure, and
 * never as TWINS_VACANT. Elements that share a block are aligned to 8 bytes, not to 16.
 *
 * Sanitizer builds give each element a block of its own, so that the sanitizer sees its ends.
 */
#ifndef EVENKEEL_DS_TWINS_H
#define EVENKEEL_DS_TWINS_H
#include <stddef.h>
#include <stdint.h>

#define TWINS_VACANT 0xff
#define TWINS_SIZES 3

struct twins_vacant;

/* All zero: no elements. */
struct twins {
    size_t bytes; /* of all blocks */
    struct twins_vacant *vacant[TWINS_SIZES];
};

/* `size` is 1 at least. Class MEMORY_DATASET. O(1). */
void *twins_alloc(struct twins *t, size_t size) __attribute__((warn_unused_result));
/* `size` as at twins_alloc, or one of the same good size. O(1). */
void twins_free(struct twins *t, void *element, size_t size);
/* Frees an element of a structure that is being freed whole: only this and no other function may be
 * called from then on, and the structure is gone with its last element. Any thread. O(1). */
void twins_release(struct twins *t, void *element, size_t size);
/* What an element of this size takes; two sizes with the same good size can share a place. */
size_t twins_good_size(size_t size);
/* Asserts the invariants, `element_bytes` being the sum of the elements' good sizes. O(vacant
 * halves). */
void twins_check(const struct twins *t, size_t element_bytes);
#endif
