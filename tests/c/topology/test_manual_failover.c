/* SPDX-License-Identifier: BSD-3-Clause
 * Manual failovers: the states of the replica and of its primary, and what ends each.
 */
#include "topology/manual_failover.h"

#include "base/log.h"
#include "topology/cluster_scene.h"

#define NOW INT64_C(1000000)

static char logged[300]; /* the last line */

static void keep_line(const char *line, size_t length) {
    snprintf(logged, sizeof(logged), "%.*s", (int)length, line);
}

/* Primary 1 with the replica b; primary 2. `self` is the digit of this node, 1 or b. */
static struct cluster *scene(char self) {
    struct cluster *c = scene_cluster(self);
    if (self == '1')
        scene_add(c, 'b', 0);
    else
        scene_add(c, '1', CLUSTER_NODE_PRIMARY);
    scene_give(c, scene_find(c, '1'), 10, 19);
    scene_give(c, scene_add(c, '2', CLUSTER_NODE_PRIMARY), 20, 29);
    cluster_set_replica(c, scene_find(c, 'b'), scene_find(c, '1'));
    logged[0] = '\0';
    return c;
}

static void test_replica(void **state) {
    struct cluster *c = scene('b');
    struct cluster_manual m = {0};
    assert_false(cluster_manual_step(&m, c, 100, NOW));
    assert_int_equal(cluster_manual_progress(&m), CLUSTER_MANUAL_NONE);
    cluster_manual_hear(&m, scene_find(c, '1'), 100);
    assert_int_equal(m.state, CLUSTER_MANUAL_IDLE);
    cluster_manual_begin(&m, c, false, NOW);
    assert_non_null(strstr(logged, "# Manual failover user request accepted."));
    assert_int_equal(cluster_manual_progress(&m), CLUSTER_MANUAL_UNDER_WAY);
    assert_false(cluster_manual_step(&m, c, 100, NOW + 1));
    cluster_manual_hear(&m, scene_find(c, '2'), 50);
    assert_int_equal(m.state, CLUSTER_MANUAL_ASKS);
    cluster_manual_hear(&m, scene_find(c, '1'), 200);
    assert_non_null(
        strstr(logged, "# Received replication offset for paused master manual failover: 200"));
    assert_int_equal(cluster_manual_progress(&m), CLUSTER_MANUAL_UNDER_WAY);
    assert_false(cluster_manual_step(&m, c, 199, NOW + 2));
    /* The primary goes on all the same; an old message of it changes nothing. */
    cluster_manual_hear(&m, scene_find(c, '1'), 210);
    cluster_manual_hear(&m, scene_find(c, '1'), 200);
    assert_false(cluster_manual_step(&m, c, 209, NOW + 3));
    assert_true(cluster_manual_step(&m, c, 210, NOW + 4));
    assert_non_null(
        strstr(logged, "# All master replication stream processed, manual failover can start."));
    assert_int_equal(cluster_manual_progress(&m), CLUSTER_MANUAL_READY);
    cluster_manual_hear(&m, scene_find(c, '1'), 300);
    assert_int_equal(cluster_manual_progress(&m), CLUSTER_MANUAL_READY);
    cluster_free(c);
}

/* A replica that is not in step with its primary never gets ready, not even at the offset 0, which
 * is a place in a stream, too. */
static void test_not_in_step(void **state) {
    struct cluster *c = scene('b');
    struct cluster_manual m = {0};
    cluster_manual_begin(&m, c, false, NOW);
    cluster_manual_hear(&m, scene_find(c, '1'), 0);
    assert_false(cluster_manual_step(&m, c, -1, NOW + 1));
    assert_int_equal(cluster_manual_progress(&m), CLUSTER_MANUAL_UNDER_WAY);
    assert_true(cluster_manual_step(&m, c, 0, NOW + 2));
    assert_int_equal(cluster_manual_progress(&m), CLUSTER_MANUAL_READY);
    cluster_free(c);
}

static void test_force(void **state) {
    struct cluster *c = scene('b');
    struct cluster_manual m = {0};
    cluster_manual_begin(&m, c, true, NOW);
    assert_non_null(strstr(logged, "# Forced failover user request accepted."));
    assert_int_equal(cluster_manual_progress(&m), CLUSTER_MANUAL_READY);
    cluster_free(c);
}

static void promote(struct cluster *c) { cluster_set_primary(c, c->self); }
static void follow_two(struct cluster *c) { cluster_set_replica(c, c->self, scene_find(c, '2')); }
static void forget_primary(struct cluster *c) { cluster_drop(c, scene_find(c, '1')); }
static void nothing(struct cluster *c) {}

static const struct {
    void (*change)(struct cluster *c);
    int64_t after;
    bool ends;
} replica_ends[] = {
    {nothing, 4999, false}, {nothing, 5000, true},     {promote, 1, true},
    {follow_two, 1, true},  {forget_primary, 1, true},
};

static void test_ends_of_replica(void **state) {
    for (int force = 0; force < 2; force++) {
        for (size_t i = 0; i < sizeof(replica_ends) / sizeof(replica_ends[0]); i++) {
            struct cluster *c = scene('b');
            struct cluster_manual m = {0};
            cluster_manual_begin(&m, c, force, NOW);
            replica_ends[i].change(c);
            if (cluster_manual_step(&m, c, 0, NOW + replica_ends[i].after) != replica_ends[i].ends)
                fail_msg("row %zu", i);
            assert_int_equal(cluster_manual_progress(&m) == CLUSTER_MANUAL_NONE,
                             replica_ends[i].ends);
            bool late = strstr(logged, "# Manual failover timed out.") != NULL;
            assert_int_equal(late, replica_ends[i].after >= 5000);
            cluster_free(c);
        }
    }
}

static void test_primary(void **state) {
    struct cluster *c = scene('1');
    struct cluster_manual m = {0};
    assert_false(cluster_manual_pause(&m, c, scene_find(c, '2'), NOW));
    assert_int_equal(m.state, CLUSTER_MANUAL_IDLE);
    assert_true(cluster_manual_pause(&m, c, scene_find(c, 'b'), NOW));
    assert_non_null(strstr(logged, "# Manual failover requested by replica bbbb"));
    assert_int_equal(cluster_manual_progress(&m), CLUSTER_MANUAL_NONE);
    /* It is no replica that waits for an offset. */
    cluster_manual_hear(&m, scene_find(c, 'b'), 100);
    assert_int_equal(m.state, CLUSTER_MANUAL_PAUSES);
    cluster_free(c);
    /* A replica does not pause. */
    c = scene('b');
    scene_add(c, 'c', 0);
    cluster_set_replica(c, scene_find(c, 'c'), scene_find(c, 'b'));
    m = (struct cluster_manual){0};
    assert_false(cluster_manual_pause(&m, c, scene_find(c, 'c'), NOW));
    cluster_free(c);
}

static void become_replica(struct cluster *c) {
    cluster_set_replica(c, c->self, scene_find(c, '2'));
}
static void asker_moves(struct cluster *c) {
    cluster_set_replica(c, scene_find(c, 'b'), scene_find(c, '2'));
}
static void asker_is_promoted(struct cluster *c) { cluster_set_primary(c, scene_find(c, 'b')); }
static void forget_asker(struct cluster *c) { cluster_drop(c, scene_find(c, 'b')); }

static const struct {
    void (*change)(struct cluster *c);
    int64_t after;
    bool ends;
} primary_ends[] = {
    {nothing, 5999, false}, {nothing, 6000, true},   {become_replica, 1, true},
    {asker_moves, 1, true}, {forget_asker, 1, true}, {asker_is_promoted, 1, true},
};

static void test_ends_of_primary(void **state) {
    for (size_t i = 0; i < sizeof(primary_ends) / sizeof(primary_ends[0]); i++) {
        struct cluster *c = scene('1');
        struct cluster_manual m = {0};
        assert_true(cluster_manual_pause(&m, c, scene_find(c, 'b'), NOW));
        primary_ends[i].change(c);
        if (cluster_manual_step(&m, c, 0, NOW + primary_ends[i].after) != primary_ends[i].ends)
            fail_msg("row %zu", i);
        assert_int_equal(m.state == CLUSTER_MANUAL_IDLE, primary_ends[i].ends);
        cluster_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replica), cmocka_unit_test(test_not_in_step),
        cmocka_unit_test(test_force),   cmocka_unit_test(test_ends_of_replica),
        cmocka_unit_test(test_primary), cmocka_unit_test(test_ends_of_primary),
    };
    log_set_observer(keep_line);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
