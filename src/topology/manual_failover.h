/* SPDX-License-Identifier: BSD-3-Clause
 * CLUSTER FAILOVER: a replica takes the place of a primary that works, and nothing is lost.
 *
 *   the replica                                       its primary
 *
 *   NONE --ask, MFSTART--> ASKS                       NONE --MFSTART--> PAUSES: holds writes, says
 *                           | PAUSED and an offset     ^                 | PAUSED and its offset
 *                           v                          |                 | in all its messages
 *                       CATCHES_UP                     '-----------------'
 *                           | has all up to it           it becomes a replica, or its time is over,
 *                           v                            or the replica is none of it any more
 *   NONE --FORCE-------> READY: the election begins
 *     ^                     |
 *     '--- from any state: it becomes a primary, follows another one, or its time is over
 *
 *   | time                          | ms after it began                                       |
 *   | ----------------------------- | ------------------------------------------------------- |
 *   | the replica gives up          | 5,000                                                   |
 *   | the primary accepts writes    | 6,000: a second later, so that it has heard of its      |
 *   |                               | successor before it answers a write that would be lost  |
 *
 * This is the state alone: who calls it sends the messages and holds the writes.
 */
#ifndef EVENKEEL_TOPOLOGY_MANUAL_FAILOVER_H
#define EVENKEEL_TOPOLOGY_MANUAL_FAILOVER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "topology/election.h"
#include "topology/view.h"

enum cluster_manual_state {
    CLUSTER_MANUAL_IDLE,
    CLUSTER_MANUAL_ASKS,
    CLUSTER_MANUAL_CATCHES_UP,
    CLUSTER_MANUAL_STARTS, /* READY */
    CLUSTER_MANUAL_PAUSES  /* of a primary */
};

/* Zeroed at start. Times are monotonic. */
struct cluster_manual {
    enum cluster_manual_state state;
    struct cluster_id other; /* the primary that is followed, or the replica that has asked */
    int64_t end_msec;
    uint64_t target; /* CATCHES_UP: the primary's offset, which stands still */
};

/* A replica, whose primary is known, begins. A manual failover that is under way is forgotten. */
void cluster_manual_begin(struct cluster_manual *m, const struct cluster *c, bool force,
                          int64_t now_msec);
/* A primary is asked by one of its replicas. True: writes are to be held. False: it is none of its
 * replicas. */
MUST_USE bool cluster_manual_pause(struct cluster_manual *m, const struct cluster *c,
                                   const struct cluster_node *replica, int64_t now_msec);
/* A node says that it holds its clients' writes at this offset: for the replica, if the node is its
 * primary. */
void cluster_manual_hear(struct cluster_manual *m, const struct cluster_node *sender,
                         uint64_t offset);
/* Goes on, or ends what is over. `offset` is this replica's place in its primary's stream, -1 = it
 * is not in step with it. True: the state has changed. */
bool cluster_manual_step(struct cluster_manual *m, const struct cluster *c, int64_t offset,
                         int64_t now_msec);
/* For the election. */
enum cluster_manual_progress cluster_manual_progress(const struct cluster_manual *m);
#endif
