/* SPDX-License-Identifier: BSD-3-Clause
 * How long the next sync waits for more writes, under appendfsync always.
 *
 * A client that waits for its reply sends nothing. So the clients fall into two halves: while a
 * sync is under way for one half, the other half gets its replies and writes again, just too late
 * for that sync. Syncs then follow each other without a pause, and each saves the writes of half
 * the clients. If the next sync waits until the clients of the last one have written again, it
 * saves the writes of all: twice as much a sync, and a shorter wait for each client. It waits until
 * as many units have come as were answered, but for at most half the time that a sync takes.
 *
 * Clients that do not wait for replies behave otherwise. Where fewer than half of the units come in
 * time, the next syncs do not wait; how many of them doubles with each such failure.
 *
 * Records are those of exec/effects: numbers of units. One log a process; main thread.
 */
#ifndef EVENKEEL_AOF_AOF_GATHER_H
#define EVENKEEL_AOF_AOF_GATHER_H
#include <stdbool.h>
#include <stdint.h>

/* No sync waits for longer than this, however long syncs take. */
#define AOF_GATHER_NSEC_MAX INT64_C(2000000)
/* The most syncs in a row that do not wait, after waits in vain. */
#define AOF_GATHER_SKIPS_MAX 64

/* Forgets what is known of earlier syncs. */
void aof_gather_reset(void);
/* Notes the end of a sync that took `sync_nsec`: the replies of `units` units leave now, and units
 * up to `record` have ended so far. */
void aof_gather_released(uint64_t units, uint64_t record, int64_t now_nsec, int64_t sync_nsec);
/* How long a sync that could begin now should wait, in ns; 0: not at all. Where it waits,
 * aof_gather_ended must follow. */
int64_t aof_gather_begin(uint64_t record, int64_t now_nsec);
/* Whether as many units have come as had left. */
bool aof_gather_is_complete(uint64_t record);
/* Notes that the wait is over, and has gathered units up to `record`. */
void aof_gather_ended(uint64_t record);
#endif
