/* SPDX-License-Identifier: BSD-3-Clause
 * What messages bring about, with a bus, a replication and a store that only take notes: what is
 * answered, what is told to succession, which links close, what waits for the end of the turn.
 */
#include "cluster/carry_out.h"

#include "base/memory.h"
#include "bus/bus.h"
#include "bus/compose.h"
#include "bus/meet.h"
#include "cluster/follow.h"
#include "cluster/options.h"
#include "cluster/succession.h"
#include "io/socket.h"
#include "publish/pubsub.h"
#include "store/slot_drop.h"
#include "topology/cluster_scene.h"

/* ---- what is around ---- */

struct cluster_link {
    bool own;
    struct cluster_node *node;
};

static char done[1000]; /* what was done since the last look, in words */
static struct cluster_options options = {.node_timeout_ms = 1000, .replica_migration = true};
static struct cluster *c;
static struct cluster_link incoming, own;

static void note(const char *text, const char *about) {
    size_t used = strlen(done);
    snprintf(done + used, sizeof(done) - used, "%s%s%.1s", used ? " " : "", text, about);
}

const struct cluster_options *cluster_options(void) { return &options; }
bool cluster_link_is_own(const struct cluster_link *link) { return link->own; }
struct cluster_node *cluster_link_node(const struct cluster_link *link) {
    return link->node;
}
void cluster_link_close(struct cluster_link *link) { note("close", link->own ? "-own" : ""); }
void cluster_link_set_sender(struct cluster_link *link, struct cluster_node *node) {
    link->node = node;
}
bool cluster_link_peer(const struct cluster_link *link, struct socket_peer *peer) {
    snprintf(peer->address, sizeof(peer->address), "10.0.0.9");
    return true;
}
bool cluster_link_local(const struct cluster_link *link, struct socket_peer *local) {
    return false;
}
void cluster_say_ping(struct cluster *of, struct cluster_link *link,
                      enum cluster_message_type type) {
    note(type == CLUSTER_PONG ? "pong" : "ping", "");
}
void cluster_say_update(struct cluster *of, struct cluster_link *link,
                        const struct cluster_node *about) {
    note("update-", about->id.text);
}
void cluster_say_fail(struct cluster *of, const struct cluster_node *about) {
    note("fail-", about->id.text);
}
void cluster_say_taken(struct cluster *of, struct cluster_node *from) {
    note("taken-", from->id.text);
}
void cluster_say_pong_to_shard(struct cluster *of) { note("pong-shard", ""); }
void cluster_follow(void) { note("follow", ""); }
void cluster_succession_header(struct cluster_node *sender, const struct cluster_message *m,
                               bool answers) {
    note(answers ? "answer-" : "header-", sender->id.text);
}
void cluster_succession_request(struct cluster_node *candidate, const struct cluster_message *m) {
    note("request-", candidate->id.text);
}
void cluster_succession_ack(struct cluster_node *voter, const struct cluster_message *m) {
    note("ack-", voter->id.text);
}
void cluster_succession_mfstart(const struct cluster_node *replica) {
    note("mfstart-", replica->id.text);
}
void cluster_succession_role_changed(void) { note("role", ""); }
size_t pubsub_deliver(struct slice channel, struct slice message) {
    note("deliver-", channel.bytes);
    return 1;
}
void slot_drop(unsigned slot) { note("drop-", slot == 7 ? "7" : "8"); }

/* ---- the tests ---- */

/* This node is 5 with slots 7 and 8; a and b are primaries; a has an own link. */
static int begin_scene(void **state) {
    c = scene_cluster('5');
    scene_add(c, 'a', CLUSTER_NODE_PRIMARY)->config_epoch = 9;
    scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    scene_give(c, c->self, 7, 8);
    own = (struct cluster_link){.own = true, .node = scene_find(c, 'a')};
    scene_find(c, 'a')->link = &own;
    incoming = (struct cluster_link){0};
    done[0] = '\0';
    cluster_carry_out_open(c);
    return 0;
}

static int end_scene(void **state) {
    cluster_free(c);
    return 0;
}

static void hear(struct cluster_link *link, enum cluster_message_type type, char sender,
                 uint64_t epoch, const unsigned char *slots, const char *expected) {
    static const unsigned char none[CLUSTER_BITMAP_BYTES];
    struct cluster_message m = {.type = type, .config_epoch = epoch, .current_epoch = epoch};
    struct cluster_node *node = scene_find(c, sender);
    m.sender = scene_id(sender);
    m.flags = CLUSTER_NODE_PRIMARY;
    m.slots = slots ? slots : none;
    m.channel = SLICE("news");
    m.about = scene_id('b');
    if (node) m.address = node->address;
    done[0] = '\0';
    cluster_carry_out_received(link, &m);
    assert_string_equal(done, expected);
}

static void step(const char *expected) {
    done[0] = '\0';
    cluster_carry_out_step();
    assert_string_equal(done, expected);
}

static void test_who_is_told(void **state) {
    hear(&incoming, CLUSTER_PING, 'a', 9, NULL, "pong header-a");
    assert_ptr_equal(incoming.node, scene_find(c, 'a'));
    hear(&own, CLUSTER_PONG, 'a', 9, NULL, "answer-a");
    hear(&incoming, CLUSTER_AUTH_REQUEST, 'a', 9, NULL, "header-a request-a");
    hear(&incoming, CLUSTER_AUTH_ACK, 'a', 9, NULL, "header-a ack-a");
    hear(&incoming, CLUSTER_MFSTART, 'a', 9, NULL, "header-a mfstart-a");
    hear(&incoming, CLUSTER_PUBLISH, 'a', 9, NULL, "header-a deliver-n");
    hear(&incoming, CLUSTER_MODULE, 'a', 9, NULL, "header-a");
    step("");
}

static void test_strangers(void **state) {
    hear(&incoming, CLUSTER_PING, 'e', 9, NULL, "pong");
    assert_null(incoming.node);
    hear(&incoming, CLUSTER_AUTH_REQUEST, 'e', 9, NULL, "");
    hear(&incoming, CLUSTER_PUBLISH, 'e', 9, NULL, "");
    hear(&incoming, CLUSTER_FAIL, 'e', 9, NULL, "");
    step("");
}

static void test_lost_slots_go_at_the_end_of_the_turn(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES] = {1U << 7};
    hear(&incoming, CLUSTER_PING, 'a', 9, slots, "pong header-a");
    step("drop-7");
    step("");
}

static void test_last_slot_makes_a_replica(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES] = {1U << 7, 1};
    hear(&incoming, CLUSTER_PING, 'a', 9, slots, "pong role header-a");
    step("follow");
    assert_ptr_equal(c->self->primary, scene_find(c, 'a'));
}

static void test_older_claim_is_refuted(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES] = {1U << 7};
    scene_find(c, 'a')->config_epoch = 1;
    c->self->config_epoch = 3;
    hear(&incoming, CLUSTER_PING, 'a', 1, slots, "pong update-5 header-a");
}

static void test_contested_slot_is_claimed_anew(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES] = {1U << 7};
    cluster_slot_set_importing(c, 7, scene_find(c, 'a'));
    hear(&incoming, CLUSTER_PING, 'a', 9, slots, "pong update-5 taken-a header-a");
    step("");
    assert_ptr_equal(c->owners[7], c->self);
}

static void test_links_close_last(void **state) {
    struct cluster_address address = {.host = "127.0.0.1", .port = 1, .bus_port = 2};
    hear(&own, CLUSTER_PONG, 'b', 0, NULL, "header-b close-"); /* another node answers */
    cluster_handshake_begin(c, &address, 0);
    size_t count = c->count;
    for (size_t i = 0; i < c->count; i++)
        if (cluster_node_has(c->nodes[i], CLUSTER_NODE_HANDSHAKE)) own.node = c->nodes[i];
    hear(&own, CLUSTER_PONG, 'b', 0, NULL, "header-b");
    assert_int_equal(c->count, count - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_scene, end_scene)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_who_is_told),
        TEST(test_strangers),
        TEST(test_lost_slots_go_at_the_end_of_the_turn),
        TEST(test_last_slot_makes_a_replica),
        TEST(test_older_claim_is_refuted),
        TEST(test_contested_slot_is_claimed_anew),
        TEST(test_links_close_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
