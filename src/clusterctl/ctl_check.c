/* SPDX-License-Identifier: BSD-3-Clause
 * The checks of a cluster, in 6.2's order and words.
 */
#include "clusterctl/ctl_check.h"

#include <inttypes.h>

#include "clusterctl/ctl_cover.h"
#include "clusterctl/ctl_fix.h"
#include "clusterctl/ctl_talk.h"

bool ctl_check_say_info(const struct ctl_cluster *c) {
    int64_t all = 0;
    unsigned primaries = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct ctl_node *node = c->nodes[i];
        if (!ctl_node_is_primary(node)) continue;
        int64_t keys = ctl_node_count_all_keys(node);
        if (keys < 0) return false;
        ctl_say(CTL_PLAIN, "%s (%.8s...) -> %" PRId64 " keys | %u slots | %u slaves.\n", node->name,
                node->self.id, keys, ctl_slots_count(&node->self.slots), node->replicas);
        all += keys;
        primaries++;
    }
    ctl_say(CTL_GOOD, "[OK] %" PRId64 " keys in %u masters.\n", all, primaries);
    ctl_say(CTL_PLAIN, "%.2f keys per slot on average.\n", (double)all / KEY_SLOTS);
    return true;
}

/* --- open slots ------------------------------------------------------------------------------- */

static void append_slot(struct buffer *list, unsigned slot) {
    buffer_printf(list, "%s%u", list->length ? "," : "", slot);
}

/* Notes the node's slots that have this mark, and says them. Returns 1 if there are any. */
static unsigned find_marks(const struct ctl_node *node, bool migrating, struct ctl_slots *open) {
    struct ctl_slots marked = {0};
    struct buffer list = {.class = MEMORY_OTHER};
    for (size_t i = 0; i < node->self.open_count; i++) {
        const struct ctl_open_slot *mark = &node->self.open[i];
        if (mark->migrating != migrating) continue;
        ctl_slots_add(&marked, mark->slot);
        ctl_slots_add(open, mark->slot);
    }
    for (int slot = ctl_slots_next(&marked, 0); slot >= 0;
         slot = ctl_slots_next(&marked, (unsigned)slot + 1))
        append_slot(&list, (unsigned)slot);
    unsigned found = list.length != 0;
    if (found) {
        ctl_say(CTL_BAD, "[WARNING] Node %s has slots in %s state %s.\n", node->name,
                migrating ? "migrating" : "importing", list.bytes);
    }
    buffer_free(&list);
    return found;
}

static void find_open(const struct ctl_cluster *c, struct ctl_findings *found) {
    struct buffer list = {.class = MEMORY_OTHER};
    for (size_t i = 0; i < c->count; i++) {
        found->faults += find_marks(c->nodes[i], true, &found->open);
        found->faults += find_marks(c->nodes[i], false, &found->open);
    }
    for (int slot = ctl_slots_next(&found->open, 0); slot >= 0;
         slot = ctl_slots_next(&found->open, (unsigned)slot + 1))
        append_slot(&list, (unsigned)slot);
    if (list.length) ctl_say(CTL_BAD, "[WARNING] The following slots are open: %s.\n", list.bytes);
    buffer_free(&list);
}

bool ctl_check_find_move(const struct ctl_cluster *c, unsigned slot, struct ctl_node **from,
                         struct ctl_node **to) {
    const struct ctl_open_slot *leaves = NULL, *comes = NULL;
    unsigned marks = 0;
    *from = *to = NULL;
    for (size_t i = 0; i < c->count; i++) {
        const struct ctl_open_slot *mark = ctl_line_find_open(&c->nodes[i]->self, slot);
        if (ctl_slots_has(&c->nodes[i]->self.slots, slot)) {
            if (*from) return false;
            *from = c->nodes[i];
            leaves = mark;
        } else if (mark) {
            *to = c->nodes[i];
            comes = mark;
        }
        marks += mark != NULL;
    }
    if (!*from || !*to || comes->migrating || (leaves && !leaves->migrating)) return false;
    bool points = !strcmp(comes->peer, (*from)->self.id) &&
                  (!leaves || !strcmp(leaves->peer, (*to)->self.id));
    return points && marks == 1u + (leaves != NULL);
}

static bool are_moves(const struct ctl_cluster *c, const struct ctl_slots *open) {
    struct ctl_node *from, *to;
    for (int slot = ctl_slots_next(open, 0); slot >= 0;
         slot = ctl_slots_next(open, (unsigned)slot + 1))
        if (!ctl_check_find_move(c, (unsigned)slot, &from, &to)) return false;
    return true;
}

/* Returns whether all open slots were closed. */
static bool fix_open(struct ctl_run *r, const struct ctl_slots *open) {
    for (int slot = ctl_slots_next(open, 0); slot >= 0;
         slot = ctl_slots_next(open, (unsigned)slot + 1))
        if (!ctl_fix_slot(r, (unsigned)slot)) return false;
    return true;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void find_covered(const struct ctl_cluster *c, struct ctl_slots *covered) {
    *covered = (struct ctl_slots){0};
    for (size_t i = 0; i < c->count; i++)
        for (size_t word = 0; word < KEY_SLOTS / 64; word++)
            covered->bits[word] |= c->nodes[i]->self.slots.bits[word];
}

static void check_coverage(struct ctl_run *r, bool fixes, struct ctl_findings *found) {
    struct ctl_slots covered;
    ctl_say(CTL_INFO, ">>> Check slots coverage...\n");
    find_covered(&r->cluster, &covered);
    if (ctl_slots_count(&covered) == KEY_SLOTS) {
        ctl_say(CTL_GOOD, "[OK] All %d slots covered.\n", KEY_SLOTS);
        return;
    }
    ctl_say(CTL_BAD, "[ERR] Not all %d slots are covered by nodes.\n\n", KEY_SLOTS);
    found->faults++;
    found->good = fixes && ctl_cover_slots(r, &covered);
    found->half_moved = false;
}

static void check_owners(struct ctl_run *r, bool fixes, struct ctl_findings *found) {
    unsigned several = 0;
    bool fixed = true;
    ctl_say(CTL_INFO, ">>> Check for multiple slot owners...\n");
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        if (!ctl_cover_say_owners(&r->cluster, slot)) continue;
        several++;
        if (fixes && fixed) fixed = ctl_cover_fix_owners(r, slot);
    }
    if (!several) ctl_say(CTL_GOOD, "[OK] No multiple owners found.\n");
    found->faults += several;
    if (several && !(fixes && fixed)) found->good = found->half_moved = false;
}

struct ctl_findings ctl_check_cluster(struct ctl_run *r, unsigned how) {
    struct ctl_findings found = {.good = true};
    struct ctl_cluster *c = &r->cluster;
    bool fixes = how & CTL_CHECK_FIX;
    ctl_say(CTL_INFO, ">>> Performing Cluster Check (using node %s)\n", c->nodes[0]->name);
    if (!(how & CTL_CHECK_QUIET)) ctl_cluster_say_nodes(c);
    bool agrees = ctl_cluster_agrees(c);
    if (agrees) {
        ctl_say(CTL_GOOD, "[OK] All nodes agree about slots configuration.\n");
    } else {
        ctl_say(CTL_BAD, "[ERR] Nodes don't agree about configuration!\n");
        found.good = false;
        found.faults++;
    }
    ctl_say(CTL_INFO, ">>> Check for open slots...\n");
    find_open(c, &found);
    if (ctl_slots_next(&found.open, 0) >= 0) {
        found.half_moved = agrees && are_moves(c, &found.open);
        found.good = fixes && fix_open(r, &found.open);
    }
    check_coverage(r, fixes, &found);
    if (r->options->search_owners) check_owners(r, fixes, &found);
    return found;
}
