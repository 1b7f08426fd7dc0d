/* SPDX-License-Identifier: BSD-3-Clause
 * Elections: when a replica asks, with which delay and rank, which votes count, and when it asks
 * again.
 */
#include "topology/election.h"

#include "base/log.h"
#include "topology/cluster_scene.h"

#define NOW INT64_C(1000000)
#define T INT64_C(1500)

static char logged[4000]; /* since the last look */

static void keep_line(const char *line, size_t length) {
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof(logged) - used, "%.*s\n", (int)length, line);
}

static bool was_logged(const char *text) {
    bool found = strstr(logged, text) != NULL;
    logged[0] = '\0';
    return found;
}

/* Voters 1 to 3, of which 3 has failed; its replicas are b (this node), a and c. */
static struct cluster *three(void) {
    struct cluster *c = scene_cluster('b');
    for (char digit = '1'; digit <= '3'; digit++) {
        unsigned first = 10 * (unsigned)(digit - '0');
        scene_give(c, scene_add(c, digit, CLUSTER_NODE_PRIMARY), first, first + 9);
    }
    scene_find(c, '3')->flags |= CLUSTER_NODE_FAILED;
    cluster_set_replica(c, c->self, scene_find(c, '3'));
    cluster_set_replica(c, scene_add(c, 'a', 0), scene_find(c, '3'));
    cluster_set_replica(c, scene_add(c, 'c', 0), scene_find(c, '3'));
    c->current_epoch = 9;
    logged[0] = '\0';
    return c;
}

static const struct cluster_election_facts usual = {
    .now_msec = NOW,
    .timeout_msec = T,
    .failed_for_msec = 0,
    .data_age_msec = 1000,
    .data_age_max_msec = 25000,
    .offset = 100,
    .drawn = 1234,
};

static struct cluster_election_orders step(struct cluster_election *e, struct cluster *c,
                                           struct cluster_election_facts *facts, int64_t now) {
    facts->now_msec = now;
    return cluster_election_step(e, c, facts);
}

/* ---- whether it begins ---- */

static void works(struct cluster *c, struct cluster_election_facts *f) {
    scene_find(c, '3')->flags &= (uint16_t)~CLUSTER_NODE_FAILED;
    f->failed_for_msec = -1;
}
static void is_suspected(struct cluster *c, struct cluster_election_facts *f) {
    works(c, f);
    scene_find(c, '3')->flags |= CLUSTER_NODE_SUSPECTED;
}
static void no_slots(struct cluster *c, struct cluster_election_facts *f) {
    cluster_slots_release(c, scene_find(c, '3'));
}
static void no_primary(struct cluster *c, struct cluster_election_facts *f) {
    cluster_set_replica(c, c->self, NULL);
}
static void is_primary(struct cluster *c, struct cluster_election_facts *f) {
    cluster_set_primary(c, c->self);
}
static void no_failover(struct cluster *c, struct cluster_election_facts *f) {
    f->no_failover = true;
}
static void ready(struct cluster *c, struct cluster_election_facts *f) {
    f->manual = CLUSTER_MANUAL_READY;
}
static void ready_and_works(struct cluster *c, struct cluster_election_facts *f) {
    works(c, f);
    ready(c, f);
}
static void ready_no_failover(struct cluster *c, struct cluster_election_facts *f) {
    no_failover(c, f);
    ready(c, f);
}
static void ready_no_slots(struct cluster *c, struct cluster_election_facts *f) {
    no_slots(c, f);
    ready(c, f);
}
static void under_way(struct cluster *c, struct cluster_election_facts *f) {
    f->manual = CLUSTER_MANUAL_UNDER_WAY;
}
static void under_way_and_works(struct cluster *c, struct cluster_election_facts *f) {
    works(c, f);
    under_way(c, f);
}
static void age_limit(struct cluster *c, struct cluster_election_facts *f) {
    f->data_age_msec = f->data_age_max_msec + T;
}
static void too_old(struct cluster *c, struct cluster_election_facts *f) {
    f->data_age_msec = f->data_age_max_msec + T + 1;
}
static void too_old_but_ready(struct cluster *c, struct cluster_election_facts *f) {
    too_old(c, f);
    ready(c, f);
}
static void too_old_under_way(struct cluster *c, struct cluster_election_facts *f) {
    too_old(c, f);
    under_way(c, f);
}
static void never_synced(struct cluster *c, struct cluster_election_facts *f) {
    f->data_age_msec = CLUSTER_DATA_AGE_NEVER;
}
static void never_synced_no_limit(struct cluster *c, struct cluster_election_facts *f) {
    never_synced(c, f);
    f->data_age_max_msec = INT64_MAX;
}

static const struct {
    void (*prepare)(struct cluster *c, struct cluster_election_facts *f);
    int64_t delay; /* -1: it does not begin */
} causes[] = {
    {works, -1},
    {is_suspected, -1},
    {no_slots, -1},
    {no_primary, -1},
    {is_primary, -1},
    {no_failover, -1},
    {ready, 0},
    {ready_and_works, 0},
    {ready_no_failover, 0},
    {ready_no_slots, -1},
    {under_way, 0},
    {under_way_and_works, -1},
    {age_limit, 500 + 234 + 1000},
    {too_old, -1},
    {too_old_but_ready, 0},
    {too_old_under_way, -1},
    {never_synced, -1},
    {never_synced_no_limit, 500 + 234 + 1000},
};

static void test_begin(void **state) {
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        struct cluster *c = three();
        struct cluster_election e = {0};
        struct cluster_election_facts facts = usual;
        scene_find(c, 'a')->offset = 101;
        causes[i].prepare(c, &facts);
        struct cluster_election_orders orders = step(&e, c, &facts, NOW);
        bool begins = causes[i].delay >= 0;
        if (orders.tell_siblings != begins || orders.ask != (causes[i].delay == 0) || orders.won)
            fail_msg("row %zu", i);
        if (begins) assert_int_equal(e.due_msec, NOW + causes[i].delay);
        assert_int_equal(c->current_epoch, 9 + (causes[i].delay == 0));
        cluster_free(c);
    }
}

static void test_age_max(void **state) {
    assert_int_equal(cluster_data_age_max(15000, 10, 10), 160000);
    assert_int_equal(cluster_data_age_max(15000, 0, 10), INT64_MAX);
    assert_int_equal(cluster_data_age_max(0, 10, 1), 1000);
    assert_int_equal(cluster_data_age_max(INT64_MAX, 2, 10), INT64_MAX);
    assert_int_equal(cluster_data_age_max(INT64_MAX, 1, 10), INT64_MAX);
}

/* ---- delays and ranks ---- */

static void test_rank(void **state) {
    static const struct {
        uint64_t a, c; /* offsets; this one's is 100 */
        unsigned a_flags;
        unsigned rank;
    } rows[] = {
        {0, 0, 0, 0},
        {100, 99, 0, 1}, /* as much, and the smaller id */
        {99, 100, 0, 0}, /* as much, and the greater id */
        {101, 99, 0, 1},
        {101, 101, 0, 2},
        {101, 101, CLUSTER_NODE_NO_FAILOVER, 1},
        {101, 101, CLUSTER_NODE_FAILED, 1},
        {101, 101, CLUSTER_NODE_SUSPECTED, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = three();
        struct cluster_election e = {0};
        struct cluster_election_facts facts = usual;
        scene_find(c, 'a')->offset = rows[i].a;
        scene_find(c, 'a')->flags |= (uint16_t)rows[i].a_flags;
        scene_find(c, 'c')->offset = rows[i].c;
        step(&e, c, &facts, NOW);
        if (e.rank != rows[i].rank) fail_msg("row %zu: %u", i, e.rank);
        assert_int_equal(e.due_msec, NOW + 734 + 1000 * (int64_t)e.rank);
        cluster_free(c);
    }
}

static void test_delay(void **state) {
    struct cluster *c = three();
    struct cluster_election e = {0};
    struct cluster_election_facts facts = usual;
    step(&e, c, &facts, NOW);
    assert_true(
        was_logged("# Start of election delayed for 734 milliseconds (rank #0, offset 100)."));
    /* A sibling says that it has more. One that falls back makes the delay no shorter. */
    scene_find(c, 'c')->offset = 200;
    assert_false(step(&e, c, &facts, NOW + 733).ask);
    assert_true(was_logged("# Replica rank updated to #1, added 1000 milliseconds of delay."));
    scene_find(c, 'c')->offset = 0;
    assert_false(step(&e, c, &facts, NOW + 1733).ask);
    struct cluster_election_orders orders = step(&e, c, &facts, NOW + 1734);
    assert_true(orders.ask && !orders.tell_siblings && !orders.won);
    assert_int_equal(c->current_epoch, 10);
    assert_true(was_logged("# Starting a failover election for epoch 10."));
    /* It asks once. */
    assert_false(step(&e, c, &facts, NOW + 1735).ask);
    cluster_free(c);
}

/* ---- votes ---- */

static struct cluster_election asking(struct cluster *c, struct cluster_election_facts *facts) {
    struct cluster_election e = {0};
    *facts = usual;
    step(&e, c, facts, NOW);
    assert_true(step(&e, c, facts, NOW + 734).ask);
    assert_int_equal(e.epoch, 10);
    return e;
}

static void test_votes(void **state) {
    struct cluster *c = three();
    struct cluster_election_facts facts;
    struct cluster_election e = asking(c, &facts);
    scene_add(c, '4', CLUSTER_NODE_PRIMARY); /* without slots */
    struct cluster_node *one = scene_find(c, '1'), *two = scene_find(c, '2');
    assert_true(cluster_election_count(&e, one, 10));
    assert_false(cluster_election_count(&e, one, 10)); /* twice */
    assert_false(cluster_election_count(&e, two, 9));
    assert_false(cluster_election_count(&e, two, 11));
    assert_false(cluster_election_count(&e, scene_find(c, '4'), 10));
    assert_false(cluster_election_count(&e, scene_find(c, 'a'), 10));
    assert_false(step(&e, c, &facts, NOW + 735).won);
    /* A voter that loses its slots meanwhile does not count. */
    cluster_slots_release(c, one);
    scene_give(c, scene_find(c, '4'), 40, 49);
    assert_true(cluster_election_count(&e, two, 10));
    assert_false(step(&e, c, &facts, NOW + 736).won);
    assert_true(cluster_election_count(&e, scene_find(c, '4'), 10));
    struct cluster_election_orders orders = step(&e, c, &facts, NOW + 737);
    assert_true(orders.won && !orders.ask);
    assert_true(was_logged("# Failover election won: I'm the new master."));
    assert_int_equal(e.state, CLUSTER_ELECTION_NONE);
    assert_false(cluster_election_count(&e, one, 10));
    cluster_free(c);
}

static void test_expiry(void **state) {
    static const struct {
        int64_t timeout, election;
    } rows[] = {{0, 2000}, {999, 2000}, {1000, 2000}, {1001, 2002}, {15000, 30000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cluster *c = three();
        struct cluster_election_facts facts;
        struct cluster_election e = asking(c, &facts);
        int64_t due = NOW + 734, election = rows[i].election;
        facts.timeout_msec = rows[i].timeout;
        step(&e, c, &facts, due + election);
        assert_int_equal(e.state, CLUSTER_ELECTION_ASKS);
        step(&e, c, &facts, due + election + 1);
        assert_int_equal(e.state, CLUSTER_ELECTION_RESTS);
        /* Votes that come now are too late. */
        assert_false(cluster_election_count(&e, scene_find(c, '1'), 10));
        assert_false(step(&e, c, &facts, due + 2 * election + 1).tell_siblings);
        assert_true(step(&e, c, &facts, due + 2 * election + 2).tell_siblings);
        assert_int_equal(e.state, CLUSTER_ELECTION_DELAYED);
        assert_true(step(&e, c, &facts, due + 2 * election + 2 + 734).ask);
        assert_int_equal(e.epoch, 11);
        cluster_free(c);
    }
}

/* ---- causes that end, and others that begin ---- */

static void test_new_causes(void **state) {
    struct cluster *c = three();
    struct cluster_election_facts facts;
    struct cluster_election e = asking(c, &facts);
    /* The primary answers again, and fails again: nothing is waited for. */
    works(c, &facts);
    step(&e, c, &facts, NOW + 1000);
    assert_int_equal(e.state, CLUSTER_ELECTION_NONE);
    scene_find(c, '3')->flags |= CLUSTER_NODE_FAILED;
    assert_true(step(&e, c, &facts, NOW + 1001).tell_siblings);
    /* Another primary is followed, and has failed, too. */
    scene_find(c, '2')->flags |= CLUSTER_NODE_FAILED;
    cluster_set_replica(c, c->self, scene_find(c, '2'));
    assert_true(step(&e, c, &facts, NOW + 1002).tell_siblings);
    assert_int_equal(e.due_msec, NOW + 1002 + 734);
    /* The data becomes too old while the election is delayed. */
    too_old(c, &facts);
    assert_false(step(&e, c, &facts, NOW + 5000).ask);
    assert_int_equal(e.state, CLUSTER_ELECTION_NONE);
    cluster_free(c);
}

static void test_manual(void **state) {
    struct cluster *c = three();
    struct cluster_election e = {0};
    struct cluster_election_facts facts = usual;
    /* A delay that runs is cut short. */
    step(&e, c, &facts, NOW);
    facts.manual = CLUSTER_MANUAL_READY;
    assert_true(step(&e, c, &facts, NOW + 1).ask);
    assert_int_equal(e.epoch, 10);
    assert_false(step(&e, c, &facts, NOW + 2).ask);
    /* The manual failover is over; votes that are on their way still count. */
    facts.manual = CLUSTER_MANUAL_NONE;
    step(&e, c, &facts, NOW + 3);
    assert_true(cluster_election_count(&e, scene_find(c, '1'), 10));
    assert_true(cluster_election_count(&e, scene_find(c, '2'), 10));
    assert_true(step(&e, c, &facts, NOW + 4).won);
    /* One that is asked for while another election rests does not wait. */
    cluster_free(c);
    c = three();
    e = asking(c, &facts);
    step(&e, c, &facts, NOW + 734 + 3001);
    assert_int_equal(e.state, CLUSTER_ELECTION_RESTS);
    facts.manual = CLUSTER_MANUAL_READY;
    assert_true(step(&e, c, &facts, NOW + 734 + 3002).ask);
    /* But it rests itself. */
    step(&e, c, &facts, NOW + 734 + 3002 + 3001);
    assert_int_equal(e.state, CLUSTER_ELECTION_RESTS);
    assert_false(step(&e, c, &facts, NOW + 734 + 3002 + 3002).ask);
    /* An election that asks goes on when a manual failover gets ready. */
    cluster_free(c);
    c = three();
    e = asking(c, &facts);
    facts.manual = CLUSTER_MANUAL_READY;
    assert_false(step(&e, c, &facts, NOW + 735).ask);
    assert_int_equal(e.state, CLUSTER_ELECTION_ASKS);
    cluster_free(c);
}

static void test_no_epoch_left(void **state) {
    struct cluster *c = three();
    struct cluster_election e = {0};
    struct cluster_election_facts facts = usual;
    c->current_epoch = UINT64_MAX / 2;
    facts.manual = CLUSTER_MANUAL_READY;
    struct cluster_election_orders orders = step(&e, c, &facts, NOW);
    assert_false(orders.ask || orders.won);
    orders = step(&e, c, &facts, NOW + 1);
    assert_false(orders.ask || orders.won);
    cluster_free(c);
}

/* ---- the log ---- */

static void test_obstacles(void **state) {
    struct cluster *c = three();
    struct cluster_election e = {0};
    struct cluster_election_facts facts = usual;
    const char *old =
        "# Currently unable to failover: Disconnected from master for longer than "
        "allowed. Please check the 'cluster-replica-validity-factor' configuration "
        "option.";
    never_synced(c, &facts);
    facts.failed_for_msec = T + 4999;
    step(&e, c, &facts, NOW);
    assert_string_equal(logged, "");
    facts.failed_for_msec = T + 5000;
    step(&e, c, &facts, NOW + 1);
    assert_true(was_logged(old));
    step(&e, c, &facts, NOW + 10000);
    assert_string_equal(logged, "");
    step(&e, c, &facts, NOW + 10001);
    assert_true(was_logged(old));
    /* Another reason is logged at once. */
    facts.data_age_msec = 1000;
    step(&e, c, &facts, NOW + 10002);
    assert_true(was_logged("failover: Waiting the delay before I can start a new failover."));
    assert_true(step(&e, c, &facts, NOW + 20000).ask);
    logged[0] = '\0';
    step(&e, c, &facts, NOW + 20001);
    assert_true(was_logged("failover: Failover attempt expired."));
    e.state = CLUSTER_ELECTION_ASKS;
    e.due_msec = NOW + 20001;
    step(&e, c, &facts, NOW + 20002);
    assert_true(was_logged("failover: Waiting for votes, but majority still not reached."));
    cluster_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begin),         cmocka_unit_test(test_age_max),
        cmocka_unit_test(test_rank),          cmocka_unit_test(test_delay),
        cmocka_unit_test(test_votes),         cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_new_causes),    cmocka_unit_test(test_manual),
        cmocka_unit_test(test_no_epoch_left), cmocka_unit_test(test_obstacles),
    };
    log_set_observer(keep_line);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
