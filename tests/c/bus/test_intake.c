/* SPDX-License-Identifier: BSD-3-Clause
 * What messages change: handshakes, addresses, roles, claims, gossip, FAIL, UPDATE; and that a
 * stranger changes nothing.
 */
#include "bus/intake.h"

#include "base/memory.h"
#include "bus/meet.h"
#include "topology/cluster_scene.h"
#include "topology/epochs.h"
#include "topology/failure.h"

#define NOW 1000000
#define TIMEOUT 1000

/* A message under construction, and what came of it. */
struct talk {
    struct cluster *c;
    struct cluster_message m;
    struct cluster_entry entries[20];
    unsigned count;
    struct cluster_link_facts link;
    struct cluster_consequences out;
    unsigned char slots[CLUSTER_BITMAP_BYTES], about_slots[CLUSTER_BITMAP_BYTES];
};

/* This node is 5 with slots 0 to 9 under epoch 3; a has 10 to 19 under 5, b 20 to 29 under 4; c is
 * a replica of a. */
static struct cluster *make_scene(void) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    cluster_set_replica(c, scene_add(c, 'c', 0), a);
    c->self->config_epoch = 3;
    a->config_epoch = 5;
    b->config_epoch = 4;
    c->current_epoch = 5;
    snprintf(c->self->address.host, sizeof(c->self->address.host), "127.0.0.1");
    scene_give(c, c->self, 0, 9);
    scene_give(c, a, 10, 19);
    scene_give(c, b, 20, 29);
    return c;
}

static void put_slots(unsigned char *bitmap, unsigned first, unsigned last) {
    for (unsigned slot = first; slot <= last; slot++)
        bitmap[slot / 8] |= (unsigned char)(1U << (slot % 8));
}

/* A message of a known node as it would send it now, over the link that it has opened. */
static void begin(struct talk *t, struct cluster *c, enum cluster_message_type type, char sender) {
    struct cluster_node *node = scene_find(c, sender);
    memset(t, 0, sizeof(*t));
    t->c = c;
    t->link = (struct cluster_link_facts){.peer = "127.0.0.1", .local = "127.0.0.1"};
    t->m.type = type;
    t->m.sender = scene_id(sender);
    t->m.current_epoch = c->current_epoch;
    t->m.flags = CLUSTER_NODE_PRIMARY;
    t->m.slots = t->slots;
    t->m.about_slots = t->about_slots;
    if (!node) return;
    t->m.address = node->address;
    t->m.address.host[0] = '\0';
    t->m.config_epoch = cluster_node_epoch(node);
    t->m.flags = node->flags & (CLUSTER_NODE_PRIMARY | CLUSTER_NODE_REPLICA);
    if (node->primary) t->m.primary = node->primary->id;
    if (cluster_node_shard(node)) cluster_slots_bitmap(c, cluster_node_shard(node), t->slots);
}

static struct cluster_entry *tell(struct talk *t, char about, unsigned flags) {
    struct cluster_entry *entry = &t->entries[t->count++];
    const struct cluster_node *node = scene_find(t->c, about);
    entry->id = scene_id(about);
    entry->flags = flags;
    if (node) entry->address = node->address;
    return entry;
}

static void hear(struct talk *t) {
    const struct cluster_intake_rules rules = {
        .now_msec = NOW, .node_timeout_msec = TIMEOUT, .may_follow = true};
    struct buffer bytes;
    struct cluster_message m;
    const char *why;
    buffer_init(&bytes, MEMORY_OTHER);
    cluster_message_print(&t->m, &bytes);
    for (unsigned i = 0; i < t->count; i++) cluster_message_add(&bytes, 0, &t->entries[i]);
    if (!cluster_message_parse(buffer_slice(&bytes), &m, &why)) fail_msg("%s", why);
    cluster_intake(t->c, &m, &t->link, &rules, &t->out);
    buffer_free(&bytes);
    cluster_check(t->c);
}

/* ---- strangers ---- */

static void test_strangers(void **state) {
    static const enum cluster_message_type types[] = {CLUSTER_PONG, CLUSTER_FAIL, CLUSTER_UPDATE,
                                                      CLUSTER_AUTH_REQUEST, CLUSTER_PUBLISH};
    struct cluster *c = make_scene();
    struct talk t;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        uint64_t changes = c->changes;
        begin(&t, c, types[i], 'e');
        t.m.current_epoch = t.m.config_epoch = 100;
        t.m.about = scene_id('a');
        t.m.about_epoch = 100;
        put_slots(t.slots, 0, 29);
        put_slots(t.about_slots, 0, 29);
        if (types[i] == CLUSTER_PONG) tell(&t, 'b', CLUSTER_NODE_FAILED);
        hear(&t);
        assert_null(t.out.sender);
        assert_int_equal(t.out.actions, 0);
        assert_int_equal(c->changes, changes);
        assert_int_equal(c->current_epoch, 5);
    }
    cluster_free(c);
}

static void test_own_id(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    uint64_t changes = c->changes;
    begin(&t, c, CLUSTER_PING, '5');
    put_slots(t.slots, 10, 29);
    t.m.config_epoch = 100;
    hear(&t);
    assert_null(t.out.sender);
    assert_int_equal(t.out.actions, CLUSTER_ACT_PONG);
    assert_int_equal(c->changes, changes);
    cluster_free(c);
}

/* ---- handshakes ---- */

static struct cluster_node *find_handshake(const struct cluster *c) {
    for (size_t i = 0; i < c->count; i++)
        if (cluster_node_has(c->nodes[i], CLUSTER_NODE_HANDSHAKE)) return c->nodes[i];
    return NULL;
}

static void test_meet_begins_one(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    for (int times = 0; times < 2; times++) { /* the second MEET finds it under way */
        begin(&t, c, CLUSTER_MEET, 'e');
        t.m.address.port = 7100;
        t.m.address.bus_port = 17100;
        t.link.peer = "10.0.0.9";
        hear(&t);
        assert_int_equal(t.out.actions, CLUSTER_ACT_PONG);
        assert_int_equal(c->count, 5);
    }
    const struct cluster_node *node = find_handshake(c);
    assert_string_equal(node->address.host, "10.0.0.9");
    assert_int_equal(node->address.bus_port, 17100);
    assert_false(cluster_node_has(node, CLUSTER_NODE_MEET));
    /* A PING of a stranger begins none, and neither does a MEET of a known node. */
    begin(&t, c, CLUSTER_PING, 'f');
    t.m.address.bus_port = 17200;
    hear(&t);
    begin(&t, c, CLUSTER_MEET, 'a');
    hear(&t);
    assert_int_equal(c->count, 5);
    cluster_free(c);
}

/* What a stranger announces, and where the handshake goes then. */
static const struct announced_host {
    const char *announced, *used;
} announced_hosts[] = {
    {"", "10.0.0.9"},
    {"10.0.0.7", "10.0.0.7"},
    {"fe80::7", "fe80::7"},
    {"slow.example", "10.0.0.9"},
};

/* Looking a name up may take as long as a stranger's name server wants. */
static void test_stranger_has_no_name(void **state) {
    for (size_t i = 0; i < sizeof(announced_hosts) / sizeof(announced_hosts[0]); i++) {
        struct cluster *c = make_scene();
        struct talk t;
        begin(&t, c, CLUSTER_MEET, 'e');
        t.m.address.port = 7100;
        t.m.address.bus_port = 17100;
        snprintf(t.m.address.host, sizeof(t.m.address.host), "%s", announced_hosts[i].announced);
        t.link.peer = "10.0.0.9";
        hear(&t);
        const struct cluster_node *node = find_handshake(c);
        assert_non_null(node);
        assert_string_equal(node->address.host, announced_hosts[i].used);
        cluster_free(c);
    }
    /* A known node may have a name. */
    struct cluster *c = make_scene();
    struct talk t;
    begin(&t, c, CLUSTER_PING, 'a');
    snprintf(t.m.address.host, sizeof(t.m.address.host), "a.example");
    hear(&t);
    assert_string_equal(scene_find(c, 'a')->address.host, "a.example");
    cluster_free(c);
}

static void begin_answer(struct talk *t, struct cluster *c, struct cluster_node *node,
                         char sender) {
    begin(t, c, CLUSTER_PONG, sender);
    t->link.own = true;
    t->link.node = node;
}

static void test_handshake_ends(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_address address = {.host = "127.0.0.1", .port = 7300, .bus_port = 17300};
    cluster_handshake_begin(c, &address, CLUSTER_NODE_MEET);
    struct cluster_node *node = find_handshake(c);
    node->ping_sent_msec = 1;
    begin_answer(&t, c, node, 'e');
    hear(&t);
    assert_ptr_equal(scene_find(c, 'e'), node);
    assert_int_equal(node->flags, CLUSTER_NODE_PRIMARY);
    assert_int_equal(node->ping_sent_msec, 0);
    assert_null(t.out.dropped);
    /* One of a node that is known at another address. */
    address.bus_port = 17301;
    cluster_handshake_begin(c, &address, CLUSTER_NODE_MEET);
    node = find_handshake(c);
    begin_answer(&t, c, node, 'a');
    t.m.address.port = 7301;
    t.m.address.bus_port = 17301;
    hear(&t);
    assert_ptr_equal(t.out.dropped, node);
    assert_int_equal(scene_find(c, 'a')->address.bus_port, 17301);
    cluster_free(c);
}

static void test_handshake_with_itself(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_address address = {.host = "127.0.0.1", .port = 7300, .bus_port = 17300};
    cluster_handshake_begin(c, &address, CLUSTER_NODE_MEET);
    struct cluster_node *node = find_handshake(c);
    begin_answer(&t, c, node, '5');
    hear(&t);
    assert_ptr_equal(t.out.dropped, node);
    assert_null(t.out.sender);
    cluster_free(c);
}

static void test_another_answers(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_node *a = scene_find(c, 'a');
    begin_answer(&t, c, a, 'b');
    hear(&t);
    assert_int_equal(t.out.actions, CLUSTER_ACT_CLOSE);
    assert_true(cluster_node_has(a, CLUSTER_NODE_NO_ADDRESS));
    assert_string_equal(a->address.host, "");
    /* It says itself where it is. */
    begin(&t, c, CLUSTER_PING, 'a');
    t.m.address.port = 7001;
    t.m.address.bus_port = 17001;
    hear(&t);
    assert_false(cluster_node_has(a, CLUSTER_NODE_NO_ADDRESS));
    assert_string_equal(a->address.host, "127.0.0.1");
    cluster_free(c);
}

/* ---- addresses ---- */

static void test_own_address(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    begin(&t, c, CLUSTER_PING, 'a');
    t.link.local = "10.0.0.1";
    hear(&t);
    assert_string_equal(c->self->address.host, "127.0.0.1");
    begin(&t, c, CLUSTER_MEET, 'a');
    t.link.local = "10.0.0.1";
    hear(&t);
    assert_string_equal(c->self->address.host, "10.0.0.1");
    c->announces_host = true;
    begin(&t, c, CLUSTER_MEET, 'a');
    t.link.local = "10.0.0.2";
    hear(&t);
    assert_string_equal(c->self->address.host, "10.0.0.1");
    cluster_free(c);
}

static void test_address_moves(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_node *a = scene_find(c, 'a');
    cluster_slots_release(c, c->self);
    cluster_set_replica(c, c->self, a);
    begin(&t, c, CLUSTER_PING, 'a');
    t.m.address.port = 7999;
    hear(&t);
    assert_int_equal(a->address.port, 7999);
    assert_int_equal(t.out.moved_count, 1);
    assert_ptr_equal(t.out.moved[0], a);
    assert_int_equal(t.out.actions, CLUSTER_ACT_PONG | CLUSTER_ACT_FOLLOW);
    /* An announced host wins over the socket's; a PONG says nothing about addresses. */
    begin(&t, c, CLUSTER_PING, 'a');
    snprintf(t.m.address.host, sizeof(t.m.address.host), "example.org");
    hear(&t);
    assert_string_equal(a->address.host, "example.org");
    begin(&t, c, CLUSTER_PONG, 'a');
    t.m.address.port = 7998;
    hear(&t);
    assert_int_equal(a->address.port, 7999);
    cluster_free(c);
}

/* ---- answers, roles, claims ---- */

static void test_answer(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_node *a = scene_find(c, 'a');
    a->ping_sent_msec = NOW - 5000;
    assert_true(cluster_failure_suspect(c, a, NOW, TIMEOUT));
    begin(&t, c, CLUSTER_PONG, 'a'); /* over the other's link: no answer */
    hear(&t);
    assert_true(cluster_node_has(a, CLUSTER_NODE_SUSPECTED));
    begin_answer(&t, c, a, 'a');
    hear(&t);
    assert_false(cluster_node_has(a, CLUSTER_NODE_SUSPECTED));
    assert_int_equal(a->ping_sent_msec, 0);
    assert_int_equal(a->pong_received_msec, NOW);
    assert_int_equal(a->data_received_msec, NOW);
    cluster_free(c);
}

static void test_failover_is_heard(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_node *a = scene_find(c, 'a'), *successor = scene_find(c, 'c');
    begin(&t, c, CLUSTER_PONG, 'c');
    t.m.primary.text[0] = '\0';
    t.m.flags = CLUSTER_NODE_PRIMARY;
    t.m.current_epoch = t.m.config_epoch = 6;
    t.m.offset = 77;
    hear(&t);
    assert_true(cluster_node_is_primary(successor));
    assert_int_equal(successor->config_epoch, 6);
    assert_int_equal(successor->offset, 77);
    assert_int_equal(c->current_epoch, 6);
    assert_int_equal(successor->slot_count, 10);
    assert_int_equal(a->slot_count, 0);
    /* The former primary still claims them, and is told better. */
    begin(&t, c, CLUSTER_PONG, 'a');
    put_slots(t.slots, 10, 19);
    t.m.config_epoch = 5;
    hear(&t);
    assert_ptr_equal(t.out.refuter, successor);
    assert_int_equal(successor->slot_count, 10);
    /* It follows. */
    begin(&t, c, CLUSTER_PONG, 'a');
    t.m.flags = CLUSTER_NODE_REPLICA;
    t.m.primary = successor->id;
    t.m.config_epoch = 6;
    cluster_slots_bitmap(c, successor, t.slots);
    hear(&t);
    assert_ptr_equal(a->primary, successor);
    assert_null(t.out.refuter);
    cluster_free(c);
}

static void test_lost_slots(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    begin(&t, c, CLUSTER_PING, 'a');
    put_slots(t.slots, 8, 9);
    hear(&t);
    assert_int_equal(t.out.lost_count, 2);
    assert_true(cluster_bitmap_has(t.out.lost, 8) && cluster_bitmap_has(t.out.lost, 9));
    assert_int_equal(c->self->slot_count, 8);
    assert_int_equal(t.out.actions, CLUSTER_ACT_PONG);
    /* The last one: this node follows who has it, and its keys are that one's affair. */
    begin(&t, c, CLUSTER_PING, 'a');
    put_slots(t.slots, 0, 9);
    hear(&t);
    assert_int_equal(t.out.lost_count, 0);
    assert_int_equal(t.out.actions,
                     CLUSTER_ACT_PONG | CLUSTER_ACT_FOLLOW | CLUSTER_ACT_ROLE_CHANGED);
    assert_ptr_equal(c->self->primary, scene_find(c, 'a'));
    cluster_free(c);
}

static void test_role_without_sense(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    begin(&t, c, CLUSTER_PING, 'a'); /* of itself */
    t.m.flags = CLUSTER_NODE_REPLICA;
    t.m.primary = scene_id('a');
    hear(&t);
    assert_true(cluster_node_is_primary(scene_find(c, 'a')));
    begin(&t, c, CLUSTER_PING, 'c'); /* of a node that is not known: as before */
    t.m.primary = scene_id('e');
    hear(&t);
    assert_ptr_equal(scene_find(c, 'c')->primary, scene_find(c, 'a'));
    cluster_free(c);
}

static void test_chain_of_replicas(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    cluster_slots_release(c, c->self);
    cluster_set_replica(c, c->self, scene_find(c, 'a'));
    begin(&t, c, CLUSTER_PING, 'a');
    t.m.flags = CLUSTER_NODE_REPLICA;
    t.m.primary = scene_id('b');
    memset(t.slots, 0, sizeof(t.slots));
    hear(&t);
    assert_ptr_equal(c->self->primary, scene_find(c, 'b'));
    assert_true(t.out.actions & CLUSTER_ACT_FOLLOW);
    /* A ring has no end to go to. */
    begin(&t, c, CLUSTER_PING, 'b');
    t.m.flags = CLUSTER_NODE_REPLICA;
    t.m.primary = scene_id('5');
    memset(t.slots, 0, sizeof(t.slots));
    hear(&t);
    assert_ptr_equal(c->self->primary, scene_find(c, 'b'));
    cluster_free(c);
}

static void test_collision(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    begin(&t, c, CLUSTER_PING, 'b');
    scene_find(c, 'b')->config_epoch = 3;
    t.m.config_epoch = 3;
    hear(&t);
    assert_int_equal(c->self->config_epoch, 6); /* 5... is before b... */
    assert_true(t.out.actions & CLUSTER_ACT_PONG_TO_SHARD);
    cluster_free(c);
}

/* ---- slots that were taken ---- */

/* Slot 0 of this node was taken from b, which has answered all PINGs. */
static struct cluster *taken_scene(void) {
    struct cluster *c = make_scene();
    cluster_slot_set_importing(c, 0, scene_find(c, 'b'));
    return c;
}

/* b claims the slot under a greater epoch, because it has not heard of this node's claim: neither
 * its keys go nor the slot, and the epoch becomes the greatest. */
static void test_contested(void **state) {
    for (int by_update = 0; by_update < 2; by_update++) {
        struct cluster *c = taken_scene();
        struct talk t;
        begin(&t, c, by_update ? CLUSTER_UPDATE : CLUSTER_PING, by_update ? 'a' : 'b');
        if (by_update) {
            t.m.about = scene_id('b');
            t.m.about_epoch = 8;
            put_slots(t.about_slots, 0, 0);
        } else {
            t.m.current_epoch = t.m.config_epoch = 8;
            put_slots(t.slots, 0, 0);
        }
        hear(&t);
        assert_int_equal(t.out.lost_count, 0);
        assert_ptr_equal(c->owners[0], c->self);
        assert_int_equal(c->self->config_epoch, 9);
        assert_ptr_equal(t.out.contender, scene_find(c, 'b'));
        assert_true(cluster_slot_is_unconfirmed(c, 0));
        hear(&t); /* again: it has been told */
        assert_int_equal(c->self->config_epoch, 9);
        assert_null(t.out.contender);
        cluster_free(c);
    }
}

/* Of the answers over the own link the one to the PING that left after the slot was taken. */
static void test_confirmed(void **state) {
    struct cluster *c = taken_scene();
    struct cluster_node *b = scene_find(c, 'b');
    struct talk t;
    b->pings_open = 3;
    b->confirms_after = 2;
    begin(&t, c, CLUSTER_PONG, 'b'); /* told without being asked */
    hear(&t);
    t.link.own = true;
    t.link.node = b;
    hear(&t);
    assert_true(cluster_slot_is_unconfirmed(c, 0));
    assert_int_equal(b->pings_open, 2);
    hear(&t);
    assert_false(cluster_slot_is_unconfirmed(c, 0));
    /* b had 4 and this node 3: what b has claimed may still be on its way to others. */
    assert_int_equal(c->self->config_epoch, 6);
    assert_ptr_equal(t.out.contender, b);
    hear(&t);
    hear(&t);
    assert_int_equal(b->pings_open, 0);
    assert_int_equal(c->self->config_epoch, 6);
    assert_null(t.out.contender);
    cluster_free(c);
}

/* The former owner has given its last slot away and is this node's replica: what it shows is what
 * this node claims. */
static void test_confirmed_by_own_replica(void **state) {
    struct cluster *c = taken_scene();
    struct cluster_node *b = scene_find(c, 'b');
    struct talk t;
    cluster_slots_release(c, b);
    cluster_set_replica(c, b, c->self);
    begin(&t, c, CLUSTER_PONG, 'b');
    t.link.own = true;
    t.link.node = b;
    hear(&t);
    assert_false(cluster_slot_is_unconfirmed(c, 0));
    assert_int_equal(c->self->config_epoch, 6);
    cluster_free(c);
}

/* The replica c of a, from which slot 0 was taken, is promoted and claims it. */
static void test_contested_by_successor(void **state) {
    struct cluster *c = make_scene();
    struct cluster_node *successor = scene_find(c, 'c');
    struct talk t;
    cluster_slot_set_importing(c, 0, scene_find(c, 'a'));
    begin(&t, c, CLUSTER_PING, 'c');
    t.m.primary.text[0] = '\0';
    t.m.flags = CLUSTER_NODE_PRIMARY;
    t.m.current_epoch = t.m.config_epoch = 6;
    put_slots(t.slots, 0, 0);
    hear(&t);
    assert_ptr_equal(c->owners[0], c->self);
    assert_ptr_equal(c->importing_from[0], successor);
    assert_ptr_equal(t.out.contender, successor);
    assert_int_equal(c->self->config_epoch, 7);
    assert_int_equal(successor->slot_count, 10);
    cluster_free(c);
}

/* ---- gossip ---- */

static void test_gossip_adds(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_id forgotten = scene_id('f');
    cluster_forget_id(&forgotten, NOW);
    begin(&t, c, CLUSTER_PING, 'a');
    struct cluster_entry *entry = tell(&t, 'e', CLUSTER_NODE_REPLICA | CLUSTER_NODE_FAILED);
    snprintf(entry->address.host, sizeof(entry->address.host), "10.0.0.3");
    entry->address.bus_port = 17003;
    struct cluster_entry *away = tell(&t, 'f', CLUSTER_NODE_PRIMARY);
    away->address = entry->address;
    struct cluster_entry *nowhere = tell(&t, '1', CLUSTER_NODE_PRIMARY | CLUSTER_NODE_NO_ADDRESS);
    nowhere->address = entry->address;
    tell(&t, '2', CLUSTER_NODE_PRIMARY); /* without an address */
    hear(&t);
    assert_int_equal(c->count, 5);
    assert_int_equal(scene_find(c, 'e')->flags, CLUSTER_NODE_REPLICA);
    assert_string_equal(scene_find(c, 'e')->address.host, "10.0.0.3");
    cluster_forgotten_clear();
    hear(&t);
    assert_non_null(scene_find(c, 'f'));
    cluster_free(c);
}

static void test_reports(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_node *b = scene_find(c, 'b');
    begin(&t, c, CLUSTER_PING, 'c'); /* a replica's word does not count */
    tell(&t, 'b', CLUSTER_NODE_SUSPECTED);
    hear(&t);
    assert_int_equal(b->report_count, 0);
    begin(&t, c, CLUSTER_PING, 'a');
    tell(&t, 'b', CLUSTER_NODE_SUSPECTED);
    tell(&t, '5', CLUSTER_NODE_FAILED); /* of this node itself */
    hear(&t);
    assert_int_equal(b->report_count, 1);
    assert_int_equal(t.out.failed_count, 0);
    b->ping_sent_msec = NOW - 5000;
    assert_true(cluster_failure_suspect(c, b, NOW, TIMEOUT));
    hear(&t);
    assert_int_equal(t.out.failed_count, 1);
    assert_ptr_equal(t.out.failed[0], b);
    assert_true(cluster_node_has(b, CLUSTER_NODE_FAILED));
    assert_false(cluster_node_has(c->self, CLUSTER_NODE_FAILED));
    begin(&t, c, CLUSTER_PING, 'a');
    tell(&t, 'b', CLUSTER_NODE_PRIMARY);
    hear(&t);
    assert_int_equal(b->report_count, 0);
    cluster_free(c);
}

static void test_gossip_of_answers(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_node *b = scene_find(c, 'b');
    begin(&t, c, CLUSTER_PING, 'a');
    tell(&t, 'b', CLUSTER_NODE_PRIMARY)->pong_received_sec = NOW / 1000 - 1;
    hear(&t);
    assert_int_equal(b->pong_received_msec, NOW - 1000);
    t.entries[0].pong_received_sec = NOW / 1000 + 1; /* a clock that is too far ahead */
    hear(&t);
    assert_int_equal(b->pong_received_msec, NOW - 1000);
    t.entries[0].pong_received_sec = NOW / 1000;
    b->ping_sent_msec = NOW;
    hear(&t);
    assert_int_equal(b->pong_received_msec, NOW - 1000);
    cluster_free(c);
}

static void test_gossiped_address(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_node *b = scene_find(c, 'b');
    begin(&t, c, CLUSTER_PING, 'a');
    tell(&t, 'b', CLUSTER_NODE_PRIMARY)->address.port = 7777;
    hear(&t);
    assert_int_not_equal(b->address.port, 7777); /* it works here */
    b->ping_sent_msec = NOW - 5000;
    assert_true(cluster_failure_suspect(c, b, NOW, TIMEOUT));
    hear(&t);
    assert_int_equal(b->address.port, 7777);
    assert_ptr_equal(t.out.moved[0], b);
    cluster_free(c);
}

/* ---- FAIL, UPDATE ---- */

static void test_fail(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    begin(&t, c, CLUSTER_FAIL, 'a');
    t.m.about = scene_id('b');
    hear(&t);
    assert_true(cluster_node_has(scene_find(c, 'b'), CLUSTER_NODE_FAILED));
    t.m.about = scene_id('5');
    hear(&t);
    assert_false(cluster_node_has(c->self, CLUSTER_NODE_FAILED));
    t.m.about = scene_id('e');
    hear(&t);
    cluster_free(c);
}

static void test_update(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_node *successor = scene_find(c, 'c');
    begin(&t, c, CLUSTER_UPDATE, 'b');
    t.m.about = scene_id('c');
    t.m.about_epoch = 9;
    put_slots(t.about_slots, 0, 1);
    put_slots(t.about_slots, 10, 19);
    hear(&t);
    assert_true(cluster_node_is_primary(successor));
    assert_int_equal(successor->slot_count, 12);
    assert_int_equal(successor->config_epoch, 9);
    assert_int_equal(c->current_epoch, 9);
    assert_int_equal(t.out.lost_count, 2);
    uint64_t changes = c->changes;
    t.m.about_epoch = 8; /* older */
    put_slots(t.about_slots, 20, 29);
    hear(&t);
    t.m.about = scene_id('5'); /* of this node itself */
    t.m.about_epoch = 10;
    hear(&t);
    assert_int_equal(c->changes, changes);
    assert_int_equal(c->self->config_epoch, 3);
    cluster_free(c);
}

/* An epoch that no cluster gets to makes nobody a primary, and a handshake has no role. */
static void test_update_is_ignored(void **state) {
    struct cluster *c = make_scene();
    struct talk t;
    struct cluster_node *met = scene_add(c, 'd', CLUSTER_NODE_HANDSHAKE);
    uint64_t changes = c->changes;
    begin(&t, c, CLUSTER_UPDATE, 'b');
    put_slots(t.about_slots, 0, 100);
    t.m.about = scene_id('c');
    t.m.about_epoch = CLUSTER_EPOCH_MAX + 1;
    hear(&t);
    t.m.about = met->id;
    t.m.about_epoch = 9;
    hear(&t);
    assert_int_equal(c->changes, changes);
    assert_int_equal(t.out.lost_count, 0);
    cluster_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_own_id),
        cmocka_unit_test(test_meet_begins_one),
        cmocka_unit_test(test_stranger_has_no_name),
        cmocka_unit_test(test_handshake_ends),
        cmocka_unit_test(test_handshake_with_itself),
        cmocka_unit_test(test_another_answers),
        cmocka_unit_test(test_own_address),
        cmocka_unit_test(test_address_moves),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_failover_is_heard),
        cmocka_unit_test(test_lost_slots),
        cmocka_unit_test(test_role_without_sense),
        cmocka_unit_test(test_chain_of_replicas),
        cmocka_unit_test(test_collision),
        cmocka_unit_test(test_contested),
        cmocka_unit_test(test_confirmed),
        cmocka_unit_test(test_confirmed_by_own_replica),
        cmocka_unit_test(test_contested_by_successor),
        cmocka_unit_test(test_gossip_adds),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_gossip_of_answers),
        cmocka_unit_test(test_gossiped_address),
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_update_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
