/* SPDX-License-Identifier: BSD-3-Clause
 * Full syncs: copies of the data for replicas that need one.
 *
 * A save writes the copy, as for BGSAVE: either to the snapshot's file, which is then sent to each
 * replica, or to a pipe, whose bytes go to all replicas that wait at that moment. One copy is under
 * way at a time. A replica that comes later waits for the next copy, or shares the file that is
 * being written: the history from that file's beginning on is held for the waiting replicas.
 *
 * Where saves walk (snapshot-method), more is shared:
 *
 *   a snapshot begins               | replicas that wait for a copy to sockets share its walk
 *   a snapshot is being saved       | a new replica gets its file, if no data has changed since
 *   a copy goes to sockets          | a new replica gets it, while one of the others has taken none
 *
 * How fast a pipe is read while a replica has a megabyte that it has not taken:
 *
 *   the replica takes some          | the pipe rests, as in 6.2, so that memory stays small
 *   it does not (PACE_BYTES)        | the pipe rests only where no other reader wants more
 *   a walk is pressed (saver.h)     | the pipe does not rest: writers wait for no replica
 *
 * Bytes that a replica has not taken are held for it and count against its output limit. A replica
 * is dropped when it reaches the limit (replica_check_limit), or takes nothing for repl-timeout.
 * The save ends when its last replica has left.
 */
#ifndef EVENKEEL_REPLICATION_FULL_SYNC_H
#define EVENKEEL_REPLICATION_FULL_SYNC_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct loop;
struct replica;
struct snapshot_observer;

/* For server/wiring. */
extern const struct snapshot_observer full_sync_snapshot_observer;

/* Registers options and metrics. Once, at start. */
void full_sync_register(void);
void full_sync_open(struct loop *loop);

/* Whether a snapshot's file is removed after it has served replicas: rdb-del-sync-files is on, and
 * there are no save points. */
bool full_sync_removes_files(void);
/* Makes the replica wait for a copy, which may begin at once. There must be a backlog. */
void full_sync_request(struct replica *r);
/* Called once a second: begins a copy for waiting replicas if possible, and removes a file that has
 * served. */
void full_sync_cron(void);
/* Called before the loop sleeps: reads the pipe again where replicas have taken their bytes, and
 * ends a save whose replicas have all left. Always false: sockets report the rest. */
bool full_sync_step(void);
/* Bytes of the copy that are held for replicas that have not taken them. */
size_t full_sync_memory(void);
/* Ends a copy to sockets, and drops its replicas. */
void full_sync_stop(void);
#endif
