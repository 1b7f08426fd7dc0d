/* SPDX-License-Identifier: BSD-3-Clause
 * A priority queue: a binary heap of pointers to items that lie inside the members.
 *
 * Each item knows its place, so that any item can be removed in O(log n). The array grows and
 * shrinks with the number of items. Source: Williams, "Algorithm 232: Heapsort", 1964.
 */
#ifndef EVENKEEL_BASE_HEAP_H
#define EVENKEEL_BASE_HEAP_H
#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

/* Inside a member. Zeroed before first use. */
struct heap_item {
    size_t place; /* in the array, from 1; 0 = in no heap */
};

struct heap {
    struct heap_item **items; /* NULL where it has never held any */
    size_t count, room;
    /* Returns true if `a` comes out before `b`. */
    bool (*before)(const struct heap_item *a, const struct heap_item *b);
    enum memory_class class;
};

void heap_init(struct heap *heap,
               bool (*before)(const struct heap_item *a, const struct heap_item *b),
               enum memory_class class);
/* Frees the array, not the items, which their owners keep: those that were in the heap are in none
 * then. */
void heap_free(struct heap *heap);
/* O(log n). The item must be in no heap. */
void heap_insert(struct heap *heap, struct heap_item *item);
/* O(log n). The item must be in this heap. */
void heap_remove(struct heap *heap, struct heap_item *item);
/* The item that no other one comes before; NULL if the heap is empty. O(1). */
static inline struct heap_item *heap_first(const struct heap *heap) {
    return heap->count ? heap->items[0] : NULL;
}
static inline bool heap_has(const struct heap_item *item) { return item->place != 0; }
/* Asserts the invariants. O(n). */
void heap_check(const struct heap *heap);
#endif
