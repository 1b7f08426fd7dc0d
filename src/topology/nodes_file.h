/* SPDX-License-Identifier: BSD-3-Clause
 * nodes.conf: what a node must not forget over a restart, and the lock that keeps a second node
 * away from it.
 *
 * The text is written to a temporary file, synced and renamed by a thread of its own
 * (io/background); no client waits for the disk. Each state of the cluster that is to be kept has a
 * version, a number that grows. What promises something (a vote, a new epoch) waits until the
 * version that has it is on disk: cluster_file_is_saved, or cluster_file_when_saved.
 *
 * The file is locked by flock as long as the node lives, as 6.2 does it, so that nodes of both
 * kinds keep each other away. Each new file is locked under its temporary name ("nodes.conf.tmp")
 * before it is renamed, so that the name always stands for a locked file.
 */
#ifndef EVENKEEL_TOPOLOGY_NODES_FILE_H
#define EVENKEEL_TOPOLOGY_NODES_FILE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "topology/nodes.h"

struct child_observer;

/* Locks and reads the file, or makes a new node where it does not exist or is empty, and writes it.
 * The path is relative to the present folder, and stands for the same file for ever. NULL after a
 * message in the log, in 6.2's words where 6.2 has some: another process has the lock, the text is
 * damaged (the file is left as it is), the disk refuses. The cluster is the caller's, and must live
 * until cluster_file_close. Waits for the disk. */
MUST_USE struct cluster *cluster_file_open(const char *path);
/* Asks for a write at the end of this turn. Returns the version that the write will have: all that
 * has changed until then is in it. */
uint64_t cluster_file_later(void);
/* Whether all versions up to this one are on disk. */
bool cluster_file_is_saved(uint64_t version);
/* Calls `saved(context)` on the main thread, between two commands, once the version is on disk;
 * within this call if it is so already. What cannot be written is tried again until it can. */
void cluster_file_when_saved(uint64_t version, void (*saved)(void *context), void *context);
/* Withdraws all calls of cluster_file_when_saved with this context. */
FOR_TESTS void cluster_file_forget(void *context);
/* Writes the present state and waits for the disk: CLUSTER SAVECONFIG, and the end of the process.
 * False with errno set. */
MUST_USE bool cluster_file_write(void);
/* A hook of the loop, before it sleeps (a write that ends wakes client_loop): begins a write that
 * was asked for, or is due again after a failure, and makes the calls of versions that have been
 * saved. Returns true where it has made any. */
bool cluster_file_step(void);
/* Called in nested turns, which may be within a call: begins and ends writes as the step does, so
 * that messages need not wait for the end of a load, and makes no calls. */
void cluster_file_advance(void);
/* At the end of the process: writes what is not on disk yet, and gives the lock back. Who waits for
 * a version is forgotten. Does nothing where no file is open. */
void cluster_file_close(void);
/* A forked child must not keep the lock. */
extern const struct child_observer cluster_file_child_observer;
#endif
