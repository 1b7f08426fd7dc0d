/* SPDX-License-Identifier: BSD-3-Clause
 * Replica migration. replica_migration.h has the idea.
 *
 * One replica moves at a time: the one with the smallest id among the working replicas of those
 * primaries that have the most. All nodes come to the same choice without a word; where they see
 * different nodes fail, two may move, which does no harm.
 */
#include "topology/replica_migration.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "topology/nodes.h"

/* A primary must be without replicas for so long: in a failover its replicas have the time to say
 * that they follow it. */
#define ORPHANED_MSEC 5000
/* A primary gives a replica away only if it has so many. */
#define WORKING_MIN 2

#define FAILING ((unsigned)(CLUSTER_NODE_SUSPECTED | CLUSTER_NODE_FAILED))

static bool is_orphaned(const struct cluster_node *node) {
    return cluster_node_votes(node) && cluster_node_has(node, CLUSTER_NODE_MIGRATE_TO) &&
           !cluster_node_has(node, CLUSTER_NODE_FAILED) && !cluster_node_working_replicas(node);
}

/* Whether the node has been orphaned for long. A clock that was set back starts the time anew. */
static bool note_orphaned(struct cluster_node *node, int64_t now_msec) {
    if (!is_orphaned(node)) {
        node->orphaned_msec = 0;
        return false;
    }
    if (!node->orphaned_msec || node->orphaned_msec > now_msec) node->orphaned_msec = now_msec;
    return now_msec - node->orphaned_msec > ORPHANED_MSEC;
}

/* A failed primary's replicas are needed for its election. */
static size_t spare_replicas(const struct cluster_node *node) {
    if (!cluster_node_is_primary(node) || cluster_node_has(node, CLUSTER_NODE_FAILED)) return 0;
    return cluster_node_working_replicas(node);
}

static size_t most_replicas(const struct cluster *c) {
    size_t most = 0;
    for (size_t i = 0; i < c->count; i++)
        if (spare_replicas(c->nodes[i]) > most) most = spare_replicas(c->nodes[i]);
    return most;
}

/* Whether a working replica of this primary has a smaller id than `self`. */
static bool has_smaller(const struct cluster_node *primary, const struct cluster_node *self) {
    for (size_t i = 0; i < primary->replica_count; i++)
        if (!cluster_node_has(primary->replicas[i], FAILING) &&
            strcmp(primary->replicas[i]->id.text, self->id.text) < 0)
            return true;
    return false;
}

static bool is_chosen(const struct cluster *c, int64_t barrier) {
    const struct cluster_node *primary = c->self->primary;
    size_t most = most_replicas(c);
    if (!primary || spare_replicas(primary) != most || most < WORKING_MIN ||
        (int64_t)most <= barrier)
        return false;
    for (size_t i = 0; i < c->count; i++)
        if (spare_replicas(c->nodes[i]) == most && has_smaller(c->nodes[i], c->self)) return false;
    return true;
}

struct cluster_node *cluster_migration_target(struct cluster *c, int64_t barrier,
                                              int64_t now_msec) {
    struct cluster_node *target = NULL;
    for (size_t i = 0; i < c->count; i++)
        if (note_orphaned(c->nodes[i], now_msec) && !target) target = c->nodes[i];
    return target && c->ok && is_chosen(c, barrier) ? target : NULL;
}
