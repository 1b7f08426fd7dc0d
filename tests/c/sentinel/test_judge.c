/* SPDX-License-Identifier: BSD-3-Clause
 * Each rule of judging: at its limit, a millisecond below and above it, and without the time that
 * it is about.
 */
#include "sentinel/judge.h"

#include "sentinel/scene.h"

/* ---- Subjectively down ---- */

/* Times are so long ago; 0 = never. */
static const struct down_row {
    const char *what;
    int64_t ping_waits;
    bool connected;
    int64_t good_answer, disconnected;
    bool down;
} down_rows[] = {
    {"all is well", 0, true, 100, 0, false},
    {"connected and silent, but nothing was asked", 0, true, 100000, 0, false},
    {"a PING waits, below the limit", DOWN_AFTER - 1, true, 100000, 0, false},
    {"at the limit", DOWN_AFTER, true, 100000, 0, false},
    {"above the limit", DOWN_AFTER + 1, true, 100000, 0, true},
    {"disconnected, at the limit", 0, false, DOWN_AFTER, 1, false},
    {"disconnected, above the limit", 0, false, DOWN_AFTER + 1, 1, true},
    {"disconnected, a PING waits for less", 1, false, DOWN_AFTER + 1, 1, false},
    {"never had an answer, at the limit", 0, false, 0, DOWN_AFTER, false},
    {"never had an answer, above the limit", 0, false, 0, DOWN_AFTER + 1, true},
};

static int64_t ago(int64_t msec) { return msec ? NOW - msec : 0; }

static void test_silence_is_down(void **state) {
    for (size_t at = 0; at < sizeof(down_rows) / sizeof(down_rows[0]); at++) {
        const struct down_row *row = &down_rows[at];
        struct scene s;
        scene_make(&s, 1, 1);
        struct link_signs signs = {.ping_waits_since = ago(row->ping_waits),
                                   .connected = row->connected,
                                   .last_good_answer = ago(row->good_answer),
                                   .disconnected_since = ago(row->disconnected)};
        s.primary_signs = s.replica_signs[0] = s.voter_signs[0] = signs;
        bool sums[] = {sentinel_judge_s_down(&s.primary.instance, NOW),
                       sentinel_judge_s_down(&s.replicas[0].instance, NOW),
                       sentinel_judge_s_down(&s.voters[0].instance, NOW)};
        for (int kind = 0; kind < 3; kind++)
            if (sums[kind] != row->down) fail_msg("%s: kind %d is %d", row->what, kind, sums[kind]);
    }
}

static void test_a_primary_that_reports_the_role_of_a_replica_is_down(void **state) {
    struct scene s;
    scene_make(&s, 1, 0);
    struct instance *i = &s.primary.instance;
    i->role = REPORTED_REPLICA;
    i->role_since = NOW - DOWN_AFTER - 20000;
    assert_false(sentinel_judge_s_down(i, NOW));
    assert_true(sentinel_judge_s_down(i, NOW + 1));
    i->role = REPORTED_PRIMARY;
    assert_false(sentinel_judge_s_down(i, NOW + 1));
    s.replicas[0].instance.role_since = 1;
    assert_false(sentinel_judge_s_down(&s.replicas[0].instance, NOW));
}

static void test_the_largest_limits_do_not_overflow(void **state) {
    struct scene s;
    scene_make(&s, 0, 0);
    s.primary.down_after_msec = SENTINEL_LIMIT_MSEC_MAX;
    s.primary.instance.role = REPORTED_REPLICA;
    s.primary_signs.ping_waits_since = 1;
    assert_false(sentinel_judge_s_down(&s.primary.instance, NOW));
}

/* ---- Objectively down ---- */

static void test_what_others_said_holds_for_five_seconds(void **state) {
    static const struct {
        int64_t said;
        bool says_down, holds;
    } rows[] = {{0, true, false},   {1, true, true},     {4999, true, true},
                {5000, true, true}, {5001, true, false}, {5000, false, true}};
    for (size_t at = 0; at < sizeof(rows) / sizeof(rows[0]); at++) {
        struct scene s;
        scene_make(&s, 0, 2);
        s.primary.instance.flags = INSTANCE_S_DOWN;
        s.voters[1].said_at = ago(rows[at].said);
        if (rows[at].says_down) s.voters[1].instance.flags = INSTANCE_SAYS_DOWN;
        assert_int_equal(sentinel_judge_said_holds(&s.voters[1], NOW), rows[at].holds);
        assert_int_equal(sentinel_judge_agreeing(&s.primary, NOW),
                         1 + (rows[at].holds && rows[at].says_down));
    }
}

static void test_this_sentinel_counts_where_it_sees_the_primary_down_itself(void **state) {
    struct scene s;
    scene_make(&s, 0, 3);
    for (int at = 0; at < 3; at++) {
        s.voters[at].instance.flags = INSTANCE_SAYS_DOWN;
        s.voters[at].said_at = NOW;
    }
    assert_int_equal(sentinel_judge_agreeing(&s.primary, NOW), 3);
    s.primary.instance.flags = INSTANCE_S_DOWN;
    assert_int_equal(sentinel_judge_agreeing(&s.primary, NOW), 4);
}

/* ---- Tilt ---- */

static void test_tilt(void **state) {
    static const struct {
        int64_t after; /* the step before */
        enum sentinel_tilt_change change;
    } steps[] = {
        {1, SENTINEL_TILT_SAME}, /* the first has none before it, however late it is */
        {2000, SENTINEL_TILT_SAME},     {2001, SENTINEL_TILT_ENTERED}, {2000, SENTINEL_TILT_SAME},
        {2001, SENTINEL_TILT_ENTERED}, /* 30 s begin anew */
        {2000, SENTINEL_TILT_SAME},     {2000, SENTINEL_TILT_SAME},    {2000, SENTINEL_TILT_SAME},
        {2000, SENTINEL_TILT_SAME},     {2000, SENTINEL_TILT_SAME},    {2000, SENTINEL_TILT_SAME},
        {2000, SENTINEL_TILT_SAME},     {2000, SENTINEL_TILT_SAME},    {2000, SENTINEL_TILT_SAME},
        {2000, SENTINEL_TILT_SAME},     {2000, SENTINEL_TILT_SAME},    {2000, SENTINEL_TILT_SAME},
        {2000, SENTINEL_TILT_SAME},     {2000, SENTINEL_TILT_SAME}, /* 28,000 */
        {1999, SENTINEL_TILT_SAME},     {1, SENTINEL_TILT_LEFT},       {2000, SENTINEL_TILT_SAME},
        {90000, SENTINEL_TILT_ENTERED},
    };
    struct sentinel_tilt tilt = {0};
    int64_t now = NOW;
    for (size_t at = 0; at < sizeof(steps) / sizeof(steps[0]); at++) {
        now += steps[at].after;
        enum sentinel_tilt_change change = sentinel_tilt_step(&tilt, now);
        if (change != steps[at].change) fail_msg("step %zu: %d", at, (int)change);
    }
    assert_int_equal(tilt.since, now);
}

/* ---- Replicas that are set right ---- */

struct replica_scene {
    struct scene s;
    bool tilt;
};

static void be_primary(struct replica_scene *w, int64_t since) {
    w->s.replicas[0].instance.role = REPORTED_PRIMARY;
    w->s.replicas[0].instance.role_since = NOW - since;
}
static void follow_other(struct replica_scene *w, int64_t since) {
    w->s.replicas[0].follows_port = SCENE_REPLICA_PORT + 1;
    w->s.replicas[0].follows_since = NOW - since;
}

static void right(struct replica_scene *w) {}
static void converts(struct replica_scene *w) { be_primary(w, 8001); }
static void primary_for_8_s(struct replica_scene *w) { be_primary(w, 8000); }
static void was_down(struct replica_scene *w) {
    converts(w);
    w->s.replicas[0].instance.s_down_since = NOW - 8000;
}
static void was_down_long_ago(struct replica_scene *w) {
    converts(w);
    w->s.replicas[0].instance.s_down_since = NOW - 8001;
}
static void is_down(struct replica_scene *w) {
    was_down_long_ago(w);
    w->s.replicas[0].instance.flags = INSTANCE_S_DOWN;
}
static void in_tilt(struct replica_scene *w) {
    converts(w);
    w->tilt = true;
}
static void primary_is_down(struct replica_scene *w) {
    converts(w);
    w->s.primary.instance.flags = INSTANCE_S_DOWN;
}
static void primary_is_none(struct replica_scene *w) {
    converts(w);
    w->s.primary.instance.role = REPORTED_REPLICA;
}
static void primary_silent_for_20_s(struct replica_scene *w) {
    converts(w);
    w->s.primary.instance.last_info = NOW - 20000;
}
static void primary_silent_for_less(struct replica_scene *w) {
    converts(w);
    w->s.primary.instance.last_info = NOW - 19999;
}
static void primary_was_never_heard(struct replica_scene *w) {
    converts(w);
    w->s.primary.instance.last_info = 0;
}
static void in_failover(struct replica_scene *w) {
    converts(w);
    w->s.primary.state = FAILOVER_RECONF_REPLICAS;
}
static void never_heard(struct replica_scene *w) {
    converts(w);
    w->s.replicas[0].instance.last_info = 0;
}
static void elsewhere(struct replica_scene *w) { follow_other(w, FAILOVER_TIMEOUT + 1); }
static void elsewhere_for_less(struct replica_scene *w) { follow_other(w, FAILOVER_TIMEOUT); }
static void elsewhere_and_was_down(struct replica_scene *w) {
    elsewhere(w);
    w->s.replicas[0].instance.s_down_since = NOW - FAILOVER_TIMEOUT;
}
static void elsewhere_in_failover(struct replica_scene *w) {
    elsewhere(w);
    w->s.primary.state = FAILOVER_WAIT_START;
}
static void other_host(struct replica_scene *w) {
    elsewhere(w);
    w->s.replicas[0].follows_port = SCENE_PRIMARY_PORT;
    w->s.replicas[0].follows_host = scene_text("10.0.0.2");
}
static void follows_nothing_known(struct replica_scene *w) {
    elsewhere(w);
    w->s.replicas[0].follows_host = NULL;
}

#define REPLICA_ROW(build, move) \
    { #build, build, SENTINEL_REPLICA_##move }
static const struct {
    const char *name;
    void (*build)(struct replica_scene *w);
    enum sentinel_replica_move move;
} replica_rows[] = {
    REPLICA_ROW(right, RESTS),
    REPLICA_ROW(converts, CONVERT),
    REPLICA_ROW(primary_for_8_s, RESTS),
    REPLICA_ROW(was_down, RESTS),
    REPLICA_ROW(was_down_long_ago, CONVERT),
    REPLICA_ROW(is_down, RESTS),
    REPLICA_ROW(in_tilt, RESTS),
    REPLICA_ROW(primary_is_down, RESTS),
    REPLICA_ROW(primary_is_none, RESTS),
    REPLICA_ROW(primary_silent_for_20_s, RESTS),
    REPLICA_ROW(primary_silent_for_less, CONVERT),
    REPLICA_ROW(primary_was_never_heard, RESTS),
    REPLICA_ROW(in_failover, RESTS),
    REPLICA_ROW(never_heard, RESTS),
    REPLICA_ROW(elsewhere, FIX_CONFIG),
    REPLICA_ROW(elsewhere_for_less, RESTS),
    REPLICA_ROW(elsewhere_and_was_down, RESTS),
    REPLICA_ROW(elsewhere_in_failover, RESTS),
    REPLICA_ROW(other_host, FIX_CONFIG),
    REPLICA_ROW(follows_nothing_known, RESTS),
};

static void test_how_often_info_is_asked_for(void **state) {
    struct scene s;
    scene_make(&s, 1, 1);
    struct instance *replica = &s.replicas[0].instance;
    s.primary.instance.flags = INSTANCE_S_DOWN;
    s.replicas[0].link_down_msec = 0;
    assert_int_equal(sentinel_judge_info_period(replica), 10000);
    s.primary.instance.flags = INSTANCE_O_DOWN;
    assert_int_equal(sentinel_judge_info_period(replica), 1000);
    assert_int_equal(sentinel_judge_info_period(&s.primary.instance), 10000);
    s.primary.instance.flags = INSTANCE_IN_FAILOVER;
    assert_int_equal(sentinel_judge_info_period(replica), 1000);
    s.primary.instance.flags = 0;
    s.replicas[0].link_down_msec = -1000;
    assert_int_equal(sentinel_judge_info_period(replica), 1000);
    s.replicas[0].link_down_msec = 0;
    replica->role = REPORTED_PRIMARY;
    assert_int_equal(sentinel_judge_info_period(replica), 1000);
    replica->role = REPORTED_REPLICA;
    s.replicas[0].follows_port++;
    assert_int_equal(sentinel_judge_info_period(replica), 1000);
    s.replicas[0].follows_host = NULL;
    assert_int_equal(sentinel_judge_info_period(replica), 10000);
}

static void test_replicas_are_set_right(void **state) {
    for (size_t at = 0; at < sizeof(replica_rows) / sizeof(replica_rows[0]); at++) {
        struct replica_scene w = {.tilt = false};
        scene_make(&w.s, 1, 0);
        replica_rows[at].build(&w);
        enum sentinel_replica_move move = sentinel_judge_replica(&w.s.replicas[0], w.tilt, NOW);
        if (move != replica_rows[at].move) fail_msg("%s: %d", replica_rows[at].name, (int)move);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silence_is_down),
        cmocka_unit_test(test_a_primary_that_reports_the_role_of_a_replica_is_down),
        cmocka_unit_test(test_the_largest_limits_do_not_overflow),
        cmocka_unit_test(test_what_others_said_holds_for_five_seconds),
        cmocka_unit_test(test_this_sentinel_counts_where_it_sees_the_primary_down_itself),
        cmocka_unit_test(test_tilt),
        cmocka_unit_test(test_how_often_info_is_asked_for),
        cmocka_unit_test(test_replicas_are_set_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
