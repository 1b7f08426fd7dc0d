/* SPDX-License-Identifier: BSD-3-Clause
 * Moving a slot.
 *
 *     target: SETSLOT IMPORTING      clients are sent there for keys that are gone (-ASK)
 *     source: SETSLOT MIGRATING
 *     source: GETKEYSINSLOT, MIGRATE   until no key is left
 *     target, source, other primaries: SETSLOT NODE
 *
 * The target is told first that it owns the slot, because the source, once told, redirects clients
 * there. A move that stops anywhere before can be started again from the top.
 */
#include "clusterctl/ctl_move.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "clusterctl/ctl_talk.h"
#include "peer/peer_client.h"
#include "tools/tool_connection.h"

/* The words of MIGRATE before its keys. */
#define WORDS_BEFORE_KEYS 12
#define TARGET_DOWN "Target instance replied with error: CLUSTERDOWN The cluster is down"
#define TRIES_MAX 10 /* a second between two of them */
/* What DEBUG DIGEST-VALUE answers for a key that does not exist. */
#define NO_VALUE "0000000000000000000000000000000000000000"

/* Keys of a slot, copied from a reply. */
struct batch {
    struct buffer storage;
    struct slice *keys;
    size_t count;
};

static void free_batch(struct batch *b) {
    buffer_free(&b->storage);
    memory_free(b->keys, MEMORY_OTHER);
    *b = (struct batch){.storage.class = MEMORY_OTHER};
}

/* Copies the texts of an array; false where it is none. */
static bool copy_texts(struct batch *b, const struct peer_reply *reply) {
    *b = (struct batch){.storage.class = MEMORY_OTHER};
    if (!reply || reply->type != PEER_ARRAY) return false;
    size_t count = reply->children;
    b->keys = memory_alloc((count + 1) * sizeof(*b->keys), MEMORY_OTHER);
    const struct peer_reply *text = count ? peer_reply_first(reply) : NULL;
    for (size_t i = 0; i < count; i++, text = peer_reply_next(text)) {
        if (text->type != PEER_BULK && text->type != PEER_STATUS) return false;
        b->keys[i].length = text->text.length;
        buffer_append(&b->storage, text->text.bytes, text->text.length);
    }
    const char *at = b->storage.bytes;
    for (size_t i = 0; i < count; at += b->keys[i++].length) b->keys[i].bytes = at;
    b->count = count;
    return true;
}

/* Gets the next keys of the slot. False, said why, on failure. */
static bool get_keys(struct ctl_node *node, unsigned slot, int64_t most, struct batch *b) {
    const struct peer_reply *reply =
        ctl_node_ask_line(node, "CLUSTER GETKEYSINSLOT %u %" PRId64, slot, most);
    if (copy_texts(b, reply)) return true;
    if (reply) snprintf(node->error, sizeof(node->error), "the reply is no list of keys");
    free_batch(b);
    ctl_node_say_error(node);
    return false;
}

/* Sends MIGRATE for the keys. False where the reply is an error, which the node keeps. */
static bool migrate_keys(struct ctl_run *r, struct ctl_node *from, const struct ctl_node *to,
                         const struct batch *b, bool replaces) {
    const struct tool_connection *login = from->login;
    char port[NUMBER_INT64_CHARS], timeout[NUMBER_INT64_CHARS];
    struct slice *words =
        memory_alloc((WORDS_BEFORE_KEYS + b->count) * sizeof(*words), MEMORY_OTHER);
    size_t count = 0;
    words[count++] = SLICE("MIGRATE");
    words[count++] = slice_of(to->host);
    words[count++] = (struct slice){port, number_format_int64(port, to->port)};
    words[count++] = SLICE("");
    words[count++] = SLICE("0");
    words[count++] =
        (struct slice){timeout, number_format_int64(timeout, r->options->timeout_msec)};
    if (replaces) words[count++] = SLICE("REPLACE");
    if (login->password) {
        words[count++] = login->user ? SLICE("AUTH2") : SLICE("AUTH");
        if (login->user) words[count++] = slice_of(login->user);
        words[count++] = slice_of(login->password);
    }
    words[count++] = SLICE("KEYS");
    for (size_t i = 0; i < b->count; i++) words[count++] = b->keys[i];
    bool good = ctl_node_ask(from, words, count) != NULL;
    memory_free(words, MEMORY_OTHER);
    return good;
}

/* --- keys that the target has ----------------------------------------------------------------- */

/* Asks for the digests of the keys' values. False, said why, on failure. */
static bool get_digests(struct ctl_node *node, const struct batch *keys, struct batch *digests) {
    struct slice *words = memory_alloc((2 + keys->count) * sizeof(*words), MEMORY_OTHER);
    words[0] = SLICE("DEBUG");
    words[1] = SLICE("DIGEST-VALUE");
    if (keys->count) memcpy(words + 2, keys->keys, keys->count * sizeof(*words));
    const struct peer_reply *reply = ctl_node_ask(node, words, 2 + keys->count);
    memory_free(words, MEMORY_OTHER);
    if (copy_texts(digests, reply) && digests->count == keys->count) return true;
    if (reply) snprintf(node->error, sizeof(node->error), "the reply is no list of digests");
    ctl_say(CTL_BAD, "*** Value check failed!\n");
    ctl_node_say_error(node);
    return false;
}

static bool is_different(struct slice a, struct slice b) {
    return !slice_equal(a, b) && !slice_equal(a, SLICE(NO_VALUE)) &&
           !slice_equal(b, SLICE(NO_VALUE));
}

static void say_different(const struct ctl_node *from, const struct ctl_node *to,
                          const struct batch *keys, const struct batch *ours,
                          const struct batch *theirs, unsigned different) {
    struct buffer list = {.class = MEMORY_OTHER};
    for (size_t i = 0; i < keys->count; i++) {
        if (!is_different(ours->keys[i], theirs->keys[i])) continue;
        buffer_append_c_string(&list, "    - ");
        ctl_talk_show(&list, keys->keys[i]);
        buffer_append_char(&list, '\n');
    }
    ctl_say(CTL_BAD,
            "*** Found %u key(s) in both source node and target node having different values.\n"
            "    Source node: %s\n    Target node: %s\n    Keys(s):\n%s"
            "Please fix the above key(s) manually and try again or relaunch the command \n"
            "with --cluster-replace option to force key overriding.\n",
            different, from->name, to->name, list.bytes);
    buffer_free(&list);
}

/* Whether the target may be overwritten because no key has another value there. */
static bool are_values_equal(struct ctl_node *from, struct ctl_node *to, const struct batch *keys) {
    struct batch ours, theirs = {.storage.class = MEMORY_OTHER};
    unsigned different = 0;
    bool good = get_digests(from, keys, &ours) && get_digests(to, keys, &theirs);
    for (size_t i = 0; i < keys->count && good; i++)
        different += is_different(ours.keys[i], theirs.keys[i]);
    if (different) say_different(from, to, keys, &ours, &theirs, different);
    free_batch(&ours);
    free_batch(&theirs);
    return good && !different;
}

/* --- the keys of a slot ----------------------------------------------------------------------- */

static bool has_code(const struct ctl_node *node, const char *code) {
    return strstr(node->error, code) != NULL;
}

/* Sends MIGRATE, and again as long as the target says that its cluster is down: a primary that gets
 * its first slot says so for some seconds. */
static bool migrate_patiently(struct ctl_run *r, struct ctl_node *from, const struct ctl_node *to,
                              const struct batch *b, bool replaces) {
    for (unsigned tries = 1;; tries++) {
        if (migrate_keys(r, from, to, b, replaces)) return true;
        if (!has_code(from, TARGET_DOWN) || tries == TRIES_MAX || ctl_talk_interrupted())
            return false;
        ctl_talk_pause();
    }
}

/* Moves the keys of a batch, again with REPLACE or after an owner was set where that is allowed. */
static bool move_batch(struct ctl_run *r, struct ctl_node *from, struct ctl_node *to, unsigned slot,
                       unsigned how, const struct batch *b) {
    if (migrate_patiently(r, from, to, b, r->options->replace)) return true;
    bool unserved = has_code(from, "CLUSTERDOWN"), exists = has_code(from, "BUSYKEY");
    if (unserved && how & CTL_MOVE_FIXING) {
        ctl_say(CTL_WARNING, "*** Slot was not served, setting owner to node %s.\n", from->name);
        if (!ctl_node_order(from, "CLUSTER SETSLOT %u NODE %s", slot, from->self.id)) return false;
        if (migrate_keys(r, from, to, b, r->options->replace)) return true;
        exists = has_code(from, "BUSYKEY");
    }
    if (exists && !r->options->replace) {
        ctl_say(CTL_WARNING, "\n*** Target key exists\n*** Checking key values on both nodes...\n");
        if (!are_values_equal(from, to, b)) return false;
        ctl_say(CTL_WARNING, "*** Replacing target keys...\n");
        if (migrate_keys(r, from, to, b, true)) return true;
    }
    ctl_say(CTL_PLAIN, "\n");
    ctl_node_say_error(from);
    return false;
}

static enum ctl_moved move_keys(struct ctl_run *r, struct ctl_node *from, struct ctl_node *to,
                                unsigned slot, unsigned how) {
    for (;;) {
        struct batch b;
        if (ctl_talk_interrupted()) return CTL_MOVE_STOPPED;
        if (!get_keys(from, slot, r->options->pipeline, &b)) return CTL_MOVE_FAILED;
        size_t count = b.count;
        bool good = !count || move_batch(r, from, to, slot, how, &b);
        free_batch(&b);
        if (!good) return CTL_MOVE_FAILED;
        if (!count) return CTL_MOVED;
        for (; count && !(how & CTL_MOVE_SILENT); count--) ctl_say(CTL_PLAIN, ".");
        ctl_talk_flush();
    }
}

/* --- a slot ----------------------------------------------------------------------------------- */

static bool open_slot(struct ctl_node *from, struct ctl_node *to, unsigned slot) {
    if (!ctl_node_order(to, "CLUSTER SETSLOT %u IMPORTING %s", slot, from->self.id)) return false;
    ctl_line_open(&to->self, slot, false, from->self.id);
    if (!ctl_node_order(from, "CLUSTER SETSLOT %u MIGRATING %s", slot, to->self.id)) return false;
    ctl_line_open(&from->self, slot, true, to->self.id);
    return true;
}

/* Tells a primary that is not the target. A primary that has not heard of the new owner yet learns
 * of the node and of its slot by the bus. A source of Redis 6.2 that has heard of its last slot's
 * new owner by the bus, before this order came, has become a replica and need not be told. */
static bool tell_other(struct ctl_node *node, const struct ctl_node *to, unsigned slot) {
    if (ctl_node_ask_line(node, "CLUSTER SETSLOT %u NODE %s", slot, to->self.id)) return true;
    if (has_code(node, "Unknown node") || has_code(node, "Please use SETSLOT only with masters."))
        return true;
    ctl_node_say_error(node);
    return false;
}

/* Tells all primaries that `to` owns the slot. */
static bool hand_over(struct ctl_run *r, struct ctl_node *from, struct ctl_node *to,
                      unsigned slot) {
    bool good = ctl_node_order(to, "CLUSTER SETSLOT %u NODE %s", slot, to->self.id) &&
                tell_other(from, to, slot);
    for (size_t i = 0; i < r->cluster.count && good; i++) {
        struct ctl_node *node = r->cluster.nodes[i];
        if (node == from || node == to || !ctl_node_is_primary(node)) continue;
        good = tell_other(node, to, slot);
    }
    return good;
}

enum ctl_moved ctl_move_slot(struct ctl_run *r, struct ctl_node *from, struct ctl_node *to,
                             unsigned slot, unsigned how) {
    bool cold = how & CTL_MOVE_COLD, says = !(how & CTL_MOVE_SILENT);
    if (says) {
        ctl_say(CTL_PLAIN, "Moving slot %u from %s to %s: ", slot, from->name, to->name);
        ctl_talk_flush();
    }
    if (!cold && !open_slot(from, to, slot)) return CTL_MOVE_FAILED;
    enum ctl_moved moved = move_keys(r, from, to, slot, how);
    if (says && moved != CTL_MOVE_FAILED) ctl_say(CTL_PLAIN, "\n");
    if (moved != CTL_MOVED || cold) return moved;
    if (!hand_over(r, from, to, slot)) return CTL_MOVE_FAILED;
    ctl_slots_remove(&from->self.slots, slot);
    ctl_slots_add(&to->self.slots, slot);
    ctl_line_close(&from->self, slot);
    ctl_line_close(&to->self, slot);
    return CTL_MOVED;
}

/* Whether all replies of EXEC but the first, which DELSLOTS may have refused, are good. */
static bool took_all(struct ctl_node *node, const struct peer_reply *reply) {
    if (reply->type != PEER_ARRAY || !reply->children) return false;
    const struct peer_reply *each = peer_reply_first(reply);
    for (uint32_t i = 1; i < reply->children; i++) {
        each = peer_reply_next(each);
        if (each->type != PEER_ERROR) continue;
        string_show(each->text, node->error, sizeof(node->error));
        return false;
    }
    return true;
}

bool ctl_move_set_owner(struct ctl_node *owner, unsigned slot, bool closes) {
    bool good = ctl_node_ask_line(owner, "MULTI") &&
                ctl_node_ask_line(owner, "CLUSTER DELSLOTS %u", slot) &&
                ctl_node_ask_line(owner, "CLUSTER ADDSLOTS %u", slot) &&
                (!closes || ctl_node_ask_line(owner, "CLUSTER SETSLOT %u STABLE", slot)) &&
                ctl_node_ask_line(owner, "CLUSTER BUMPEPOCH");
    const struct peer_reply *reply = good ? ctl_node_ask_line(owner, "EXEC") : NULL;
    if (!reply || !took_all(owner, reply)) {
        ctl_node_say_error(owner);
        return false;
    }
    ctl_slots_add(&owner->self.slots, slot);
    if (closes) ctl_line_close(&owner->self, slot);
    return true;
}
