/* SPDX-License-Identifier: BSD-3-Clause
 * Answers of CLUSTER that several subcommands share: what an argument names, and promises that wait
 * for the disk.
 */
#include "cluster/answers.h"

#include "base/faults.h"
#include "cluster/whole_node.h"
#include "io/file.h"
#include "topology/nodes_file.h"

#define REPLICAS "*3\r\n$7\r\ncluster\r\n$8\r\nreplicas\r\n"

static int begin(void **state) {
    struct cluster *c = cluster_here();
    int status = node_begin(state);
    scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    return status;
}

static int end(void **state) {
    faults_clear();
    return whole_nothing_left(state);
}

static void test_nodes_and_their_refusals(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "cluster replicas " NODE_B, "*0\r\n");
    whole_say(&p, "cluster replicas " NODE_B "more", "*0\r\n"); /* 40 bytes count */
    whole_say(&p, "cluster replicas x", "-ERR Unknown node x\r\n");
    whole_say(&p, "cluster replicas \"\"", "-ERR Unknown node \r\n");
    /* Up to the first NUL; a line end does not end the error's line. */
    peer_send(&p, SLICE(REPLICAS "$3\r\nx\0y\r\n"));
    peer_assert_got(&p, SLICE("-ERR Unknown node x\r\n"));
    peer_send(&p, SLICE(REPLICAS "$4\r\nx\r\ny\r\n"));
    peer_assert_got(&p, SLICE("-ERR Unknown node x  y\r\n"));
    peer_send(&p, SLICE(REPLICAS "$2\r\n%s\r\n"));
    peer_assert_got(&p, SLICE("-ERR Unknown node %s\r\n"));
    peer_close(&p);
}

static void test_slots(void **state) {
    struct peer p = peer_connect();
    static const char *const bad[] = {
        "-1", "16384", "x", "1.0", "\"\"", "\" 1\"", "1x", "4294967296", "9223372036854775808"};
    char line[64];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(line, sizeof(line), "cluster addslots 5 %s", bad[i]);
        whole_say(&p, line, "-ERR Invalid or out of range slot\r\n");
    }
    assert_int_equal(cluster_here()->assigned, 0);
    whole_say(&p, "cluster addslots 0 16383", NODE_OK);
    assert_int_equal(cluster_here()->assigned, 2);
    peer_close(&p);
}

static void test_changes_are_counted(void **state) {
    struct peer p = peer_connect();
    struct cluster *c = cluster_here();
    uint64_t changes = c->changes;
    whole_say(&p, "cluster setslot 7 stable", NODE_OK);
    assert_true(c->changes > changes);
    peer_close(&p);
}

/* The epoch in the file; the line of variables has the current one. */
static void assert_epoch_on_disk(unsigned epoch) {
    struct buffer text;
    char wanted[32];
    buffer_init(&text, MEMORY_OTHER);
    assert_true(file_read("nodes.conf", SIZE_MAX, &text));
    snprintf(wanted, sizeof(wanted), "currentEpoch %u ", epoch);
    if (!strstr(text.bytes, wanted)) fail_msg("no %s in %s", wanted, text.bytes);
    buffer_free(&text);
}

/* The reply comes behind the disk's; other clients go on meanwhile. */
static void test_epoch_waits_for_the_disk(void **state) {
    struct peer p = peer_connect(), other = peer_connect();
    faults_slow(100, "nodes.conf");
    peer_send(&p, SLICE("cluster bumpepoch\r\nping\r\n"));
    assert_int_equal(p.got.length, 0);
    whole_say(&other, "ping", "+PONG\r\n");
    faults_slow(0, NULL);
    while (p.got.length < strlen("+BUMPED 1\r\n+PONG\r\n")) {
        peers_turns();
        peer_receive(&p, SIZE_MAX);
        usleep(200);
    }
    peer_assert_got(&p, SLICE("+BUMPED 1\r\n+PONG\r\n"));
    assert_epoch_on_disk(1);
    peer_close(&p);
    peer_close(&other);
}

/* A client that closes while it waits is forgotten. */
static void test_waiting_client_closes(void **state) {
    struct peer p = peer_connect();
    faults_slow(50, "nodes.conf");
    peer_send(&p, SLICE("cluster bumpepoch\r\n"));
    peer_close(&p);
    faults_slow(0, NULL);
    p = peer_connect();
    node_say(&p, "cluster set-config-epoch 1",
             "-ERR The user can assign a config epoch only when the node does not know any other "
             "node.\r\n");
    cluster_drop(cluster_here(), scene_find(cluster_here(), 'b'));
    cluster_here()->self->config_epoch = 0;
    node_say(&p, "cluster set-config-epoch 9", NODE_OK);
    assert_epoch_on_disk(9);
    peer_close(&p);
}

/* In EXEC and in scripts the write is made within the call, and its failure is the answer. */
static void test_epoch_in_exec_and_scripts(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "multi", NODE_OK);
    whole_say(&p, "cluster bumpepoch", "+QUEUED\r\n");
    whole_say(&p, "exec", "*1\r\n+BUMPED 1\r\n");
    assert_epoch_on_disk(1);
    cluster_here()->current_epoch = 5; /* another node's is greater */
    faults_fail(FAULT_FSYNC, ENOSPC, 0, UINT_MAX, "nodes.conf");
    whole_say(&p, "eval \"return redis.pcall('cluster', 'bumpepoch')\" 0",
              "-ERR error saving the cluster node config: No space left on device\r\n");
    whole_say(&p, "cluster saveconfig",
              "-ERR error saving the cluster node config: No space left on device\r\n");
    faults_clear();
    node_say(&p, "cluster saveconfig", NODE_OK);
    assert_epoch_on_disk(6);
    peer_close(&p);
}

/* A write that fails is tried again, and the client is answered then. */
static void test_epoch_on_a_full_disk(void **state) {
    struct peer p = peer_connect();
    faults_fail(FAULT_FSYNC, ENOSPC, 0, UINT_MAX, "nodes.conf");
    peer_send(&p, SLICE("cluster bumpepoch\r\n"));
    for (int i = 0; i < 20; i++) {
        whole_pass(100);
        usleep(1000);
    }
    peer_receive(&p, SIZE_MAX);
    assert_int_equal(p.got.length, 0);
    faults_clear();
    for (int i = 0; p.got.length == 0 && i < NODE_TURNS_MAX; i++) {
        whole_pass(100);
        peer_receive(&p, SIZE_MAX);
        usleep(200);
    }
    peer_assert_got(&p, SLICE("+BUMPED 1\r\n"));
    assert_epoch_on_disk(1);
    peer_close(&p);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_nodes_and_their_refusals), TEST(test_slots),
        TEST(test_changes_are_counted),      TEST(test_epoch_waits_for_the_disk),
        TEST(test_waiting_client_closes),    TEST(test_epoch_in_exec_and_scripts),
        TEST(test_epoch_on_a_full_disk),
    };
    return cmocka_run_group_tests(tests, node_open, node_close);
}
