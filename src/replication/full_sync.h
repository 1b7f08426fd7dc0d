/* SPDX-License-Identifier: BSD-3-Clause
 * Full syncs: copies of the data for replicas that need one.
 *
 * A child writes the copy, as it does for BGSAVE, either to the snapshot's file, which is then sent
 * to each replica, or to a pipe, whose bytes go to all replicas that wait at that moment. One copy
 * is under way at a time; who comes later waits for the next one, or shares the file that is being
 * written, since the history from its beginning on is held for those who wait.
 *
 * Where saves walk (snapshot-method) more is shared: who waits for sockets goes along with a
 * snapshot that begins; who comes while a snapshot is saved gets its file where nothing was done
 * since it began; and who comes while a copy goes to sockets gets it, too, as long as one of those
 * has taken nothing of it.
 *
 * How fast a pipe is read, while a replica has a megabyte that it has not taken:
 *
 *   the replica takes some          | the pipe rests, as in 6.2, so that memory stays small
 *   it does not (PACE_BYTES)        | it rests only where nobody else wants more
 *   a walk is pressed (saver.h)     | it does not rest: writers wait for no replica
 *
 * What a replica has not taken is held for it and counts under its output limit, at which it is
 * dropped (replica_check_limit), and so it is when it takes nothing for repl-timeout. The save ends
 * with the last of its replicas.
 */
#ifndef EVENKEEL_REPLICATION_FULL_SYNC_H
#define EVENKEEL_REPLICATION_FULL_SYNC_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct loop;
struct replica;

/* Options and metrics. Once, at start. */
void full_sync_register(void);
void full_sync_open(struct loop *loop);

/* rdb-del-sync-files, where nothing else wants the file: it is removed once it has served. */
bool full_sync_removes_files(void);
/* The replica needs a copy: it waits for one, which may begin at once. There is a backlog. */
void full_sync_request(struct replica *r);
/* Once a second: what waits begins where it can; what is stuck is given up. */
void full_sync_cron(void);
/* Before the loop sleeps: goes on where replicas have taken what a child wrote, and ends a child
 * whose replicas have all gone. Always false: sockets tell of the rest. */
bool full_sync_step(void);
/* Bytes of the copy that are held for replicas which have not taken them. */
size_t full_sync_memory(void);
/* Ends a child that writes to sockets, and drops its replicas. */
void full_sync_stop(void);
#endif
