/* SPDX-License-Identifier: BSD-3-Clause
 * The replication of a node: which server it copies follows from its role in the cluster.
 *
 * A replica in the cluster follows its primary's address; a primary follows nobody. REPLICAOF and
 * FAILOVER are refused, because the cluster gives out the roles.
 */
#ifndef EVENKEEL_CLUSTER_FOLLOW_H
#define EVENKEEL_CLUSTER_FOLLOW_H
#include <stdbool.h>

#include "topology/nodes.h"

struct role_manager;

/* Decides the role of a node at start; for server/wiring. */
extern const struct role_manager cluster_follow_manager;
/* The cluster that decides, borrowed for as long as the process lives. Before role_open. */
void cluster_follow_open(const struct cluster *c);
/* Makes replication what the node's role asks for: begins, changes or ends it. Does nothing where
 * that is so already, or where the primary, or its address, is not known. May free all data later,
 * when a new primary's copy comes. */
void cluster_follow(void);
/* Whether replication follows the primary of this replica, at its present address. */
bool cluster_follow_is_current(void);
#endif
