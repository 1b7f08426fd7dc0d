/* SPDX-License-Identifier: BSD-3-Clause
 * A binary heap of pointers.
 *
 * Invariants:
 *  1. items[i] does not come before items[(i - 1) / 2], its parent.
 *  2. items[i]->place is i + 1.
 *  3. The array has room for HEAP_ROOM_MIN items or more, and is never more than three quarters
 *     empty above that.
 */
#include "base/heap.h"

#include "base/panic.h"

#define HEAP_ROOM_MIN 16

void heap_init(struct heap *heap,
               bool (*before)(const struct heap_item *a, const struct heap_item *b),
               enum memory_class class) {
    *heap = (struct heap){.before = before, .class = class};
}

void heap_free(struct heap *heap) {
    for (size_t i = 0; i < heap->count; i++) heap->items[i]->place = 0;
    if (heap->items) memory_free(heap->items, heap->class);
    heap_init(heap, heap->before, heap->class);
}

static void set_room(struct heap *heap, size_t room) {
    size_t bytes = room * sizeof(*heap->items);
    heap->items = heap->items ? memory_realloc(heap->items, bytes, heap->class)
                              : memory_alloc(bytes, heap->class);
    heap->room = room;
}

static void heap_put(struct heap *heap, size_t at, struct heap_item *item) {
    heap->items[at] = item;
    item->place = at + 1;
}

/* Moves the item at `at` up while it comes before its parent. */
static void heap_rise(struct heap *heap, size_t at) {
    struct heap_item *item = heap->items[at];
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!heap->before(item, heap->items[parent])) break;
        heap_put(heap, at, heap->items[parent]);
        at = parent;
    }
    heap_put(heap, at, item);
}

/* Moves the item at `at` down while a child comes before it. */
static void sink_down(struct heap *heap, size_t at) {
    struct heap_item *item = heap->items[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && heap->before(heap->items[child + 1], heap->items[child]))
            child++;
        if (!heap->before(heap->items[child], item)) break;
        heap_put(heap, at, heap->items[child]);
        at = child;
    }
    heap_put(heap, at, item);
}

void heap_insert(struct heap *heap, struct heap_item *item) {
    ASSERT(!heap_has(item));
    if (heap->count == heap->room) set_room(heap, heap->room ? heap->room * 2 : HEAP_ROOM_MIN);
    heap_put(heap, heap->count, item);
    heap->count++;
    heap_rise(heap, heap->count - 1);
}

void heap_remove(struct heap *heap, struct heap_item *item) {
    ASSERT(heap_has(item) && item->place <= heap->count);
    size_t at = item->place - 1;
    ASSERT(heap->items[at] == item);
    struct heap_item *last = heap->items[--heap->count];
    item->place = 0;
    if (last != item) {
        heap_put(heap, at, last);
        heap_rise(heap, at);
        sink_down(heap, last->place - 1);
    }
    if (heap->room > HEAP_ROOM_MIN && heap->count < heap->room / 4) set_room(heap, heap->room / 2);
}

void heap_check(const struct heap *heap) {
    ASSERT_COMPARE(heap->count, <=, heap->room);
    for (size_t i = 0; i < heap->count; i++) {
        ASSERT_COMPARE(heap->items[i]->place, ==, i + 1);
        if (i > 0) ASSERT(!heap->before(heap->items[i], heap->items[(i - 1) / 2]));
    }
}
