/* SPDX-License-Identifier: BSD-3-Clause
 * CLUSTER ADDSLOTS, DELSLOTS, FLUSHSLOTS, SETSLOT; KEYSLOT, COUNTKEYSINSLOT, GETKEYSINSLOT.
 *
 * All of them change only what this node knows; other nodes are told by the bus, or by the same
 * commands. A slot's keys are never deleted here: SETSLOT NODE and FLUSHSLOTS are refused while
 * there are keys, and DELSLOTS leaves them, because redis-cli takes the slot from a wrong owner and
 * gives it to the node of the keys by DELSLOTS and ADDSLOTS.
 */
#include "cluster/slot_commands.h"

#include "base/memory.h"
#include "bus/compose.h"
#include "cluster/answers.h"
#include "cluster/service.h"
#include "command/arguments.h"
#include "command/call.h"
#include "net/reply.h"
#include "store/entry.h"
#include "store/keyspace.h"
#include "store/slot_drop.h"
#include "topology/epochs.h"
#include "topology/nodes_file.h"
#include "topology/slots.h"

static size_t keys_in_slot(unsigned slot) { return keyspace_slot_count(keyspace_at(0), slot); }

/* ---- keys ---- */

void cluster_keyslot(struct call *call) { reply_integer(call->client, key_slot_of(call->argv[2])); }

void cluster_count_keys_in_slot(struct call *call) {
    int64_t slot;
    if (!argument_int64(call, 2, &slot, NULL)) return;
    if (slot < 0 || slot >= KEY_SLOTS)
        reply_error(call->client, "Invalid slot");
    else
        reply_integer(call->client, (int64_t)keys_in_slot((unsigned)slot));
}

/* Entries are noted first and replied then, because looking for them may delete due keys, whose
 * events must not stand within the reply. */
struct key_list {
    const struct entry **entries;
    size_t count;
};

static void list_entry(struct entry *e, void *context) {
    struct key_list *list = context;
    list->entries[list->count++] = e;
}

void cluster_get_keys_in_slot(struct call *call) {
    int64_t slot, wanted;
    if (!argument_int64(call, 2, &slot, NULL) || !argument_int64(call, 3, &wanted, NULL)) return;
    if (slot < 0 || slot >= KEY_SLOTS || wanted < 0) {
        reply_error(call->client, "Invalid slot or number of keys");
        return;
    }
    size_t there = keys_in_slot((unsigned)slot);
    size_t most = (uint64_t)wanted < there ? (size_t)wanted : there;
    struct key_list list = {.entries =
                                memory_alloc((most + 1) * sizeof(*list.entries), MEMORY_OTHER)};
    if (most) (void)keyspace_slot_each(keyspace_at(0), (unsigned)slot, most, list_entry, &list);
    reply_array(call->client, (int64_t)list.count);
    for (size_t i = 0; i < list.count; i++) reply_bulk(call->client, entry_key(list.entries[i]));
    memory_free(list.entries, MEMORY_OTHER);
}

/* ---- ADDSLOTS, DELSLOTS, FLUSHSLOTS ---- */

/* Whether keys of a former time of the slot here are still being removed: new ones would go with
 * them. True after an error. */
static bool is_emptying(const struct call *call, unsigned slot) {
    if (!slot_is_dropping(slot)) return false;
    reply_error_format(call->client,
                       "The keys that slot %u had here before are still being removed, try again",
                       slot);
    return true;
}

/* Parses the slots, each once, into a bitmap. All of them must be unassigned, for ADDSLOTS, or
 * assigned. False after an error. */
static bool parse_slots(const struct call *call, bool adds,
                        unsigned char bitmap[CLUSTER_BITMAP_BYTES]) {
    const struct cluster *c = cluster_here();
    for (int i = 2; i < call->argc; i++) {
        unsigned slot;
        if (!cluster_argument_slot(call, i, &slot)) return false;
        if (adds == (c->owners[slot] != NULL)) {
            reply_error_format(call->client, "Slot %u is already %s", slot,
                               adds ? "busy" : "unassigned");
            return false;
        }
        if (cluster_bitmap_has(bitmap, slot)) {
            reply_error_format(call->client, "Slot %u specified multiple times", slot);
            return false;
        }
        if (adds && is_emptying(call, slot)) return false;
        bitmap[slot / 8] |= (unsigned char)(1u << slot % 8);
    }
    return true;
}

/* What is no longer this node's does not migrate from it; what is assigned is not imported. */
static void assign_slots(struct call *call, bool adds) {
    struct cluster *c = cluster_here();
    unsigned char bitmap[CLUSTER_BITMAP_BYTES] = {0};
    if (!parse_slots(call, adds, bitmap)) return;
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        if (!cluster_bitmap_has(bitmap, slot)) continue;
        cluster_slot_set_importing(c, slot, NULL);
        if (!adds) cluster_slot_set_migrating(c, slot, NULL);
        cluster_slot_assign(c, slot, adds ? c->self : NULL);
    }
    cluster_reply_changed(call);
}

void cluster_addslots(struct call *call) { assign_slots(call, true); }
void cluster_delslots(struct call *call) { assign_slots(call, false); }

void cluster_flushslots(struct call *call) {
    struct cluster *c = cluster_here();
    if (keyspace_count(keyspace_at(0))) {
        reply_error(call->client, "DB must be empty to perform CLUSTER FLUSHSLOTS.");
        return;
    }
    cluster_slots_release(c, c->self);
    cluster_reply_changed(call);
}

/* ---- SETSLOT ---- */

/* The node of argument 4, to or from which a slot moves. NULL after an error. */
static struct cluster_node *other_side(const struct call *call, const char *unknown) {
    struct cluster_node *node = cluster_argument_node(call, 4, unknown);
    if (node && !cluster_node_is_primary(node)) {
        reply_error(call->client, "Target node is not a master");
        return NULL;
    }
    return node;
}

/* The version of nodes.conf that has the slot's migrating mark. */
static uint64_t mark_versions[KEY_SLOTS];

static void mark_saved(void *mark_version) {
    const uint64_t *version = mark_version;
    if (cluster_file_is_saved(*version))
        cluster_slot_hold(cluster_here(), (unsigned)(version - mark_versions), false);
}

/* The mark must be on disk before the first key leaves, or is created at the other node by a client
 * that was told ASK: without it this node would take a key that is elsewhere for one that never
 * was, and let clients create it anew. Until then this node serves the slot as before. A slot that
 * was migrating before stays so. */
static void set_migrating(struct call *call, unsigned slot) {
    struct cluster *c = cluster_here();
    if (c->owners[slot] != c->self) {
        reply_error_format(call->client, "I'm not the owner of hash slot %u", slot);
        return;
    }
    struct cluster_node *to = other_side(call, "I don't know about node ");
    if (!to) return;
    bool held = !c->migrating_to[slot] || cluster_slot_is_held(c, slot);
    cluster_slot_set_migrating(c, slot, to);
    cluster_slot_hold(c, slot, held);
    cluster_changed(c);
    mark_versions[slot] = cluster_file_later();
    cluster_file_when_saved(mark_versions[slot], mark_saved, &mark_versions[slot]);
    cluster_reply_when_saved(call, "OK");
    mark_saved(&mark_versions[slot]); /* where it was written within this call */
}

/* This mark must be on disk before the first key comes, together with all that was given away
 * before: a node that claims the slot by an old file is told of its owner by the bus, and drops the
 * keys of slots that it has lost. */
static void set_importing(struct call *call, unsigned slot) {
    struct cluster *c = cluster_here();
    if (c->owners[slot] == c->self) {
        reply_error_format(call->client, "I'm already the owner of hash slot %u", slot);
        return;
    }
    struct cluster_node *from = other_side(call, "I don't know about node ");
    if (!from || is_emptying(call, slot)) return;
    cluster_slot_set_importing(c, slot, from);
    cluster_reply_when_saved(call, "OK");
}

static void set_stable(struct call *call, unsigned slot) {
    struct cluster *c = cluster_here();
    cluster_slot_set_migrating(c, slot, NULL);
    if (!cluster_slot_is_unconfirmed(c, slot)) cluster_slot_set_importing(c, slot, NULL);
    cluster_reply_changed(call);
}

/* The claim on an imported slot is stronger than its former owner's by a new epoch, as far as this
 * node knows: the slot is unconfirmed until the former owner has answered. All nodes are told at
 * once, this node's replicas among them, which must know it if this node dies. */
static void take_imported(struct call *call, unsigned slot) {
    struct cluster *c = cluster_here();
    struct cluster_node *from = c->importing_from[slot];
    if (from == c->self) cluster_slot_set_importing(c, slot, NULL);
    (void)cluster_epoch_bump(c);
    cluster_say_taken(c, from);
    cluster_reply_when_saved(call, "OK");
}

static void set_owner(struct call *call, unsigned slot) {
    struct cluster *c = cluster_here();
    struct cluster_node *owner = other_side(call, "Unknown node ");
    if (!owner) return;
    size_t keys = keys_in_slot(slot);
    bool was_own = c->owners[slot] == c->self, is_own = owner == c->self;
    if (is_own && is_emptying(call, slot)) return;
    if (was_own && !is_own && keys) {
        reply_error_format(call->client,
                           "Can't assign hashslot %u to a different node while I still hold keys "
                           "for this hash slot.",
                           slot);
        return;
    }
    if (!keys) cluster_slot_set_migrating(c, slot, NULL);
    bool imported = is_own && !was_own && c->importing_from[slot];
    cluster_slot_assign(c, slot, owner);
    if (imported)
        take_imported(call, slot);
    else
        cluster_reply_changed(call);
}

void cluster_setslot(struct call *call) {
    struct cluster *c = cluster_here();
    unsigned slot;
    if (!cluster_node_is_primary(c->self))
        reply_error(call->client, "Please use SETSLOT only with masters.");
    else if (!cluster_argument_slot(call, 2, &slot))
        return;
    else if (argument_is(call, 3, "migrating") && call->argc == 5)
        set_migrating(call, slot);
    else if (argument_is(call, 3, "importing") && call->argc == 5)
        set_importing(call, slot);
    else if (argument_is(call, 3, "stable") && call->argc == 4)
        set_stable(call, slot);
    else if (argument_is(call, 3, "node") && call->argc == 5)
        set_owner(call, slot);
    else
        reply_error(call->client,
                    "Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP");
}
