/* SPDX-License-Identifier: BSD-3-Clause
 * Who owns a slot when nodes claim it: the claim under the greater epoch wins.
 *
 * A primary claims its slots in the header of each message, and an UPDATE repeats a third node's
 * claim. These functions change the view; what follows for this node (its role, its keys) they tell
 * the caller.
 */
#ifndef EVENKEEL_TOPOLOGY_OWNERSHIP_H
#define EVENKEEL_TOPOLOGY_OWNERSHIP_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "topology/slots.h"
#include "topology/view.h"

/* What a claim has done. */
struct cluster_claim {
    unsigned taken; /* slots that the claimer owns now, and did not */
    /* This node, or its primary, has lost its last slot, and is to become the claimer's replica. */
    bool is_followed;
    unsigned lost_count; /* slots that this node itself owned */
    unsigned char lost[CLUSTER_BITMAP_BYTES];
};

/* Takes note that `claimer`, a primary and not this node, claims the slots under its epoch. It gets
 * those that nobody owns, or whose owner has a smaller epoch, but none that is being imported here:
 * such a slot is this node's to settle (SETSLOT). The mark of a slot that migrates goes with the
 * slot. Slots that the claimer does not claim any more stay its until another node claims them.
 * `may_follow` is cluster-allow-replica-migration; where it is not set this node follows the
 * claimer only if all that it claims was this shard's, as after a failover. O(slots). */
void cluster_claim(struct cluster *c, struct cluster_node *claimer,
                   const unsigned char slots[CLUSTER_BITMAP_BYTES], bool may_follow,
                   struct cluster_claim *claim);
/* The owner of a slot that the sender claims under a smaller epoch than the owner's: the sender is
 * to be told of that owner (UPDATE). NULL = none. `sender` may be a replica, which claims its
 * primary's slots; `epoch` is its message's. O(slots). */
struct cluster_node *cluster_claim_refuter(const struct cluster *c,
                                           const struct cluster_node *sender, uint64_t epoch,
                                           const unsigned char *slots);
#endif
