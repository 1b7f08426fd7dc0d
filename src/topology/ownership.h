/* SPDX-License-Identifier: BSD-3-Clause
 * Who owns a slot when nodes claim it: the claim under the greater epoch wins.
 *
 * A primary claims its slots in the header of each message, and an UPDATE repeats a third node's
 * claim. These functions change the view; what follows for this node (its role, its keys) they tell
 * the caller.
 *
 * A slot that this node has taken by SETSLOT NODE after an import is unconfirmed at first: the
 * former owner may have an epoch that this node has not heard of when it takes its own, so that the
 * former owner's claim, which is older, looks stronger. This node has the keys, and would drop
 * them. Therefore:
 *
 *   | while a slot is unconfirmed                             | then                              |
 *   | ------------------------------------------------------- | --------------------------------- |
 *   | any node claims it                                      | it stays this node's              |
 *   | the former owner does, under an epoch not below its own | this node takes a greater one     |
 *   | an answer of the former owner, to a PING that left      | confirmed, under an epoch greater |
 *   | after the slot was taken, does not claim it             | than the former owner's           |
 *   | a replica of the former owner is promoted               | that is the former owner now      |
 *   | a replica of this node is promoted                      | the greater epoch wins, as ever   |
 *   | the former owner is forgotten                           | confirmed                         |
 *
 * The importing mark says from whom the slot was taken; nodes.conf keeps it, so that all this holds
 * over a restart. Answers come in the order of the PINGs, so that it is known which may confirm.
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
    /* This node, or its primary, has lost its last slot, and is to become the claimer's replica. A
     * primary whose lost slots were all marked as migrating to the claimer has given them away: it
     * stays a primary, as if SETSLOT NODE had come before the claim. */
    bool is_followed;
    /* The claim is the former owner's on an unconfirmed slot, under an epoch not below this node's.
     */
    bool contests;
    unsigned lost_count; /* slots that this node itself owned */
    unsigned char lost[CLUSTER_BITMAP_BYTES];
};

/* Takes note that `claimer`, a primary and not this node, claims the slots under its epoch. It gets
 * those that nobody owns, or whose owner has a smaller epoch, but none that is unconfirmed. A slot
 * that another node owns and that is being imported here is imported from the claimer then, so that
 * it has an owner that works after a failover of the former one. The mark of a slot that migrates
 * goes with the slot. Slots that the claimer does not claim any more stay its until another node
 * claims them. `may_follow` is cluster-allow-replica-migration; where it is not set this node
 * follows the claimer only if all that it claims was this shard's, as after a failover. O(slots).
 */
void cluster_claim(struct cluster *c, struct cluster_node *claimer,
                   const unsigned char slots[CLUSTER_BITMAP_BYTES], bool may_follow,
                   struct cluster_claim *claim);
/* The former owner has answered, and claims these slots: those others that were taken from it are
 * confirmed. Returns whether there are any. O(slots) where there are marks. */
bool cluster_claim_confirm(struct cluster *c, const struct cluster_node *former,
                           const unsigned char slots[CLUSTER_BITMAP_BYTES]);
/* Tells that `node`, a replica, is about to become a primary because it says so: it is the former
 * owner now of what was taken from its primary; where it was this node's replica, nothing is
 * unconfirmed any more, and no slot migrates to it: its claim is a succession. O(slots) where there
 * are marks. */
void cluster_claim_promoted(struct cluster *c, struct cluster_node *node);
/* The owner of a slot that the sender claims under a smaller epoch than the owner's: the sender is
 * to be told of that owner (UPDATE). NULL = none. `sender` may be a replica, which claims its
 * primary's slots; `epoch` is its message's. O(slots). */
struct cluster_node *cluster_claim_refuter(const struct cluster *c,
                                           const struct cluster_node *sender, uint64_t epoch,
                                           const unsigned char *slots);
#endif
