/* SPDX-License-Identifier: BSD-3-Clause
 * Votes: each refusal in its order, what a vote leaves behind, and what a candidate is told.
 */
#include "topology/vote.h"

#include "topology/cluster_scene.h"

#define NOW INT64_C(1000000)
#define T INT64_C(1000)

/* Voters 1 (this node), 2 and 3; 3 has failed, and a and b are its replicas. The epochs of 2 and 3
 * are 4 and 5, the current one is 9. */
static struct cluster *three(void) {
    struct cluster *c = scene_cluster('1');
    scene_give(c, c->self, 0, 9);
    scene_give(c, scene_add(c, '2', CLUSTER_NODE_PRIMARY), 10, 19);
    scene_give(c, scene_add(c, '3', CLUSTER_NODE_PRIMARY | CLUSTER_NODE_FAILED), 20, 29);
    scene_find(c, '2')->config_epoch = 4;
    scene_find(c, '3')->config_epoch = 5;
    for (char digit = 'a'; digit <= 'b'; digit++)
        cluster_set_replica(c, scene_add(c, digit, 0), scene_find(c, '3'));
    c->current_epoch = 9;
    return c;
}

static struct cluster_vote ask(struct cluster *c, char candidate, uint64_t epoch,
                               uint64_t config_epoch, bool force) {
    unsigned char slots[CLUSTER_BITMAP_BYTES];
    cluster_slots_bitmap(c, scene_find(c, '3'), slots);
    const struct cluster_vote_request request = {
        scene_find(c, candidate), epoch, config_epoch, slots, force,
    };
    return cluster_vote_decide(c, &request, NOW, T);
}

static void no_slots(struct cluster *c) { cluster_slots_release(c, c->self); }
static void is_replica(struct cluster *c) { cluster_set_replica(c, c->self, scene_find(c, '2')); }
static void has_voted(struct cluster *c) { c->last_vote_epoch = 9; }
static void voted_later(struct cluster *c) { c->last_vote_epoch = 10; }
static void voted_before(struct cluster *c) { c->last_vote_epoch = 8; }
static void primary_works(struct cluster *c) {
    scene_find(c, '3')->flags &= (uint16_t)~CLUSTER_NODE_FAILED;
}
static void primary_suspected(struct cluster *c) {
    primary_works(c);
    scene_find(c, '3')->flags |= CLUSTER_NODE_SUSPECTED;
}
static void primary_unknown(struct cluster *c) { cluster_set_replica(c, scene_find(c, 'a'), NULL); }
static void just_voted(struct cluster *c) { scene_find(c, '3')->voted_msec = NOW - 2 * T + 1; }
static void voted_long_ago(struct cluster *c) { scene_find(c, '3')->voted_msec = NOW - 2 * T; }
static void clock_went_back(struct cluster *c) { scene_find(c, '3')->voted_msec = NOW + 1; }
static void owner_moved(struct cluster *c) {
    cluster_slot_assign(c, 25, scene_find(c, '2'));
    scene_find(c, '2')->config_epoch = 6;
}

static const struct {
    void (*prepare)(struct cluster *c);
    char candidate;
    uint64_t epoch, config_epoch;
    bool force;
    const char *refusal; /* NULL: the vote is given */
} rows[] = {
    {NULL, 'a', 9, 5, false, NULL},
    {NULL, 'a', 9, 6, false, NULL},
    {NULL, 'a', 9, 5, true, NULL},
    {no_slots, 'a', 9, 5, false, ""},
    {is_replica, 'a', 9, 5, false, ""},
    {NULL, 'a', 8, 5, false, "reqEpoch (8) < curEpoch(9)"},
    {NULL, 'a', 10, 5, false, "reqEpoch (10) > curEpoch(9)"},
    {has_voted, 'a', 8, 5, false, "reqEpoch (8) < curEpoch(9)"},
    {has_voted, 'a', 9, 5, false, "already voted for epoch 9"},
    {voted_later, 'a', 9, 5, false, "already voted for epoch 10"},
    {voted_before, 'a', 9, 5, false, NULL},
    {has_voted, '2', 9, 4, false, "already voted for epoch 9"},
    {NULL, '2', 9, 4, true, "it is a master node"},
    {primary_unknown, 'a', 9, 5, true, "I don't know its master"},
    {primary_works, 'a', 9, 5, false, "its master is up"},
    {primary_suspected, 'a', 9, 5, false, "its master is up"},
    {primary_works, 'a', 9, 5, true, NULL},
    {just_voted, 'a', 9, 4, false, "can't vote about this master before 1 milliseconds"},
    {just_voted, 'a', 9, 5, true, "can't vote about this master before 1 milliseconds"},
    {voted_long_ago, 'a', 9, 5, false, NULL},
    {clock_went_back, 'a', 9, 5, false, NULL},
    {NULL, 'a', 9, 4, false, "slot 20 epoch (5) > reqEpoch (4)"},
    {owner_moved, 'a', 9, 5, false, NULL}, /* which it does not claim */
};

static void test_rows(void **state) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = three();
        if (rows[i].prepare) rows[i].prepare(c);
        uint64_t changes = c->changes, last = c->last_vote_epoch;
        struct cluster_vote vote =
            ask(c, rows[i].candidate, rows[i].epoch, rows[i].config_epoch, rows[i].force);
        if (vote.is_given != !rows[i].refusal ||
            strcmp(vote.refusal, rows[i].refusal ? rows[i].refusal : "") != 0)
            fail_msg("row %zu: %d '%s'", i, vote.is_given, vote.refusal);
        assert_int_equal(c->last_vote_epoch, vote.is_given ? rows[i].epoch : last);
        assert_int_equal(c->changes, changes + vote.is_given);
        cluster_check(c);
        cluster_free(c);
    }
}

static void test_what_a_vote_leaves(void **state) {
    struct cluster *c = three();
    assert_true(ask(c, 'a', 9, 5, false).is_given);
    assert_int_equal(scene_find(c, '3')->voted_msec, NOW);
    /* Its sibling in the next epoch has to wait, whatever the timeout is. */
    c->current_epoch = 10;
    assert_string_equal(ask(c, 'b', 10, 5, false).refusal,
                        "can't vote about this master before 2000 milliseconds");
    unsigned char slots[CLUSTER_BITMAP_BYTES] = {0};
    const struct cluster_vote_request request = {scene_find(c, 'b'), 10, 5, slots, false};
    struct cluster_vote vote = cluster_vote_decide(c, &request, NOW + 1, INT64_MAX);
    assert_false(vote.is_given);
    assert_int_equal(c->last_vote_epoch, 9);
    cluster_free(c);
}

static void test_who_is_behind(void **state) {
    struct cluster *c = three();
    unsigned char slots[CLUSTER_BITMAP_BYTES];
    memset(slots, 0xff, sizeof(slots)); /* also slots without an owner */
    owner_moved(c);
    const struct cluster_vote_request request = {scene_find(c, 'a'), 9, 5, slots, false};
    struct cluster_vote vote = cluster_vote_decide(c, &request, NOW, T);
    assert_string_equal(vote.refusal, "slot 10 epoch (6) > reqEpoch (5)");
    assert_ptr_equal(vote.unknown_owner, scene_find(c, '2'));
    assert_null(ask(c, 'a', 8, 5, false).unknown_owner);
    cluster_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_what_a_vote_leaves),
        cmocka_unit_test(test_who_is_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
