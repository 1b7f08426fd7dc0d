/* SPDX-License-Identifier: BSD-3-Clause
 * Owners and marks of slots. slots.h has the idea.
 */
#include "topology/slots.h"

#include <string.h>

#include "base/panic.h"

static void note_settled(struct cluster *c, unsigned slot) {
    bool is_settled = c->owners[slot] == c->self && !c->migrating_to[slot];
    uint64_t bit = UINT64_C(1) << slot % 64, *word = &c->settled[slot / 64];
    *word = is_settled ? *word | bit : *word & ~bit;
}

/* Whether any node has a replica, which then might move. */
static bool has_replicas(const struct cluster *c) {
    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i]->replica_count) return true;
    return false;
}

void cluster_slot_assign(struct cluster *c, unsigned slot, struct cluster_node *owner) {
    ASSERT(slot < KEY_SLOTS);
    struct cluster_node *former = c->owners[slot];
    if (former == owner) return;
    if (former) {
        former->slot_count--;
        c->assigned--;
    }
    if (owner) {
        if (!owner->slot_count && owner->flags & CLUSTER_NODE_PRIMARY && has_replicas(c))
            owner->flags |= CLUSTER_NODE_MIGRATE_TO;
        owner->slot_count++;
        c->assigned++;
    }
    c->owners[slot] = owner;
    note_settled(c, slot);
    cluster_changed(c);
    if (former == c->self) cluster_slot_set_importing(c, slot, NULL);
}

void cluster_slots_release(struct cluster *c, const struct cluster_node *owner) {
    for (unsigned slot = 0; slot < KEY_SLOTS && owner->slot_count; slot++)
        if (c->owners[slot] == owner) cluster_slot_assign(c, slot, NULL);
}

static void mark_set(struct cluster *c, struct cluster_node **marks, unsigned slot,
                     struct cluster_node *node) {
    if (marks[slot] == node) return;
    c->open_marks -= marks[slot] != NULL;
    c->open_marks += node != NULL;
    marks[slot] = node;
    note_settled(c, slot);
    cluster_changed(c);
}

void cluster_slot_hold(struct cluster *c, unsigned slot, bool held) {
    ASSERT(slot < KEY_SLOTS);
    uint64_t bit = UINT64_C(1) << slot % 64, *word = &c->held[slot / 64];
    *word = held ? *word | bit : *word & ~bit;
}

void cluster_slot_set_migrating(struct cluster *c, unsigned slot, struct cluster_node *to) {
    ASSERT(slot < KEY_SLOTS);
    if (c->migrating_to[slot] != to) cluster_slot_hold(c, slot, false);
    mark_set(c, c->migrating_to, slot, to);
}

void cluster_slot_set_importing(struct cluster *c, unsigned slot, struct cluster_node *from) {
    ASSERT(slot < KEY_SLOTS);
    mark_set(c, c->importing_from, slot, from);
}

void cluster_slots_close(struct cluster *c) {
    for (unsigned slot = 0; slot < KEY_SLOTS && c->open_marks; slot++) {
        cluster_slot_set_migrating(c, slot, NULL);
        mark_set(c, c->importing_from, slot, NULL);
    }
}

bool cluster_run_next(const struct cluster *c, unsigned from, struct cluster_run *run) {
    if (from >= KEY_SLOTS) return false;
    *run = (struct cluster_run){.first = from, .last = from, .owner = c->owners[from]};
    while (run->last + 1 < KEY_SLOTS && c->owners[run->last + 1] == run->owner) run->last++;
    return true;
}

void cluster_slots_bitmap(const struct cluster *c, const struct cluster_node *owner,
                          unsigned char bitmap[CLUSTER_BITMAP_BYTES]) {
    memset(bitmap, 0, CLUSTER_BITMAP_BYTES);
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        if (c->owners[slot] == owner) bitmap[slot / 8] |= (unsigned char)(1U << (slot % 8));
}
