/* SPDX-License-Identifier: BSD-3-Clause
 * FAILOVER, step by step: who is waited for, that the history stands still, and what becomes of
 * held writes at each end. The replica is a client that says what replicas say, and a listener that
 * it names (fake_primary.h).
 */
#include "replication/failover.h"

#include "exec/pause.h"
#include "option/settings.h"
#include "replication/fake_primary.h"
#include "replication/stream.h"

#define READ_ONLY "-READONLY You can't write against a read only replica.\r\n"

static struct fake_primary f;
static struct peer replica, asker, writer;

static void say_of(struct peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say_of(struct peer *p, const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    peer_send(p, slice_of(line));
    peer_send(p, SLICE("\r\n"));
}

/* It goes on from the end of our history, so no copy is made. `port`: what it says of itself; 0:
 * nothing. */
static struct peer connect_replica(const char *address, int port) {
    struct peer p = peer_connect();
    char answer[128];
    snprintf(answer, sizeof(answer), "+CONTINUE %s\r\n", history_id());
    assert_answer(&p, "replconf capa psync2", "+OK\r\n");
    if (port) {
        say_of(&p, "replconf listening-port %d ip-address %s", port, address);
        peer_assert_got(&p, SLICE("+OK\r\n"));
    }
    say_of(&p, "psync %s %lld", history_id(), (long long)history_place() + 1);
    peer_assert_got(&p, slice_of(answer));
    return p;
}

static void acknowledge(struct peer *p, int64_t place) {
    say_of(p, "replconf ack %lld", (long long)place);
}

static int begin(void **state) {
    fake_begin(state);
    f = fake_open();
    stream_open();
    replica = connect_replica("127.0.0.1", f.port);
    asker = peer_connect();
    writer = peer_connect();
    return 0;
}

static int end(void **state) {
    assert_false(failover_is_under_way());
    assert_int_equal(pause_mode(), PAUSE_NONE);
    peer_close(&asker);
    peer_close(&writer);
    if (replica.fd >= 0) peer_close(&replica);
    fake_close(&f);
    return whole_nothing_left(state);
}

static void assert_state(const char *name) {
    char line[64];
    snprintf(line, sizeof(line), "master_failover_state:%s\r\n", name);
    say_of(&asker, "info replication");
    buffer_append(&asker.got, "", 1);
    if (!strstr(asker.got.bytes, line)) fail_msg("%s wanted in %s", name, asker.got.bytes);
    buffer_clear(&asker.got);
}

/* A failover that waits, and a write that it holds. */
static void begin_failover(const char *line) {
    assert_answer(&writer, "set before 1", "+OK\r\n");
    assert_answer(&asker, line, "+OK\r\n");
    say_of(&writer, "set held 1");
    assert_int_equal(writer.got.length, 0);
    assert_int_equal(pause_mode(), PAUSE_WRITES);
    assert_state("waiting-for-sync");
}

static void assert_aborted(void) {
    assert_false(failover_is_under_way());
    assert_state("no-failover");
    assert_false(link_is_replica());
    assert_int_equal(pause_mode(), PAUSE_NONE);
    peer_receive(&writer, SIZE_MAX);
    peer_assert_got(&writer, SLICE("+OK\r\n"));
    assert_answer(&asker, "get held", "$1\r\n1\r\n");
}

/* The server asks the target to take over, where our history ends. */
static void expect_takeover(void) {
    char text[128];
    assert_state("failover-in-progress");
    fake_greet(&f);
    snprintf(text, sizeof(text), "PSYNC %s %lld FAILOVER", history_id(),
             (long long)history_place() + 1);
    fake_expect(&f, text);
}

static void assert_handed_over(void) {
    FAKE_UNTIL(&f, !failover_is_under_way());
    assert_int_equal(link_state(), LINK_UP);
    assert_state("no-failover");
    assert_string_equal(history_id(), FAKE_ID);
    peer_receive(&writer, SIZE_MAX);
    peer_assert_got(&writer, SLICE(READ_ONLY));
    assert_answer(&asker, "get held", "$-1\r\n");
}

/* Only by who has all: neither one byte less, nor while something is still to be sent. */
static void test_waits_for_all(void **state) {
    begin_failover("failover");
    acknowledge(&replica, history_place() - 1);
    assert_state("waiting-for-sync");
    assert_answer(&asker, "get before", "$1\r\n1\r\n");
    acknowledge(&replica, history_place());
    expect_takeover();
    fake_say(&f, "+CONTINUE " FAKE_ID "\r\n");
    assert_handed_over();
}

/* However long it takes nothing is added: no ping, no deletion of what is due. */
static void test_stands_still(void **state) {
    assert_answer(&writer, "set due 1 px 1500", "+OK\r\n");
    begin_failover("failover");
    int64_t place = history_place();
    for (int i = 0; i < 25; i++) whole_pass(1000); /* two periods of pings and more */
    assert_int_equal(history_place(), place);
    assert_answer(&asker, "get due", "$-1\r\n");
    assert_answer(&asker, "dbsize", ":2\r\n");
    assert_answer(&asker, "failover abort", "+OK\r\n");
    assert_aborted();
    whole_pass(1000);
    assert_true(history_place() > place);
    assert_answer(&asker, "dbsize", ":2\r\n"); /* before, held */
}

/* It is a client like any other until it takes over; another one that is not wanted, or that nobody
 * could connect to, has all in vain. */
static void test_chooses_the_wanted_one(void **state) {
    char line[64];
    struct peer nameless = connect_replica("", 0), other = connect_replica("10.0.0.9", 1);
    snprintf(line, sizeof(line), "failover to 127.0.0.1 %d", f.port);
    begin_failover(line);
    acknowledge(&nameless, history_place());
    acknowledge(&other, history_place());
    assert_state("waiting-for-sync");
    acknowledge(&replica, history_place());
    expect_takeover();
    fake_say(&f, "+CONTINUE " FAKE_ID "\r\n");
    assert_handed_over();
    peer_close(&nameless);
    peer_close(&other);
}

static void test_any_has_a_port(void **state) {
    struct peer nameless = connect_replica("", 0);
    begin_failover("failover");
    acknowledge(&nameless, history_place());
    assert_state("waiting-for-sync");
    assert_answer(&asker, "failover abort", "+OK\r\n");
    assert_aborted();
    peer_close(&nameless);
}

static void test_time_is_up(void **state) {
    begin_failover("failover timeout 3000");
    whole_pass(2999);
    assert_state("waiting-for-sync");
    whole_pass(1);
    assert_aborted();
}

/* By force it is the target that decides. */
static void test_force(void **state) {
    char line[64];
    snprintf(line, sizeof(line), "failover to 127.0.0.1 %d timeout 3000 force", f.port);
    begin_failover(line);
    whole_pass(2999);
    assert_state("waiting-for-sync");
    whole_pass(1);
    expect_takeover();
    fake_say(&f, "+CONTINUE " FAKE_ID "\r\n");
    assert_handed_over();
}

/* Where the target goes, who waits for it waits until its time is up. */
static void test_target_goes(void **state) {
    begin_failover("failover timeout 5000");
    peer_close(&replica);
    whole_pass(4999);
    assert_state("waiting-for-sync");
    whole_pass(1);
    assert_aborted();
}

static void test_refused(void **state) {
    static const char *const answers[] = {"-ERR PSYNC FAILOVER replid must match my replid.\r\n",
                                          "-NOMASTERLINK later\r\n", NULL};
    for (size_t i = 0; i < 3; i++) {
        if (i) replica = connect_replica("127.0.0.1", f.port);
        begin_failover("failover");
        acknowledge(&replica, history_place());
        expect_takeover();
        if (answers[i])
            fake_say(&f, answers[i]);
        else
            fake_hang_up(&f);
        FAKE_UNTIL(&f, !failover_is_under_way());
        assert_aborted();
        peer_close(&replica); /* it was dropped when we followed it */
        assert_answer(&writer, "del held", ":1\r\n");
    }
}

/* Also when the target is being asked already; its answer is nobody's then. */
static void test_aborted_in_progress(void **state) {
    begin_failover("failover");
    acknowledge(&replica, history_place());
    expect_takeover();
    assert_answer(&asker, "failover abort", "+OK\r\n");
    fake_say(&f, "+CONTINUE " FAKE_ID "\r\n");
    for (int i = 0; i < 20; i++) fake_turn(&f);
    assert_aborted();
    assert_string_not_equal(history_id(), FAKE_ID);
}

/* Nobody becomes a replica, or is told to copy, meanwhile. */
static void test_what_it_refuses(void **state) {
    struct peer late = peer_connect();
    begin_failover("failover");
    assert_answer(&asker, "failover", "-ERR FAILOVER already in progress.\r\n");
    assert_answer(&asker, "replicaof no one", "-ERR REPLICAOF not allowed while failing over.\r\n");
    assert_answer(&late, "psync ? -1", "-NOMASTERLINK Can't SYNC while failing over\r\n");
    assert_answer(&asker, "failover abort", "+OK\r\n");
    assert_answer(&asker, "failover abort", "-ERR No failover in progress.\r\n");
    assert_aborted();
    peer_close(&late);
}

/* Pauses of clients and this one do not end each other. */
static void test_beside_a_pause(void **state) {
    assert_answer(&asker, "client pause 10000 write", "+OK\r\n");
    assert_answer(&asker, "failover timeout 5000", "+OK\r\n");
    say_of(&writer, "set held 1");
    assert_answer(&asker, "client unpause", "+OK\r\n");
    assert_int_equal(writer.got.length, 0);
    assert_answer(&asker, "client pause 10000 write", "+OK\r\n");
    whole_pass(5000);
    assert_false(failover_is_under_way());
    assert_int_equal(writer.got.length, 0);
    assert_answer(&asker, "client unpause", "+OK\r\n");
    assert_aborted();
}

/* The other side: a replica that is told to take over by who has its history. */
static void test_takes_over(void **state) {
    char answer[128];
    fake_link_up(&f);
    struct peer p = peer_connect();
    assert_answer(&p, "replconf capa psync2", "+OK\r\n");
    say_of(&p, "psync %s 1 failover", FAKE_OTHER_ID);
    peer_assert_got(&p, SLICE("-ERR PSYNC FAILOVER replid must match my replid.\r\n"));
    assert_true(link_is_replica());
    say_of(&p, "psync %s %lld failover", FAKE_ID, (long long)history_place() + 1);
    assert_false(link_is_replica());
    assert_string_equal(history_id2(), FAKE_ID);
    snprintf(answer, sizeof(answer), "+CONTINUE %s\r\n", history_id());
    peer_assert_got(&p, slice_of(answer));
    assert_answer(&writer, "set a 1", "+OK\r\n");
    peer_close(&p);
}

static void test_primary_is_not_told(void **state) {
    say_of(&asker, "psync %s 1 failover", history_id());
    peer_assert_got(&asker, SLICE("-ERR PSYNC FAILOVER can't be sent to a master.\r\n"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_waits_for_all),
        TEST(test_stands_still),
        TEST(test_chooses_the_wanted_one),
        TEST(test_any_has_a_port),
        TEST(test_time_is_up),
        TEST(test_force),
        TEST(test_target_goes),
        TEST(test_refused),
        TEST(test_aborted_in_progress),
        TEST(test_what_it_refuses),
        TEST(test_beside_a_pause),
        TEST(test_takes_over),
        TEST(test_primary_is_not_told),
    };
    if (whole_open() != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
