/* SPDX-License-Identifier: BSD-3-Clause
 * Allocation of one structure's small elements, two of them a block where that is smaller.
 *
 * The allocator's sizes below 64 bytes are multiples of 16; an element of 17..24, 33..40 or 49..56
 * bytes takes half of a block of 48, 80 or 112 instead. All others are blocks of their own. So each
 * element of up to 64 bytes takes a multiple of 8 bytes, at no cost in time, because half as many
 * blocks are allocated.
 *
 * The user must write an element's first byte before the next call for the structure, and never as
 * TWINS_VACANT. Elements that share a block are aligned to 8 bytes, not to 16.
 *
 * Sanitizer builds give each element a block of its own, so that the sanitizer sees its ends.
 */
#ifndef EVENKEEL_DS_TWINS_H
#define EVENKEEL_DS_TWINS_H
#include <stddef.h>
#include <stdint.h>

struct relocation;

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
/* `size` is the one given to twins_alloc, or one with the same good size. O(1). */
void twins_free(struct twins *t, void *element, size_t size);
/* Frees an element of a structure that is being freed whole: from then on only this function may be
 * called. The structure is gone with its last element. Any thread. O(1). */
void twins_release(struct twins *t, void *element, size_t size);
/* The other element of the block; NULL if the block is the element's alone, or its other half is
 * vacant. The two have the same good size. O(1). */
void *twins_other(void *element, size_t size);
/* Moves the element's block, which is wanted elsewhere (base/relocation.h). Returns the element's
 * new address; that of the other element is twins_other of it. O(1). */
void *twins_relocate(struct twins *t, void *element, size_t size, struct relocation *r)
    __attribute__((warn_unused_result));
/* The bytes that an element of this size takes. An element may grow or shrink in place between
 * sizes with the same good size. */
size_t twins_good_size(size_t size);
/* Asserts the invariants, `element_bytes` being the sum of the elements' good sizes. O(vacant
 * halves). */
void twins_check(const struct twins *t, size_t element_bytes);
#endif
