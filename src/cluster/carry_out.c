/* SPDX-License-Identifier: BSD-3-Clause
 * What a message has brought about is made true. carry_out.h has the idea.
 *
 * Invariant: links close last, because the one over which the message came may be among them; its
 * struct lives until the hook returns (bus/bus.h).
 */
#include "cluster/carry_out.h"

#include <string.h>

#include "base/clock.h"
#include "bus/bus.h"
#include "bus/compose.h"
#include "bus/intake.h"
#include "cluster/follow.h"
#include "cluster/options.h"
#include "cluster/succession.h"
#include "io/socket.h"
#include "publish/pubsub.h"
#include "store/slot_drop.h"
#include "topology/nodes.h"

static struct cluster *view;
/* For the end of the turn. */
static struct {
    bool follows, loses;
    unsigned char lost[CLUSTER_BITMAP_BYTES];
} later;

void cluster_carry_out_open(struct cluster *c) {
    view = c;
    memset(&later, 0, sizeof(later));
}

/* ---- the end of the turn ---- */

static void drop_lost(void) {
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        if (cluster_bitmap_has(later.lost, slot) && view->owners[slot] != view->self)
            slot_drop(slot);
}

/* A replica's keys are its primary's to drop. */
void cluster_carry_out_step(void) {
    bool follows = later.follows, loses = later.loses;
    if (!follows && !loses) return;
    later.follows = later.loses = false;
    if (follows) cluster_follow();
    if (loses && cluster_node_is_primary(view->self)) drop_lost();
    memset(later.lost, 0, sizeof(later.lost));
}

static void note_lost(const struct cluster_consequences *out) {
    if (!out->lost_count) return;
    later.loses = true;
    for (size_t i = 0; i < CLUSTER_BITMAP_BYTES; i++) later.lost[i] |= out->lost[i];
}

/* ---- a message ---- */

static void take_in(struct cluster_link *link, const struct cluster_message *m,
                    struct cluster_consequences *out) {
    struct socket_peer peer = {.port = 0}, local = {.port = 0};
    const struct cluster_options *o = cluster_options();
    const struct cluster_intake_rules rules = {
        .now_msec = clock_wall_msec(),
        .node_timeout_msec = o->node_timeout_ms,
        .may_follow = o->replica_migration,
    };
    bool own = cluster_link_is_own(link);
    struct cluster_link_facts facts = {
        .own = own, .node = own ? cluster_link_node(link) : NULL, .peer = "", .local = ""};
    /* Two calls of the system, which no other message needs: published ones may be many. */
    if (cluster_message_is_heartbeat(m->type)) {
        if (cluster_link_peer(link, &peer)) facts.peer = peer.address;
        if (cluster_link_local(link, &local)) facts.local = local.address;
    }
    cluster_intake(view, m, &facts, &rules, out);
}

static void send_answers(struct cluster_link *link, const struct cluster_consequences *out) {
    if (out->actions & CLUSTER_ACT_PONG) cluster_say_ping(view, link, CLUSTER_PONG);
    if (out->refuter && out->sender->link)
        cluster_say_update(view, out->sender->link, out->refuter);
    if (out->contender) cluster_say_taken(view, out->contender);
    for (unsigned i = 0; i < out->failed_count; i++) cluster_say_fail(view, out->failed[i]);
    if (out->actions & CLUSTER_ACT_PONG_TO_SHARD) cluster_say_pong_to_shard(view);
}

static void tell_succession(const struct cluster_link *link, const struct cluster_message *m,
                            const struct cluster_consequences *out) {
    if (out->actions & CLUSTER_ACT_ROLE_CHANGED) cluster_succession_role_changed();
    if (!out->sender) return;
    bool answers = m->type == CLUSTER_PONG && cluster_link_is_own(link) &&
                   cluster_link_node(link) == out->sender;
    cluster_succession_header(out->sender, m, answers);
    switch (m->type) {
    case CLUSTER_AUTH_REQUEST: cluster_succession_request(out->sender, m); break;
    case CLUSTER_AUTH_ACK: cluster_succession_ack(out->sender, m); break;
    case CLUSTER_MFSTART: cluster_succession_mfstart(out->sender); break;
    default: break;
    }
}

static void close_links(struct cluster_link *link, const struct cluster_consequences *out) {
    for (unsigned i = 0; i < out->moved_count; i++)
        if (out->moved[i]->link) cluster_link_close(out->moved[i]->link);
    if (out->actions & CLUSTER_ACT_CLOSE) cluster_link_close(link);
    if (out->dropped) cluster_drop(view, out->dropped);
}

void cluster_carry_out_received(struct cluster_link *link, const struct cluster_message *m) {
    struct cluster_consequences out;
    take_in(link, m, &out);
    if (out.sender && !cluster_link_is_own(link)) cluster_link_set_sender(link, out.sender);
    send_answers(link, &out);
    tell_succession(link, m, &out);
    if (out.sender && m->type == CLUSTER_PUBLISH) (void)pubsub_deliver(m->channel, m->text);
    later.follows |= (out.actions & CLUSTER_ACT_FOLLOW) != 0;
    note_lost(&out);
    close_links(link, &out);
}
