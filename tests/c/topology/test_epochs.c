/* SPDX-License-Identifier: BSD-3-Clause
 * Epochs: what is heard, bumps without a vote, collisions.
 */
#include "topology/epochs.h"

#include "topology/cluster_scene.h"

static void test_hear(void **state) {
    static const struct {
        uint64_t current, config;         /* heard */
        uint64_t was_current, was_config; /* known */
        uint64_t wanted_current, wanted_config;
        bool risen;
    } rows[] = {
        {0, 0, 5, 3, 5, 3, false},
        {5, 3, 5, 3, 5, 3, false},
        {6, 3, 5, 3, 6, 3, true},
        {5, 4, 5, 3, 5, 4, true},
        {4, 4, 5, 3, 5, 4, true},
        {2, 9, 5, 3, 9, 9, true}, /* a claim lies within the current epoch */
        {UINT64_MAX, 3, 5, 3, 5, 3, false},
        {5, UINT64_MAX, 5, 3, 5, 3, false},
        {CLUSTER_EPOCH_MAX, 3, 5, 3, CLUSTER_EPOCH_MAX, 3, true},
        {CLUSTER_EPOCH_MAX + 1, CLUSTER_EPOCH_MAX + 1, 5, 3, 5, 3, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = scene_cluster('5');
        struct cluster_node *node = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
        c->current_epoch = rows[i].was_current;
        node->config_epoch = rows[i].was_config;
        uint64_t changes = c->changes;
        bool risen = cluster_epoch_hear(c, node, rows[i].current, rows[i].config);
        if (risen != rows[i].risen || (c->changes != changes) != risen ||
            c->current_epoch != rows[i].wanted_current ||
            node->config_epoch != rows[i].wanted_config)
            fail_msg("row %zu", i);
        cluster_free(c);
    }
}

/* A replica says its primary's epoch: it raises the current one, and is not the replica's. */
static void test_hear_replica(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *node = scene_add(c, 'a', CLUSTER_NODE_REPLICA);
    assert_true(cluster_epoch_hear(c, node, 3, 4));
    assert_int_equal(c->current_epoch, 4);
    assert_int_equal(node->config_epoch, 0);
    cluster_free(c);
}

/* This node's epoch rises above another one's, though it be the current one itself. */
static void test_surpass(void **state) {
    static const struct {
        uint64_t current, own, other;
        bool risen;
    } rows[] = {{5, 4, 3, false}, {5, 3, 3, true}, {5, 3, 4, true}, {5, 5, 5, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = scene_cluster('5');
        struct cluster_node *node = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
        c->current_epoch = rows[i].current;
        c->self->config_epoch = rows[i].own;
        node->config_epoch = rows[i].other;
        assert_int_equal(cluster_epoch_surpass(c, node), rows[i].risen);
        assert_int_equal(c->self->config_epoch, rows[i].risen ? 6 : rows[i].own);
        assert_false(cluster_epoch_surpass(c, node));
        cluster_free(c);
    }
}

static void test_bump(void **state) {
    static const struct {
        uint64_t current, own;
        bool bumped;
    } rows[] = {{0, 0, true}, {5, 0, true}, {5, 4, true}, {5, 5, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = scene_cluster('5');
        c->current_epoch = rows[i].current;
        c->self->config_epoch = rows[i].own;
        assert_int_equal(cluster_epoch_bump(c), rows[i].bumped);
        assert_int_equal(c->current_epoch, rows[i].current + rows[i].bumped);
        assert_int_equal(c->self->config_epoch, c->current_epoch);
        assert_false(cluster_epoch_bump(c));
        cluster_free(c);
    }
}

/* A node gone mad, or a file that was written by hand, may say a great number. The next one is not
 * 0, and is none that the other nodes would ignore. */
static void test_no_epoch_behind_the_last(void **state) {
    static const uint64_t last[] = {CLUSTER_EPOCH_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
        struct cluster *c = scene_cluster('4');
        struct cluster_node *other = scene_add(c, '6', CLUSTER_NODE_PRIMARY);
        c->current_epoch = last[i];
        assert_false(cluster_epoch_bump(c));
        assert_false(cluster_epoch_part(c, other));
        assert_int_equal(cluster_epoch_next(c), 0);
        assert_int_equal(c->self->config_epoch, 0);
        assert_true(c->current_epoch == last[i]);
        cluster_free(c);
    }
}

static void test_collision(void **state) {
    static const struct {
        char self, other;
        unsigned other_role;
        uint64_t other_epoch;
        bool parted;
    } rows[] = {
        {'4', '6', CLUSTER_NODE_PRIMARY, 3, true},
        {'6', '4', CLUSTER_NODE_PRIMARY, 3, false},
        {'4', '6', CLUSTER_NODE_PRIMARY, 2, false},
        {'4', '6', CLUSTER_NODE_REPLICA, 3, false},
        {'4', '6', 0, 3, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = scene_cluster(rows[i].self);
        struct cluster_node *other = scene_add(c, rows[i].other, rows[i].other_role);
        c->current_epoch = 7;
        c->self->config_epoch = 3;
        other->config_epoch = rows[i].other_epoch;
        if (cluster_epoch_part(c, other) != rows[i].parted) fail_msg("row %zu", i);
        assert_int_equal(c->self->config_epoch, rows[i].parted ? 8 : 3);
        assert_int_equal(c->current_epoch, rows[i].parted ? 8 : 7);
        assert_false(cluster_epoch_part(c, other));
        assert_false(cluster_epoch_part(c, c->self));
        cluster_free(c);
    }
    struct cluster *c = scene_cluster('4');
    struct cluster_node *other = scene_add(c, '6', CLUSTER_NODE_PRIMARY);
    cluster_set_replica(c, c->self, other);
    assert_false(cluster_epoch_part(c, other));
    cluster_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hear),    cmocka_unit_test(test_hear_replica),
        cmocka_unit_test(test_bump),    cmocka_unit_test(test_no_epoch_behind_the_last),
        cmocka_unit_test(test_surpass), cmocka_unit_test(test_collision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
