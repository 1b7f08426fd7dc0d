/* SPDX-License-Identifier: BSD-3-Clause
 * Whether the cluster is ok or has failed, as this node sees it: CLUSTER INFO's cluster_state.
 *
 * ok: every slot has an owner that has not failed (where cluster-require-full-coverage is set), and
 * a majority of the primaries with slots is neither failed nor suspected. Time limits are 6.2's:
 * a primary that starts, or comes back from a minority, waits before it says ok, so that it hears
 * first whether another node has taken its slots.
 */
#ifndef EVENKEEL_TOPOLOGY_STATE_H
#define EVENKEEL_TOPOLOGY_STATE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "topology/nodes.h"

/* What the judgement remembers between two calls; zeroed at start. */
struct cluster_state_memory {
    bool judged, was_minority; /* whether the times below are set */
    int64_t first_msec;        /* when the state was judged first */
    int64_t minority_msec;     /* when this node was last seen in a minority */
};
struct cluster_state_rules {
    bool full_coverage;        /* cluster-require-full-coverage */
    int64_t node_timeout_msec; /* cluster-node-timeout */
};

/* Judges the state at `now_msec`, a monotonic time. A change is noted in `c->ok`, and logged
 * in 6.2's words. To be called after changes, and at each tick while the cluster is not ok, but not
 * while this node loads its data. O(slots + nodes). */
void cluster_state_judge(struct cluster *c, struct cluster_state_memory *memory,
                         const struct cluster_state_rules *rules, int64_t now_msec);
#endif
