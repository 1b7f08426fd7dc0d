/* SPDX-License-Identifier: BSD-3-Clause
 * The cluster's state: coverage, majority, and the limits of time of a primary.
 */
#include "topology/state.h"

#include "base/log.h"
#include "topology/cluster_scene.h"

#define START INT64_C(1000)
#define LATER (START + 2000)

static char logged[200];

static void keep_line(const char *line, size_t length) {
    snprintf(logged, sizeof(logged), "%.*s", (int)length, line);
}

static const struct cluster_state_rules usual = {.full_coverage = true, .node_timeout_msec = 1000};

/* Three primaries 1, 2, 3 with all slots, and a replica 4 of 2. This node is 1. */
static struct cluster *three(void) {
    struct cluster *c = scene_cluster('1');
    scene_give(c, c->self, 0, 5000);
    scene_give(c, scene_add(c, '2', CLUSTER_NODE_PRIMARY), 5001, 10000);
    scene_give(c, scene_add(c, '3', CLUSTER_NODE_PRIMARY), 10001, KEY_SLOTS - 1);
    cluster_set_replica(c, scene_add(c, '4', 0), scene_find(c, '2'));
    return c;
}

static void well(struct cluster *c) {}
static void no_slots(struct cluster *c) {
    for (size_t i = 0; i < c->count; i++) cluster_slots_release(c, c->nodes[i]);
}
static void slot_missing(struct cluster *c) { cluster_slot_assign(c, 16383, NULL); }
static void owner_failed(struct cluster *c) { scene_find(c, '3')->flags |= CLUSTER_NODE_FAILED; }
static void owner_suspected(struct cluster *c) {
    scene_find(c, '3')->flags |= CLUSTER_NODE_SUSPECTED;
}
static void two_suspected(struct cluster *c) {
    owner_suspected(c);
    scene_find(c, '2')->flags |= CLUSTER_NODE_SUSPECTED;
}
static void replica_failed(struct cluster *c) { scene_find(c, '4')->flags |= CLUSTER_NODE_FAILED; }
/* Of two primaries with slots both must be reached. */
static void half_suspected(struct cluster *c) {
    scene_give(c, c->self, 5001, 10000);
    owner_suspected(c);
}
static void empty_primaries_failed(struct cluster *c) {
    for (char digit = '5'; digit <= '9'; digit++)
        scene_add(c, digit, CLUSTER_NODE_PRIMARY | CLUSTER_NODE_FAILED);
}

static const struct {
    const char *name;
    void (*build)(struct cluster *c);
    bool covered_ok, partial_ok; /* with and without full coverage */
} rows[] = {
    {"well", well, true, true},
    {"no slots", no_slots, false, false},
    {"a slot without an owner", slot_missing, false, true},
    {"an owner failed", owner_failed, false, true},
    {"an owner suspected", owner_suspected, true, true},
    {"two of three suspected", two_suspected, false, false},
    {"one of two suspected", half_suspected, false, false},
    {"a replica failed", replica_failed, true, true},
    {"primaries without slots failed", empty_primaries_failed, true, true},
};

static void test_rows(void **state) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int coverage = 0; coverage < 2; coverage++) {
            for (int was = 0; was < 2; was++) {
                struct cluster *c = three();
                struct cluster_state_memory memory = {.judged = true, .first_msec = START};
                struct cluster_state_rules rules = usual;
                rules.full_coverage = coverage;
                rows[i].build(c);
                c->ok = was;
                cluster_state_judge(c, &memory, &rules, LATER);
                if (c->ok != (coverage ? rows[i].covered_ok : rows[i].partial_ok))
                    fail_msg("%s, coverage %d, was %d", rows[i].name, coverage, was);
                cluster_free(c);
            }
        }
    }
}

static void test_start(void **state) {
    struct cluster *c = three();
    struct cluster_state_memory memory = {0};
    cluster_state_judge(c, &memory, &usual, 0);
    cluster_state_judge(c, &memory, &usual, 1999);
    assert_false(c->ok);
    assert_string_equal(logged, "");
    cluster_state_judge(c, &memory, &usual, 2000);
    assert_true(c->ok);
    assert_non_null(strstr(logged, "# Cluster state changed: ok"));
    /* The limit holds the good news back, not the bad. */
    memory.first_msec = 2000;
    slot_missing(c);
    cluster_state_judge(c, &memory, &usual, 2001);
    assert_false(c->ok);
    assert_non_null(strstr(logged, "# Cluster state changed: fail"));
    cluster_free(c);
    /* Who was alone without slots then, and gets some, has not been in a minority. */
    c = scene_cluster('1');
    memory = (struct cluster_state_memory){0};
    cluster_state_judge(c, &memory, &usual, 0);
    cluster_state_judge(c, &memory, &usual, 1900);
    scene_give(c, c->self, 0, KEY_SLOTS - 1);
    cluster_state_judge(c, &memory, &usual, 2000);
    assert_true(c->ok);
    cluster_free(c);
    /* A replica does not wait. */
    c = three();
    memory = (struct cluster_state_memory){0};
    cluster_slots_release(c, c->self);
    scene_give(c, scene_find(c, '2'), 0, 5000);
    cluster_set_replica(c, c->self, scene_find(c, '2'));
    cluster_state_judge(c, &memory, &usual, 0);
    assert_true(c->ok);
    cluster_free(c);
}

static void test_rejoin(void **state) {
    static const struct {
        int64_t timeout_msec, wait_msec;
    } waits[] = {{0, 500}, {499, 500}, {501, 501}, {5000, 5000}, {15000, 5000}};
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        struct cluster *c = three();
        struct cluster_state_memory memory = {.judged = true, .first_msec = START};
        struct cluster_state_rules rules = usual;
        rules.node_timeout_msec = waits[i].timeout_msec;
        c->ok = true;
        two_suspected(c);
        cluster_state_judge(c, &memory, &rules, LATER);
        assert_false(c->ok);
        scene_find(c, '2')->flags &= (uint16_t)~CLUSTER_NODE_SUSPECTED;
        cluster_state_judge(c, &memory, &rules, LATER + waits[i].wait_msec - 1);
        assert_false(c->ok);
        cluster_state_judge(c, &memory, &rules, LATER + waits[i].wait_msec);
        assert_true(c->ok);
        cluster_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rejoin),
    };
    log_set_observer(keep_line);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
