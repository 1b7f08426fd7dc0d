/* SPDX-License-Identifier: BSD-3-Clause
 * Which server a node copies: as its role changes, as its primary's address does, at start.
 */
#include "cluster/follow.h"

#include "cluster/whole_node.h"
#include "replication/link.h"
#include "replication/role.h"

/* The clock ticks in this time, wherever the tests before have left it. */
#define TICKS_MSEC 5000

static struct cluster *c;

static void assert_follows(const char *host, int port) {
    assert_true(link_is_replica());
    assert_string_equal(link_host(), host);
    assert_int_equal(link_port(), port);
}

static int begin(void **state) {
    int status = node_begin(state);
    c = cluster_here();
    return status;
}

static void test_role_decides(void **state) {
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    cluster_follow();
    assert_false(link_is_replica());
    cluster_set_replica(c, c->self, b);
    assert_false(link_is_replica()); /* until it is said */
    cluster_follow();
    assert_follows("127.0.0.1", b->address.port);
    cluster_set_primary(c, c->self);
    cluster_follow();
    assert_false(link_is_replica());
}

static void test_address_changes(void **state) {
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    struct cluster_node *d = scene_add(c, 'd', CLUSTER_NODE_PRIMARY);
    cluster_set_replica(c, c->self, b);
    cluster_follow();
    /* What is so already is not begun anew: the link's trouble would be forgotten. */
    whole_pass(1000);
    int64_t down_sec = link_down_sec();
    cluster_follow();
    assert_int_equal(link_down_sec(), down_sec);
    b->address.port++;
    cluster_follow();
    assert_follows("127.0.0.1", b->address.port);
    snprintf(b->address.host, sizeof(b->address.host), "127.0.0.2");
    cluster_follow();
    assert_follows("127.0.0.2", b->address.port);
    /* A port for clients without TLS is the one, where the link has none. */
    b->address.plain_port = 7;
    cluster_follow();
    assert_follows("127.0.0.2", 7);
    cluster_set_replica(c, c->self, d);
    cluster_follow();
    assert_follows("127.0.0.1", d->address.port);
}

/* Without an address nothing changes: the node goes on following where it did. */
static void test_unknown_address(void **state) {
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    int port = b->address.port;
    cluster_set_replica(c, c->self, b);
    b->address.host[0] = '\0';
    cluster_follow();
    assert_false(link_is_replica());
    snprintf(b->address.host, sizeof(b->address.host), "127.0.0.1");
    b->address.port = 0;
    cluster_follow();
    assert_false(link_is_replica());
    b->address.port = (uint16_t)port;
    cluster_follow();
    assert_follows("127.0.0.1", port);
    b->address.port = 0;
    cluster_follow();
    assert_follows("127.0.0.1", port);
    cluster_set_replica(c, c->self, NULL); /* the primary is not known */
    cluster_follow();
    assert_follows("127.0.0.1", port);
}

static void test_at_start(void **state) {
    const char *host;
    int port;
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    assert_false(cluster_follow_manager.primary_at_start(&host, &port));
    cluster_set_replica(c, c->self, b);
    assert_true(cluster_follow_manager.primary_at_start(&host, &port));
    assert_string_equal(host, "127.0.0.1");
    assert_int_equal(port, b->address.port);
}

/* The clock follows an address that is known late, and nobody else gives out roles. */
static void test_clock_and_orders(void **state) {
    struct peer p = peer_connect();
    struct cluster_node *b = scene_add(c, 'b', CLUSTER_NODE_PRIMARY);
    int port = b->address.port;
    b->address.port = 0;
    cluster_set_replica(c, c->self, b);
    whole_pass(TICKS_MSEC);
    assert_false(link_is_replica());
    b->address.port = (uint16_t)port;
    whole_pass(TICKS_MSEC);
    assert_follows("127.0.0.1", port);
    whole_say(&p, "replicaof no one", "-ERR REPLICAOF not allowed in cluster mode.\r\n");
    whole_say(&p, "failover",
              "-ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command "
              "instead.\r\n");
    assert_follows("127.0.0.1", port);
    peer_close(&p);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_role_decides), TEST(test_address_changes),  TEST(test_unknown_address),
        TEST(test_at_start),     TEST(test_clock_and_orders),
    };
    return cmocka_run_group_tests(tests, node_open, node_close);
}
