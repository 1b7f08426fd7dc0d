/* SPDX-License-Identifier: BSD-3-Clause
 * Databases in the order of their next deadlines, so that expiry looks only at databases with due
 * keys.
 *
 * Each database has a lower bound of its next deadline: new deadlines lower it, and expiry, which
 * looks at the index, raises it. Times are in ms; INT64_MAX: no deadline.
 */
#ifndef EVENKEEL_STORE_NEXT_DUE_H
#define EVENKEEL_STORE_NEXT_DUE_H
#include <stdint.h>

#include "base/attributes.h"

/* Creates the order of so many databases, none with a deadline. Once, before all other calls. */
void next_due_open(int databases);
int64_t next_due_bound(int database);
/* Raises or lowers a bound. O(log databases). */
void next_due_set(int database, int64_t deadline_msec);
/* Lowers a bound if it is higher. O(1) where it is not. */
void next_due_lower(int database, int64_t deadline_msec);
/* The lowest of all bounds, and a database that has it. O(1). */
int64_t next_due_earliest(void);
int next_due_first(void);
/* Writes the databases whose bound is not later than `now_msec` into `found`, which must have room
 * for all databases; returns how many. O(that number). */
int next_due_collect(int64_t now_msec, int *found);
/* Asserts the invariants. O(databases). */
FOR_TESTS void next_due_check(void);
#endif
