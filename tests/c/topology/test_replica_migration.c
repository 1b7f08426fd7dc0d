/* SPDX-License-Identifier: BSD-3-Clause
 * Replica migration: who is orphaned and for how long, and which replica moves.
 */
#include "topology/replica_migration.h"

#include "topology/cluster_scene.h"

#define NOW INT64_C(1000000)

/* Primary 1 has the replicas a (this node), c and d; 2 has b; 3 has none, but has had some. */
static struct cluster *three(void) {
    struct cluster *c = scene_cluster('a');
    for (char digit = '1'; digit <= '3'; digit++) {
        unsigned first = 10 * (unsigned)(digit - '0');
        scene_give(c, scene_add(c, digit, CLUSTER_NODE_PRIMARY), first, first + 9);
    }
    cluster_set_replica(c, c->self, scene_find(c, '1'));
    cluster_set_replica(c, scene_add(c, 'b', 0), scene_find(c, '2'));
    cluster_set_replica(c, scene_add(c, 'c', 0), scene_find(c, '1'));
    cluster_set_replica(c, scene_add(c, 'd', 0), scene_find(c, '1'));
    scene_find(c, '3')->flags |= CLUSTER_NODE_MIGRATE_TO;
    c->ok = true;
    return c;
}

static void flag(struct cluster *c, char digit, unsigned flags) {
    scene_find(c, digit)->flags |= (uint16_t)flags;
}
static void nothing(struct cluster *c) {}
static void not_ok(struct cluster *c) { c->ok = false; }
static void never_had_any(struct cluster *c) {
    scene_find(c, '3')->flags &= (uint16_t)~CLUSTER_NODE_MIGRATE_TO;
}
static void orphan_failed(struct cluster *c) { flag(c, '3', CLUSTER_NODE_FAILED); }
static void orphan_suspected(struct cluster *c) { flag(c, '3', CLUSTER_NODE_SUSPECTED); }
static void orphan_without_slots(struct cluster *c) {
    cluster_slots_release(c, scene_find(c, '3'));
}
static void has_working(struct cluster *c) {
    cluster_set_replica(c, scene_add(c, 'e', 0), scene_find(c, '3'));
}
static void has_failed(struct cluster *c) {
    has_working(c);
    flag(c, 'e', CLUSTER_NODE_FAILED);
}
static void one_sibling_fails(struct cluster *c) { flag(c, 'c', CLUSTER_NODE_FAILED); }
static void two_siblings_fail(struct cluster *c) {
    one_sibling_fails(c);
    flag(c, 'd', CLUSTER_NODE_SUSPECTED);
}
static void two_has_more(struct cluster *c) {
    for (char digit = 'e'; digit <= 'f'; digit++)
        cluster_set_replica(c, scene_add(c, digit, 0), scene_find(c, '2'));
    cluster_set_replica(c, scene_add(c, '9', 0), scene_find(c, '2'));
}
static void two_has_as_many(struct cluster *c) {
    two_has_more(c);
    flag(c, 'e', CLUSTER_NODE_FAILED); /* 9, b and f work */
}
static void smaller_has_failed(struct cluster *c) {
    two_has_more(c);
    flag(c, '9', CLUSTER_NODE_SUSPECTED); /* b, e and f work */
}
static void own_primary_failed(struct cluster *c) { flag(c, '1', CLUSTER_NODE_FAILED); }
static void no_primary(struct cluster *c) { cluster_set_replica(c, c->self, NULL); }
static void self_primary(struct cluster *c) { cluster_set_primary(c, c->self); }
static void smaller_sibling(struct cluster *c) {
    cluster_set_replica(c, scene_add(c, '8', 0), scene_find(c, '1'));
}

static const struct {
    void (*prepare)(struct cluster *c);
    int64_t barrier;
    bool moves;
} rows[] = {
    {nothing, 1, true},
    {nothing, 2, true},
    {nothing, 3, false},
    {nothing, 0, true},
    {not_ok, 1, false},
    {never_had_any, 1, false},
    {orphan_failed, 1, false},
    {orphan_suspected, 1, true},
    {orphan_without_slots, 1, false},
    {has_working, 1, false},
    {has_failed, 1, true},
    {one_sibling_fails, 1, true},
    {one_sibling_fails, 2, false},
    {two_siblings_fail, 0, false},
    {two_has_more, 1, false},
    {two_has_as_many, 1, false},
    {smaller_has_failed, 1, true},
    {own_primary_failed, 1, false},
    {no_primary, 1, false},
    {self_primary, 1, false},
    {smaller_sibling, 1, false},
};

static void test_rows(void **state) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = three();
        rows[i].prepare(c);
        assert_null(cluster_migration_target(c, rows[i].barrier, NOW));
        assert_null(cluster_migration_target(c, rows[i].barrier, NOW + 5000));
        struct cluster_node *to = cluster_migration_target(c, rows[i].barrier, NOW + 5001);
        if (to != (rows[i].moves ? scene_find(c, '3') : NULL)) fail_msg("row %zu", i);
        cluster_free(c);
    }
}

static void test_time(void **state) {
    struct cluster *c = three();
    struct cluster_node *orphan = scene_find(c, '3');
    assert_null(cluster_migration_target(c, 1, NOW));
    /* A replica that has come back begins the time anew. */
    has_working(c);
    assert_null(cluster_migration_target(c, 1, NOW + 5001));
    flag(c, 'e', CLUSTER_NODE_SUSPECTED);
    assert_null(cluster_migration_target(c, 1, NOW + 5002));
    assert_null(cluster_migration_target(c, 1, NOW + 10002));
    assert_ptr_equal(cluster_migration_target(c, 1, NOW + 10003), orphan);
    /* So does a clock that is set back. */
    assert_null(cluster_migration_target(c, 1, NOW));
    assert_ptr_equal(cluster_migration_target(c, 1, NOW + 5001), orphan);
    cluster_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
