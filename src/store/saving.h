/* SPDX-License-Identifier: BSD-3-Clause
 * One switch for all that rests while a child saves.
 *
 * A child that saves shares the parent's pages, and each page that the parent writes to is copied.
 * So between begin and end only clients' changes are written to the data (a key that expires is
 * such a change: of its entry, its bucket and its place in the index by deadline). Tables put off
 * growth and shrinking, up to a limit (ds/table.h); accesses are not noted (recency.h); the index
 * by deadline moves no element (ds/timebuckets.h). Keys that become due are found and expire as
 * ever.
 */
#ifndef EVENKEEL_STORE_SAVING_H
#define EVENKEEL_STORE_SAVING_H
#include <stdbool.h>

struct child_observer;

/* To be called before the fork, and when the child is gone. Pairs may be nested; the last end
 * counts. Afterwards the work that was put off is done in idle time (keyspace_maintain), by
 * deletes, and as time passes. */
void saving_begin(void);
void saving_end(void);
bool saving_now(void);

/* Begins before a fork and ends when the child is gone. */
extern const struct child_observer saving_child_observer;
#endif
