/* SPDX-License-Identifier: BSD-3-Clause
 * Claims. ownership.h has the idea.
 */
#include "topology/ownership.h"

#include <string.h>

#include "base/panic.h"
#include "topology/nodes.h"

/* Whether the claimer gets the slot, which it claims. */
static bool is_won(const struct cluster *c, unsigned slot, const struct cluster_node *claimer) {
    const struct cluster_node *owner = c->owners[slot];
    if (owner == claimer || c->importing_from[slot]) return false;
    return !owner || owner->config_epoch < claimer->config_epoch;
}

static void note_lost(struct cluster *c, unsigned slot, struct cluster_claim *claim) {
    claim->lost_count++;
    claim->lost[slot / 8] |= (unsigned char)(1U << (slot % 8));
    cluster_slot_set_migrating(c, slot, NULL);
}

void cluster_claim(struct cluster *c, struct cluster_node *claimer,
                   const unsigned char slots[CLUSTER_BITMAP_BYTES], bool may_follow,
                   struct cluster_claim *claim) {
    const struct cluster_node *shard = cluster_node_shard(c->self);
    unsigned claimed = 0, from_shard = 0;
    ASSERT(claimer != c->self && cluster_node_is_primary(claimer));
    memset(claim, 0, sizeof(*claim));
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        if (!cluster_bitmap_has(slots, slot)) continue;
        claimed++;
        if (!is_won(c, slot, claimer)) continue;
        const struct cluster_node *owner = c->owners[slot];
        if (owner == c->self) note_lost(c, slot, claim);
        from_shard += owner && owner == shard;
        cluster_slot_assign(c, slot, claimer);
        claim->taken++;
    }
    claim->is_followed =
        from_shard && shard->slot_count == 0 && (may_follow || claimed == from_shard);
}

struct cluster_node *cluster_claim_refuter(const struct cluster *c,
                                           const struct cluster_node *sender, uint64_t epoch,
                                           const unsigned char *slots) {
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        struct cluster_node *owner = c->owners[slot];
        if (owner && owner != sender && owner->config_epoch > epoch &&
            cluster_bitmap_has(slots, slot))
            return owner;
    }
    return NULL;
}
