/* SPDX-License-Identifier: BSD-3-Clause
 * Clients that wait for keys, and what changes of the cluster make of them.
 */
#include "cluster/redirect.h"

#include "cluster/by_hand.h"
#include "cluster/gate.h"
#include "exec/blocked.h"
#include "server/whole.h"

#define SLOT_A 15495 /* of "a", "{a}..." */
#define MOVED_A "-MOVED 15495 ::1:7003\r\n"
#define DOWN "-CLUSTERDOWN The cluster is down\r\n"
#define OK "+OK\r\n"
#define HERD (REDIRECT_WAITS_AT_ONCE * 2 + 50)

static bool reads_when_down;

static int begin_redirect(void **state) {
    by_hand_reset();
    by_hand_own(SLOT_A, &me);
    peers_turns();
    return whole_begin(state);
}

static void turns_until_got(struct peer *p, const char *reply) {
    peers_turns();
    peer_receive(p, SIZE_MAX);
    peer_assert_got(p, slice_of(reply));
}

static void test_each_verdict(void **state) {
    struct peer p = peer_connect();
    whole_say(&p, "blpop {a}1 a 0", "");
    by_hand_mark(here->migrating_to, SLOT_A, &other); /* ends nothing */
    turns_until_got(&p, "");
    by_hand_own(SLOT_A, &other);
    turns_until_got(&p, MOVED_A);
    assert_int_equal(blocked_on_keys(), 0);
    whole_say(&p, "ping", "+PONG\r\n"); /* the connection stays */
    by_hand_mark(here->migrating_to, SLOT_A, NULL);
    by_hand_own(SLOT_A, &me);
    whole_say(&p, "bzpopmin a 0", "");
    by_hand_own(SLOT_A, NULL);
    turns_until_got(&p, "-CLUSTERDOWN Hash slot not served\r\n");
    by_hand_own(SLOT_A, &me);
    whole_say(&p, "xread block 0 streams a $", "");
    here->ok = false;
    turns_until_got(&p, DOWN);
    reads_when_down = true; /* so that a wait can begin */
    whole_say(&p, "xread block 0 streams a $", DOWN);
    here->ok = true;
    whole_say(&p, "blpop a 0", "");
    by_hand_own(SLOT_A, &other);
    by_hand_mark(here->importing_from, SLOT_A, &other);
    turns_until_got(&p, "");
    whole_say(&p, "wait 1 1000", ""); /* behind BLPOP, which still waits */
    by_hand_mark(here->importing_from, SLOT_A, NULL);
    turns_until_got(&p, MOVED_A);
    here->ok = false; /* ends no wait that is for no key */
    turns_until_got(&p, "");
    whole_pass(1000);
    turns_until_got(&p, ":0\r\n");
    peer_close(&p);
}

/* At a replica a READONLY client waits on, unless its command would write. */
static void test_readonly(void **state) {
    struct peer reads = peer_connect(), writes = peer_connect();
    whole_say(&reads, "readonly", OK);
    whole_say(&writes, "readonly", OK);
    whole_say(&reads, "xread block 0 streams a $", "");
    whole_say(&writes, "blpop a 0", "");
    by_hand_become_replica();
    by_hand_own(SLOT_A, &primary);
    turns_until_got(&reads, "");
    turns_until_got(&writes, "-MOVED 15495 10.0.0.2:7003\r\n");
    by_hand_own(SLOT_A, &other);
    turns_until_got(&reads, MOVED_A);
    peer_close(&reads);
    peer_close(&writes);
}

static struct peer herd[HERD];

/* So many that one turn does not look at all; some come while the look is under way. */
static void test_herd(void **state) {
    for (size_t i = 0; i < HERD; i++) {
        herd[i] = peer_connect();
        whole_say(&herd[i], "blpop a 0", "");
    }
    assert_int_equal(blocked_on_keys(), HERD);
    by_hand_own(SLOT_A, &other);
    assert_true(cluster_redirect_step());
    assert_int_equal(blocked_on_keys(), HERD - REDIRECT_WAITS_AT_ONCE);
    by_hand_own(SLOT_A, &me); /* begins again: the rest may stay */
    assert_true(cluster_redirect_step());
    assert_int_equal(blocked_on_keys(), HERD - REDIRECT_WAITS_AT_ONCE);
    by_hand_own(SLOT_A, &other);
    assert_true(cluster_redirect_step());
    assert_false(cluster_redirect_step());
    assert_int_equal(blocked_on_keys(), 0);
    assert_false(cluster_redirect_step());
    for (size_t i = 0; i < HERD; i++) {
        turns_until_got(&herd[i], MOVED_A);
        peer_close(&herd[i]);
    }
}

static int open_all(void **state) {
    by_hand_reset();
    keyspace_partition(true);
    int status = whole_open();
    cluster_gate_open(here, &reads_when_down);
    cluster_redirect_open(here);
    return status;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_redirect, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_each_verdict),
        TEST(test_readonly),
        TEST(test_herd),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
