/* SPDX-License-Identifier: BSD-3-Clause
 * Owners and marks of slots, runs, and the bitmap of a node's slots.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "topology/slots.h"

#include "base/seed.h"
#include "topology/cluster_scene.h"

static void test_assign(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    uint64_t changes = c->changes;
    cluster_slot_assign(c, 0, a);
    cluster_slot_assign(c, KEY_SLOTS - 1, c->self);
    assert_int_equal(c->changes, changes + 2);
    assert_int_equal(c->assigned, 2);
    cluster_slot_assign(c, 0, a);
    cluster_slot_assign(c, 1, NULL);
    assert_int_equal(c->changes, changes + 2);
    cluster_slot_assign(c, 0, c->self);
    assert_int_equal(a->slot_count, 0);
    assert_int_equal(c->self->slot_count, 2);
    cluster_slot_assign(c, 0, NULL);
    assert_int_equal(c->assigned, 1);
    cluster_check(c);
    cluster_slots_release(c, c->self);
    cluster_slots_release(c, a);
    assert_int_equal(c->assigned, 0);
    cluster_check(c);
    cluster_free(c);
}

static void test_marks(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    cluster_slot_set_migrating(c, 9, a);
    cluster_slot_set_importing(c, 9, c->self);
    assert_int_equal(c->open_marks, 2);
    uint64_t changes = c->changes;
    cluster_slot_set_migrating(c, 9, a);
    assert_int_equal(c->changes, changes);
    cluster_slot_set_migrating(c, 9, c->self);
    assert_int_equal(c->open_marks, 2);
    cluster_slot_set_migrating(c, 9, NULL);
    assert_ptr_equal(c->importing_from[9], c->self);
    cluster_slot_set_migrating(c, KEY_SLOTS - 1, a);
    cluster_check(c);
    cluster_slots_close(c);
    assert_int_equal(c->open_marks, 0);
    assert_true(c->changes > changes);
    cluster_check(c);
    cluster_free(c);
}

static void test_held(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    for (int i = 0; i < 3; i++) {
        cluster_slot_set_migrating(c, 65, a);
        assert_false(cluster_slot_is_held(c, 65));
        cluster_slot_hold(c, 65, true);
        cluster_slot_set_migrating(c, 65, a); /* no change */
        assert_true(cluster_slot_is_held(c, 65));
        assert_false(cluster_slot_is_held(c, 1));
        if (i == 0)
            cluster_slot_hold(c, 65, false);
        else if (i == 1)
            cluster_slots_close(c);
        else
            cluster_slot_set_migrating(c, 65, c->self);
        assert_false(cluster_slot_is_held(c, 65));
        cluster_check(c);
        cluster_slot_set_migrating(c, 65, NULL);
    }
    cluster_free(c);
}

/* The importing mark of a slot that this node owns: it does not open the slot, and goes with it. */
static void test_unconfirmed(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    cluster_slot_set_importing(c, 9, a);
    assert_false(cluster_slot_is_unconfirmed(c, 9));
    cluster_slot_assign(c, 9, a);
    assert_ptr_equal(c->importing_from[9], a);
    cluster_slot_assign(c, 9, c->self);
    assert_true(cluster_slot_is_unconfirmed(c, 9));
    assert_true(c->settled[0] >> 9 & 1);
    cluster_slot_assign(c, 9, a);
    assert_null(c->importing_from[9]);
    cluster_check(c);
    cluster_free(c);
}

/* Whatever is changed, in whatever order: `settled` and the counts are those of cluster_check. */
static void test_random_changes(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    struct cluster_node *const nodes[] = {NULL, a, c->self};
    for (int i = 0; i < 2000; i++) {
        unsigned slot = (unsigned)random_below(2) * 63 + (unsigned)random_below(3);
        struct cluster_node *node = nodes[random_below(3)];
        switch (random_below(3)) {
        case 0: cluster_slot_assign(c, slot, node); break;
        case 1: cluster_slot_set_migrating(c, slot, node); break;
        default: cluster_slot_set_importing(c, slot, node); break;
        }
        if (random_below(100) == 0) cluster_slots_close(c);
        if (random_below(100) == 0) cluster_slots_release(c, c->self);
        if (i % 20 == 0) cluster_check(c);
    }
    cluster_check(c);
    cluster_free(c);
}

static void test_runs(void **state) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    struct cluster_run run;
    assert_true(cluster_run_next(c, 0, &run));
    assert_int_equal(run.last, KEY_SLOTS - 1);
    assert_null(run.owner);
    scene_give(c, a, 0, 0);
    scene_give(c, c->self, 1, 5);
    scene_give(c, a, KEY_SLOTS - 2, KEY_SLOTS - 1);
    const struct cluster_run wanted[] = {
        {0, 0, a}, {1, 5, c->self}, {6, KEY_SLOTS - 3, NULL}, {KEY_SLOTS - 2, KEY_SLOTS - 1, a}};
    size_t count = 0;
    for (unsigned from = 0; cluster_run_next(c, from, &run); from = run.last + 1, count++) {
        assert_int_equal(run.first, wanted[count].first);
        assert_int_equal(run.last, wanted[count].last);
        assert_ptr_equal(run.owner, wanted[count].owner);
    }
    assert_int_equal(count, 4);
    assert_false(cluster_run_next(c, KEY_SLOTS, &run));
    cluster_free(c);
}

static void test_bitmap(void **state) {
    struct cluster *c = scene_cluster('5');
    unsigned char bitmap[CLUSTER_BITMAP_BYTES];
    cluster_slot_assign(c, 0, c->self);
    cluster_slot_assign(c, 10, c->self);
    cluster_slot_assign(c, KEY_SLOTS - 1, c->self);
    memset(bitmap, 0xff, sizeof(bitmap));
    cluster_slots_bitmap(c, c->self, bitmap);
    assert_int_equal(bitmap[0], 1);
    assert_int_equal(bitmap[1], 4);
    assert_int_equal(bitmap[CLUSTER_BITMAP_BYTES - 1], 128);
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        assert_int_equal(cluster_bitmap_has(bitmap, slot), c->owners[slot] == c->self);
    cluster_free(c);
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assign),         cmocka_unit_test(test_marks),
        cmocka_unit_test(test_held),           cmocka_unit_test(test_unconfirmed),
        cmocka_unit_test(test_random_changes), cmocka_unit_test(test_runs),
        cmocka_unit_test(test_bitmap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
