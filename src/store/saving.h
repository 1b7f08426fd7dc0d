/* SPDX-License-Identifier: BSD-3-Clause
 * What rests while a child saves: one switch.
 *
 * A child that saves shares the parent's pages, and whatever the parent writes to copies one. So
 * between begin and end nothing is written to the data but what clients change (a key that expires
 * is such a change: its own entry, its bucket and its place in the index by deadline). Tables put
 * off growth and shrinking, up to a limit (ds/table.h); accesses are not noted (recency.h); the
 * index by deadline moves nothing (ds/timebuckets.h), and keys that become due are found and expire
 * as ever.
 */
#ifndef EVENKEEL_STORE_SAVING_H
#define EVENKEEL_STORE_SAVING_H
#include <stdbool.h>

struct child_observer;

/* Before the fork, and when the child is gone. They nest: the last end counts. What was put off is
 * done in idle time then (keyspace_maintain), by deletes, and as time passes. */
void saving_begin(void);
void saving_end(void);
bool saving_now(void);

/* Begins before a fork and ends when the child is gone. */
extern const struct child_observer saving_child_observer;
#endif
