/* SPDX-License-Identifier: BSD-3-Clause
 * The voter's side of an election: whether this node votes for a replica that wants to take the
 * place of its failed primary.
 *
 * A voter gives one vote an epoch. The epoch of its last vote must be on disk before the vote is
 * sent (cluster/succession.h), so that a voter that restarts does not vote twice.
 */
#ifndef EVENKEEL_TOPOLOGY_VOTE_H
#define EVENKEEL_TOPOLOGY_VOTE_H
#include <stdbool.h>
#include <stdint.h>

#include "topology/slots.h"
#include "topology/view.h"

/* What the candidate's message says. The epochs in it were heard already (topology/epochs.h). */
struct cluster_vote_request {
    struct cluster_node *candidate;
    uint64_t epoch;             /* of the election */
    uint64_t config_epoch;      /* under which its primary has its slots */
    const unsigned char *slots; /* its primary's: a bitmap of CLUSTER_BITMAP_BYTES */
    bool is_forced;             /* a manual failover: the primary may work */
};

#define CLUSTER_REFUSAL_CHARS 95
struct cluster_vote {
    bool is_given;
    /* Why not, in 6.2's words; "" where this node has no vote, or has given it. */
    char refusal[CLUSTER_REFUSAL_CHARS + 1];
    /* The candidate knows an older epoch of this owner's slots, so that no voter votes for it until
     * it is told (UPDATE). NULL: it is not behind. */
    struct cluster_node *unknown_owner;
};

/* Decides at `now_msec`, wall time; a vote that is given is noted in the view. O(slots). */
struct cluster_vote cluster_vote_decide(struct cluster *c,
                                        const struct cluster_vote_request *request,
                                        int64_t now_msec, int64_t timeout_msec);
#endif
