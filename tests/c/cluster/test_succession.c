/* SPDX-License-Identifier: BSD-3-Clause
 * Succession with a sender, a replication and a loop that only take notes: what each message, tick
 * and turn makes this node say and do.
 */
#include "cluster/succession.h"

#include "base/clock.h"
#include "bus/bus.h"
#include "bus/compose.h"
#include "cluster/follow.h"
#include "cluster/options.h"
#include "exec/pause.h"
#include "io/loop.h"
#include "net/client.h"
#include "replication/history.h"
#include "replication/link.h"
#include "replication/primary.h"
#include "topology/cluster_scene.h"
#include "topology/nodes_file.h"

#define T 1000
#define WALL INT64_C(1700000000000) /* ms */

/* ---- what is around ---- */

static char said[1000]; /* what the node has done since the last look, in words */
static struct cluster_options options;
static unsigned depth;
static bool may_continue, is_current;
static int64_t age_sec, place;
static void (*facts_of)(struct cluster_own_facts *facts);
static struct cluster *c;
/* Stand-ins: only their addresses count. */
static char links[8];

static void say(const char *text, const struct cluster_node *node) {
    size_t used = strlen(said);
    snprintf(said + used, sizeof(said) - used, "%s%s%.1s", used ? " " : "", text,
             node ? node->id.text : "");
}

static struct cluster_node *node_of(const struct cluster_link *link) {
    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i]->link == link) return c->nodes[i];
    return NULL;
}

void cluster_compose_set_facts(void (*facts)(struct cluster_own_facts *f)) { facts_of = facts; }
void cluster_say_ping(struct cluster *of, struct cluster_link *link,
                      enum cluster_message_type type) {
    say("ping", node_of(link));
}
void cluster_say_pong_to_all(struct cluster *of) { say("pong-all", NULL); }
void cluster_say_pong_to_shard(struct cluster *of) { say("pong-shard", NULL); }
void cluster_say_auth_request(struct cluster *of, bool force) {
    say(force ? "request!" : "request", NULL);
}
void cluster_say_auth_ack(struct cluster *of, struct cluster_node *to, uint64_t version) {
    assert_int_equal(version, 77);
    say("ack", to);
}
void cluster_say_mfstart(struct cluster *of, struct cluster_node *to) { say("mfstart", to); }
void cluster_say_update(struct cluster *of, struct cluster_link *link,
                        const struct cluster_node *about) {
    say("update", about);
}
void cluster_link_close(struct cluster_link *link) {
    struct cluster_node *node = node_of(link);
    say("close", node);
    node->link = NULL;
}
void cluster_follow(void) { say("follow", c->self->primary); }
bool cluster_follow_is_current(void) { return is_current; }
const struct cluster_options *cluster_options(void) { return &options; }
uint64_t cluster_file_later(void) { return 77; }
void pause_hold_writes(bool hold) { say(hold ? "hold" : "release", NULL); }
void primary_stand_still(bool stands) {}
int64_t primary_ping_period_sec(void) { return 10; }
bool link_may_continue(void) { return may_continue; }
int64_t link_data_age_sec(void) { return age_sec; }
int64_t history_place(void) { return place; }
struct loop *client_loop(void) {
    return NULL;
}
unsigned loop_depth(const struct loop *loop) { return depth; }
int64_t loop_wake_nsec(const struct loop *loop) { return clock_monotonic_nsec(); }

/* ---- scenes ---- */

/* Compares, and forgets, what was said. */
static void expect_said(const char *text) {
    assert_string_equal(said, text);
    said[0] = '\0';
}

static void pass(int64_t msec) {
    clock_advance_usec(msec * 1000);
    clock_refresh();
}
static void tick(void) { cluster_succession_tick(clock_wall_msec()); }

/* Voters 1, 2 and 3; a and b are replicas of 3. This node is `self`. */
static void open_scene(char self) {
    clock_use_fixed(WALL * 1000, INT64_C(5000000000));
    clock_refresh();
    c = scene_cluster(self);
    for (const char *digit = "123ab"; *digit; digit++)
        if (*digit != self) scene_add(c, *digit, *digit < 'a' ? CLUSTER_NODE_PRIMARY : 0);
    for (char digit = '1'; digit <= '3'; digit++) {
        unsigned first = 10 * (unsigned)(digit - '0');
        scene_give(c, scene_find(c, digit), first, first + 9);
        scene_find(c, digit)->config_epoch = (uint64_t)(digit - '0');
    }
    cluster_set_replica(c, scene_find(c, 'a'), scene_find(c, '3'));
    cluster_set_replica(c, scene_find(c, 'b'), scene_find(c, '3'));
    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i] != c->self) c->nodes[i]->link = (struct cluster_link *)(void *)&links[i];
    c->current_epoch = 5;
    c->ok = true;
    options = (struct cluster_options){.node_timeout_ms = T,
                                       .validity_factor = 10,
                                       .migration_barrier = 1,
                                       .replica_migration = true};
    depth = 1;
    place = 100;
    may_continue = is_current = self >= 'a';
    age_sec = 1;
    cluster_succession_open(c);
    cluster_succession_role_changed();
    cluster_succession_turn();
    cluster_succession_step();
    said[0] = '\0';
}
static void close_scene(void) {
    for (size_t i = 0; i < c->count; i++) c->nodes[i]->link = NULL;
    cluster_free(c);
    clock_use_system();
}

static void primary_fails(void) {
    scene_find(c, '3')->flags |= CLUSTER_NODE_FAILED;
    scene_find(c, '3')->failed_msec = clock_wall_msec();
}

static struct cluster_own_facts own_facts(void) {
    struct cluster_own_facts facts = {0};
    facts_of(&facts);
    return facts;
}

static void hear_marks(char from, unsigned marks, uint64_t offset) {
    struct cluster_message m = {.type = CLUSTER_PING, .marks = marks, .offset = offset};
    cluster_succession_header(scene_find(c, from), &m, false);
}
static void hear_answer(char from) {
    struct cluster_message m = {.type = CLUSTER_PONG};
    cluster_succession_header(scene_find(c, from), &m, true);
}
static void hear_ack(char from, uint64_t epoch) {
    struct cluster_message m = {.type = CLUSTER_AUTH_ACK, .current_epoch = epoch};
    cluster_succession_ack(scene_find(c, from), &m);
}

/* ---- elections ---- */

static void test_election(void **state) {
    open_scene('a');
    scene_find(c, 'b')->offset = 90;
    tick();
    expect_said("");
    primary_fails();
    cluster_succession_step(); /* the tick is not waited for */
    expect_said("pong-shard");
    pass(999);
    tick();
    expect_said("request");
    assert_int_equal(c->current_epoch, 6);
    hear_ack('1', 6);
    cluster_succession_step();
    expect_said("");
    hear_ack('2', 6);
    expect_said(""); /* the message may have come within a script */
    cluster_succession_step();
    expect_said("follow pong-all");
    assert_true(cluster_node_is_primary(c->self));
    assert_int_equal(c->self->config_epoch, 6);
    assert_int_equal(c->self->slot_count, 10);
    assert_int_equal(scene_find(c, '3')->slot_count, 0);
    cluster_check(c);
    cluster_succession_step();
    tick();
    expect_said("");
    close_scene();
}

static const struct {
    bool current, continues;
    int64_t age, factor;
    bool asks;
    uint64_t offset;
} ages[] = {
    {true, true, 21, 10, true, 100}, /* 21 s - T = 20 s = 10 T + 10 s */
    {true, true, 22, 10, false, 100},
    {true, true, 22, 11, true, 100},
    {true, true, 10000, 0, true, 100},
    {true, true, -1, 10, false, 0}, /* there was no link to this primary */
    {true, true, -1, 0, true, 0},
    {true, false, 3, 10, false, 0}, /* a copy was begun and not completed */
    {true, false, 3, 0, true, 0},
    {false, true, 3, 10, false, 0}, /* another one is still followed */
};

static void test_data_age(void **state) {
    for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
        open_scene('a');
        is_current = ages[i].current;
        may_continue = ages[i].continues;
        age_sec = ages[i].age;
        options.validity_factor = ages[i].factor;
        primary_fails();
        tick();
        if ((strcmp(said, "pong-shard") == 0) != ages[i].asks) fail_msg("row %zu: %s", i, said);
        assert_int_equal(own_facts().offset, ages[i].offset);
        said[0] = '\0';
        close_scene();
    }
    open_scene('1');
    assert_int_equal(own_facts().offset, 100);
    close_scene();
}

static void test_take_over(void **state) {
    open_scene('a');
    cluster_succession_begin(false);
    expect_said("mfstart3");
    cluster_succession_take_over();
    expect_said("follow pong-all");
    assert_int_equal(c->self->config_epoch, 6);
    assert_int_equal(c->self->slot_count, 10);
    pass(6000);
    tick();
    expect_said("");
    close_scene();
}

/* ---- votes ---- */

static void test_vote(void **state) {
    open_scene('1');
    primary_fails();
    unsigned char slots[CLUSTER_BITMAP_BYTES];
    cluster_slots_bitmap(c, scene_find(c, '3'), slots);
    c->current_epoch = 6;
    struct cluster_message m = {
        .type = CLUSTER_AUTH_REQUEST, .current_epoch = 6, .config_epoch = 2, .slots = slots};
    /* A candidate that is behind is told. */
    cluster_succession_request(scene_find(c, 'a'), &m);
    expect_said("update3");
    m.config_epoch = 3;
    cluster_succession_request(scene_find(c, 'a'), &m);
    expect_said("acka");
    cluster_succession_request(scene_find(c, 'b'), &m);
    expect_said("");
    close_scene();
}

/* ---- manual failovers ---- */

static void test_manual(void **state) {
    open_scene('a');
    cluster_succession_begin(false);
    expect_said("mfstart3");
    cluster_succession_step();
    hear_marks('3', 0, 200);
    cluster_succession_step();
    hear_marks('3', CLUSTER_MARK_PAUSED, 101);
    cluster_succession_step();
    expect_said("");
    place = 101;
    cluster_succession_step();
    expect_said("pong-shard request!");
    hear_ack('1', 6);
    hear_ack('2', 6);
    cluster_succession_step();
    expect_said("follow pong-all");
    close_scene();
}

static void test_force(void **state) {
    open_scene('a');
    may_continue = false;
    cluster_succession_begin(true);
    expect_said("");
    cluster_succession_step(); /* of the same turn */
    expect_said("pong-shard request!");
    close_scene();
}

static void test_hand_over(void **state) {
    open_scene('3');
    cluster_succession_mfstart(scene_find(c, '2'));
    assert_int_equal(own_facts().marks, 0);
    expect_said("");
    cluster_succession_mfstart(scene_find(c, 'a'));
    expect_said("hold pinga");
    assert_int_equal(own_facts().marks, CLUSTER_MARK_PAUSED);
    depth = 2; /* what runs may still write */
    assert_int_equal(own_facts().marks, 0);
    depth = 1;
    tick();
    expect_said("pinga");
    cluster_set_replica(c, c->self, scene_find(c, 'a'));
    cluster_succession_role_changed();
    assert_int_equal(own_facts().marks, 0); /* a replica hands nothing over */
    cluster_succession_step();
    expect_said("release");
    close_scene();
    /* Nobody takes over. */
    open_scene('3');
    cluster_succession_mfstart(scene_find(c, 'a'));
    pass(5999);
    said[0] = '\0';
    tick();
    expect_said("pinga");
    pass(1);
    tick();
    expect_said("pinga release");
    close_scene();
    /* Stopped meanwhile, for less than the node timeout, it asks before it goes on. */
    open_scene('3');
    cluster_succession_mfstart(scene_find(c, 'a'));
    said[0] = '\0';
    options.node_timeout_ms = 15000;
    pass(6000);
    cluster_succession_turn();
    expect_said("close1 close2");
    tick();
    hear_answer('1');
    expect_said("pinga");
    cluster_succession_step();
    expect_said("release");
    close_scene();
}

/* ---- moves ---- */

static void test_migration(void **state) {
    open_scene('a');
    scene_find(c, '2')->flags |= CLUSTER_NODE_MIGRATE_TO;
    tick();
    pass(5001);
    options.replica_migration = false;
    tick();
    expect_said("");
    options.replica_migration = true;
    tick();
    expect_said("follow2");
    assert_ptr_equal(c->self->primary, scene_find(c, '2'));
    close_scene();
}

/* ---- the gap rule ---- */

static void test_gap(void **state) {
    open_scene('1');
    pass(T);
    cluster_succession_turn();
    expect_said("");
    pass(T + 1);
    cluster_succession_turn();
    expect_said("hold close2 close3");
    cluster_succession_step();
    hear_answer('a');
    cluster_succession_step();
    expect_said("");
    hear_answer('2');
    cluster_succession_step();
    expect_said("release");
    close_scene();
}

/* While the cluster is not ok clients are told so, instead of being held. */
static void test_gap_and_state(void **state) {
    open_scene('1');
    pass(T + 1);
    cluster_succession_turn();
    expect_said("hold close2 close3");
    c->ok = false;
    cluster_succession_step();
    expect_said("release");
    c->ok = true;
    cluster_succession_step();
    expect_said("hold");
    /* Another node has its slots. */
    cluster_set_replica(c, c->self, scene_find(c, '2'));
    cluster_succession_step();
    expect_said("release");
    close_scene();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_election),  cmocka_unit_test(test_data_age),
        cmocka_unit_test(test_take_over), cmocka_unit_test(test_vote),
        cmocka_unit_test(test_manual),    cmocka_unit_test(test_force),
        cmocka_unit_test(test_hand_over), cmocka_unit_test(test_migration),
        cmocka_unit_test(test_gap),       cmocka_unit_test(test_gap_and_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
