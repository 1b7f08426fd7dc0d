/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers by time: what becomes due when, written down beside elements that may not be touched.
 *
 * The index by deadline (timebuckets.h) keeps elements so while a child saves: their numbers, four
 * bytes each, in memory that the child does not share. Nothing is taken out but by time: who knows
 * a number's element says, when its time has come, whether it is still there and due. A number may
 * stand here more than once.
 */
#ifndef EVENKEEL_DS_TIME_NUMBERS_H
#define EVENKEEL_DS_TIME_NUMBERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

struct time_numbers;

/* Begins at that time. What it takes and gives of memory is added to `*bytes`, which outlives it.
 */
struct time_numbers *time_numbers_create(int64_t now_msec, enum memory_class class, size_t *bytes);
/* Frees in steps of up to `blocks_max` blocks; true when gone. */
bool time_numbers_free_step(struct time_numbers *t, size_t blocks_max);

void time_numbers_add(struct time_numbers *t, int64_t deadline_msec, uint32_t number);

/* The deadline of the element that has this number now; false where none has. */
typedef bool time_numbers_deadline(const void *owner, uint32_t number, int64_t *deadline_msec);
/* A number whose element is due. It stays, and is found again while its element stays. False where
 * there is none, or where `*budget`, which falls by one for each number that is looked at or moved,
 * is used up. `now_msec` is not before time_numbers_base. */
bool time_numbers_peek(struct time_numbers *t, int64_t now_msec, time_numbers_deadline *deadline,
                       const void *owner, int *budget, uint32_t *number);
/* The time up to which it has been looked at. */
int64_t time_numbers_base(const struct time_numbers *t);
/* A lower bound of what is due next, INT64_MAX where nothing is here. O(levels). */
int64_t time_numbers_next(const struct time_numbers *t);
/* About how many are due: exactly 0 once nothing was found within the budget. */
size_t time_numbers_due(const struct time_numbers *t, int64_t now_msec);
/* Asserts the invariants. O(blocks). */
void time_numbers_check(const struct time_numbers *t);
#endif
