/* SPDX-License-Identifier: BSD-3-Clause
 * The link to a primary: its states, the dialog before the data, what follows from each answer, and
 * that nothing that a primary says does more than end the link.
 */
#include "replication/link.h"

#include <sys/uio.h>

#include "exec/effects.h"
#include "exec/gates.h"
#include "io/names.h"
#include "option/settings.h"
#include "replication/fake_primary.h"
#include "replication/feed.h"
#include "replication/role.h"

static struct fake_primary f;

static int begin(void **state) {
    fake_begin(state);
    f = fake_open();
    return 0;
}

static int end(void **state) {
    fake_close(&f);
    assert_takes("masterauth", "", "");
    assert_takes("masteruser", "", "");
    assert_takes("replica-announce-ip", "", "");
    assert_takes("replica-announce-port", "0", "0");
    return whole_nothing_left(state);
}

static void test_greeting(void **state) {
    assert_takes("masterauth", "secret word", "secret word");
    assert_takes("masteruser", "someone", "someone");
    assert_takes("replica-announce-ip", "10.0.0.1", "10.0.0.1");
    assert_takes("replica-announce-port", "7000", "7000");
    assert_false(link_is_replica());
    link_follow("127.0.0.1", f.port);
    assert_true(link_is_replica());
    assert_string_equal(link_host(), "127.0.0.1");
    assert_int_equal(link_port(), f.port);
    assert_int_equal(link_state(), LINK_CONNECTING);
    assert_int_equal(link_data_age_sec(), -1);
    fake_accept(&f);
    fake_expect(&f, "PING");
    assert_int_equal(link_state(), LINK_GREETS);
    fake_say(&f, "-NOAUTH Authentication required.\r\n");
    fake_expect(&f, "AUTH someone \"secret word\"");
    fake_expect(&f, "REPLCONF listening-port 7000");
    fake_expect(&f, "REPLCONF ip-address 10.0.0.1");
    fake_expect(&f, "REPLCONF capa eof capa psync2");
    fake_say(&f, "+OK\r\n-ERR unknown\r\n-ERR unknown\r\n-ERR unknown\r\n");
    fake_expect_psync(&f, history_id(), history_place() + 1);
    fake_say(&f, "\n\n+CONTINUE " FAKE_ID "\r\n");
    FAKE_UNTIL(&f, link_state() == LINK_UP);
    assert_string_equal(history_id(), FAKE_ID);
    assert_int_equal(link_down_sec(), -1);
    assert_int_equal(link_silent_sec(), 0);
    assert_int_equal(link_data_age_sec(), 0);
    /* What is followed now has said nothing yet. */
    link_follow("127.0.0.1", f.port);
    assert_int_equal(link_data_age_sec(), -1);
}

/* A primary that ends as soon as it has said that the stream goes on: it is asked again, for the
 * same. */
static void test_ends_behind_its_answer(void **state) {
    static const char *const answers[] = {"+CONTINUE " FAKE_ID "\r\n",
                                          "+CONTINUE\r\n*1\r\n$4\r\nPING\r\n"};
    for (size_t i = 0; i < 2; i++) {
        link_follow("127.0.0.1", f.port);
        fake_greet(&f);
        fake_expect_psync(&f, history_id(), history_place() + 1);
        fake_say(&f, answers[i]);
        fake_hang_up(&f); /* before a turn of the server: all comes with the end */
        for (int turn = 0; turn < 20; turn++) fake_turn(&f);
        fake_pass_seconds();
        fake_greet(&f);
        fake_expect_psync(&f, history_id(), history_place() + 1);
        if (i == 0) assert_string_equal(history_id(), FAKE_ID);
        assert_true(link_may_continue());
        link_stop_following();
    }
}

/* Answers that come before their questions were sent are taken in their turn. */
static void test_hasty_primary(void **state) {
    link_follow("127.0.0.1", f.port);
    fake_accept(&f);
    fake_say(&f, "+PONG\r\n+OK\r\n+OK\r\n+CONTINUE " FAKE_ID "\r\n");
    FAKE_UNTIL(&f, link_state() == LINK_UP);
}

static void say_and_wait(const char *text) {
    link_follow("127.0.0.1", f.port);
    fake_greet(&f);
    fake_expect_psync(&f, history_id(), history_place() + 1);
    fake_say(&f, text);
}

static void assert_gives_up(const char *text) {
    say_and_wait(text);
    FAKE_UNTIL(&f, link_state() == LINK_WAITS);
    assert_true(gate_is_set(&role_gate_read_only));
    link_stop_following();
    assert_int_equal(link_state(), LINK_NONE);
    assert_false(gate_is_set(&role_gate_read_only));
}

static void test_answers_to_psync(void **state) {
    assert_gives_up("-NOMASTERLINK Can't SYNC while not connected with my master\r\n");
    assert_gives_up("-LOADING Redis is loading the dataset in memory\r\n");
    assert_gives_up("+FULLRESYNC\r\n");
    assert_gives_up("+FULLRESYNC " FAKE_ID "\r\n");
    assert_gives_up("+FULLRESYNC " FAKE_ID " x\r\n");
    assert_gives_up("+FULLRESYNC " FAKE_ID " -5\r\n");
    assert_gives_up("+FULLRESYNC 0123 5\r\n");
    assert_gives_up("+FULLRESYNC " FAKE_ID " 9223372036854775807\r\n");
    assert_gives_up("+FULLRESYNC " FAKE_ID " 99999999999999999999\r\n");
}

static void test_falls_back(void **state) {
    say_and_wait("-ERR unknown command `PSYNC`\r\n");
    FAKE_UNTIL(&f, f.got.length >= 6);
    assert_memory_equal(f.got.bytes, "SYNC\r\n", 6);
    assert_int_equal(link_state(), LINK_RECEIVES);
    assert_false(link_may_continue());
}

/* A primary that refuses both is asked again once a second. */
static void test_refused_for_good(void **state) {
    say_and_wait("-ERR no\r\n");
    for (int i = 0; i < 3; i++) {
        FAKE_UNTIL(&f, f.got.length >= 6);
        assert_memory_equal(f.got.bytes, "SYNC\r\n", 6);
        fake_say(&f, "-ERR no\r\n");
        fake_greet_again(&f);
        fake_expect(&f, "PSYNC ? -1");
        fake_say(&f, "-ERR no\r\n");
    }
}

/* A primary that goes on where nobody asked it to is no primary of this data. */
static void test_continue_unasked(void **state) {
    say_and_wait("+FULLRESYNC " FAKE_ID " 7\r\n");
    FAKE_UNTIL(&f, link_state() == LINK_RECEIVES);
    fake_hang_up(&f);
    fake_greet_again(&f);
    fake_expect(&f, "PSYNC ? -1");
    fake_say(&f, "+CONTINUE\r\n");
    FAKE_UNTIL(&f, f.got.length >= 6);
    assert_memory_equal(f.got.bytes, "SYNC\r\n", 6);
}

static void test_ping_refused(void **state) {
    link_follow("127.0.0.1", f.port);
    fake_accept(&f);
    fake_expect(&f, "PING");
    fake_say(&f, "-MASTERDOWN no\r\n");
    FAKE_UNTIL(&f, link_state() == LINK_WAITS);
}

static void test_auth_refused(void **state) {
    assert_takes("masterauth", "wrong", "wrong");
    link_follow("127.0.0.1", f.port);
    fake_accept(&f);
    fake_expect(&f, "PING");
    fake_say(&f, "+PONG\r\n");
    fake_expect(&f, "AUTH wrong");
    fake_say(&f, "-WRONGPASS invalid\r\n");
    FAKE_UNTIL(&f, link_state() == LINK_WAITS);
}

/* Each second a link that is not there is tried again. */
static void test_tries_again(void **state) {
    link_follow("127.0.0.1", f.port);
    fake_accept(&f);
    fake_hang_up(&f);
    FAKE_UNTIL(&f, link_state() == LINK_WAITS);
    fake_pass_seconds();
    fake_accept(&f);
    fake_expect(&f, "PING");
}

/* While a primary's name is looked up clients are served. A name that is not found is tried again
 * each second; one that nobody waits for any more is forgotten. */
static void test_names(void **state) {
    struct peer p = peer_connect();
    link_follow("some.slow", f.port);
    assert_int_equal(link_state(), LINK_LOOKS_UP);
    for (int i = 0; i < 10; i++) fake_turn(&f);
    fake_pass_seconds();
    assert_int_equal(link_state(), LINK_LOOKS_UP);
    assert_answer(&p, "get k", "$-1\r\n");
    names_release(1);
    fake_accept(&f);
    fake_expect(&f, "PING");
    link_follow("some.unknown", f.port);
    for (int i = 0; i < 3; i++) {
        FAKE_UNTIL(&f, link_state() == LINK_WAITS);
        fake_pass_seconds();
    }
    assert_in_range(atomic_load(&names_asked), 3, 7);
    link_follow("other.slow", f.port);
    link_stop_following();
    names_release(1);
    for (int i = 0; i < 10; i++) fake_turn(&f);
    assert_int_equal(link_state(), LINK_NONE);
    peer_close(&p);
}

static void test_silence(void **state) {
    assert_takes("repl-timeout", "10", "10");
    link_follow("127.0.0.1", f.port);
    fake_accept(&f);
    fake_expect(&f, "PING");
    whole_pass(11000);
    fake_link_again(&f); /* another connection: the first was given up */
    whole_pass(11000);
    fake_link_again(&f);
    assert_takes("repl-timeout", "60", "60");
}

static void test_lost_and_again(void **state) {
    struct peer p = peer_connect();
    fake_link_up(&f);
    int64_t place = history_place();
    fake_say(&f, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n");
    FAKE_UNTIL(&f, history_place() == place + 27);
    fake_hang_up(&f);
    FAKE_UNTIL(&f, link_state() != LINK_UP);
    assert_int_equal(link_down_sec(), 0);
    assert_int_equal(link_data_age_sec(), 0);
    assert_true(link_may_continue());
    fake_link_again(&f);
    assert_int_equal(link_down_sec(), -1);
    assert_int_equal(history_place(), place + 27);
    assert_answer(&p, "get a", "$1\r\n1\r\n");
    peer_close(&p);
}

/* A history with another name: the one before holds up to here. */
static void test_renamed(void **state) {
    fake_link_up(&f);
    fake_hang_up(&f);
    fake_greet(&f);
    fake_expect_psync(&f, FAKE_ID, history_place() + 1);
    fake_say(&f, "+CONTINUE " FAKE_OTHER_ID "\r\n");
    FAKE_UNTIL(&f, link_state() == LINK_UP);
    assert_string_equal(history_id(), FAKE_OTHER_ID);
    assert_string_equal(history_id2(), FAKE_ID);
    assert_int_equal(history_id2_end(), history_place() + 1);
}

static void test_promoted(void **state) {
    struct peer p = peer_connect();
    fake_link_up(&f);
    assert_answer(&p, "set a 1", "-READONLY You can't write against a read only replica.\r\n");
    assert_answer(&p, "replicaof no one", "+OK\r\n");
    assert_string_equal(history_id2(), FAKE_ID);
    assert_string_not_equal(history_id(), FAKE_ID);
    assert_answer(&p, "set a 1", "+OK\r\n");
    FAKE_UNTIL(&f, read(f.fd, (char[1]){0}, 1) == 0); /* closed */
    peer_close(&p);
}

static void test_blocked_clients(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    peer_send(&p, SLICE("blpop nokey 0\r\n"));
    char line[64];
    snprintf(line, sizeof(line), "replicaof 127.0.0.1 %d", f.port);
    assert_answer(&q, line, "+OK\r\n");
    assert_answer(&q, line, "+OK Already connected to specified master\r\n");
    assert_answer(&q, "replicaof 127.0.0.1 x", "-ERR value is not an integer or out of range\r\n");
    assert_answer(&q, "replicaof 127.0.0.1 70000", "-ERR Invalid master host or port\r\n");
    peer_send(&p, SLICE(""));
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    peer_assert_got(&p, SLICE("-UNBLOCKED force unblock from blocking operation, instance state "
                              "changed (master -> replica?)\r\n"));
    assert_true(p.ended || !peer_is_served(&p));
    peer_close(&p);
    peer_close(&q);
}

/* ---- a manager above ---- */

static bool no_primary(const char **host, int *port) { return false; }

static const struct role_manager refuses = {
    "REPLICAOF not allowed in cluster mode.",
    "FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.", no_primary};

/* What it refuses, it refuses before anything else is looked at, and nothing comes of it. */
static void test_manager_refuses(void **state) {
    static const char no_replicaof[] = "-ERR REPLICAOF not allowed in cluster mode.\r\n";
    static const char no_failover[] =
        "-ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.\r\n";
    struct peer p = peer_connect();
    role_set_manager(&refuses);
    assert_answer(&p, "replicaof 127.0.0.1 1", no_replicaof);
    assert_answer(&p, "replicaof 127.0.0.1 x", no_replicaof);
    assert_answer(&p, "slaveof no one", no_replicaof);
    assert_answer(&p, "replicaof no", "-ERR wrong number of arguments for 'replicaof' command\r\n");
    assert_answer(&p, "failover", no_failover);
    assert_answer(&p, "failover abort", no_failover);
    assert_false(link_is_replica());
    role_set_manager(&role_by_option);
    assert_answer(&p, "failover", "-ERR FAILOVER requires connected replicas.\r\n");
    assert_answer(&p, "slaveof no one", "+OK\r\n");
    peer_close(&p);
}

/* ---- FAILOVER ---- */

static int accepted, refused;
static void note_accepted(void) { accepted++; }
static void note_refused(const char *why) {
    assert_string_equal(why, "Failover target rejected psync request");
    refused++;
    link_stop_following();
}
static const struct link_takeover takeover = {note_accepted, note_refused};

static void hand_over(const char *answer) {
    char text[128];
    accepted = refused = 0;
    link_hand_over("127.0.0.1", f.port, &takeover);
    fake_greet(&f);
    snprintf(text, sizeof(text), "PSYNC %s %lld FAILOVER", history_id(),
             (long long)history_place() + 1);
    fake_expect(&f, text);
    if (answer)
        fake_say(&f, answer);
    else
        fake_hang_up(&f);
    FAKE_UNTIL(&f, accepted + refused);
}

static void test_hand_over(void **state) {
    static const char *const refusals[] = {"-ERR no\r\n", "-NOMASTERLINK later\r\n", NULL};
    for (size_t i = 0; i < 3; i++) {
        hand_over(refusals[i]);
        assert_int_equal(refused, 1);
        assert_int_equal(link_state(), LINK_NONE);
    }
    hand_over("+CONTINUE " FAKE_ID "\r\n");
    assert_int_equal(accepted, 1);
    assert_int_equal(link_state(), LINK_UP);
    fake_hang_up(&f);
    fake_link_again(&f); /* and is not told again */
}

/* ---- whatever it says ---- */

static void assert_written(int64_t since, const char *bytes) {
    struct feed_reader reader = {.feed = NULL};
    struct iovec piece;
    assert_int_equal(history_place() - since, (int64_t)strlen(bytes));
    assert_true(feed_follow(&reader, history_feed(), since));
    feed_set_limit(history_feed(), history_place());
    assert_int_equal(feed_pieces(&reader, &piece, 1, strlen(bytes)), 1);
    assert_memory_equal(piece.iov_base, bytes, strlen(bytes));
    feed_leave(&reader);
}

#define WRITTEN                                                                  \
    "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nincr\r\n" \
    "$1\r\nn\r\n*1\r\n$4\r\nEXEC\r\n"

/* What a transaction has written before it makes this server a replica is in the history, for the
 * new primary is asked whether it has just that; and it is there once, also where the server is a
 * primary again when the transaction ends. */
static void test_follows_within_a_transaction(void **state) {
    char line[64];
    snprintf(line, sizeof(line), "replicaof 127.0.0.1 %d", f.port);
    for (int returns = 0; returns < 2; returns++) {
        fake_link_up(&f);
        link_stop_following();
        fake_hang_up(&f);
        peers_turns();
        effects_add_interest(EFFECT_LOG, 1); /* somebody wants the whole unit */
        struct peer p = peer_connect();
        int64_t place = history_place();
        whole_say(&p, "multi", "+OK\r\n");
        whole_say(&p, "incr n", "+QUEUED\r\n");
        whole_say(&p, line, "+QUEUED\r\n");
        if (returns) whole_say(&p, "replicaof no one", "+QUEUED\r\n");
        whole_say(&p, "exec", returns ? "*3\r\n:2\r\n+OK\r\n+OK\r\n" : "*2\r\n:1\r\n+OK\r\n");
        effects_add_interest(EFFECT_LOG, -1);
        assert_written(place, WRITTEN);
        peer_close(&p);
        if (returns) break;
        fake_greet(&f);
        fake_expect_psync(&f, history_id(), history_place() + 1);
        link_stop_following();
        fake_hang_up(&f);
    }
}

/* ... and what it is to write behind that is refused, as to a replica's client. */
static void test_writes_behind_following(void **state) {
    char line[64];
    snprintf(line, sizeof(line), "replicaof 127.0.0.1 %d", f.port);
    struct peer p = peer_connect();
    whole_say(&p, "multi", "+OK\r\n");
    whole_say(&p, line, "+QUEUED\r\n");
    whole_say(&p, "set k v", "+QUEUED\r\n");
    whole_say(&p, "get k", "+QUEUED\r\n");
    whole_say(&p, "exec",
              "*3\r\n+OK\r\n-READONLY You can't write against a read only replica.\r\n$-1\r\n");
    whole_say(&p, "multi", "+OK\r\n");
    whole_say(&p, "get k", "+QUEUED\r\n");
    whole_say(&p, "exec", "*1\r\n$-1\r\n");
    peer_close(&p);
}

static void say_nonsense(void) {
    static const char *const pieces[] = {"+PONG\r\n",
                                         "+OK\r\n",
                                         "+CONTINUE\r\n",
                                         "+CONTINUE " FAKE_ID "\r\n",
                                         "-ERR x\r\n",
                                         "\n",
                                         "+FULLRESYNC " FAKE_ID " 10\r\n",
                                         "$EOF:" FAKE_ID "\r\n",
                                         "$5\r\n",
                                         "REDIS0009",
                                         "$-1\r\n",
                                         "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n",
                                         "*1\r\n$5\r\nMULTI\r\n",
                                         "*1\r\n$4\r\nEXEC\r\n",
                                         FAKE_ID,
                                         "*100000\r\n",
                                         "$99999999999\r\n",
                                         "*-5\r\n",
                                         "SET a b\r\n",
                                         "\xff",
                                         ":1\r\n",
                                         "*2\r\n$6\r\nSELECT\r\n$5\r\n99999\r\n",
                                         "*1\r\n$4\r\nQUIT\r\n",
                                         "*1\r\n$5\r\nRESET\r\n",
                                         "*3\r\n$9\r\nREPLICAOF\r\n$2\r\nno\r\n$3\r\none\r\n",
                                         "*1\r\n$4\r\nSYNC\r\n",
                                         "*3\r\n$5\r\nBLPOP\r\n$1\r\nl\r\n$1\r\n0\r\n",
                                         "*1\r\n$7\r\nMONITOR\r\n",
                                         "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n",
                                         "*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n",
                                         "*2\r\n$8\r\nFLUSHALL\r\n$4\r\nSYNC\r\n",
                                         "*1\r\n$5\r\nWATCH\r\n",
                                         "*3\r\n$5\r\nPSYNC\r\n$1\r\n?\r\n$2\r\n-1\r\n"};
    size_t count = 1 + random_u64() % 12;
    for (size_t i = 0; i < count; i++)
        fake_say(&f, pieces[random_u64() % (sizeof(pieces) / sizeof(pieces[0]))]);
}

static void test_nonsense(void **state) {
    for (int round = 0; round < 300; round++) {
        if (!link_is_replica()) link_follow("127.0.0.1", f.port);
        whole_pass(1000);
        struct socket_peer peer;
        int fd = socket_accept(f.listener, &peer);
        if (fd >= 0) {
            fake_hang_up(&f);
            f.fd = fd;
        }
        if (f.fd < 0) continue;
        if (random_u64() % 2) fake_say(&f, "+PONG\r\n+OK\r\n+OK\r\n");
        say_nonsense();
        for (int i = 0; i < 5; i++) fake_turn(&f);
        if (random_u64() % 2) fake_hang_up(&f);
    }
    link_stop_following();
    assert_int_equal(link_state(), LINK_NONE);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_greeting),
        TEST(test_hasty_primary),
        TEST(test_answers_to_psync),
        TEST(test_falls_back),
        TEST(test_refused_for_good),
        TEST(test_continue_unasked),
        TEST(test_ping_refused),
        TEST(test_auth_refused),
        TEST(test_tries_again),
        TEST(test_names),
        TEST(test_silence),
        TEST(test_lost_and_again),
        TEST(test_renamed),
        TEST(test_promoted),
        TEST(test_blocked_clients),
        TEST(test_manager_refuses),
        TEST(test_hand_over),
        TEST(test_nonsense),
        TEST(test_ends_behind_its_answer),
        TEST(test_follows_within_a_transaction),
        TEST(test_writes_behind_following),
    };
    names_open();
    if (whole_open() != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
