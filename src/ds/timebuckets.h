/* SPDX-License-Identifier: BSD-3-Clause
 * The index by deadline: hierarchical time buckets over elements that have a deadline in
 * milliseconds. Insert, move and remove in O(1); due elements are found without a look at any
 * other.
 *
 * An element keeps a 32-bit back-reference for the index (timebuckets_type.reference) and its
 * deadline; the index keeps one pointer an element. Together at most 14 bytes an element beyond
 * the deadline itself.
 */
#ifndef EVENKEEL_DS_TIMEBUCKETS_H
#define EVENKEEL_DS_TIMEBUCKETS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"

/* The share of one element in a large index: the pointer to it. */
#define TIMEBUCKETS_ELEMENT_BYTES 8

struct relocation;
struct timebuckets;

struct timebuckets_type {
    int64_t (*deadline_msec)(const void *element);
    uint32_t (*reference)(const void *element);
    void (*set_reference)(void *element, uint32_t reference);
    enum memory_class class;
};

struct timebuckets *timebuckets_create(const struct timebuckets_type *type);
/* Frees the index, not the elements. */
FOR_TESTS void timebuckets_free(struct timebuckets *t);
/* Frees the index in steps, each bounded by `elements_max` elements' share of it; true when it is
 * gone. */
bool timebuckets_free_step(struct timebuckets *t, size_t elements_max);

size_t timebuckets_count(const struct timebuckets *t);
size_t timebuckets_bytes(const struct timebuckets *t); /* O(1) */

/* The element's deadline and reference are read and set through the type. Any int64 deadline is
 * safe, also past ones and ones beyond any clock. */
void timebuckets_insert(struct timebuckets *t, void *element);
/* To be called before the element's deadline changes or the element is freed. */
void timebuckets_remove(struct timebuckets *t, void *element);

/* An element whose deadline is <= now; NULL if none is due. The caller removes it
 * (timebuckets_remove). A call moves at most TIMEBUCKETS_CASCADE_MAX elements to lower levels;
 * `*more` is true where it stopped for that bound although an element may be due. `now` may jump
 * either way. */
#define TIMEBUCKETS_CASCADE_MAX 64
void *timebuckets_peek_due(struct timebuckets *t, int64_t now_msec, bool *more);
/* Finds up to `max` due elements at once, so that the caller can prefetch; it removes all of them,
 * in this order. Returns how many: fewer than are due where a bucket ends, 0 where none is due or,
 * with `*more` true, where the bound of timebuckets_peek_due stopped the call. */
size_t timebuckets_peek_due_group(struct timebuckets *t, int64_t now_msec, void **group, size_t max,
                                  bool *more);
/* An estimate of the number of elements due at `now`: buckets whose time is over count in full, the
 * bucket that `now` falls into by the share of its time that has passed. Exact once
 * timebuckets_peek_due has found nothing more. */
size_t timebuckets_due(const struct timebuckets *t, int64_t now_msec);
/* A lower bound of the earliest deadline, INT64_MAX where the index is empty. O(1), or bounded by
 * levels times buckets a level. */
int64_t timebuckets_next_deadline(const struct timebuckets *t);

/* Makes all indexes rest, or ends that. While they rest, only elements that are inserted are
 * written to, and due elements are found nevertheless (timebuckets.c says how). To be used while a
 * child saves, because it shares the elements' pages. Main thread only. O(1). */
void timebuckets_set_resting(bool on);
/* After a rest: does up to `steps` steps, each of some microseconds, of the work that the rest put
 * off; true if there is more. Until then the index works as well, and only takes a little more
 * memory. */
bool timebuckets_settle(struct timebuckets *t, size_t steps);

/* A uniformly random element, NULL if the index is empty. */
void *timebuckets_random(const struct timebuckets *t);
/* A walk over all elements that survives changes: start with 0; calls `visit` for a bounded number
 * of elements and returns the next cursor, 0 at the end. In an index that does not change
 * meanwhile, every element is visited exactly once. An element that moves, to fill a removed
 * element's place or because its time comes near, may be missed or visited twice. `visit` must not
 * change the index. */
uint64_t timebuckets_walk(const struct timebuckets *t, uint64_t cursor,
                          void (*visit)(void *element, void *context), void *context);
/* An element of the index has another address now, with the reference that it had. O(1). */
void timebuckets_replace(struct timebuckets *t, void *element);
/* Moves the index' own blocks that are wanted elsewhere (base/relocation.h), from a cursor on (0 =
 * the beginning) until the budget is spent; returns the next cursor, 0 at the end. */
MUST_USE uint64_t timebuckets_relocate_some(struct timebuckets *t, uint64_t cursor,
                                            struct relocation *r);
/* Asserts the invariants; walks everything. */
void timebuckets_check(const struct timebuckets *t);
#endif
