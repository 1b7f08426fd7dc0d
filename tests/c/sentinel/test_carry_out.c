/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/carry_out: votes and the record, forced failovers, the moves that need no
 * connection. The rules' own tables are in test_failover.c.
 */
#include "sentinel/carry_out.h"

#include <unistd.h>

#include "io/socket.h"
#include "sentinel/failover.h"
#include "sentinel/foreign_text.h"
#include "sentinel/watch_link.h"
#include "sentinel/watching.h"

#define ANOTHER WATCHING_OTHER_ID

static struct primary *p;

static int begin(void **state) {
    watching_begin();
    p = watching_add("m", 7000, 1);
    return 0;
}

static int end(void **state) {
    watching_end();
    return 0;
}

static int64_t now(void) { return clock_monotonic_msec(); }

/* ---- votes ---- */

static void test_a_vote_is_written_first(void **state) {
    assert_true(sentinel_cast_vote(p, 3, ANOTHER, now()));
    assert_string_equal(p->leader, ANOTHER);
    assert_int_equal(p->leader_epoch, 3);
    assert_int_equal(sentinel_settings()->epoch, 3);
    assert_int_equal(watching_writes, 1);
    assert_string_equal(watching_told, "+new-epoch 3\n+vote-for-leader " ANOTHER " 3\n");
    assert_true(p->failover_start >= now()); /* our own failover waits */
    assert_true(sentinel_cast_vote(p, 3, WATCHING_THIRD_ID, now()));
    assert_string_equal(p->leader, ANOTHER); /* one vote an epoch */
    assert_int_equal(watching_writes, 1);
    assert_false(sentinel_cast_vote(p, 2, WATCHING_THIRD_ID, now()));
    assert_int_equal(p->leader_epoch, 3);
}

static void test_no_vote_without_its_record(void **state) {
    assert_true(sentinel_cast_vote(p, 1, ANOTHER, now()));
    p->failover_start = 0;
    watching_disk_is_full = true;
    watching_forget();
    assert_false(sentinel_cast_vote(p, 2, WATCHING_THIRD_ID, now()));
    assert_string_equal(p->leader, ANOTHER);
    assert_int_equal(p->leader_epoch, 1);
    assert_string_equal(watching_told, "+new-epoch 2\n");
    assert_int_equal(p->failover_start, 0);
    watching_disk_is_full = false;
    assert_true(sentinel_cast_vote(p, 2, WATCHING_THIRD_ID, now()));
    assert_string_equal(p->leader, WATCHING_THIRD_ID);
}

static void test_candidates_that_are_none(void **state) {
    assert_false(sentinel_cast_vote(p, 5, "*", now()));
    assert_false(sentinel_cast_vote(p, UINT64_MAX, ANOTHER, now()));
    assert_int_equal(sentinel_settings()->epoch, 0);
    assert_int_equal(watching_writes, 0);
}

/* ---- failovers ---- */

static void make_good(struct replica *r) {
    struct link_signs *signs = (struct link_signs *)(uintptr_t)r->instance.signs;
    signs->connected = true;
    signs->ping_waits_since = 0;
    signs->last_good_answer = r->instance.last_info = now();
}

static struct replica *add_good_replica(void) {
    struct replica *r = sentinel_add_replica(p, SLICE("127.0.0.1"), 7001);
    make_good(r);
    return r;
}

static void test_forced_failover_is_refused(void **state) {
    const char *refusal;
    assert_false(sentinel_carry_out_forced(p, &refusal, now()));
    assert_string_equal(refusal, "-NOGOODSLAVE No suitable replica to promote");
    add_good_replica();
    watching_disk_is_full = true;
    assert_false(sentinel_carry_out_forced(p, &refusal, now()));
    assert_int_equal(p->state, FAILOVER_NONE);
    watching_disk_is_full = false;
    uint64_t epoch = sentinel_settings()->epoch;
    sentinel_settings_change()->epoch = SENTINEL_EPOCH_MAX; /* as a hostile message may have it */
    assert_false(sentinel_carry_out_forced(p, &refusal, now()));
    assert_string_equal(refusal, "No epoch is left for a failover");
    sentinel_settings_change()->epoch = epoch;
    assert_true(sentinel_carry_out_forced(p, &refusal, now()));
    assert_false(sentinel_carry_out_forced(p, &refusal, now()));
    assert_string_equal(refusal, "-INPROG Failover already in progress");
}

/* It holds its own vote, so that no other Sentinel can lead its epoch with ours. */
static void test_forced_failover_votes_for_itself(void **state) {
    const char *refusal;
    add_good_replica();
    assert_true(sentinel_carry_out_forced(p, &refusal, now()));
    assert_string_equal(p->leader, WATCHING_ID);
    assert_int_equal(p->leader_epoch, 1);
    assert_string_equal(watching_told,
                        "+new-epoch 1\n+try-failover master m 127.0.0.1 7000\n"
                        "+vote-for-leader " WATCHING_ID " 1\n");
    (void)sentinel_cast_vote(p, 1, ANOTHER, now());
    assert_string_equal(p->leader, WATCHING_ID);
    watching_forget();
    assert_false(sentinel_carry_out(p, false, now()));
    assert_string_equal(
        watching_told,
        "+elected-leader master m 127.0.0.1 7000\n"
        "+failover-state-select-slave master m 127.0.0.1 7000\n"
        "+selected-slave slave 127.0.0.1:7001 127.0.0.1 7001 @ m 127.0.0.1 7000\n"
        "+failover-state-send-slaveof-noone slave 127.0.0.1:7001 127.0.0.1 7001 @ m 127.0.0.1 "
        "7000\n");
    assert_int_equal(p->state, FAILOVER_SEND_PROMOTION); /* there is no connection to send it */
}

/* Clients cannot write until INFO shows the promotion, so INFO does not wait for its period. */
static void test_promotion_asks_for_info_at_once(void **state) {
    const char *refusal;
    char reason[128];
    struct socket_peer local;
    struct loop *loop = loop_create();
    watch_link_open(loop, NULL, NULL);
    int listener = socket_listen_tcp("127.0.0.1", 0, 8, reason, sizeof(reason));
    assert_true(listener >= 0 && socket_local_of(listener, &local));
    struct replica *r = sentinel_add_replica(p, SLICE("127.0.0.1"), local.port);
    watch_link_connect(&r->instance, now());
    make_good(r);
    r->instance.info_sent = now() - 1;
    size_t pending = watch_link_pending(&r->instance);
    assert_true(sentinel_carry_out_forced(p, &refusal, now()));
    assert_false(sentinel_carry_out(p, false, now()));
    assert_int_equal(p->state, FAILOVER_WAIT_PROMOTION);
    assert_int_equal(watch_link_pending(&r->instance), pending + 7); /* MULTI .. EXEC, INFO */
    assert_int_equal(r->instance.info_sent, now());
    watching_drop_all();
    close(listener);
    loop_free(loop);
}

static void test_failover_by_election(void **state) {
    add_good_replica();
    p->instance.flags = INSTANCE_S_DOWN | INSTANCE_O_DOWN;
    assert_false(sentinel_carry_out(p, true, now())); /* in tilt */
    assert_int_equal(p->state, FAILOVER_NONE);
    assert_false(sentinel_carry_out(p, false, now()));
    assert_int_equal(p->state, FAILOVER_SEND_PROMOTION);
    assert_int_equal(p->failover_epoch, 1);
    p->state = FAILOVER_WAIT_PROMOTION;
    p->state_since = now();
    clock_advance_usec(1000000);
    p->promoted->instance.role = REPORTED_PRIMARY;
    p->promoted->instance.last_info = now();
    watching_forget();
    assert_true(sentinel_carry_out(p, false, now()));
    assert_int_equal(p->config_epoch, 1);
    sentinel_carry_out_switch(p);
    assert_string_equal(watching_told,
                        "+promoted-slave slave 127.0.0.1:7001 127.0.0.1 7001 @ m 127.0.0.1 7000\n"
                        "+failover-state-reconf-slaves master m 127.0.0.1 7000\n"
                        "+failover-end master m 127.0.0.1 7000\n"
                        "+switch-master m 127.0.0.1 7000 127.0.0.1 7001\n"
                        "+slave slave 127.0.0.1:7000 127.0.0.1 7000 @ m 127.0.0.1 7001\n");
}

static void test_a_full_disk_ends_the_election(void **state) {
    add_good_replica();
    p->instance.flags = INSTANCE_S_DOWN | INSTANCE_O_DOWN;
    watching_disk_is_full = true;
    assert_false(sentinel_carry_out(p, false, now()));
    assert_int_equal(p->state, FAILOVER_WAIT_START);
    assert_string_equal(p->leader, "");
    int tried = watching_writes;
    assert_false(sentinel_carry_out(p, false, now()));
    assert_int_equal(watching_writes, tried); /* once a second */
    watching_forget();
    clock_advance_usec(12000000);
    assert_false(sentinel_carry_out(p, false, now()));
    assert_string_equal(watching_told, "-failover-abort-not-elected master m 127.0.0.1 7000\n");
    assert_int_equal(p->state, FAILOVER_NONE);
}

static void test_reset_keeps_a_promotion(void **state) {
    p->promoted = add_good_replica();
    p->state = FAILOVER_WAIT_PROMOTION;
    watching_forget();
    sentinel_carry_out_reset(p);
    assert_string_equal(watching_told, "+reset-master master m 127.0.0.1 7000\n");
    assert_int_equal(p->state, FAILOVER_NONE);
    p->promoted = add_good_replica();
    p->state = FAILOVER_RECONF_REPLICAS;
    p->config_epoch = 1;
    watching_forget();
    sentinel_carry_out_reset(p);
    assert_string_equal(watching_told,
                        "+switch-master m 127.0.0.1 7000 127.0.0.1 7001\n"
                        "+slave slave 127.0.0.1:7000 127.0.0.1 7000 @ m 127.0.0.1 7001\n"
                        "+reset-master master m 127.0.0.1 7001\n");
    assert_int_equal(p->instance.address.port, 7001);
    assert_int_equal(p->replica_count, 0);
    assert_int_equal(p->config_epoch, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_vote_is_written_first, begin, end),
        cmocka_unit_test_setup_teardown(test_no_vote_without_its_record, begin, end),
        cmocka_unit_test_setup_teardown(test_candidates_that_are_none, begin, end),
        cmocka_unit_test_setup_teardown(test_forced_failover_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_forced_failover_votes_for_itself, begin, end),
        cmocka_unit_test_setup_teardown(test_promotion_asks_for_info_at_once, begin, end),
        cmocka_unit_test_setup_teardown(test_failover_by_election, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_disk_ends_the_election, begin, end),
        cmocka_unit_test_setup_teardown(test_reset_keeps_a_promotion, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
