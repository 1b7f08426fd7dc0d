/* SPDX-License-Identifier: BSD-3-Clause
 * What this node says. compose.h has the idea.
 *
 * Gossip: each message of the PING family tells of some nodes that are drawn, a tenth of those that
 * are known, and of all that are suspected. Of a suspected one all are to hear soon, because a
 * majority has to agree before it counts as failed; of the others each node hears in about ten
 * rounds.
 *
 * Invariant: `shown` has the epochs that the last header showed, and the version of nodes.conf that
 * has them.
 */
#include "bus/compose.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "bus/bus.h"
#include "topology/nodes.h"
#include "topology/nodes_file.h"
#include "topology/slots.h"

/* A message tells of so many drawn nodes at least, and of a tenth of all: 6.2's numbers. */
#define GOSSIP_MIN 3
#define GOSSIP_SHARE 10
/* Draws for each node that is wanted; some draws fail. */
#define GOSSIP_DRAWS 3

static void (*get_facts)(struct cluster_own_facts *facts);
static struct { uint64_t current_epoch, config_epoch, version; } shown;
/* The bitmap of the header, which changes seldom. */
static struct {
    const struct cluster *c;
    const struct cluster_node *owner;
    uint64_t changes;
    unsigned char bitmap[CLUSTER_BITMAP_BYTES];
} claimed;

void cluster_compose_set_facts(void (*facts)(struct cluster_own_facts *facts)) {
    get_facts = facts;
}

/* ---- The header ---- */

/* The version of nodes.conf that has the epochs of the view. */
static uint64_t epochs_version(const struct cluster *c) {
    uint64_t config_epoch = cluster_node_epoch(c->self);
    if (shown.current_epoch != c->current_epoch || shown.config_epoch != config_epoch) {
        shown.current_epoch = c->current_epoch;
        shown.config_epoch = config_epoch;
        shown.version = cluster_file_later();
    }
    return shown.version;
}

/* The bitmap of what this node's shard claims; valid until the next change. */
static const unsigned char *claimed_slots(struct cluster *c) {
    const struct cluster_node *owner = cluster_node_shard(c->self);
    if (claimed.c == c && claimed.owner == owner && claimed.changes == c->changes)
        return claimed.bitmap;
    claimed.c = c;
    claimed.owner = owner;
    claimed.changes = c->changes;
    if (owner)
        cluster_slots_bitmap(c, owner, claimed.bitmap);
    else
        memset(claimed.bitmap, 0, sizeof(claimed.bitmap));
    return claimed.bitmap;
}

static void header_fill(struct cluster *c, enum cluster_message_type type,
                        struct cluster_message *m) {
    const struct cluster_node *self = c->self;
    struct cluster_own_facts facts = {0};
    if (get_facts) get_facts(&facts);
    memset(m, 0, sizeof(*m));
    m->type = type;
    m->current_epoch = c->current_epoch;
    m->config_epoch = cluster_node_epoch(self);
    m->offset = facts.offset;
    m->marks = facts.marks;
    m->sender = self->id;
    if (self->primary) m->primary = self->primary->id;
    m->address = self->address;
    /* An address that was only found out is not announced: each node finds it out by itself. */
    if (!c->announces_host) m->address.host[0] = '\0';
    m->flags = self->flags & ~(unsigned)CLUSTER_NODE_MYSELF;
    m->fails = !c->ok;
    m->slots = claimed_slots(c);
}

/* ---- Sending ---- */

/* Makes a parcel of the message, which is not of the PING family. */
static struct cluster_parcel *parcel_of(const struct cluster *c, const struct cluster_message *m) {
    struct buffer bytes;
    buffer_init(&bytes, MEMORY_OTHER);
    cluster_message_print(m, &bytes);
    return cluster_parcel_new(m->type, &bytes, epochs_version(c));
}

static void send_to(const struct cluster *c, struct cluster_link *link,
                    const struct cluster_message *m) {
    struct cluster_parcel *parcel = parcel_of(c, m);
    cluster_link_send(link, parcel);
    cluster_parcel_drop(parcel);
}

static bool is_reached(const struct cluster_node *node) {
    return node->link && cluster_link_is_up(node->link) &&
           !cluster_node_has(node, CLUSTER_NODE_HANDSHAKE);
}

/* Sends the message to all nodes but those in a handshake. Returns to how many. */
static size_t send_to_all(struct cluster *c, const struct cluster_message *m) {
    struct cluster_parcel *parcel = parcel_of(c, m);
    size_t sent = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!is_reached(c->nodes[i])) continue;
        cluster_link_send(c->nodes[i]->link, parcel);
        sent++;
    }
    cluster_parcel_drop(parcel);
    return sent;
}

/* ---- The PING family ---- */

static void add_entry(const struct cluster_node *node, struct buffer *bytes) {
    const struct cluster_entry entry = {
        .id = node->id,
        .ping_sent_sec = (uint32_t)(node->ping_sent_msec / 1000),
        .pong_received_sec = (uint32_t)(node->pong_received_msec / 1000),
        .address = node->address,
        .flags = node->flags & ~(unsigned)CLUSTER_NODE_MYSELF,
    };
    cluster_message_add(bytes, 0, &entry);
}

/* Whether a node may be drawn. Nodes that are suspected are told in any case. */
static bool is_told(const struct cluster_node *node) {
    unsigned hidden = CLUSTER_NODE_MYSELF | CLUSTER_NODE_SUSPECTED | CLUSTER_NODE_HANDSHAKE |
                      CLUSTER_NODE_NO_ADDRESS;
    return !cluster_node_has(node, hidden) && (node->link || node->slot_count);
}

static bool is_among(struct cluster_node *const *drawn, size_t count,
                     const struct cluster_node *node) {
    for (size_t i = 0; i < count; i++)
        if (drawn[i] == node) return true;
    return false;
}

static void add_drawn(const struct cluster *c, struct buffer *bytes) {
    struct cluster_node *drawn[CLUSTER_NODES_MAX / GOSSIP_SHARE + GOSSIP_MIN];
    size_t wanted = c->count / GOSSIP_SHARE, count = 0;
    if (wanted < GOSSIP_MIN) wanted = GOSSIP_MIN;
    if (wanted + 2 > c->count) wanted = c->count > 2 ? c->count - 2 : 0;
    for (size_t draws = wanted * GOSSIP_DRAWS; draws && count < wanted; draws--) {
        struct cluster_node *node = c->nodes[random_below(c->count)];
        if (!is_told(node) || is_among(drawn, count, node)) continue;
        drawn[count++] = node;
        add_entry(node, bytes);
    }
}

static void add_suspected(const struct cluster *c, struct buffer *bytes) {
    for (size_t i = 0; i < c->count; i++) {
        const struct cluster_node *node = c->nodes[i];
        if (cluster_node_has(node, CLUSTER_NODE_SUSPECTED) &&
            !cluster_node_has(node, CLUSTER_NODE_HANDSHAKE | CLUSTER_NODE_NO_ADDRESS))
            add_entry(node, bytes);
    }
}

void cluster_say_ping(struct cluster *c, struct cluster_link *link,
                      enum cluster_message_type type) {
    struct cluster_message m;
    struct buffer bytes;
    struct cluster_node *node = cluster_link_node(link);
    header_fill(c, type, &m);
    buffer_init(&bytes, MEMORY_OTHER);
    cluster_message_print(&m, &bytes);
    add_drawn(c, &bytes);
    add_suspected(c, &bytes);
    struct cluster_parcel *parcel = cluster_parcel_new(type, &bytes, epochs_version(c));
    cluster_link_send(link, parcel);
    cluster_parcel_drop(parcel);
    if (type == CLUSTER_PONG || !node || !cluster_link_is_own(link)) return;
    node->pings_open++;
    if (!node->ping_sent_msec) node->ping_sent_msec = clock_wall_msec();
}

void cluster_say_pong_to_all(struct cluster *c) {
    for (size_t i = 0; i < c->count; i++)
        if (is_reached(c->nodes[i])) cluster_say_ping(c, c->nodes[i]->link, CLUSTER_PONG);
}

void cluster_say_taken(struct cluster *c, struct cluster_node *from) {
    cluster_say_pong_to_all(c);
    if (!is_reached(from)) return;
    cluster_say_ping(c, from->link, CLUSTER_PING);
    from->confirms_after = from->pings_open;
}

void cluster_say_pong_to_shard(struct cluster *c) {
    const struct cluster_node *primary = cluster_node_shard(c->self);
    for (size_t i = 0; i < c->count; i++) {
        struct cluster_node *node = c->nodes[i];
        bool ours = node != c->self && primary && cluster_node_shard(node) == primary;
        if (ours && is_reached(node)) cluster_say_ping(c, node->link, CLUSTER_PONG);
    }
}

/* ---- The others ---- */

void cluster_say_auth_request(struct cluster *c, bool force) {
    struct cluster_message m;
    header_fill(c, CLUSTER_AUTH_REQUEST, &m);
    if (force) m.marks |= CLUSTER_MARK_FORCE_ACK;
    (void)send_to_all(c, &m);
}

void cluster_say_auth_ack(struct cluster *c, struct cluster_node *to, uint64_t version) {
    struct cluster_message m;
    struct buffer bytes;
    if (!is_reached(to)) return;
    header_fill(c, CLUSTER_AUTH_ACK, &m);
    buffer_init(&bytes, MEMORY_OTHER);
    cluster_message_print(&m, &bytes);
    uint64_t shown_version = epochs_version(c);
    struct cluster_parcel *parcel = cluster_parcel_new(
        CLUSTER_AUTH_ACK, &bytes, version > shown_version ? version : shown_version);
    cluster_link_send(to->link, parcel);
    cluster_parcel_drop(parcel);
}

void cluster_say_mfstart(struct cluster *c, struct cluster_node *to) {
    struct cluster_message m;
    if (!is_reached(to)) return;
    header_fill(c, CLUSTER_MFSTART, &m);
    send_to(c, to->link, &m);
}

void cluster_say_fail(struct cluster *c, const struct cluster_node *about) {
    struct cluster_message m;
    header_fill(c, CLUSTER_FAIL, &m);
    m.about = about->id;
    (void)send_to_all(c, &m);
}

void cluster_say_update(struct cluster *c, struct cluster_link *link,
                        const struct cluster_node *about) {
    struct cluster_message m;
    unsigned char slots[CLUSTER_BITMAP_BYTES];
    header_fill(c, CLUSTER_UPDATE, &m);
    cluster_slots_bitmap(c, about, slots);
    m.about = about->id;
    m.about_epoch = about->config_epoch;
    m.about_slots = slots;
    send_to(c, link, &m);
}

size_t cluster_say_publish(struct cluster *c, struct slice channel, struct slice text) {
    struct cluster_message m;
    if (c->count < 2) return 0;
    if (channel.length > CLUSTER_TEXTS_BYTES_MAX ||
        text.length > CLUSTER_TEXTS_BYTES_MAX - channel.length) {
        log_warning(
            "A message is not published on other nodes: channel and text may have %u bytes.",
            CLUSTER_TEXTS_BYTES_MAX);
        return 0;
    }
    header_fill(c, CLUSTER_PUBLISH, &m);
    m.channel = channel;
    m.text = text;
    return send_to_all(c, &m);
}
