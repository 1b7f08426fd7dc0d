/* SPDX-License-Identifier: BSD-3-Clause
 * Epochs. epochs.h has the idea.
 *
 * Invariant: the current epoch is at least the epoch of each node, and neither it nor the epoch of
 * a primary falls.
 */
#include "topology/epochs.h"

#include <string.h>

#include "base/log.h"
#include "topology/nodes.h"

static bool current_raise(struct cluster *c, uint64_t epoch) {
    if (epoch <= c->current_epoch || epoch > CLUSTER_EPOCH_MAX) return false;
    c->current_epoch = epoch;
    cluster_changed(c);
    return true;
}

/* False where there is no next one that others would hear: a file that was written by hand, or what
 * a node gone mad has said, gets there. */
static bool take_next(struct cluster *c) {
    if (c->current_epoch >= CLUSTER_EPOCH_MAX) return false;
    c->self->config_epoch = ++c->current_epoch;
    cluster_changed(c);
    return true;
}

bool cluster_epoch_hear(struct cluster *c, struct cluster_node *node, uint64_t current_epoch,
                        uint64_t config_epoch) {
    bool risen = current_raise(c, current_epoch);
    risen |= current_raise(c, config_epoch);
    if (cluster_node_has(node, CLUSTER_NODE_REPLICA) || config_epoch <= node->config_epoch ||
        config_epoch > CLUSTER_EPOCH_MAX)
        return risen;
    node->config_epoch = config_epoch;
    cluster_changed(c);
    return true;
}

bool cluster_epoch_bump(struct cluster *c) {
    uint64_t own = c->self->config_epoch;
    if ((own && own == c->current_epoch) || !take_next(c)) return false;
    log_warning("New configEpoch set to %llu", (unsigned long long)c->current_epoch);
    return true;
}

bool cluster_epoch_surpass(struct cluster *c, const struct cluster_node *other) {
    if (c->self->config_epoch > cluster_node_epoch(other) || !take_next(c)) return false;
    log_notice("Node %s claims slots that this node has taken from it: the epoch becomes %llu",
               other->id.text, (unsigned long long)c->current_epoch);
    return true;
}

uint64_t cluster_epoch_next(struct cluster *c) {
    if (c->current_epoch >= CLUSTER_EPOCH_MAX) return 0;
    cluster_changed(c);
    return ++c->current_epoch;
}

bool cluster_epoch_part(struct cluster *c, const struct cluster_node *other) {
    const struct cluster_node *self = c->self;
    if (!cluster_node_is_primary(self) || !cluster_node_is_primary(other) || other == self ||
        other->config_epoch != self->config_epoch || strcmp(self->id.text, other->id.text) > 0 ||
        !take_next(c))
        return false;
    log_verbose("Node %s has this node's epoch, which becomes %llu", other->id.text,
                (unsigned long long)c->current_epoch);
    return true;
}
