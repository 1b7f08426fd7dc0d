/* SPDX-License-Identifier: BSD-3-Clause
 * Replica migration: a replica of a primary that has several moves to a primary that has lost all
 * of its own, so that no primary stays without a successor for long.
 */
#ifndef EVENKEEL_TOPOLOGY_REPLICA_MIGRATION_H
#define EVENKEEL_TOPOLOGY_REPLICA_MIGRATION_H
#include <stdint.h>

#include "base/attributes.h"
#include "topology/view.h"

/* Takes note of primaries that are orphaned: that have slots and no working replica, and had
 * replicas (CLUSTER_NODE_MIGRATE_TO). Returns the one to which this node is to move now, NULL where
 * there is none, or another replica is to move, or this node's primary would be left with fewer
 * than `barrier` working replicas. To be called on each tick; times are wall time.
 * O(nodes + replicas). */
MUST_USE struct cluster_node *cluster_migration_target(struct cluster *c, int64_t barrier,
                                                       int64_t now_msec);
#endif
