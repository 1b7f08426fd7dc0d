/* SPDX-License-Identifier: BSD-3-Clause
 * CLUSTER FAILOVER, both sides. manual_failover.h has the states.
 *
 * Invariant: `other` names this node's primary in ASKS, CATCHES_UP and READY, and one of its
 * replicas in PAUSES; a step that finds this no longer true ends the failover.
 */
#include "topology/manual_failover.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "topology/nodes.h"

#define REPLICA_MSEC 5000
#define PRIMARY_MSEC 6000

static bool is_other(const struct cluster_manual *m, const struct cluster_node *node) {
    return node && strcmp(m->other.text, node->id.text) == 0;
}

void cluster_manual_begin(struct cluster_manual *m, const struct cluster *c, bool force,
                          int64_t now_msec) {
    *m = (struct cluster_manual){.state = force ? CLUSTER_MANUAL_STARTS : CLUSTER_MANUAL_ASKS,
                                 .other = c->self->primary->id,
                                 .end_msec = now_msec + REPLICA_MSEC};
    log_warning(force ? "Forced failover user request accepted."
                      : "Manual failover user request accepted.");
}

bool cluster_manual_pause(struct cluster_manual *m, const struct cluster *c,
                          const struct cluster_node *replica, int64_t now_msec) {
    if (!cluster_node_is_primary(c->self) || replica->primary != c->self) return false;
    *m = (struct cluster_manual){
        .state = CLUSTER_MANUAL_PAUSES, .other = replica->id, .end_msec = now_msec + PRIMARY_MSEC};
    log_warning("Manual failover requested by replica %s.", replica->id.text);
    return true;
}

/* A primary that goes on all the same is waited for. */
void cluster_manual_hear(struct cluster_manual *m, const struct cluster_node *sender,
                         uint64_t offset) {
    bool first = m->state == CLUSTER_MANUAL_ASKS;
    if ((!first && m->state != CLUSTER_MANUAL_CATCHES_UP) || !is_other(m, sender)) return;
    m->state = CLUSTER_MANUAL_CATCHES_UP;
    if (!first && offset <= m->target) return;
    m->target = offset;
    log_warning("Received replication offset for paused master manual failover: %" PRIu64, offset);
}

static bool failover_is_over(const struct cluster_manual *m, const struct cluster *c) {
    if (m->state != CLUSTER_MANUAL_PAUSES)
        return cluster_node_is_primary(c->self) || !is_other(m, c->self->primary);
    const struct cluster_node *replica = cluster_find(c, slice_of(m->other.text));
    return !replica || !cluster_node_is_primary(c->self) || replica->primary != c->self;
}

bool cluster_manual_step(struct cluster_manual *m, const struct cluster *c, int64_t offset,
                         int64_t now_msec) {
    if (m->state == CLUSTER_MANUAL_IDLE) return false;
    bool late = now_msec >= m->end_msec;
    if (late || failover_is_over(m, c)) {
        m->state = CLUSTER_MANUAL_IDLE;
        if (late) log_warning("Manual failover timed out.");
        return true;
    }
    if (m->state != CLUSTER_MANUAL_CATCHES_UP || offset < 0 || (uint64_t)offset < m->target)
        return false;
    m->state = CLUSTER_MANUAL_STARTS;
    log_warning("All master replication stream processed, manual failover can start.");
    return true;
}

enum cluster_manual_progress cluster_manual_progress(const struct cluster_manual *m) {
    switch (m->state) {
    case CLUSTER_MANUAL_ASKS:
    case CLUSTER_MANUAL_CATCHES_UP: return CLUSTER_MANUAL_UNDER_WAY;
    case CLUSTER_MANUAL_STARTS: return CLUSTER_MANUAL_READY;
    default: return CLUSTER_MANUAL_NONE;
    }
}
