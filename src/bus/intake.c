/* SPDX-License-Identifier: BSD-3-Clause
 * What a message changes. intake.h has the idea.
 *
 * The order of the steps is 6.2's:
 *
 *   any type of a known node  epochs, offset
 *   PING, MEET                the own address; a stranger's MEET begins a handshake; PONG
 *   the PING family           the end of a handshake; the sender's address, answer, role, claims,
 *                             a collision of epochs; gossip
 *   FAIL, UPDATE              what they say of a third node
 *
 * Invariants
 *  1. A sender that is not known changes nothing but a handshake, and this node's own address.
 *  2. No role, address or flag of this node itself is taken from what others say of it, but what
 *     claims on its slots bring about.
 */
#include "bus/intake.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "bus/meet.h"
#include "io/socket.h"
#include "topology/epochs.h"
#include "topology/failure.h"
#include "topology/nodes.h"
#include "topology/ownership.h"

#define FAILING ((unsigned)(CLUSTER_NODE_SUSPECTED | CLUSTER_NODE_FAILED))
/* A node that is first heard of by gossip keeps these flags. That it fails this node finds out. */
#define KEPT_FLAGS                                                                      \
    ((unsigned)(CLUSTER_NODE_PRIMARY | CLUSTER_NODE_REPLICA | CLUSTER_NODE_MIGRATE_TO | \
                CLUSTER_NODE_NO_FAILOVER))
/* Clocks of nodes may differ: a later answer that another node has got counts up to here. */
#define CLOCKS_DIFFER_MSEC 500

/* What all steps need. */
struct intake {
    struct cluster *c;
    const struct cluster_message *m;
    const struct cluster_link_facts *link;
    const struct cluster_intake_rules *rules;
    struct cluster_consequences *out;
};

static void note_moved(struct intake *in, struct cluster_node *node) {
    if (in->out->moved_count < CLUSTER_ACTED_MAX) in->out->moved[in->out->moved_count++] = node;
    if (node == in->c->self->primary) in->out->actions |= CLUSTER_ACT_FOLLOW;
}

static bool may_act(const struct intake *in) {
    return in->out->moved_count < CLUSTER_ACTED_MAX && in->out->failed_count < CLUSTER_ACTED_MAX;
}

/* ---- Addresses ---- */

/* What the header says, from the other end's host where none is announced. */
static struct cluster_address sender_address(const struct intake *in) {
    struct cluster_address address = in->m->address;
    if (!*address.host) snprintf(address.host, sizeof(address.host), "%s", in->link->peer);
    return address;
}

/* Where a stranger says that it is. A name is not used, because looking it up would keep the
 * resolver busy for as long as the stranger's name server wants. */
static struct cluster_address stranger_address(const struct intake *in) {
    struct cluster_address address = sender_address(in);
    if (!socket_is_address(address.host))
        snprintf(address.host, sizeof(address.host), "%s", in->link->peer);
    return address;
}

static bool is_same_address(const struct cluster_address *a, const struct cluster_address *b) {
    return a->port == b->port && a->plain_port == b->plain_port && a->bus_port == b->bus_port &&
           strcasecmp(a->host, b->host) == 0;
}

static void set_address(struct intake *in, struct cluster_node *node,
                        const struct cluster_address *address) {
    if (!*address->host || !address->bus_port || is_same_address(&node->address, address)) return;
    node->address = *address;
    node->flags &= (uint16_t)~CLUSTER_NODE_NO_ADDRESS;
    cluster_changed(in->c);
    note_moved(in, node);
    log_warning("Address updated for node %s, now %s:%u", node->id.text, address->host,
                address->port);
}

/* A node without an announced address learns its own from the links that others open to it. */
static void learn_own_address(struct intake *in) {
    struct cluster_address *own = &in->c->self->address;
    const char *local = in->link->local;
    if (in->c->announces_host || !*local || strcmp(own->host, local) == 0) return;
    if (in->m->type != CLUSTER_MEET && *own->host) return;
    snprintf(own->host, sizeof(own->host), "%s", local);
    cluster_changed(in->c);
    log_warning("IP address for this node updated to %s", own->host);
}

/* ---- Handshakes ---- */

/* The answer to this node's first message has come. */
static void end_handshake(struct intake *in, struct cluster_node *node) {
    struct cluster_node *known = cluster_find(in->c, slice_of(in->m->sender.text));
    if (known) {
        log_verbose("Handshake: we already know node %s, updating the address if needed.",
                    known->id.text);
        struct cluster_address address = sender_address(in);
        if (known != in->c->self) set_address(in, known, &address);
        in->out->dropped = node;
        return;
    }
    bool renamed = cluster_rename(in->c, node, &in->m->sender);
    if (!renamed) return; /* nobody has the id: this does not happen */
    log_debug("Handshake with node %s completed.", node->id.text);
    node->flags &= (uint16_t) ~(CLUSTER_NODE_HANDSHAKE | CLUSTER_NODE_MEET);
    if (in->m->flags & CLUSTER_NODE_REPLICA)
        cluster_set_replica(in->c, node, NULL);
    else
        cluster_set_primary(in->c, node);
}

/* Another node answers where this one was looked for. */
static void note_mismatch(struct intake *in, struct cluster_node *node) {
    log_debug("PONG contains mismatching sender ID. About node %s, having flags %u", node->id.text,
              (unsigned)node->flags);
    node->flags |= CLUSTER_NODE_NO_ADDRESS;
    memset(&node->address, 0, sizeof(node->address));
    cluster_changed(in->c);
    in->out->actions |= CLUSTER_ACT_CLOSE;
}

/* ---- The sender's role and claims ---- */

/* A replica whose primary has become a replica goes on to that one's primary, so that no data takes
 * a way around. */
static void follow_grandparent(struct intake *in) {
    struct cluster_node *self = in->c->self, *primary = self->primary;
    if (cluster_node_is_primary(self) || !primary || cluster_node_is_primary(primary)) return;
    struct cluster_node *next = primary->primary;
    if (!next || next == self || !cluster_node_is_primary(next)) return;
    log_notice("The master of this node is a replica now. Reconfiguring myself as a replica of %s",
               next->id.text);
    cluster_set_replica(in->c, self, next);
    in->out->actions |= CLUSTER_ACT_FOLLOW | CLUSTER_ACT_ROLE_CHANGED;
}

static void promote_node(struct intake *in, struct cluster_node *node) {
    if (cluster_node_is_primary(node)) return;
    cluster_claim_promoted(in->c, node);
    cluster_set_primary(in->c, node);
}

static void take_role(struct intake *in, struct cluster_node *sender) {
    const struct cluster_id *id = &in->m->primary;
    if (!*id->text) {
        promote_node(in, sender);
        return;
    }
    struct cluster_node *primary = cluster_find(in->c, slice_of(id->text));
    if (primary == sender) return; /* nobody replicates itself */
    if (cluster_node_has(sender, CLUSTER_NODE_REPLICA) && !primary) return;
    cluster_set_replica(in->c, sender, primary);
    follow_grandparent(in);
}

/* Whether the bitmap has a slot of another owner than the node. */
static bool claims_more(const struct cluster *c, const struct cluster_node *node,
                        const unsigned char *slots) {
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        if (!slots[slot / 8])
            slot |= 7; /* none of these eight */
        else if (c->owners[slot] != node && cluster_bitmap_has(slots, slot))
            return true;
    }
    return false;
}

static void follow_claimer(struct intake *in, struct cluster_node *claimer) {
    struct cluster *c = in->c;
    log_warning("Configuration change detected. Reconfiguring myself as a replica of %s",
                claimer->id.text);
    cluster_slots_close(c);
    if (claimer != c->self->primary) cluster_set_replica(c, c->self, claimer);
    in->out->actions |= CLUSTER_ACT_FOLLOW | CLUSTER_ACT_ROLE_CHANGED;
}

static void take_claim(struct intake *in, struct cluster_node *claimer,
                       const unsigned char *slots) {
    struct cluster_claim claim;
    if (claimer == in->c->self || !cluster_node_is_primary(claimer)) return;
    cluster_claim(in->c, claimer, slots, in->rules->may_follow, &claim);
    if (claim.contests && cluster_epoch_surpass(in->c, claimer)) in->out->contender = claimer;
    if (claim.is_followed) {
        follow_claimer(in, claimer);
    } else if (claim.lost_count) {
        in->out->lost_count = claim.lost_count;
        memcpy(in->out->lost, claim.lost, sizeof(claim.lost));
    }
}

/* ---- Gossip ---- */

static void note_failed(struct intake *in, struct cluster_node *node) {
    if (cluster_failure_judge(in->c, node, in->rules->now_msec, in->rules->node_timeout_msec))
        in->out->failed[in->out->failed_count++] = node;
}

/* What a primary says of a node that is known here. */
static void take_report(struct intake *in, struct cluster_node *sender, struct cluster_node *node,
                        const struct cluster_entry *entry) {
    if (!cluster_node_is_primary(sender)) return;
    if (entry->flags & FAILING) {
        if (cluster_report_add(node, sender, in->rules->now_msec))
            log_verbose("Node %s reported node %s as not reachable.", sender->id.text,
                        node->id.text);
        note_failed(in, node);
    } else if (cluster_report_withdraw(node, sender)) {
        log_verbose("Node %s reported node %s is back online.", sender->id.text, node->id.text);
    }
}

static void take_known_entry(struct intake *in, struct cluster_node *sender,
                             struct cluster_node *node, const struct cluster_entry *entry) {
    int64_t now = in->rules->now_msec, pong_msec = (int64_t)entry->pong_received_sec * 1000;
    take_report(in, sender, node, entry);
    if (entry->flags & FAILING) return;
    if (!node->ping_sent_msec && pong_msec > node->pong_received_msec &&
        pong_msec <= now + CLOCKS_DIFFER_MSEC &&
        !cluster_reports_count(node, now, in->rules->node_timeout_msec))
        node->pong_received_msec = pong_msec;
    bool is_lost = cluster_node_has(node, FAILING | CLUSTER_NODE_NO_ADDRESS);
    if (is_lost && !(entry->flags & CLUSTER_NODE_NO_ADDRESS))
        set_address(in, node, &entry->address);
}

static void take_new_entry(struct intake *in, const struct cluster_entry *entry) {
    if (entry->flags & CLUSTER_NODE_NO_ADDRESS || !*entry->address.host ||
        !entry->address.bus_port || cluster_is_forgotten(&entry->id, in->rules->now_msec))
        return;
    struct cluster_node *node = cluster_add(in->c, &entry->id, entry->flags & KEPT_FLAGS);
    if (node) node->address = entry->address;
}

static void take_gossip(struct intake *in, struct cluster_node *sender) {
    for (unsigned i = 0; i < in->m->entry_count && may_act(in); i++) {
        struct cluster_entry entry;
        cluster_message_entry(in->m, i, &entry);
        struct cluster_node *node = cluster_find(in->c, slice_of(entry.id.text));
        if (!node)
            take_new_entry(in, &entry);
        else if (node != in->c->self)
            take_known_entry(in, sender, node, &entry);
    }
}

/* ---- The PING family ---- */

static void take_answer(struct intake *in, struct cluster_node *node) {
    node->pong_received_msec = in->rules->now_msec;
    node->ping_sent_msec = 0;
    if (node->pings_open) node->pings_open--;
    if (node->confirms_after) node->confirms_after--;
    (void)cluster_failure_end(in->c, node, in->rules->now_msec, in->rules->node_timeout_msec);
}

/* The sender has answered a PING: what it does not claim is confirmed as taken from it. A replica
 * of this node claims nothing, and does not say any more which epoch it had: not more than the
 * current one. */
static void take_confirmation(struct intake *in, struct cluster_node *sender) {
    static const unsigned char nothing[CLUSTER_BITMAP_BYTES];
    struct cluster *c = in->c;
    bool is_ours = cluster_node_shard(sender) == c->self;
    if (sender->confirms_after ||
        !cluster_claim_confirm(c, sender, is_ours ? nothing : in->m->slots))
        return;
    bool bumped = is_ours ? cluster_epoch_bump(c) : cluster_epoch_surpass(c, sender);
    if (bumped) in->out->contender = sender;
}

static void take_flags(struct intake *in, struct cluster_node *sender) {
    unsigned told = in->m->flags & CLUSTER_NODE_NO_FAILOVER;
    if ((sender->flags & CLUSTER_NODE_NO_FAILOVER) == told) return;
    sender->flags = (uint16_t)((sender->flags & ~(unsigned)CLUSTER_NODE_NO_FAILOVER) | told);
    cluster_changed(in->c);
}

/* The sender is known, and in no handshake. */
static void take_heartbeat(struct intake *in, struct cluster_node *sender) {
    const struct cluster_message *m = in->m;
    take_flags(in, sender);
    if (m->type == CLUSTER_PING && !in->link->own) {
        struct cluster_address address = sender_address(in);
        set_address(in, sender, &address);
    }
    bool answers = m->type == CLUSTER_PONG && in->link->own;
    if (answers) take_answer(in, sender);
    take_role(in, sender);
    /* Once more, because an epoch belongs to a primary, which the sender may just have become. */
    (void)cluster_epoch_hear(in->c, sender, m->current_epoch, m->config_epoch);
    if (claims_more(in->c, cluster_node_shard(sender), m->slots)) {
        take_claim(in, sender, m->slots);
        in->out->refuter = cluster_claim_refuter(in->c, sender, m->config_epoch, m->slots);
    }
    if (answers) take_confirmation(in, sender);
    if (m->config_epoch == in->c->self->config_epoch && cluster_epoch_part(in->c, sender))
        in->out->actions |= CLUSTER_ACT_PONG_TO_SHARD;
    take_gossip(in, sender);
}

static void take_ping_family(struct intake *in, struct cluster_node *sender) {
    const struct cluster_message *m = in->m;
    struct cluster_node *node = in->link->own ? in->link->node : NULL;
    if (m->type != CLUSTER_PONG) {
        learn_own_address(in);
        in->out->actions |= CLUSTER_ACT_PONG;
    }
    if (m->type == CLUSTER_MEET && !sender) {
        struct cluster_address address = stranger_address(in);
        cluster_handshake_begin(in->c, &address, 0);
    }
    if (node && cluster_node_has(node, CLUSTER_NODE_HANDSHAKE)) {
        end_handshake(in, node);
        if (!in->out->dropped) take_answer(in, node);
        return;
    }
    if (node && strcmp(node->id.text, m->sender.text) != 0) {
        note_mismatch(in, node);
        return;
    }
    if (in->out->sender) take_heartbeat(in, sender);
}

/* ---- Messages about a third node ---- */

static void take_fail(struct intake *in, const struct cluster_node *sender) {
    struct cluster_node *about = cluster_find(in->c, slice_of(in->m->about.text));
    if (about) (void)cluster_failure_believe(in->c, about, sender, in->rules->now_msec);
}

static void take_update(struct intake *in) {
    struct cluster_node *about = cluster_find(in->c, slice_of(in->m->about.text));
    uint64_t epoch = in->m->about_epoch;
    if (!about || cluster_node_has(about, CLUSTER_NODE_MYSELF | CLUSTER_NODE_HANDSHAKE) ||
        about->config_epoch >= epoch || epoch > CLUSTER_EPOCH_MAX)
        return;
    promote_node(in, about);
    (void)cluster_epoch_hear(in->c, about, epoch, epoch);
    take_claim(in, about, in->m->about_slots);
}

void cluster_intake(struct cluster *c, const struct cluster_message *m,
                    const struct cluster_link_facts *link, const struct cluster_intake_rules *rules,
                    struct cluster_consequences *out) {
    struct intake in = {c, m, link, rules, out};
    struct cluster_node *sender = cluster_find(c, slice_of(m->sender.text));
    memset(out, 0, sizeof(*out));
    if (sender && sender != c->self && !cluster_node_has(sender, CLUSTER_NODE_HANDSHAKE)) {
        out->sender = sender;
        sender->data_received_msec = rules->now_msec;
        sender->offset = m->offset;
        sender->offset_msec = rules->now_msec;
        (void)cluster_epoch_hear(c, sender, m->current_epoch, m->config_epoch);
    }
    if (cluster_message_is_heartbeat(m->type))
        take_ping_family(&in, sender);
    else if (out->sender && m->type == CLUSTER_FAIL)
        take_fail(&in, sender);
    else if (out->sender && m->type == CLUSTER_UPDATE)
        take_update(&in);
}
