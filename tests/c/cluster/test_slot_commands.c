/* SPDX-License-Identifier: BSD-3-Clause
 * CLUSTER's subcommands about slots: what they change, their refusals in order, all or nothing.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "cluster/slot_commands.h"

#include "base/faults.h"
#include "cluster/whole_node.h"
#include "io/file.h"
#include "replication/link.h"

#define SLOT_A 15495 /* of "a", "{a}..." */
#define BAD_SLOT "-ERR Invalid or out of range slot\r\n"
#define BAD_ACTION \
    "-ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP\r\n"

static struct cluster *c;
static struct cluster_node *b, *d;

/* This primary owns 0-9 and a's slot, another one 10-19; d replicates it. */
static int begin(void **state) {
    int status = node_begin(state);
    c = cluster_here();
    node_add_shard(&b, &d);
    node_own(SLOT_A, SLOT_A);
    return status;
}

static void test_keys_of_slots(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "cluster keyslot a", ":15495\r\n");
    whole_say(&p, "cluster keyslot x{a}y", ":15495\r\n");
    whole_say(&p, "cluster countkeysinslot 15495", ":0\r\n");
    whole_say(&p, "mset a 1 {a}2 2", NODE_OK);
    whole_say(&p, "cluster countkeysinslot 15495", ":2\r\n");
    whole_say(&p, "cluster getkeysinslot 15495 0", "*0\r\n");
    whole_say(&p, "del a", ":1\r\n");
    whole_say(&p, "cluster getkeysinslot 15495 9223372036854775807", "*1\r\n$4\r\n{a}2\r\n");
    whole_say(&p, "cluster getkeysinslot 15494 10", "*0\r\n");
    static const char integer[] = "-ERR value is not an integer or out of range\r\n";
    whole_say(&p, "cluster countkeysinslot x", integer);
    whole_say(&p, "cluster countkeysinslot 16384", "-ERR Invalid slot\r\n");
    whole_say(&p, "cluster countkeysinslot -1", "-ERR Invalid slot\r\n");
    whole_say(&p, "cluster getkeysinslot x -1", integer);
    whole_say(&p, "cluster getkeysinslot 16384 x", integer);
    whole_say(&p, "cluster getkeysinslot 16384 1", "-ERR Invalid slot or number of keys\r\n");
    whole_say(&p, "cluster getkeysinslot 1 -1", "-ERR Invalid slot or number of keys\r\n");
    peer_close(&p);
}

static void test_add_and_delete(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "cluster addslots 30 31 x", BAD_SLOT);
    whole_say(&p, "cluster addslots 30 10", "-ERR Slot 10 is already busy\r\n");
    whole_say(&p, "cluster addslots 30 30 10", "-ERR Slot 30 specified multiple times\r\n");
    whole_say(&p, "cluster delslots 30 1", "-ERR Slot 30 is already unassigned\r\n");
    whole_say(&p, "cluster delslots 1 1", "-ERR Slot 1 specified multiple times\r\n");
    assert_int_equal(c->assigned, 21);
    /* A slot that is assigned here is not imported, and one that is given up does not migrate. */
    cluster_slot_set_importing(c, 30, b);
    whole_say(&p, "cluster addslots 30 31", NODE_OK);
    assert_ptr_equal(c->owners[30], c->self);
    assert_null(c->importing_from[30]);
    cluster_slot_set_migrating(c, 31, b);
    whole_say(&p, "cluster delslots 31 10",
              NODE_OK); /* another's, too, as far as this node knows */
    assert_null(c->owners[31]);
    assert_null(c->owners[10]);
    assert_int_equal(c->open_marks, 0);
    cluster_check(c);
    peer_close(&p);
}

static void test_flush(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "set a 1", NODE_OK);
    whole_say(&p, "cluster flushslots", "-ERR DB must be empty to perform CLUSTER FLUSHSLOTS.\r\n");
    assert_int_equal(c->self->slot_count, 11);
    whole_say(&p, "del a", ":1\r\n");
    whole_say(&p, "cluster flushslots", NODE_OK);
    assert_int_equal(c->self->slot_count, 0);
    assert_int_equal(b->slot_count, 10);
    peer_close(&p);
}

static void test_marks(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "cluster setslot x migrating y", BAD_SLOT);
    whole_say(&p, "cluster setslot 1 x", BAD_ACTION);
    whole_say(&p, "cluster setslot 1 migrating", BAD_ACTION);
    whole_say(&p, "cluster setslot 1 stable x", BAD_ACTION);
    whole_say(&p, "cluster setslot 10 migrating y", "-ERR I'm not the owner of hash slot 10\r\n");
    whole_say(&p, "cluster setslot 1 migrating y", "-ERR I don't know about node y\r\n");
    whole_say(&p, "cluster setslot 1 migrating " NODE_D, "-ERR Target node is not a master\r\n");
    whole_say(&p, "cluster setslot 1 importing y", "-ERR I'm already the owner of hash slot 1\r\n");
    whole_say(&p, "cluster setslot 10 importing y", "-ERR I don't know about node y\r\n");
    whole_say(&p, "cluster setslot 10 importing " NODE_D, "-ERR Target node is not a master\r\n");
    assert_int_equal(c->open_marks, 0);
    node_say(&p, "cluster setslot 1 MIGRATING " NODE_B, NODE_OK);
    node_say(&p, "cluster setslot 10 importing " NODE_A, NODE_OK); /* from itself, as in 6.2 */
    assert_ptr_equal(c->migrating_to[1], b);
    assert_ptr_equal(c->importing_from[10], c->self);
    whole_say(&p, "cluster setslot 1 stable", NODE_OK);
    whole_say(&p, "cluster setslot 10 stable", NODE_OK);
    assert_int_equal(c->open_marks, 0);
    cluster_check(c);
    peer_close(&p);
}

/* Both marks are on disk when they are answered: keys leave, or come, then. */
static void test_marks_wait_for_the_disk(void **state) {
    static const char *const lines[][2] = {
        {"cluster setslot 1 migrating " NODE_B "\r\n", "[1->-" NODE_B "]"},
        {"cluster setslot 10 importing " NODE_B "\r\n", "[10-<-" NODE_B "]"}};
    struct peer p = peer_connect();
    for (int i = 0; i < 2; i++) {
        struct buffer text;
        buffer_init(&text, MEMORY_OTHER);
        faults_slow(50, "nodes.conf");
        peer_send(&p, slice_of(lines[i][0]));
        assert_int_equal(p.got.length, 0);
        faults_slow(0, NULL);
        node_say(&p, "", NODE_OK);
        assert_true(file_read("nodes.conf", SIZE_MAX, &text));
        assert_non_null(strstr(text.bytes, lines[i][1]));
        buffer_free(&text);
    }
    peer_close(&p);
}

/* Until the migrating mark is on disk a key that does not exist is created here, not elsewhere. */
static void test_held_mark_sends_nobody_away(void **state) {
    struct peer p = peer_connect(), other = peer_connect();
    faults_slow(50, "nodes.conf");
    peer_send(&p, SLICE("cluster setslot 15495 migrating " NODE_B "\r\n"));
    whole_say(&other, "set a 1", NODE_OK);
    assert_ptr_equal(c->migrating_to[SLOT_A], b);
    assert_true(cluster_slot_is_held(c, SLOT_A));
    assert_int_equal(p.got.length, 0);
    faults_slow(0, NULL);
    node_say(&p, "", NODE_OK);
    assert_false(cluster_slot_is_held(c, SLOT_A));
    node_say_any(&other, "get {a}2");
    assert_memory_equal(other.got.bytes, "-ASK 15495 ", 11);
    buffer_clear(&other.got);
    /* The slot stays open while the mark that names another node is written. */
    faults_slow(50, "nodes.conf");
    peer_send(&p, SLICE("cluster setslot 15495 migrating " NODE_A "\r\n"));
    assert_false(cluster_slot_is_held(c, SLOT_A));
    faults_slow(0, NULL);
    node_say(&p, "", NODE_OK);
    whole_say(&p, "cluster setslot 15495 stable", NODE_OK);
    /* In a transaction the mark is written within the call. */
    whole_say(&p, "multi", NODE_OK);
    whole_say(&p, "cluster setslot 15495 migrating " NODE_B, "+QUEUED\r\n");
    whole_say(&p, "exec", "*1\r\n" NODE_OK);
    assert_false(cluster_slot_is_held(c, SLOT_A));
    peer_close(&other);
    peer_close(&p);
}

static void test_owner(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "cluster setslot 1 node y", "-ERR Unknown node y\r\n");
    whole_say(&p, "cluster setslot 1 node " NODE_D, "-ERR Target node is not a master\r\n");
    whole_say(&p, "set a 1", NODE_OK);
    node_say(&p, "cluster setslot 15495 migrating " NODE_B, NODE_OK);
    whole_say(&p, "cluster setslot 15495 node " NODE_B,
              "-ERR Can't assign hashslot 15495 to a different node while I still hold keys for "
              "this hash slot.\r\n");
    whole_say(&p, "cluster setslot 15495 node " NODE_A, NODE_OK); /* while it has keys */
    assert_ptr_equal(c->migrating_to[SLOT_A], b);
    whole_say(&p, "del a", ":1\r\n");
    whole_say(&p, "cluster setslot 15495 node " NODE_B, NODE_OK);
    assert_ptr_equal(c->owners[SLOT_A], b);
    assert_null(c->migrating_to[SLOT_A]);
    assert_int_equal(c->self->config_epoch, 0);
    peer_close(&p);
}

/* The claim on an imported slot has a new epoch, unless the own one is the greatest already. */
static void test_imported(void **state) {
    struct peer p = peer_connect();
    c->current_epoch = 7;
    cluster_slot_set_importing(c, 10, b);
    node_say(&p, "cluster setslot 10 node " NODE_B, NODE_OK); /* not ours: still imported */
    assert_ptr_equal(c->importing_from[10], b);
    assert_int_equal(c->self->config_epoch, 0);
    node_say(&p, "cluster setslot 10 node " NODE_A, NODE_OK);
    assert_true(cluster_slot_is_unconfirmed(c, 10)); /* b has not answered */
    assert_ptr_equal(c->owners[10], c->self);
    assert_int_equal(c->self->config_epoch, 8);
    whole_say(&p, "cluster setslot 10 stable", NODE_OK);
    assert_true(cluster_slot_is_unconfirmed(c, 10));
    cluster_slot_set_importing(c, 13, c->self);
    node_say(&p, "cluster setslot 13 node " NODE_A, NODE_OK);
    assert_false(cluster_slot_is_unconfirmed(c, 13)); /* from itself */
    cluster_slot_set_importing(c, 11, b);
    node_say(&p, "cluster setslot 11 node " NODE_A, NODE_OK);
    assert_int_equal(c->self->config_epoch, 8);
    node_say(&p, "cluster setslot 12 node " NODE_A, NODE_OK); /* not imported: no epoch */
    assert_int_equal(c->self->config_epoch, 8);
    assert_ptr_equal(c->owners[12], c->self);
    peer_close(&p);
}

static void give_all_but_one(struct peer *p) {
    scene_give(c, b, 0, 9);
    assert_int_equal(c->self->slot_count, 1);
    node_say(p, "cluster setslot 20 importing " NODE_B, NODE_OK);
}

/* A primary that gives its last slot away stays a primary, and its other marks stay, too. */
static void test_last_slot(void **state) {
    struct peer p = peer_connect();
    give_all_but_one(&p);
    whole_say(&p, "cluster setslot 15495 node " NODE_B, NODE_OK);
    assert_ptr_equal(c->owners[SLOT_A], b);
    assert_int_equal(c->self->slot_count, 0);
    assert_true(cluster_node_is_primary(c->self));
    assert_false(link_is_replica());
    assert_int_equal(c->open_marks, 1);
    cluster_check(c);
    peer_close(&p);
}

/* Random orders: after each the view is sound, and a refused one has changed nothing. */
static void test_random(void **state) {
    struct peer p = peer_connect();
    static const char *const ids[] = {NODE_A, NODE_B, NODE_D, NODE_C, "x"};
    static const char *const formats[] = {
        "cluster addslots %u %u",          "cluster delslots %u %u",
        "cluster setslot %u stable",       "cluster setslot %u migrating %s",
        "cluster setslot %u importing %s", "cluster setslot %u node %s"};
    for (int i = 0; i < 600; i++) {
        char line[128];
        size_t kind = random_below(6);
        unsigned slot = (unsigned)random_below(24), second = (unsigned)random_below(24);
        if (kind < 2)
            snprintf(line, sizeof(line), kind ? formats[1] : formats[0], slot, second);
        else
            snprintf(line, sizeof(line),
                     kind == 2   ? formats[2]
                     : kind == 3 ? formats[3]
                     : kind == 4 ? formats[4]
                                 : formats[5],
                     slot, ids[random_below(5)]);
        uint64_t changes = c->changes;
        unsigned marks = c->open_marks, assigned = c->assigned;
        node_say_any(&p, line);
        bool refused = p.got.bytes[0] == '-';
        buffer_clear(&p.got);
        if (refused && (changes != c->changes || marks != c->open_marks || assigned != c->assigned))
            fail_msg("refused, but not without effect: %s", line);
        if (!refused && changes == c->changes) fail_msg("no change is told of: %s", line);
        cluster_check(c);
    }
    peer_close(&p);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_keys_of_slots),
        TEST(test_add_and_delete),
        TEST(test_flush),
        TEST(test_marks),
        TEST(test_marks_wait_for_the_disk),
        TEST(test_held_mark_sends_nobody_away),
        TEST(test_owner),
        TEST(test_imported),
        TEST(test_last_slot),
        TEST(test_random),
    };
    return cmocka_run_group_tests(tests, node_open, node_close);
}
