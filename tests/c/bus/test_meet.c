/* SPDX-License-Identifier: BSD-3-Clause
 * Handshakes: one an address, bounded in number and in time; ids that are forgotten for a minute.
 */
#include "bus/meet.h"

#include "topology/cluster_scene.h"

static struct cluster_address address_at(unsigned port) {
    struct cluster_address address = {.host = "127.0.0.1",
                                      .port = (uint16_t)port,
                                      .bus_port = (uint16_t)(port + CLUSTER_BUS_PORT_OFFSET)};
    return address;
}

static void test_one_an_address(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_address address = address_at(7001), other = address_at(7002);
    cluster_handshake_begin(c, &address, CLUSTER_NODE_MEET);
    cluster_handshake_begin(c, &address, 0);
    assert_int_equal(c->count, 2);
    cluster_handshake_begin(c, &other, 0);
    assert_int_equal(c->count, 3);
    other.bus_port = 0;
    cluster_handshake_begin(c, &other, 0);
    address.host[0] = '\0';
    cluster_handshake_begin(c, &address, 0);
    assert_int_equal(c->count, 3);
    cluster_check(c);
    cluster_free(c);
}

static void begin_many(struct cluster *c, unsigned first_port, unsigned count, unsigned flags) {
    for (unsigned i = 0; i < count; i++) {
        struct cluster_address address = address_at(first_port + i);
        cluster_handshake_begin(c, &address, flags);
    }
}

/* Strangers leave room for what the operator begins. */
static void test_bounds(void **state) {
    struct cluster *c = scene_cluster('5');
    begin_many(c, 1000, CLUSTER_HANDSHAKES_MAX + 10, 0);
    assert_int_equal(c->count, CLUSTER_STRANGERS_HANDSHAKES_MAX + 1);
    begin_many(c, 3000, CLUSTER_HANDSHAKES_MAX + 10, CLUSTER_NODE_MEET);
    assert_int_equal(c->count, CLUSTER_HANDSHAKES_MAX + 1);
    cluster_free(c);
}

static void test_operator_comes_after_a_stranger(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_address address = address_at(7001);
    cluster_handshake_begin(c, &address, 0);
    begin_many(c, 1000, CLUSTER_HANDSHAKES_MAX, CLUSTER_NODE_MEET);
    assert_int_equal(c->count, CLUSTER_HANDSHAKES_MAX + 1);
    cluster_handshake_begin(c, &address, CLUSTER_NODE_MEET);
    assert_int_equal(c->count, CLUSTER_HANDSHAKES_MAX + 1);
    for (size_t i = 0; i < c->count; i++)
        assert_true(c->nodes[i] == c->self || cluster_node_has(c->nodes[i], CLUSTER_NODE_MEET));
    cluster_check(c);
    cluster_free(c);
}

static void test_time(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_address address = address_at(7001);
    cluster_handshake_begin(c, &address, 0);
    struct cluster_node *node = c->nodes[0] == c->self ? c->nodes[1] : c->nodes[0];
    node->created_msec = 1000;
    assert_false(cluster_handshake_is_over(node, 2000, 1)); /* a second at least */
    assert_true(cluster_handshake_is_over(node, 2001, 1));
    assert_false(cluster_handshake_is_over(node, 6000, 5000));
    assert_true(cluster_handshake_is_over(node, 6001, 5000));
    assert_true(cluster_handshake_is_over(node, 999, 5000)); /* the clock was set back */
    cluster_free(c);
}

static void test_forgotten(void **state) {
    struct cluster_id a = scene_id('a'), b = scene_id('b');
    assert_false(cluster_is_forgotten(&a, 0));
    cluster_forget_id(&a, 1000);
    cluster_forget_id(&b, 2000);
    assert_true(cluster_is_forgotten(&a, 1000 + CLUSTER_FORGET_MSEC - 1));
    assert_false(cluster_is_forgotten(&a, 1000 + CLUSTER_FORGET_MSEC));
    assert_true(cluster_is_forgotten(&b, 1000 + CLUSTER_FORGET_MSEC));
    cluster_forget_id(&a, 1000 + CLUSTER_FORGET_MSEC); /* once more */
    assert_true(cluster_is_forgotten(&a, 1000 + CLUSTER_FORGET_MSEC));
    assert_false(cluster_is_forgotten(&b, 0)); /* the clock was set back */
    cluster_forgotten_clear();
    assert_false(cluster_is_forgotten(&b, 2000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_an_address),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_operator_comes_after_a_stranger),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
