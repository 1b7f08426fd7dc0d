/* SPDX-License-Identifier: BSD-3-Clause
 * The nodes of a cluster: adding, finding, forgetting them, and their roles. topology/view.h has
 * what they are.
 */
#ifndef EVENKEEL_TOPOLOGY_NODES_H
#define EVENKEEL_TOPOLOGY_NODES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "topology/view.h"

/* A cluster of one node, a primary with a drawn id. Never NULL. */
MUST_USE struct cluster *cluster_new(void);
/* Frees the cluster and its nodes, of which `leaving` is told. NULL is allowed. */
void cluster_free(struct cluster *c);

/* ---- ids ---- */

/* Whether the text is an id: 40 lower-case hexadecimal digits. */
bool cluster_id_is_valid(struct slice text);
/* Draws an id from the system's random source. */
struct cluster_id cluster_id_draw(void);

/* Whether the text can be the host of an address: 1 to CLUSTER_HOST_CHARS printable characters
 * without blanks, quotes, '\\', '@' and ',', so that a line of nodes.conf is read back as it was
 * written. */
bool cluster_host_is_valid(struct slice text);

/* ---- nodes ---- */

/* The node with this id; NULL = none. Of a longer text only the first 40 bytes count, as in 6.2; a
 * shorter one names no node. O(log nodes). */
struct cluster_node *cluster_find(const struct cluster *c, struct slice id);
/* Adds a node, which has no slots, no address and no times but its creation's. `flags` are
 * enum cluster_node_flags without CLUSTER_NODE_MYSELF. NULL where there are CLUSTER_NODES_MAX
 * nodes, or a node has the id. O(nodes). */
MUST_USE struct cluster_node *cluster_add(struct cluster *c, const struct cluster_id *id,
                                          unsigned flags);
/* Forgets a node, which must not be `self`, and frees it: its slots become unassigned, marks and
 * reports that name it go, its replicas know no primary any more. O(slots + nodes). */
void cluster_drop(struct cluster *c, struct cluster_node *node);
/* Gives the node another id: a handshake has told it. False, with nothing changed, where another
 * node has that id. */
MUST_USE bool cluster_rename(struct cluster *c, struct cluster_node *node,
                             const struct cluster_id *id);
/* Makes the node a primary. Does nothing where it is one. Replicas may move to a primary
 * (CLUSTER_NODE_MIGRATE_TO) from its first replica on until it has lost the last one; to one that
 * was a replica at once. */
void cluster_set_primary(struct cluster *c, struct cluster_node *node);
/* Makes the node a replica of `primary` (NULL: not known), which must not be the node itself. The
 * slots of a node that was no replica become unassigned, and its epoch becomes 0. */
void cluster_set_replica(struct cluster *c, struct cluster_node *node,
                         struct cluster_node *primary);

static inline bool cluster_node_is_primary(const struct cluster_node *node) {
    return node->flags & CLUSTER_NODE_PRIMARY;
}
static inline bool cluster_node_has(const struct cluster_node *node, unsigned flags) {
    return node->flags & flags;
}
/* Only primaries with slots vote, and count in majorities. */
static inline bool cluster_node_votes(const struct cluster_node *node) {
    return cluster_node_is_primary(node) && node->slot_count;
}
/* The node whose slots it serves: itself, or its primary; of a replica without a known one NULL. */
static inline struct cluster_node *cluster_node_shard(struct cluster_node *node) {
    return cluster_node_is_primary(node) ? node : node->primary;
}
/* The epoch under which the node's slots are claimed: its own, or its primary's. */
uint64_t cluster_node_epoch(const struct cluster_node *node);
/* Replicas of the node that are neither FAILED nor suspected. */
size_t cluster_node_working_replicas(const struct cluster_node *node);
/* Primaries that have slots: INFO's cluster_size. O(nodes). */
size_t cluster_size(const struct cluster *c);

/* Asserts the invariants; walks everything. */
FOR_TESTS void cluster_check(const struct cluster *c);
#endif
