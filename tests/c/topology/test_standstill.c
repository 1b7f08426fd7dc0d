/* SPDX-License-Identifier: BSD-3-Clause
 * The gap rule: which gaps count, whose answers, and how long the doubts last.
 */
#include "topology/standstill.h"

#include "topology/cluster_scene.h"

#define NOW INT64_C(1000000)
#define WALL INT64_C(5000000000)

/* Voters 1 (this node) to 5; a is its replica, 6 has no slots. */
static struct cluster *five(void) {
    struct cluster *c = scene_cluster('1');
    scene_give(c, c->self, 0, 9);
    for (char digit = '2'; digit <= '5'; digit++) {
        unsigned first = 10 * (unsigned)(digit - '0');
        scene_give(c, scene_add(c, digit, CLUSTER_NODE_PRIMARY), first, first + 9);
    }
    scene_add(c, '6', CLUSTER_NODE_PRIMARY);
    cluster_set_replica(c, scene_add(c, 'a', 0), c->self);
    c->current_epoch = 7;
    return c;
}

static void test_gaps(void **state) {
    static const struct {
        int64_t gap, wall_gap, timeout;
        bool doubts;
    } rows[] = {
        {500, 500, 1, false},
        {501, 501, 1, true},
        {501, 0, 1, true},
        {0, 501, 1, true},
        {100, -3600000, 1, false},
        {1000, 1000, 1000, false},
        {1001, 0, 1000, true},
        {0, 1001, 1000, true},
        {14999, 14999, 15000, false},
        {100000, 0, INT64_MAX, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = five();
        struct cluster_standstill s = {0};
        assert_false(cluster_standstill_turn(&s, c, NOW, WALL, rows[i].timeout));
        bool doubts = cluster_standstill_turn(&s, c, NOW + rows[i].gap, WALL + rows[i].wall_gap,
                                              rows[i].timeout);
        if (doubts != rows[i].doubts || s.doubts != doubts) fail_msg("row %zu", i);
        /* The next turn has no gap. */
        assert_false(cluster_standstill_turn(&s, c, NOW + rows[i].gap + 1,
                                             WALL + rows[i].wall_gap + 1, rows[i].timeout));
        assert_int_equal(s.doubts, doubts);
        cluster_free(c);
    }
}

static void stop(struct cluster_standstill *s, struct cluster *c) {
    *s = (struct cluster_standstill){0};
    assert_false(cluster_standstill_turn(s, c, NOW - 2000, WALL, 1000));
    assert_true(cluster_standstill_turn(s, c, NOW, WALL + 2000, 1000));
}

static void test_majority(void **state) {
    struct cluster *c = five();
    struct cluster_standstill s = {0};
    cluster_standstill_hear(&s, scene_find(c, '2')); /* before there are doubts */
    cluster_standstill_hear(&s, scene_find(c, '3'));
    stop(&s, c);
    cluster_standstill_judge(&s, c, NOW);
    assert_true(s.doubts);
    cluster_standstill_hear(&s, scene_find(c, '2'));
    cluster_standstill_hear(&s, scene_find(c, 'a')); /* no voters */
    cluster_standstill_hear(&s, scene_find(c, '6'));
    cluster_standstill_hear(&s, scene_find(c, '2'));
    cluster_standstill_judge(&s, c, NOW + 1);
    assert_true(s.doubts);
    cluster_standstill_hear(&s, scene_find(c, '5'));
    cluster_standstill_judge(&s, c, NOW + 2);
    assert_false(s.doubts);
    /* A second gap needs new answers, and a gap amid doubts, too. */
    stop(&s, c);
    cluster_standstill_hear(&s, scene_find(c, '2'));
    assert_true(cluster_standstill_turn(&s, c, NOW + 2000, WALL + 4000, 1000));
    cluster_standstill_hear(&s, scene_find(c, '3'));
    cluster_standstill_judge(&s, c, NOW + 2001);
    assert_true(s.doubts);
    cluster_standstill_hear(&s, scene_find(c, '4'));
    cluster_standstill_judge(&s, c, NOW + 2002);
    assert_false(s.doubts);
    cluster_free(c);
}

/* The voters know a new epoch: the message of its owner has 500 ms to come. */
static void test_new_epoch(void **state) {
    struct cluster *c = five();
    struct cluster_standstill s;
    stop(&s, c);
    c->current_epoch = 8;
    cluster_standstill_hear(&s, scene_find(c, '2'));
    cluster_standstill_hear(&s, scene_find(c, '3'));
    cluster_standstill_judge(&s, c, NOW + 10);
    cluster_standstill_judge(&s, c, NOW + 509);
    assert_true(s.doubts);
    cluster_standstill_judge(&s, c, NOW + 510);
    assert_false(s.doubts);
    stop(&s, c);
    c->current_epoch = 9;
    cluster_slots_release(c, c->self);
    cluster_standstill_judge(&s, c, NOW + 1);
    assert_false(s.doubts);
    cluster_free(c);
}

static void test_without_doubts(void **state) {
    struct cluster *c = five();
    struct cluster_standstill s = {0};
    cluster_set_replica(c, c->self, scene_find(c, '2'));
    assert_false(cluster_standstill_turn(&s, c, NOW, WALL, 1000));
    assert_false(cluster_standstill_turn(&s, c, NOW + 9000, WALL + 9000, 1000));
    cluster_free(c);
    /* A lone voter is a majority. */
    c = scene_cluster('1');
    scene_give(c, c->self, 0, 9);
    s = (struct cluster_standstill){0};
    assert_false(cluster_standstill_turn(&s, c, NOW, WALL, 1000));
    assert_false(cluster_standstill_turn(&s, c, NOW + 9000, WALL + 9000, 1000));
    cluster_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_majority),
        cmocka_unit_test(test_new_epoch),
        cmocka_unit_test(test_without_doubts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
