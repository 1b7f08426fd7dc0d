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
    if (owner == claimer || cluster_slot_is_unconfirmed(c, slot)) return false;
    return !owner || owner->config_epoch < claimer->config_epoch;
}

/* Returns whether the operator was giving the slot to the claimer. */
static bool note_lost(struct cluster *c, unsigned slot, const struct cluster_node *claimer,
                      struct cluster_claim *claim) {
    bool is_given = c->migrating_to[slot] == claimer;
    claim->lost_count++;
    claim->lost[slot / 8] |= (unsigned char)(1U << (slot % 8));
    cluster_slot_set_migrating(c, slot, NULL);
    return is_given;
}

/* Whether the claimer is the one from whom this node has taken the slot. */
static bool is_contested(const struct cluster *c, unsigned slot,
                         const struct cluster_node *claimer) {
    return cluster_slot_is_unconfirmed(c, slot) &&
           cluster_node_shard(c->importing_from[slot]) == claimer &&
           claimer->config_epoch >= c->self->config_epoch;
}

void cluster_claim(struct cluster *c, struct cluster_node *claimer,
                   const unsigned char slots[CLUSTER_BITMAP_BYTES], bool may_follow,
                   struct cluster_claim *claim) {
    const struct cluster_node *shard = cluster_node_shard(c->self);
    unsigned claimed = 0, from_shard = 0, given = 0;
    ASSERT(claimer != c->self && cluster_node_is_primary(claimer));
    memset(claim, 0, sizeof(*claim));
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        if (!cluster_bitmap_has(slots, slot)) continue;
        claimed++;
        claim->contests |= is_contested(c, slot, claimer);
        if (!is_won(c, slot, claimer)) continue;
        const struct cluster_node *owner = c->owners[slot];
        if (owner == c->self) given += note_lost(c, slot, claimer, claim);
        from_shard += owner && owner == shard;
        cluster_slot_assign(c, slot, claimer);
        if (c->importing_from[slot]) cluster_slot_set_importing(c, slot, claimer);
        claim->taken++;
    }
    claim->is_followed =
        from_shard > given && shard->slot_count == 0 && (may_follow || claimed == from_shard);
}

bool cluster_claim_confirm(struct cluster *c, const struct cluster_node *former,
                           const unsigned char slots[CLUSTER_BITMAP_BYTES]) {
    bool confirms = false;
    for (unsigned slot = 0; slot < KEY_SLOTS && c->open_marks; slot++) {
        if (!cluster_slot_is_unconfirmed(c, slot) || c->importing_from[slot] != former ||
            cluster_bitmap_has(slots, slot))
            continue;
        cluster_slot_set_importing(c, slot, NULL);
        confirms = true;
    }
    return confirms;
}

void cluster_claim_promoted(struct cluster *c, struct cluster_node *node) {
    const struct cluster_node *former = node->primary;
    for (unsigned slot = 0; former && slot < KEY_SLOTS && c->open_marks; slot++) {
        if (former == c->self && c->migrating_to[slot] == node)
            cluster_slot_set_migrating(c, slot, NULL);
        if (!cluster_slot_is_unconfirmed(c, slot)) continue;
        if (former == c->self)
            cluster_slot_set_importing(c, slot, NULL);
        else if (former == c->importing_from[slot])
            cluster_slot_set_importing(c, slot, node);
    }
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
