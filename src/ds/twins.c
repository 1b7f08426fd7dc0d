/* SPDX-License-Identifier: BSD-3-Clause
 * Elements in halves of blocks.
 *
 * A block of two halves begins at a multiple of 16, and a half is 24, 40 or 56 bytes; so an address
 * tells which half it is, and where the other one stands. A half without an element is vacant: its
 * first byte marks it, and it is in a list of its size, from which the next allocation is served. A
 * block whose halves are both vacant is freed.
 *
 * The cost: where elements are removed at random and none are added, up to half of the memory of
 * these sizes stays allocated as vacant halves. They are reused first.
 *
 * When a whole structure is freed, the lists are not kept up, because that would touch blocks all
 * over the memory: a freed half is only marked, and the block is freed with its second half.
 *
 * Invariants (twins_check)
 *  1. A half is vacant if and only if its first byte is TWINS_VACANT and it is in its size's list.
 *  2. No block has two vacant halves.
 *  3. `bytes` is the sum of the blocks' good sizes: that of the elements' and of the vacant halves.
 */
#include "ds/twins.h"

#include <stdbool.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/relocation.h"

#define UNIT 8          /* elements take multiples of this */
#define SMALLEST_HALF 3 /* in units; the following ones are two units larger each */

struct twins_vacant {
    unsigned char mark; /* TWINS_VACANT */
    struct twins_vacant *previous, *next;
};
_Static_assert(sizeof(struct twins_vacant) == SMALLEST_HALF * UNIT, "fits the smallest half");

#ifdef EVENKEEL_SANITIZER
static inline bool is_half(size_t units) { return false; }
#else
static inline bool is_half(size_t units) {
    return units % 2 == 1 && units >= SMALLEST_HALF && units < SMALLEST_HALF + 2 * TWINS_SIZES;
}
#endif

static inline size_t units_of(size_t size) { return (size + UNIT - 1) / UNIT; }

static inline struct twins_vacant **vacant_list(struct twins *t, size_t units) {
    return &t->vacant[(units - SMALLEST_HALF) / 2];
}

static inline bool is_second(const void *half) { return (uintptr_t)half % 16 != 0; }

static inline void *other_half(void *half, size_t units) {
    char *bytes = half;
    return is_second(half) ? bytes - units * UNIT : bytes + units * UNIT;
}

static inline bool is_vacant(const void *half) {
    return *(const unsigned char *)half == TWINS_VACANT;
}

static void vacant_add(struct twins *t, void *half, size_t units) {
    struct twins_vacant **list = vacant_list(t, units), *v = half;
    *v = (struct twins_vacant){TWINS_VACANT, NULL, *list};
    if (*list) (*list)->previous = v;
    *list = v;
}

static void vacant_remove(struct twins *t, struct twins_vacant *v, size_t units) {
    if (v->next) v->next->previous = v->previous;
    if (v->previous)
        v->previous->next = v->next;
    else
        *vacant_list(t, units) = v->next;
}

static void block_free(struct twins *t, void *half, size_t units) {
    size_t bytes = 2 * units * UNIT;
    t->bytes -= bytes;
    memory_free_sized(is_second(half) ? other_half(half, units) : half, bytes, MEMORY_DATASET);
}

static void single_free(struct twins *t, void *element, size_t size) {
    t->bytes -= memory_good_size(size);
    memory_free_sized(element, size, MEMORY_DATASET);
}

void *twins_alloc(struct twins *t, size_t size) {
    size_t units = units_of(size);
    ASSERT_SLOW(size > 0);
    if (!is_half(units)) {
        t->bytes += memory_good_size(size);
        return memory_alloc(size, MEMORY_DATASET);
    }
    struct twins_vacant *v = *vacant_list(t, units);
    if (v) {
        vacant_remove(t, v, units);
        return v;
    }
    size_t bytes = 2 * units * UNIT;
    char *block = memory_alloc(bytes, MEMORY_DATASET);
    t->bytes += bytes;
    vacant_add(t, other_half(block, units), units);
    return block;
}

void twins_free(struct twins *t, void *element, size_t size) {
    size_t units = units_of(size);
    if (!is_half(units)) {
        single_free(t, element, size);
        return;
    }
    void *other = other_half(element, units);
    if (!is_vacant(other)) {
        vacant_add(t, element, units);
        return;
    }
    vacant_remove(t, other, units);
    block_free(t, element, units);
}

void twins_release(struct twins *t, void *element, size_t size) {
    size_t units = units_of(size);
    if (!is_half(units))
        single_free(t, element, size);
    else if (is_vacant(other_half(element, units)))
        block_free(t, element, units);
    else
        *(unsigned char *)element = TWINS_VACANT;
}

void *twins_other(void *element, size_t size) {
    size_t units = units_of(size);
    if (!is_half(units)) return NULL;
    void *other = other_half(element, units);
    return is_vacant(other) ? NULL : other;
}

/* A vacant half has moved along with its block. */
static void vacant_relink(struct twins *t, struct twins_vacant *v, size_t units) {
    if (v->next) v->next->previous = v;
    if (v->previous)
        v->previous->next = v;
    else
        *vacant_list(t, units) = v;
}

void *twins_relocate(struct twins *t, void *element, size_t size, struct relocation *r) {
    size_t units = units_of(size);
    if (!is_half(units)) return relocation_move(r, element, MEMORY_DATASET);
    bool second = is_second(element);
    char *block = second ? other_half(element, units) : element;
    block = relocation_move(r, block, MEMORY_DATASET);
    char *moved = second ? block + units * UNIT : block;
    void *other = other_half(moved, units);
    if (is_vacant(other)) vacant_relink(t, other, units);
    return moved;
}

size_t twins_good_size(size_t size) {
    size_t units = units_of(size);
    return is_half(units) ? units * UNIT : memory_good_size(size);
}

void twins_check(const struct twins *t, size_t element_bytes) {
    for (size_t i = 0; i < TWINS_SIZES; i++) {
        size_t units = SMALLEST_HALF + 2 * i;
        const struct twins_vacant *previous = NULL;
        for (struct twins_vacant *v = t->vacant[i]; v; v = v->next) {
            ASSERT(is_vacant(v) && !is_vacant(other_half(v, units)));
            ASSERT(v->previous == previous);
            previous = v;
            element_bytes += units * UNIT;
        }
    }
    ASSERT_COMPARE(element_bytes, ==, t->bytes);
}
