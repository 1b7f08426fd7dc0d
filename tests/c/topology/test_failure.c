/* SPDX-License-Identifier: BSD-3-Clause
 * Failures: reports and their age, suspicion, majorities, and how a failure ends.
 */
#include "topology/failure.h"

#include "topology/cluster_scene.h"

#define NOW INT64_C(1000000)
#define T INT64_C(1000)

/* Five voters 1 to 5, of which this node is 1; 6 is a primary without slots, 7 a replica of 5. */
static struct cluster *five(void) {
    struct cluster *c = scene_cluster('1');
    scene_give(c, c->self, 0, 9);
    for (char digit = '2'; digit <= '5'; digit++) {
        unsigned first = 10 * (unsigned)(digit - '0');
        scene_give(c, scene_add(c, digit, CLUSTER_NODE_PRIMARY), first, first + 9);
    }
    scene_add(c, '6', CLUSTER_NODE_PRIMARY);
    cluster_set_replica(c, scene_add(c, '7', 0), scene_find(c, '5'));
    return c;
}

static void test_reports(void **state) {
    struct cluster *c = five();
    struct cluster_node *about = scene_find(c, '5');
    struct cluster_node *two = scene_find(c, '2'), *three = scene_find(c, '3');
    assert_true(cluster_report_add(about, two, NOW));
    assert_true(cluster_report_add(about, three, NOW + 1));
    assert_int_equal(cluster_reports_count(about, NOW + 2 * T, T), 2);
    assert_int_equal(cluster_reports_count(about, NOW + 2 * T + 1, T), 1);
    assert_ptr_equal(about->reports[0].by, three);
    assert_false(cluster_report_add(about, three, NOW + 2000));
    assert_int_equal(cluster_reports_count(about, NOW + 4000, T), 1);
    assert_false(cluster_report_withdraw(about, two));
    assert_true(cluster_report_withdraw(about, three));
    assert_int_equal(about->report_count, 0);
    /* A node that is forgotten takes its reports along. */
    cluster_report_add(about, two, NOW);
    cluster_report_add(about, three, NOW);
    cluster_drop(c, two);
    cluster_check(c);
    assert_int_equal(cluster_reports_count(about, NOW, T), 1);
    assert_int_equal(cluster_reports_count(about, NOW + 1000000, INT64_MAX), 1);
    assert_int_equal(cluster_reports_count(about, NOW + 1, 0), 0);
    cluster_free(c);
}

static void test_suspicion(void **state) {
    static const struct {
        int64_t ping_age, data_age; /* -1: none */
        unsigned flags;
        bool suspected;
    } rows[] = {
        {T, T, 0, false},
        {T + 1, T + 1, 0, true},
        {T + 1, -1, 0, true},
        {T + 1, T, 0, false}, /* other data came */
        {T, T + 1, 0, false},
        {-1, 1 << 19, 0, false}, /* no ping is pending */
        {T + 1, T + 1, CLUSTER_NODE_HANDSHAKE, false},
        {T + 1, T + 1, CLUSTER_NODE_NO_ADDRESS, false},
        {T + 1, T + 1, CLUSTER_NODE_SUSPECTED, false},
        {T + 1, T + 1, CLUSTER_NODE_FAILED, false},
        {T + 1, T + 1, CLUSTER_NODE_MYSELF, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = five();
        struct cluster_node *node = scene_find(c, '5');
        if (rows[i].flags == CLUSTER_NODE_MYSELF) node = c->self;
        unsigned flags = node->flags |= (uint16_t)rows[i].flags;
        node->ping_sent_msec = rows[i].ping_age < 0 ? 0 : NOW - rows[i].ping_age;
        node->data_received_msec = rows[i].data_age < 0 ? 0 : NOW - rows[i].data_age;
        if (cluster_failure_suspect(c, node, NOW, T) != rows[i].suspected) fail_msg("row %zu", i);
        assert_int_equal(node->flags, rows[i].suspected ? flags | CLUSTER_NODE_SUSPECTED : flags);
        cluster_free(c);
    }
}

/* Three of five voices make a majority. */
static const struct {
    const char *reporters;
    bool self_votes, failed;
} majorities[] = {
    {"", true, false},    {"2", true, false},   {"23", true, true},
    {"234", true, true},  {"23", false, false}, /* of four voters, three are needed */
    {"234", false, true}, {"67", true, false},  {"267", true, false},
};

static void test_majority(void **state) {
    for (size_t i = 0; i < sizeof(majorities) / sizeof(majorities[0]); i++) {
        struct cluster *c = five();
        struct cluster_node *node = scene_find(c, '5');
        if (!majorities[i].self_votes) cluster_slots_release(c, c->self);
        for (const char *digit = majorities[i].reporters; *digit; digit++)
            cluster_report_add(node, scene_find(c, *digit), NOW);
        assert_false(cluster_failure_judge(c, node, NOW, T)); /* this node reaches it */
        node->flags |= CLUSTER_NODE_SUSPECTED;
        assert_false(cluster_failure_judge(c, node, NOW + 2 * T + 1, T)); /* old reports */
        for (const char *digit = majorities[i].reporters; *digit; digit++)
            cluster_report_add(node, scene_find(c, *digit), NOW);
        if (cluster_failure_judge(c, node, NOW, T) != majorities[i].failed) fail_msg("row %zu", i);
        assert_int_equal(node->flags,
                         CLUSTER_NODE_PRIMARY | CLUSTER_NODE_MIGRATE_TO |
                             (majorities[i].failed ? CLUSTER_NODE_FAILED : CLUSTER_NODE_SUSPECTED));
        if (majorities[i].failed) assert_int_equal(node->failed_msec, NOW);
        assert_false(cluster_failure_judge(c, node, NOW, T));
        cluster_free(c);
    }
}

static void test_believe(void **state) {
    struct cluster *c = five();
    struct cluster_node *node = scene_find(c, '5'), *sender = scene_find(c, '6');
    assert_false(cluster_failure_believe(c, c->self, sender, NOW));
    node->flags |= CLUSTER_NODE_SUSPECTED;
    assert_true(cluster_failure_believe(c, node, sender, NOW));
    assert_int_equal(node->flags,
                     CLUSTER_NODE_PRIMARY | CLUSTER_NODE_MIGRATE_TO | CLUSTER_NODE_FAILED);
    assert_false(cluster_failure_believe(c, node, sender, NOW + 5));
    assert_int_equal(node->failed_msec, NOW);
    cluster_free(c);
}

static void test_end(void **state) {
    static const struct {
        char node;
        unsigned flags;
        int64_t age;
        bool ended;
    } rows[] = {
        {'5', 0, 0, false},
        {'5', CLUSTER_NODE_SUSPECTED, 0, true},
        {'5', CLUSTER_NODE_FAILED, 2 * T, false},
        {'5', CLUSTER_NODE_FAILED, 2 * T + 1, true},
        {'6', CLUSTER_NODE_FAILED, 0, true},
        {'7', CLUSTER_NODE_FAILED, 0, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = five();
        struct cluster_node *node = scene_find(c, rows[i].node);
        unsigned role = node->flags;
        node->flags |= (uint16_t)rows[i].flags;
        node->failed_msec = NOW - rows[i].age;
        if (cluster_failure_end(c, node, NOW, T) != rows[i].ended) fail_msg("row %zu", i);
        assert_int_equal(node->flags, rows[i].ended ? role : role | rows[i].flags);
        cluster_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports),  cmocka_unit_test(test_suspicion),
        cmocka_unit_test(test_majority), cmocka_unit_test(test_believe),
        cmocka_unit_test(test_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
