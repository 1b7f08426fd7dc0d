/* SPDX-License-Identifier: BSD-3-Clause
 * Who owns which slot, and which slots are open: being moved to, or from, another node.
 *
 * These functions change what this node knows, and nothing else: neither the file nor the keys.
 */
#ifndef EVENKEEL_TOPOLOGY_SLOTS_H
#define EVENKEEL_TOPOLOGY_SLOTS_H
#include <stdbool.h>

#include "base/attributes.h"
#include "base/key_slot.h"
#include "topology/view.h"

#define CLUSTER_BITMAP_BYTES (KEY_SLOTS / 8)

/* Makes `owner` the owner of the slot, instead of any other; NULL: nobody owns it. Replicas may
 * move to an owner of a first slot (CLUSTER_NODE_MIGRATE_TO) where any node has some. O(1), but
 * O(nodes) for a first slot. */
void cluster_slot_assign(struct cluster *c, unsigned slot, struct cluster_node *owner);
/* Takes all slots of the node away. O(slots). */
void cluster_slots_release(struct cluster *c, const struct cluster_node *owner);

/* Marks the slot as migrating to, or being imported from, the node; NULL takes the mark away. The
 * two marks are independent, as in 6.2. An importing mark of this node's own slot says that the
 * slot is unconfirmed; it goes when another node gets the slot. O(1). */
void cluster_slot_set_migrating(struct cluster *c, unsigned slot, struct cluster_node *to);
void cluster_slot_set_importing(struct cluster *c, unsigned slot, struct cluster_node *from);
/* Whether this node has taken the slot from another one that has not been heard to give it up
 * (topology/ownership.h): then the importing mark stays, until the slot goes or is confirmed. */
static inline bool cluster_slot_is_unconfirmed(const struct cluster *c, unsigned slot) {
    return c->owners[slot] == c->self && c->importing_from[slot];
}
/* Sets whether the slot's migrating mark is held: it is kept and shown, but clients are not sent
 * away by it yet. A mark that changes is not held. O(1). */
void cluster_slot_hold(struct cluster *c, unsigned slot, bool held);
static inline bool cluster_slot_is_held(const struct cluster *c, unsigned slot) {
    return c->held[slot / 64] >> slot % 64 & 1;
}
/* Takes all marks away. O(slots) where there is any. */
void cluster_slots_close(struct cluster *c);

/* A run of slots that one node owns. */
struct cluster_run {
    unsigned first, last;
    struct cluster_node *owner; /* NULL: nobody */
};
/* The run that begins at `from`: the next call passes `last + 1`. False at KEY_SLOTS. */
MUST_USE bool cluster_run_next(const struct cluster *c, unsigned from, struct cluster_run *run);

/* The bitmap of a node's slots as the bus and 6.2 have it: slot n is bit n % 8, from the low end,
 * of byte n / 8. */
void cluster_slots_bitmap(const struct cluster *c, const struct cluster_node *owner,
                          unsigned char bitmap[CLUSTER_BITMAP_BYTES]);
static inline bool cluster_bitmap_has(const unsigned char *bitmap, unsigned slot) {
    return bitmap[slot / 8] >> (slot % 8) & 1;
}
#endif
