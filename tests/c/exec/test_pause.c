/* SPDX-License-Identifier: BSD-3-Clause
 * Pauses: what runs in which, in which order who was held goes on, and that writes which this
 * server holds itself (pause_hold_writes) and pauses of clients do not end each other.
 */
#include "exec/pause.h"

#include "exec/gates.h"
#include "server/whole.h"

static struct peer asker, writer, other;

static int begin(void **state) {
    (void)whole_begin(state);
    asker = peer_connect();
    writer = peer_connect();
    other = peer_connect();
    return 0;
}

static int end(void **state) {
    pause_hold_writes(false);
    pause_end();
    peer_close(&asker);
    peer_close(&writer);
    peer_close(&other);
    return whole_nothing_left(state);
}

/* Sends a request that has to wait. */
static void say_held(struct peer *p, const char *line) {
    peer_send(p, slice_of(line));
    peer_send(p, SLICE("\r\n"));
    if (p->got.length) fail_msg("%s is not held: %.*s", line, (int)p->got.length, p->got.bytes);
}

static void assert_came(struct peer *p, const char *reply) {
    peers_turns();
    peer_receive(p, SIZE_MAX);
    peer_assert_got(p, slice_of(reply));
}

/* Whatever may reach a replica waits; all else runs. */
static void test_holds_writes(void **state) {
    const char *const held[] = {"set a 1",        "del a",     "eval \"return 1\" 0",
                                "publish c text", "pfcount a", "flushall"};
    const struct {
        const char *line, *reply;
    } run[] = {{"get a", "$-1\r\n"},
               {"ping", "+PONG\r\n"},
               {"set a", "-ERR wrong number of arguments for 'set' command\r\n"},
               {"client unpause", "+OK\r\n"},
               {"config set maxmemory 0", "+OK\r\n"}};
    pause_hold_writes(true);
    assert_int_equal(pause_mode(), PAUSE_WRITES);
    assert_true(gate_is_set(&pause_gate));
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
        struct peer p = peer_connect();
        say_held(&p, held[i]);
        for (size_t j = 0; j < sizeof(run) / sizeof(run[0]); j++)
            whole_say(&asker, run[j].line, run[j].reply);
        peer_close(&p); /* who is held may leave */
    }
    pause_hold_writes(false);
    assert_int_equal(pause_mode(), PAUSE_NONE);
    assert_false(gate_is_set(&pause_gate));
}

/* A transaction waits as a whole, at its EXEC, and only where it writes. */
static void test_transactions(void **state) {
    whole_say(&writer, "multi", "+OK\r\n");
    whole_say(&other, "multi", "+OK\r\n");
    pause_hold_writes(true);
    whole_say(&other, "get a", "+QUEUED\r\n");
    whole_say(&other, "exec", "*1\r\n$-1\r\n");
    pause_hold_writes(false);
    whole_say(&writer, "incr a", "+QUEUED\r\n");
    pause_hold_writes(true);
    say_held(&writer, "exec");
    whole_say(&asker, "get a", "$-1\r\n");
    pause_hold_writes(false);
    assert_came(&writer, "*1\r\n:1\r\n");
}

/* Those that wait go on in the order in which they were stopped, each with what it sent behind,
 * also where that came in another piece. */
static void test_order(void **state) {
    pause_hold_writes(true);
    say_held(&writer, "append a 1\r\nappend a 2");
    say_held(&other, "append a 3");
    struct peer last = peer_connect();
    say_held(&last, "append a 4");
    pause_hold_writes(false);
    assert_came(&writer, ":1\r\n:2\r\n");
    assert_came(&other, ":3\r\n");
    assert_came(&last, ":4\r\n");
    whole_say(&asker, "get a", "$4\r\n1234\r\n");
    peer_close(&last);
}

/* Neither ends the other, in either order; the stronger one holds. */
static void test_beside_pauses_of_clients(void **state) {
    pause_hold_writes(true);
    whole_say(&asker, "client pause 1000 write", "+OK\r\n");
    say_held(&writer, "append a 1");
    whole_pass(1001);
    assert_int_equal(pause_mode(), PAUSE_WRITES);
    assert_int_equal(writer.got.length, 0);
    pause_hold_writes(false);
    assert_came(&writer, ":1\r\n");

    whole_say(&asker, "client pause 1000 write", "+OK\r\n");
    say_held(&writer, "append a 2");
    pause_hold_writes(true);
    pause_hold_writes(false);
    assert_came(&writer, "");
    whole_say(&asker, "client unpause", "+OK\r\n");
    assert_came(&writer, ":2\r\n");

    pause_hold_writes(true);
    whole_say(&asker, "client pause 1000 all", "+OK\r\n");
    assert_int_equal(pause_mode(), PAUSE_ALL);
    say_held(&other, "ping");
    say_held(&writer, "append a 3");
    whole_pass(1001);
    assert_came(&other, "+PONG\r\n");
    assert_came(&writer, "");
    assert_int_equal(pause_mode(), PAUSE_WRITES);
    pause_hold_writes(false);
    assert_came(&writer, ":3\r\n");
}

/* A client that is held, and held again as soon as it goes on, loses nothing. */
static void test_again_and_again(void **state) {
    pause_hold_writes(true);
    say_held(&writer, "incr a");
    for (int i = 0; i < 3; i++) {
        pause_hold_writes(false);
        pause_hold_writes(true);
        assert_came(&writer, "");
        whole_pass(1);
    }
    pause_hold_writes(false);
    assert_came(&writer, ":1\r\n");
}

/* What is due is not there for readers, and stays until writes go on. */
static void test_nothing_expires(void **state) {
    whole_say(&writer, "set a 1 px 10", "+OK\r\n");
    pause_hold_writes(true);
    whole_pass(1000);
    whole_say(&asker, "get a", "$-1\r\n");
    whole_say(&asker, "dbsize", ":1\r\n");
    assert_false(keyspace_may_expire());
    pause_hold_writes(false);
    assert_true(keyspace_may_expire());
    whole_pass(1000);
    whole_say(&asker, "dbsize", ":0\r\n");
}

/* A later end is taken, an earlier one is not; nor does a weaker mode replace a stronger one. */
static void test_longest_and_strongest(void **state) {
    pause_start(PAUSE_ALL, 1000);
    pause_start(PAUSE_WRITES, 500);
    whole_pass(0);
    whole_pass(1000);
    assert_int_equal(pause_mode(), PAUSE_ALL);
    pause_start(PAUSE_WRITES, 1000);
    whole_pass(0);
    whole_pass(1000);
    assert_int_equal(pause_mode(), PAUSE_ALL);
    say_held(&asker, "ping");
    whole_pass(1);
    assert_int_equal(pause_mode(), PAUSE_NONE);
    assert_came(&asker, "+PONG\r\n");
}

/* A pause is measured by who gets the reply, which leaves at the end of the turn: what else the
 * turn takes does not shorten the pause. */
static void test_counts_from_the_reply(void **state) {
    pause_start(PAUSE_WRITES, 100);
    clock_advance_usec(50000);
    peers_turns();
    say_held(&writer, "append a 1");
    whole_pass(100);
    assert_int_equal(pause_mode(), PAUSE_WRITES);
    whole_pass(1);
    assert_int_equal(pause_mode(), PAUSE_NONE);
    assert_came(&writer, ":1\r\n");
    /* One that has no end within the clock's range, and one that was ended before it counted. */
    pause_start(PAUSE_WRITES, INT64_MAX - clock_wall_usec() / 1000);
    whole_pass(1000);
    assert_int_equal(pause_mode(), PAUSE_WRITES);
    pause_end();
    pause_start(PAUSE_WRITES, 100);
    pause_end();
    pause_start(PAUSE_WRITES, 10);
    whole_pass(0);
    whole_pass(11);
    assert_int_equal(pause_mode(), PAUSE_NONE);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_holds_writes),
        TEST(test_transactions),
        TEST(test_order),
        TEST(test_beside_pauses_of_clients),
        TEST(test_again_and_again),
        TEST(test_nothing_expires),
        TEST(test_longest_and_strongest),
        TEST(test_counts_from_the_reply),
    };
    if (whole_open() != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
