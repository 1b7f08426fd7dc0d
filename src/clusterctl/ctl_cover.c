/* SPDX-License-Identifier: BSD-3-Clause
 * Slots without an owner, and slots with several.
 */
#include "clusterctl/ctl_cover.h"

#include <stdio.h>

#include "base/random.h"
#include "clusterctl/ctl_fix.h"
#include "clusterctl/ctl_move.h"
#include "clusterctl/ctl_talk.h"

enum group { NO_KEYS, ONE_NODE, SEVERAL_NODES, GROUPS };

static const struct {
    const char *found, *question;
} texts[GROUPS] = {
    [NO_KEYS] = {"The following uncovered slots have no keys across the cluster:",
                 "Fix these slots by covering with a random node?"},
    [ONE_NODE] = {"The following uncovered slots have keys in just one node:",
                  "Fix these slots by covering with those nodes?"},
    [SEVERAL_NODES] = {"The following uncovered slots have keys in multiple nodes:",
                       "Fix these slots by moving keys into a single node?"},
};

/* The number of primaries with keys in the slot; -1 where one does not answer. */
static int count_holders(const struct ctl_cluster *c, unsigned slot) {
    int holders = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!ctl_node_is_primary(c->nodes[i])) continue;
        int64_t keys = ctl_node_count_keys(c->nodes[i], slot);
        if (keys < 0) return -1;
        holders += keys > 0;
    }
    return holders;
}

static bool find_groups(const struct ctl_cluster *c, const struct ctl_slots *covered,
                        struct ctl_slots groups[GROUPS]) {
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        if (ctl_slots_has(covered, slot)) continue;
        int holders = count_holders(c, slot);
        if (holders < 0) return false;
        ctl_slots_add(&groups[holders < SEVERAL_NODES ? holders : SEVERAL_NODES], slot);
    }
    return true;
}

static struct ctl_node *draw_primary(const struct ctl_cluster *c) {
    size_t primaries = 0, chosen;
    for (size_t i = 0; i < c->count; i++) primaries += ctl_node_is_primary(c->nodes[i]);
    if (!primaries) return NULL;
    chosen = (size_t)random_below(primaries);
    for (size_t i = 0;; i++)
        if (ctl_node_is_primary(c->nodes[i]) && !chosen--) return c->nodes[i];
}

/* Moves the keys of all other primaries to the new owner. */
static bool gather_keys(struct ctl_run *r, struct ctl_node *owner, unsigned slot) {
    for (size_t i = 0; i < r->cluster.count; i++) {
        struct ctl_node *node = r->cluster.nodes[i];
        if (node == owner || !ctl_node_is_primary(node)) continue;
        int64_t keys = ctl_node_count_keys(node, slot);
        if (keys < 0) return false;
        if (!keys) continue;
        /* A node serves MIGRATE of a slot that is not its own while it imports the slot. */
        if (!ctl_node_order(node, "CLUSTER SETSLOT %u NODE %s", slot, owner->self.id) ||
            !ctl_node_order(node, "CLUSTER SETSLOT %u IMPORTING %s", slot, owner->self.id) ||
            ctl_move_slot(r, node, owner, slot, CTL_MOVE_FIXING | CTL_MOVE_COLD) != CTL_MOVED ||
            !ctl_node_order(node, "CLUSTER SETSLOT %u STABLE", slot))
            return false;
    }
    return true;
}

static bool cover_slot(struct ctl_run *r, unsigned slot, enum group group) {
    int64_t keys;
    struct ctl_node *owner = group == NO_KEYS ? draw_primary(&r->cluster)
                                              : ctl_fix_find_richest(&r->cluster, slot, &keys);
    if (!owner) return false;
    if (group == SEVERAL_NODES) {
        ctl_say(CTL_INFO, ">>> Covering slot %u moving keys to %s\n", slot, owner->name);
    } else {
        ctl_say(CTL_INFO, ">>> Covering slot %u with %s\n", slot, owner->name);
    }
    return ctl_move_set_owner(owner, slot, group == SEVERAL_NODES) &&
           (group != SEVERAL_NODES || gather_keys(r, owner, slot));
}

/* Asks, and covers the slots of a group. Returns the number of slots that were covered; -1 on
 * failure. */
static int cover_group(struct ctl_run *r, const struct ctl_slots *slots, enum group group) {
    char question[128];
    struct buffer list = {.class = MEMORY_OTHER};
    int covered = 0;
    for (int slot = ctl_slots_next(slots, 0); slot >= 0;
         slot = ctl_slots_next(slots, (unsigned)slot + 1))
        buffer_printf(&list, "%s%d", list.length ? "," : "", slot);
    if (!list.length) return 0;
    ctl_say(CTL_PLAIN, "%s\n[%s]\n", texts[group].found, list.bytes);
    buffer_free(&list);
    snprintf(question, sizeof(question), "%s (type 'yes' to accept): ", texts[group].question);
    /* --cluster-yes does not answer, because keys of the slot may be on a primary that cannot be
     * reached. */
    if (!ctl_talk_confirm(question)) return 0;
    for (int slot = ctl_slots_next(slots, 0); slot >= 0;
         slot = ctl_slots_next(slots, (unsigned)slot + 1)) {
        if (!cover_slot(r, (unsigned)slot, group)) return -1;
        covered++;
    }
    return covered;
}

bool ctl_cover_slots(struct ctl_run *r, const struct ctl_slots *covered) {
    struct ctl_slots groups[GROUPS] = {0};
    int all = 0;
    if (!ctl_fix_may(r, "slots coverage")) return false;
    ctl_say(CTL_INFO, ">>> Fixing slots coverage...\n");
    if (!find_groups(&r->cluster, covered, groups)) return false;
    for (unsigned group = 0; group < GROUPS; group++) {
        int done = cover_group(r, &groups[group], (enum group)group);
        if (done < 0) return false;
        all += done;
    }
    return all > 0;
}

bool ctl_cover_say_owners(const struct ctl_cluster *c, unsigned slot) {
    unsigned owners = 0;
    for (size_t i = 0; i < c->count; i++)
        owners += ctl_node_is_primary(c->nodes[i]) && ctl_slots_has(&c->nodes[i]->self.slots, slot);
    if (owners < 2) return false;
    ctl_say(CTL_BAD, "[WARNING] Slot %u has %u owners:\n", slot, owners);
    for (size_t i = 0; i < c->count; i++)
        if (ctl_node_is_primary(c->nodes[i]) && ctl_slots_has(&c->nodes[i]->self.slots, slot))
            ctl_say(CTL_BAD, "    %s\n", c->nodes[i]->name);
    return true;
}

/* Takes the slot from all primaries that claim it, but the owner. */
static bool take_slot(struct ctl_run *r, const struct ctl_node *owner, unsigned slot) {
    for (size_t i = 0; i < r->cluster.count; i++) {
        struct ctl_node *node = r->cluster.nodes[i];
        if (node == owner || !ctl_slots_has(&node->self.slots, slot)) continue;
        if (!ctl_node_order(node, "CLUSTER DELSLOTS %u", slot)) return false;
        ctl_slots_remove(&node->self.slots, slot);
    }
    return true;
}

bool ctl_cover_fix_owners(struct ctl_run *r, unsigned slot) {
    int64_t keys;
    ctl_say(CTL_INFO, ">>> Fixing multiple owners for slot %u...\n", slot);
    struct ctl_node *owner = ctl_fix_find_richest(&r->cluster, slot, &keys);
    if (owner && !ctl_slots_has(&owner->self.slots, slot)) {
        for (size_t i = 0; i < r->cluster.count; i++)
            if (ctl_slots_has(&r->cluster.nodes[i]->self.slots, slot)) owner = r->cluster.nodes[i];
    }
    if (owner) ctl_say(CTL_INFO, ">>> Setting slot %u owner: %s\n", slot, owner->name);
    if (owner && ctl_move_set_owner(owner, slot, true) && take_slot(r, owner, slot) &&
        gather_keys(r, owner, slot))
        return true;
    ctl_say(CTL_BAD, "Failed to fix multiple owners for slot %u\n", slot);
    return false;
}
