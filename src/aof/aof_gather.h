/* SPDX-License-Identifier: BSD-3-Clause
 * How long the next sync waits for more to come, under appendfsync always.
 *
 * Clients that wait for a reply send nothing. While one half of them waits for the sync that is
 * under way the other half gets its replies and asks again, just too late for it: so syncs follow
 * each other without a pause, and each saves what half of the clients wrote. Who puts a sync off
 * until those come back that the one before has let go has all of them in one: twice as much a
 * sync, and a shorter wait for each. It is put off until as many units have come as had left, or
 * for half the time that a sync takes.
 *
 * Clients of another kind come when they like. Where fewer than half come back in time nobody is
 * waited for in the next syncs, in more and more of them.
 *
 * Records are those of exec/effects: numbers of units. One log a process; main thread.
 */
#ifndef EVENKEEL_AOF_AOF_GATHER_H
#define EVENKEEL_AOF_AOF_GATHER_H
#include <stdbool.h>
#include <stdint.h>

/* No sync waits for longer than this, however long syncs take. */
#define AOF_GATHER_NSEC_MAX INT64_C(2000000)
/* Syncs for which nobody waits, after waits that were in vain: so many at most. */
#define AOF_GATHER_SKIPS_MAX 64

/* Nothing is known of earlier syncs. */
void aof_gather_reset(void);
/* A sync that took so long has ended, by which so many units' replies leave now; `record` units
 * have ended so far. */
void aof_gather_released(uint64_t units, uint64_t record, int64_t now_nsec, int64_t sync_nsec);
/* A sync could begin: how long it is to wait; 0: not at all. Where it waits, aof_gather_ended is to
 * follow. */
int64_t aof_gather_begin(uint64_t record, int64_t now_nsec);
/* As many have come as had left. */
bool aof_gather_is_complete(uint64_t record);
/* The wait is over; up to this record it has gathered. */
void aof_gather_ended(uint64_t record);
#endif
