/* SPDX-License-Identifier: BSD-3-Clause
 * What is only seen where all modules are wired together: who hears of one change, what a client
 * leaves that had something in every module, and expiry under a pause.
 */
#include "server/whole.h"

#include "exec/blocked.h"
#include "exec/transaction.h"
#include "publish/pubsub.h"
#include "publish/tracking.h"

static struct keyspace_holder holder;

static void tell(struct peer *p, const char *line, const char *reply) {
    peer_send(p, slice_of(line));
    peer_assert_got(p, slice_of(reply));
}

static void ask(struct peer *p, const char *line) {
    peer_send(p, slice_of(line));
    buffer_clear(&p->got);
}

/* Those that wait behind another's request get what it brought them. */
static void assert_told(struct peer *p, const char *message) {
    peers_turns();
    peer_receive(p, SIZE_MAX);
    peer_assert_got(p, slice_of(message));
}

static void check_all(void) {
    blocked_check();
    transaction_check();
    pubsub_check();
    tracking_check();
}

/* One push: caches, WATCH, events, and who waits for the key. */
static void test_all_hear_of_a_change(void **state) {
    struct peer writer = peer_connect(), tracks = peer_connect(), watches = peer_connect(),
                listens = peer_connect(), waits = peer_connect();
    tell(&writer, "config set notify-keyspace-events Kl\r\n", "+OK\r\n");
    ask(&tracks, "hello 3\r\n");
    tell(&tracks, "client tracking on\r\n", "+OK\r\n");
    tell(&tracks, "llen k\r\n", ":0\r\n");
    tell(&watches, "watch k\r\n", "+OK\r\n");
    tell(&watches, "multi\r\n", "+OK\r\n");
    ask(&listens, "psubscribe *:k\r\n");
    tell(&waits, "blpop k 0\r\n", "");
    check_all();
    tell(&writer, "lpush k v\r\n", ":1\r\n");
    assert_told(&tracks, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n");
    assert_told(&listens,
                "*4\r\n$8\r\npmessage\r\n$3\r\n*:k\r\n$16\r\n__keyspace@0__:k\r\n"
                "$5\r\nlpush\r\n"
                "*4\r\n$8\r\npmessage\r\n$3\r\n*:k\r\n$16\r\n__keyspace@0__:k\r\n"
                "$4\r\nlpop\r\n");
    assert_told(&waits, "*2\r\n$1\r\nk\r\n$1\r\nv\r\n");
    tell(&watches, "exec\r\n", "*-1\r\n");
    check_all();
    tell(&writer, "config set notify-keyspace-events \"\"\r\n", "+OK\r\n");
    struct peer *all[] = {&writer, &tracks, &watches, &listens, &waits};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) peer_close(all[i]);
}

/* Nothing stays in any module of those that close, in whatever they stand. */
static void test_clients_leave_nothing(void **state) {
    const char *const lines[] = {
        "monitor\r\n",   "watch a b c\r\n", "watch a\r\nmulti\r\nset a 1\r\n",
        "blpop a 0\r\n", "subscribe a\r\n", "client tracking on bcast prefix a\r\n",
    };
    struct peer other = peer_connect();
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct peer p = peer_connect();
        ask(&p, "acl setuser u on nopass +@all ~* &*\r\n");
        ask(&p, "auth u x\r\n");
        ask(&p, lines[i]);
        check_all();
        client_close_later(p.client);
        ask(&other, "set a 1\r\n");
        ask(&other, "del a\r\n");
        peer_close(&p);
        check_all();
    }
    tell(&other, "acl deluser u\r\n", ":1\r\n");
    assert_int_equal(blocked_clients(), 0);
    assert_int_equal(tracking_clients(), 0);
    assert_false(pubsub_has_listeners());
    peer_close(&other);
}

/* A pause that ends lets nothing go that somebody else holds. */
static void test_pause_and_another_holder(void **state) {
    struct peer p = peer_connect();
    tell(&p, "set k v px 10\r\n", "+OK\r\n");
    keyspace_hold_expiry(&holder, true);
    tell(&p, "client pause 1000 write\r\n", "+OK\r\n");
    whole_pass(20);
    tell(&p, "get k\r\n", "$-1\r\n");
    tell(&p, "client unpause\r\n", "+OK\r\n");
    whole_pass(20);
    assert_int_equal(keyspace_count(keyspace_at(0)), 1);
    keyspace_hold_expiry(&holder, false);
    whole_pass(20);
    assert_int_equal(keyspace_count(keyspace_at(0)), 0);
    peer_close(&p);
}

static int open_all(void **state) { return whole_open(); }

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, whole_begin, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_all_hear_of_a_change),
        TEST(test_clients_leave_nothing),
        TEST(test_pause_and_another_holder),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
