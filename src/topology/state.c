/* SPDX-License-Identifier: BSD-3-Clause
 * The judgement of the cluster's state. state.h has the idea.
 *
 *                  covered and in a majority, and no limit of time holds
 *        FAIL ------------------------------------------------------------> OK
 *             <------------------------------------------------------------
 *                  a slot without a working owner, or in a minority
 *
 *   | a primary stays in FAIL for       | after                                       |
 *   | --------------------------------- | ------------------------------------------- |
 *   | START_MSEC                        | its first judgement                         |
 *   | the node timeout, but at least    | the last judgement that saw it in a         |
 *   | REJOIN_MSEC_MIN and at most       | minority                                    |
 *   | REJOIN_MSEC_MAX                   |                                             |
 */
#include "topology/state.h"

#include <stddef.h>

#include "base/log.h"

#define START_MSEC 2000
#define REJOIN_MSEC_MIN 500
#define REJOIN_MSEC_MAX 5000

static bool is_covered(const struct cluster *c) {
    if (c->assigned < KEY_SLOTS) return false;
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        if (cluster_node_has(c->owners[slot], CLUSTER_NODE_FAILED)) return false;
    return true;
}

/* Only primaries with slots have a voice. A cluster without any is a minority. */
static bool is_majority(const struct cluster *c) {
    size_t size = 0, reached = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_node *node = c->nodes[i];
        if (!cluster_node_votes(node)) continue;
        size++;
        reached += !cluster_node_has(node, CLUSTER_NODE_FAILED | CLUSTER_NODE_SUSPECTED);
    }
    return reached >= size / 2 + 1;
}

static int64_t rejoin_msec(const struct cluster_state_rules *rules) {
    if (rules->node_timeout_msec < REJOIN_MSEC_MIN) return REJOIN_MSEC_MIN;
    if (rules->node_timeout_msec > REJOIN_MSEC_MAX) return REJOIN_MSEC_MAX;
    return rules->node_timeout_msec;
}

void cluster_state_judge(struct cluster *c, struct cluster_state_memory *memory,
                         const struct cluster_state_rules *rules, int64_t now_msec) {
    if (!memory->judged) memory->first_msec = now_msec;
    memory->judged = true;
    bool is_primary = cluster_node_is_primary(c->self);
    /* As in 6.2 a minority does not count either: a node that gets its slots soon after it has
     * started, before it knows others, need not wait for having been alone. */
    if (!c->ok && is_primary && now_msec - memory->first_msec < START_MSEC) return;
    bool majority = is_majority(c);
    if (!majority) memory->minority_msec = now_msec;
    memory->was_minority |= !majority;
    bool ok = majority && (!rules->full_coverage || is_covered(c));
    if (ok == c->ok) return;
    if (ok && is_primary && memory->was_minority &&
        now_msec - memory->minority_msec < rejoin_msec(rules))
        return;
    c->ok = ok;
    log_warning("Cluster state changed: %s", ok ? "ok" : "fail");
}
