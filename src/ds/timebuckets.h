/* SPDX-License-Identifier: BSD-3-Clause
 * The index by deadline: hierarchical time buckets over elements that have a deadline in
 * milliseconds. Insert, move and remove in O(1); the elements that are due come out without any
 * other being looked at.
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
/* Frees in steps of up to `elements_max` elements' share; true when gone. */
bool timebuckets_free_step(struct timebuckets *t, size_t elements_max);

size_t timebuckets_count(const struct timebuckets *t);
size_t timebuckets_bytes(const struct timebuckets *t); /* O(1) */

/* The element's deadline and reference are read and set through the type. Any int64 deadline is
 * safe, also past ones and ones beyond any clock. */
void timebuckets_insert(struct timebuckets *t, void *element);
/* Before the element's deadline changes or it goes away. */
void timebuckets_remove(struct timebuckets *t, void *element);

/* One element whose deadline is <= now, which the caller will timebuckets_remove; NULL where none
 * is due. Work is bounded a call (at most TIMEBUCKETS_CASCADE_MAX elements move nearer); `*more`
 * tells that the call ended for that bound although something may be due. `now` may jump either
 * way. */
#define TIMEBUCKETS_CASCADE_MAX 64
void *timebuckets_peek_due(struct timebuckets *t, int64_t now_msec, bool *more);
/* The same for up to `max` elements at once, all of which the caller will remove, in this order, so
 * that it can prefetch what that needs. Fewer than are due where a bucket ends; 0 as NULL above. */
size_t timebuckets_peek_due_group(struct timebuckets *t, int64_t now_msec, void **group, size_t max,
                                  bool *more);
/* Number of elements due at `now`: whole buckets that have passed are counted, the one that `now`
 * falls into by its share of time. Exact once timebuckets_peek_due has found nothing more. */
size_t timebuckets_due(const struct timebuckets *t, int64_t now_msec);
/* A lower bound of the earliest deadline, INT64_MAX where empty. Never later than the truth. O(1)
 * or bounded by the number of levels times buckets a level. */
int64_t timebuckets_next_deadline(const struct timebuckets *t);

/* While all indexes rest nothing is written to elements but to those that are inserted; what is due
 * is found nevertheless (timebuckets.c says how), `*more` as above. For as long as a child saves,
 * which shares the elements' pages. Main thread only. O(1). */
void timebuckets_set_resting(bool on);
/* Afterwards: up to `steps` of the work that was put off, each of some microseconds; true where
 * there is more. Until it is done the index takes a little more memory, and is as good. */
bool timebuckets_settle(struct timebuckets *t, size_t steps);

/* A uniformly random element (counts a bucket), NULL where empty. */
void *timebuckets_random(const struct timebuckets *t);
/* A walk over all elements that survives changes: start with 0; calls `visit` for a bounded number
 * of elements and returns the next cursor, 0 at the end. In an index that nobody changes meanwhile
 * every element is visited exactly once; one that moves, to fill the hole of a removed one or
 * because its time comes near, may be missed or visited twice in that pass. `visit` must not
 * change the index. */
uint64_t timebuckets_walk(const struct timebuckets *t, uint64_t cursor,
                          void (*visit)(void *element, void *context), void *context);
/* Asserts the invariants; walks everything. */
void timebuckets_check(const struct timebuckets *t);
#endif
