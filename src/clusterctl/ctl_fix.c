/* SPDX-License-Identifier: BSD-3-Clause
 * Closing open slots, in the cases of 6.2:
 *
 * | case | migrating | importing | so |
 * | --- | --- | --- | --- |
 * | 1 | one | one | the slot is moved |
 * | 2 | none | any number | their keys go to the owner, then they are set stable; so is the owner,
 *       where it has a mark itself: 6.2 leaves that |
 * | 3 | one | several, at most the slot's target among them has keys | the slot is moved to its
 *       target and closed at the others; closed everywhere if the target is none of them |
 * | 4 | one, the owner or without keys | none | set stable |
 *
 * A primary that is no owner but has keys in the slot counts as importing. A slot with no owner, or
 * with several, is first given to the primary that has the most of its keys.
 */
#include "clusterctl/ctl_fix.h"

#include <string.h>

#include "base/memory.h"
#include "clusterctl/ctl_move.h"
#include "clusterctl/ctl_talk.h"

/* The nodes that have to do with a slot. Each array has room for all nodes. */
struct parts {
    struct ctl_node **owners, **migrating, **importing;
    size_t owner_count, migrating_count, importing_count;
    struct ctl_node *owner;
};

bool ctl_fix_may(const struct ctl_run *r, const char *what) {
    if (!r->cluster.unreachable_primaries || r->options->fix_unreachable) return true;
    ctl_say(CTL_WARNING,
            "*** Fixing %s with %u unreachable masters is dangerous: redis-cli will assume that "
            "slots about masters that are not reachable are not covered, and will try to reassign "
            "them to the reachable nodes. This can cause data loss and is rarely what you want to "
            "do. If you really want to proceed use the --cluster-fix-with-unreachable-masters "
            "option.\n",
            what, r->cluster.unreachable_primaries);
    return false;
}

struct ctl_node *ctl_fix_find_richest(const struct ctl_cluster *c, unsigned slot, int64_t *most) {
    struct ctl_node *richest = NULL;
    *most = -1;
    for (size_t i = 0; i < c->count; i++) {
        if (!ctl_node_is_primary(c->nodes[i])) continue;
        int64_t keys = ctl_node_count_keys(c->nodes[i], slot);
        if (keys < 0) return NULL;
        if (keys <= *most) continue;
        *most = keys;
        richest = c->nodes[i];
    }
    return richest;
}

/* --- who has to do with the slot -------------------------------------------------------------- */

static void drop_node(struct ctl_node **nodes, size_t *count, const struct ctl_node *node) {
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (nodes[i] != node) nodes[kept++] = nodes[i];
    *count = kept;
}

/* Finds owners, and primaries that have a mark or keys. False where one does not answer. */
static bool find_parts(const struct ctl_cluster *c, unsigned slot, struct parts *p) {
    for (size_t i = 0; i < c->count; i++)
        if (ctl_node_is_primary(c->nodes[i]) && ctl_slots_has(&c->nodes[i]->self.slots, slot))
            p->owners[p->owner_count++] = c->nodes[i];
    if (p->owner_count == 1) p->owner = p->owners[0];
    for (size_t i = 0; i < c->count; i++) {
        struct ctl_node *node = c->nodes[i];
        if (!ctl_node_is_primary(node)) continue;
        const struct ctl_open_slot *mark = ctl_line_find_open(&node->self, slot);
        if (mark && mark->migrating) p->migrating[p->migrating_count++] = node;
        if (mark && !mark->migrating) p->importing[p->importing_count++] = node;
        if (mark || node == p->owner) continue;
        int64_t keys = ctl_node_count_keys(node, slot);
        if (keys < 0) return false;
        if (!keys) continue;
        ctl_say(CTL_WARNING, "*** Found keys about slot %u in %s %s!\n", slot,
                p->owner ? "non-owner node" : "node", node->name);
        p->importing[p->importing_count++] = node;
    }
    return true;
}

/* Returns the nodes' names, with commas. */
static void list_nodes(struct buffer *out, struct ctl_node *const *nodes, size_t count) {
    for (size_t i = 0; i < count; i++) buffer_printf(out, "%s%s", i ? "," : "", nodes[i]->name);
    if (!count) buffer_append_c_string(out, "");
}

static void say_parts(const struct parts *p) {
    struct buffer list = {.class = MEMORY_OTHER};
    list_nodes(&list, p->migrating, p->migrating_count);
    if (list.length) ctl_say(CTL_PLAIN, "Set as migrating in: %s\n", list.bytes);
    buffer_clear(&list);
    list_nodes(&list, p->importing, p->importing_count);
    if (list.length) ctl_say(CTL_PLAIN, "Set as importing in: %s\n", list.bytes);
    buffer_free(&list);
}

/* Gives a slot that has no owner, or several, to the primary with the most of its keys; the others
 * import it from there, so that their keys are moved. */
static bool choose_owner(struct ctl_run *r, unsigned slot, struct parts *p) {
    int64_t keys;
    ctl_say(CTL_INFO,
            ">>> No single clear owner for the slot, selecting an owner by # of keys...\n");
    struct ctl_node *owner = ctl_fix_find_richest(&r->cluster, slot, &keys);
    if (!owner) {
        ctl_say(CTL_BAD, "[ERR] Can't select a slot owner. Impossible to fix.\n");
        return false;
    }
    ctl_say(CTL_WARNING, "*** Configuring %s as the slot owner\n", owner->name);
    if (!ctl_move_set_owner(owner, slot, true)) return false;
    p->owner = owner;
    drop_node(p->migrating, &p->migrating_count, owner);
    drop_node(p->importing, &p->importing_count, owner);
    for (size_t i = 0; i < p->owner_count; i++) {
        struct ctl_node *node = p->owners[i];
        if (node == owner) continue;
        if (!ctl_node_order(node, "CLUSTER DELSLOTS %u", slot) ||
            !ctl_node_order(node, "CLUSTER SETSLOT %u IMPORTING %s", slot, owner->self.id))
            return false;
        ctl_slots_remove(&node->self.slots, slot);
        drop_node(p->migrating, &p->migrating_count, node);
        drop_node(p->importing, &p->importing_count, node);
        p->importing[p->importing_count++] = node;
    }
    return true;
}

/* --- the cases -------------------------------------------------------------------------------- */

static bool set_stable(struct ctl_node *node, unsigned slot) {
    if (!ctl_node_order(node, "CLUSTER SETSLOT %u STABLE", slot)) return false;
    ctl_line_close(&node->self, slot);
    return true;
}

static bool move_fixing(struct ctl_run *r, struct ctl_node *from, struct ctl_node *to,
                        unsigned slot, unsigned how) {
    return ctl_move_slot(r, from, to, slot, how | CTL_MOVE_FIXING) == CTL_MOVED;
}

static bool fix_importing(struct ctl_run *r, unsigned slot, const struct parts *p) {
    ctl_say(CTL_INFO, ">>> Case 2: Moving all the %u slot keys to its owner %s\n", slot,
            p->owner->name);
    for (size_t i = 0; i < p->importing_count; i++) {
        struct ctl_node *node = p->importing[i];
        bool owns = node == p->owner;
        if (!owns && !move_fixing(r, node, p->owner, slot, CTL_MOVE_COLD)) return false;
        ctl_say(CTL_INFO, ">>> Setting %u as STABLE in %s\n", slot, node->name);
        if (!set_stable(node, slot)) return false;
        if (!owns && !ctl_node_order(node, "CLUSTER SETSLOT %u NODE %s", slot, p->owner->self.id))
            return false;
    }
    return true;
}

/* Returns the importing node to which the migrating node's mark points; NULL = none. */
static struct ctl_node *find_target(unsigned slot, const struct parts *p) {
    const struct ctl_open_slot *mark = ctl_line_find_open(&p->migrating[0]->self, slot);
    for (size_t i = 0; i < p->importing_count && mark; i++)
        if (!strcmp(p->importing[i]->self.id, mark->peer)) return p->importing[i];
    return NULL;
}

/* Whether no importing node other than `but` has keys in the slot. */
static bool are_empty(unsigned slot, const struct parts *p, const struct ctl_node *but) {
    for (size_t i = 0; i < p->importing_count; i++)
        if (p->importing[i] != but && ctl_node_count_keys(p->importing[i], slot) != 0) return false;
    return true;
}

static bool fix_several(struct ctl_run *r, unsigned slot, const struct parts *p) {
    struct ctl_node *from = p->migrating[0], *to = find_target(slot, p);
    if (to) {
        ctl_say(CTL_INFO,
                ">>> Case 3: Moving slot %u from %s to %s and closing it on all the other "
                "importing nodes.\n",
                slot, from->name, to->name);
        if (!move_fixing(r, from, to, slot, 0)) return false;
    } else {
        ctl_say(CTL_INFO, ">>> Case 3: Closing slot %u on both migrating and importing nodes.\n",
                slot);
        if (!set_stable(from, slot)) return false;
    }
    for (size_t i = 0; i < p->importing_count; i++)
        if (p->importing[i] != to && !set_stable(p->importing[i], slot)) return false;
    return true;
}

static void say_unfixable(unsigned slot, const struct parts *p) {
    struct buffer migrating = {.class = MEMORY_OTHER}, importing = {.class = MEMORY_OTHER};
    list_nodes(&migrating, p->migrating, p->migrating_count);
    list_nodes(&importing, p->importing, p->importing_count);
    ctl_say(CTL_BAD,
            "[ERR] Sorry, redis-cli can't fix this slot yet (work in progress). Slot is set as "
            "migrating in %s, as importing in %s, owner is %s\n",
            migrating.bytes, importing.bytes, p->owner->name);
    buffer_free(&migrating);
    buffer_free(&importing);
}

static bool fix_by_case(struct ctl_run *r, unsigned slot, const struct parts *p) {
    size_t leave = p->migrating_count, come = p->importing_count;
    if (leave == 1 && come == 1) {
        ctl_say(CTL_INFO, ">>> Case 1: Moving slot %u from %s to %s\n", slot, p->migrating[0]->name,
                p->importing[0]->name);
        return move_fixing(r, p->migrating[0], p->importing[0], slot, 0);
    }
    if (!leave && come) return fix_importing(r, slot, p);
    if (leave == 1 && come > 1 && are_empty(slot, p, find_target(slot, p)))
        return fix_several(r, slot, p);
    if (leave == 1 && !come &&
        (p->migrating[0] == p->owner || !ctl_node_count_keys(p->migrating[0], slot))) {
        ctl_say(CTL_INFO, ">>> Case 4: Closing slot %u on %s\n", slot, p->migrating[0]->name);
        return set_stable(p->migrating[0], slot);
    }
    if (!leave && !come) return true; /* the choice of an owner has closed it */
    say_unfixable(slot, p);
    return false;
}

bool ctl_fix_slot(struct ctl_run *r, unsigned slot) {
    const struct ctl_cluster *c = &r->cluster;
    if (!ctl_fix_may(r, "open slots")) return false;
    ctl_say(CTL_INFO, ">>> Fixing open slot %u\n", slot);
    size_t bytes = c->count * sizeof(struct ctl_node *);
    struct parts p = {.owners = memory_alloc(bytes, MEMORY_OTHER),
                      .migrating = memory_alloc(bytes, MEMORY_OTHER),
                      .importing = memory_alloc(bytes, MEMORY_OTHER)};
    bool good = find_parts(c, slot, &p);
    if (good) say_parts(&p);
    good = good && (p.owner || choose_owner(r, slot, &p)) && fix_by_case(r, slot, &p);
    memory_free(p.owners, MEMORY_OTHER);
    memory_free(p.migrating, MEMORY_OTHER);
    memory_free(p.importing, MEMORY_OTHER);
    return good;
}
