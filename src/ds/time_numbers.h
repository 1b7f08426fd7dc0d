/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers by time: which element becomes due when, noted in memory of its own while the elements
 * themselves must not be written to.
 *
 * The index by deadline (timebuckets.h) does so while a child saves: it keeps elements' numbers,
 * four bytes each, in memory that the child does not share. A number is taken out only when its
 * time has come; then the owner's function says whether its element still exists and is due. A
 * number may be in the structure more than once.
 */
#ifndef EVENKEEL_DS_TIME_NUMBERS_H
#define EVENKEEL_DS_TIME_NUMBERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

struct time_numbers;

/* Begins at `now_msec`. Keeps `*bytes`, which must outlive the structure, up to date with its
 * memory. */
struct time_numbers *time_numbers_create(int64_t now_msec, enum memory_class class, size_t *bytes);
/* Frees up to `blocks_max` blocks a call; true when the structure is gone. */
bool time_numbers_free_step(struct time_numbers *t, size_t blocks_max);

void time_numbers_add(struct time_numbers *t, int64_t deadline_msec, uint32_t number);

/* The deadline of the element that has this number now; false if there is no such element. */
typedef bool time_numbers_deadline(const void *owner, uint32_t number, int64_t *deadline_msec);
/* Finds a number whose element is due. The number stays, and is found again as long as its element
 * exists. Returns false if there is none, or if `*budget`, which falls by one for each number
 * that is looked at or moved, is used up. `now_msec` must not be before time_numbers_base. */
bool time_numbers_peek(struct time_numbers *t, int64_t now_msec, time_numbers_deadline *deadline,
                       const void *owner, int *budget, uint32_t *number);
/* The time up to which deadlines have been processed. */
int64_t time_numbers_base(const struct time_numbers *t);
/* A lower bound of the earliest deadline, INT64_MAX where there is no number. O(levels). */
int64_t time_numbers_next(const struct time_numbers *t);
/* About how many numbers are due; exactly 0 once time_numbers_peek found nothing with budget
 * left. */
size_t time_numbers_due(const struct time_numbers *t, int64_t now_msec);
/* Asserts the invariants. O(blocks). */
void time_numbers_check(const struct time_numbers *t);
#endif
