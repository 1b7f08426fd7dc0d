/* SPDX-License-Identifier: BSD-3-Clause
 * Claims: who gets a slot, what this node loses and whom it follows, and who is to be refuted.
 */
#include "topology/ownership.h"

#include "topology/cluster_scene.h"

/* This node is 5, with slots 0 to 9 under epoch 3; a has 10 to 19 under 5; b has none. */
static struct cluster *scene(uint64_t b_epoch) {
    struct cluster *c = scene_cluster('5');
    struct cluster_node *a = scene_add(c, 'a', CLUSTER_NODE_PRIMARY);
    c->self->config_epoch = 3;
    a->config_epoch = 5;
    scene_add(c, 'b', CLUSTER_NODE_PRIMARY)->config_epoch = b_epoch;
    scene_give(c, c->self, 0, 9);
    scene_give(c, a, 10, 19);
    return c;
}

static void fill(unsigned char slots[CLUSTER_BITMAP_BYTES], unsigned first, unsigned last) {
    memset(slots, 0, CLUSTER_BITMAP_BYTES);
    for (unsigned slot = first; slot <= last; slot++)
        slots[slot / 8] |= (unsigned char)(1U << (slot % 8));
}

static const struct {
    const char *name;
    uint64_t epoch;
    unsigned first, last; /* claimed by b */
    unsigned taken, lost;
    bool followed[2]; /* without and with cluster-allow-replica-migration */
} claims[] = {
    {"slots of nobody", 0, 100, 109, 10, 0, {false, false}},
    {"a greater epoch", 4, 5, 9, 5, 5, {false, false}},
    {"the same epoch", 3, 0, 9, 0, 0, {false, false}},
    {"a smaller epoch", 2, 0, 9, 0, 0, {false, false}},
    {"one of two owners has a greater one", 4, 5, 14, 5, 5, {false, false}},
    {"all of this node's", 4, 0, 9, 10, 10, {true, true}},
    {"all of this node's and more", 6, 0, 10, 11, 10, {false, true}},
    {"all of another's", 6, 10, 19, 10, 0, {false, false}},
};

static void test_claims(void **state) {
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        for (int may_follow = 0; may_follow < 2; may_follow++) {
            unsigned char slots[CLUSTER_BITMAP_BYTES];
            struct cluster_claim claim;
            struct cluster *c = scene(claims[i].epoch);
            uint64_t changes = c->changes;
            fill(slots, claims[i].first, claims[i].last);
            cluster_claim(c, scene_find(c, 'b'), slots, may_follow, &claim);
            if (claim.taken != claims[i].taken || claim.lost_count != claims[i].lost ||
                claim.is_followed != claims[i].followed[may_follow])
                fail_msg("%s, may follow %d", claims[i].name, may_follow);
            assert_int_equal(scene_find(c, 'b')->slot_count, claims[i].taken);
            assert_int_equal(c->self->slot_count, 10 - claims[i].lost);
            assert_int_equal(c->changes != changes, claims[i].taken != 0);
            for (unsigned slot = 0; slot < 10; slot++)
                assert_int_equal(cluster_bitmap_has(claim.lost, slot), c->owners[slot] != c->self);
            cluster_check(c);
            cluster_claim(c, scene_find(c, 'b'), slots, may_follow, &claim);
            assert_int_equal(claim.taken + claim.lost_count + claim.is_followed, 0);
            cluster_free(c);
        }
    }
}

static void test_open_slots(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES];
    struct cluster_claim claim;
    struct cluster *c = scene(9);
    struct cluster_node *a = scene_find(c, 'a'), *b = scene_find(c, 'b');
    cluster_slot_set_migrating(c, 3, a);
    cluster_slot_set_migrating(c, 8, a);
    cluster_slot_set_importing(c, 4, a);
    fill(slots, 0, 7);
    cluster_claim(c, b, slots, true, &claim);
    assert_int_equal(claim.lost_count, 7);
    assert_ptr_equal(c->owners[4], c->self); /* being imported: settled by SETSLOT */
    assert_null(c->migrating_to[3]);
    assert_ptr_equal(c->migrating_to[8], a);
    cluster_check(c);
    cluster_free(c);
}

/* Slots that migrate to the claimer were given to it: this node stays a primary without slots. Not
 * if it loses another one with them, nor if the claimer takes this node's place. */
static void test_given(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES];
    for (int marked = 0; marked <= 10; marked++) {
        struct cluster_claim claim;
        struct cluster *c = scene(9);
        struct cluster_node *a = scene_find(c, 'a'), *b = scene_find(c, 'b');
        for (unsigned slot = 0; slot < 10; slot++)
            cluster_slot_set_migrating(c, slot, (int)slot < marked ? b : a);
        fill(slots, 0, 9);
        cluster_claim(c, b, slots, true, &claim);
        assert_int_equal(claim.lost_count, 10);
        assert_int_equal(claim.is_followed, marked < 10);
        assert_int_equal(c->open_marks, 0);
        cluster_check(c);
        cluster_free(c);
    }
    struct cluster_claim claim;
    struct cluster *c = scene(9);
    struct cluster_node *a = scene_find(c, 'a'), *b = scene_find(c, 'b');
    for (unsigned slot = 0; slot < 10; slot++) cluster_slot_set_migrating(c, slot, slot ? b : a);
    cluster_set_replica(c, b, c->self);
    cluster_claim_promoted(c, b);
    assert_int_equal(c->open_marks, 1);
    assert_ptr_equal(c->migrating_to[0], a);
    cluster_set_primary(c, b);
    b->config_epoch = 9;
    cluster_claim(c, b, slots, false, &claim);
    assert_true(claim.is_followed);
    cluster_free(c);
}

/* The owner of a slot that is being imported fails, and its successor claims it: it is imported
 * from that one now. That it became a replica before it was heard of is no difference. */
static void test_imported_from_successor(void **state) {
    for (int demoted = 0; demoted < 2; demoted++) {
        unsigned char slots[CLUSTER_BITMAP_BYTES];
        struct cluster_claim claim;
        struct cluster *c = scene(9);
        struct cluster_node *a = scene_find(c, 'a'), *b = scene_find(c, 'b');
        cluster_slot_set_importing(c, 12, a);
        fill(slots, 10, 19);
        b->config_epoch = a->config_epoch;
        if (demoted) {
            cluster_set_replica(c, a, b);
            assert_null(c->owners[12]);
        } else {
            cluster_claim(c, b, slots, true, &claim); /* no greater epoch */
            assert_ptr_equal(c->owners[12], a);
            assert_ptr_equal(c->importing_from[12], a);
            b->config_epoch++;
        }
        cluster_claim(c, b, slots, true, &claim);
        assert_ptr_equal(c->owners[12], b);
        assert_ptr_equal(c->importing_from[12], b);
        assert_false(claim.contests);
        assert_int_equal(claim.lost_count, 0);
        cluster_check(c);
        cluster_free(c);
    }
}

/* Slots 0 and 1 were taken from a, which claims 10 to 19, and 1 besides. */
static void test_unconfirmed(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES];
    struct cluster_claim claim;
    struct cluster *c = scene(9);
    struct cluster_node *a = scene_find(c, 'a'), *b = scene_find(c, 'b');
    cluster_slot_set_importing(c, 0, a);
    cluster_slot_set_importing(c, 1, a);
    /* Whoever claims them, they stay; only the former owner contests them. */
    fill(slots, 0, 9);
    cluster_claim(c, b, slots, true, &claim);
    assert_int_equal(claim.lost_count, 8);
    assert_false(claim.contests);
    fill(slots, 1, 1);
    for (uint64_t epoch = 2; epoch <= 4; epoch++) {
        a->config_epoch = epoch;
        cluster_claim(c, a, slots, true, &claim);
        assert_int_equal(claim.lost_count + claim.taken, 0);
        assert_int_equal(claim.contests, epoch >= 3);
    }
    assert_int_equal(c->self->slot_count, 2);
    assert_false(cluster_claim_confirm(c, b, slots));
    assert_true(cluster_claim_confirm(c, a, slots));
    assert_null(c->importing_from[0]);
    assert_ptr_equal(c->importing_from[1], a);
    assert_false(cluster_claim_confirm(c, a, slots));
    cluster_claim(c, b, (fill(slots, 0, 0), slots), true, &claim);
    assert_int_equal(claim.lost_count, 1);
    cluster_drop(c, a); /* forgotten: nobody is left to contest the other */
    assert_null(c->importing_from[1]);
    cluster_check(c);
    cluster_free(c);
}

/* Promoted replicas: the former owner's is the former owner; this node's may have all. */
static void test_promoted(void **state) {
    struct cluster *c = scene(9);
    struct cluster_node *a = scene_find(c, 'a'), *b = scene_find(c, 'b');
    cluster_slot_set_importing(c, 0, a);
    cluster_slot_set_importing(c, 30, a); /* not this node's yet */
    cluster_claim_promoted(c, b);         /* nobody's replica */
    assert_ptr_equal(c->importing_from[0], a);
    cluster_set_replica(c, b, a);
    cluster_claim_promoted(c, b);
    assert_ptr_equal(c->importing_from[0], b);
    assert_ptr_equal(c->importing_from[30], a);
    cluster_set_replica(c, a, c->self);
    cluster_claim_promoted(c, a);
    assert_null(c->importing_from[0]);
    assert_ptr_equal(c->importing_from[30], a);
    cluster_check(c);
    cluster_free(c);
}

/* A replica loses its primary's slots: nothing is lost here, but there is somebody to follow. */
static void test_replica(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES];
    struct cluster_claim claim;
    struct cluster *c = scene(9);
    cluster_set_replica(c, c->self, scene_find(c, 'a'));
    fill(slots, 10, 18);
    cluster_claim(c, scene_find(c, 'b'), slots, true, &claim);
    assert_false(claim.is_followed);
    fill(slots, 10, 19);
    cluster_claim(c, scene_find(c, 'b'), slots, false, &claim);
    assert_false(claim.is_followed); /* of ten slots only one was the shard's */
    cluster_free(c);
    c = scene(9);
    cluster_set_replica(c, c->self, scene_find(c, 'a'));
    cluster_claim(c, scene_find(c, 'b'), slots, false, &claim);
    assert_true(claim.is_followed);
    assert_int_equal(claim.lost_count, 0);
    cluster_free(c);
    /* Without a known primary there is nothing to lose. */
    c = scene(9);
    cluster_set_replica(c, c->self, NULL);
    fill(slots, 0, 99);
    cluster_claim(c, scene_find(c, 'b'), slots, true, &claim);
    assert_int_equal(claim.taken, 100);
    assert_false(claim.is_followed);
    cluster_free(c);
}

static void test_refuter(void **state) {
    unsigned char slots[CLUSTER_BITMAP_BYTES];
    struct cluster *c = scene(4);
    struct cluster_node *a = scene_find(c, 'a'), *b = scene_find(c, 'b');
    fill(slots, 0, 19);
    assert_ptr_equal(cluster_claim_refuter(c, b, 4, slots), a);
    assert_ptr_equal(cluster_claim_refuter(c, b, 2, slots), c->self);
    assert_null(cluster_claim_refuter(c, b, 5, slots));
    assert_ptr_equal(cluster_claim_refuter(c, a, 2, slots), c->self);
    fill(slots, 10, 99);
    assert_null(cluster_claim_refuter(c, a, 2, slots));
    fill(slots, 20, 99);
    assert_null(cluster_claim_refuter(c, b, 0, slots));
    cluster_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),   cmocka_unit_test(test_open_slots),
        cmocka_unit_test(test_given),    cmocka_unit_test(test_unconfirmed),
        cmocka_unit_test(test_promoted), cmocka_unit_test(test_imported_from_successor),
        cmocka_unit_test(test_replica),  cmocka_unit_test(test_refuter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
