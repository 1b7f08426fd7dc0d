/* SPDX-License-Identifier: BSD-3-Clause
 * The primary's stream applied: what counts as applied wherever it is cut, what is handed on, whose
 * commands these are, and what holds them.
 */
#include "replication/apply.h"

#include <sys/uio.h>

#include "base/faults.h"
#include "base/log.h"
#include "option/settings.h"
#include "replication/fake_primary.h"
#include "replication/feed.h"

#define SET_A "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n"
#define INCR_A "*2\r\n$4\r\nINCR\r\n$1\r\na\r\n"
#define MULTI "*1\r\n$5\r\nMULTI\r\n"
#define EXEC "*1\r\n$4\r\nEXEC\r\n"
#define FLUSHALL "*1\r\n$8\r\nFLUSHALL\r\n"

static struct fake_primary f;

static int begin(void **state) {
    fake_begin(state);
    f = fake_open();
    fake_link_up(&f);
    return 0;
}

static int end(void **state) {
    fake_close(&f);
    return whole_nothing_left(state);
}

static void apply(const char *text) {
    int64_t place = history_place() + (int64_t)strlen(text);
    fake_say(&f, text);
    FAKE_UNTIL(&f, history_place() == place);
}

static void turn_a_little(void) {
    for (int i = 0; i < 20; i++) fake_turn(&f);
}

static void cut_and_link_again(void) {
    fake_hang_up(&f);
    fake_link_again(&f);
}

static char lines[65537], requests[65537];

/* What says nothing is applied when it has come: a primary that says nothing else is not kept in
 * memory. Within a transaction it goes with that. */
static void test_says_nothing(void **state) {
    size_t before = memory_used(replication_memory);
    memset(lines, '\n', 65536);
    for (size_t i = 0; i < 65536; i++) requests[i] = "*0\r\n"[i % 4];
    for (int i = 0; i < 64; i++) {
        apply(lines);
        apply(requests);
    }
    assert_in_range(memory_used(replication_memory) - before, 0, 3 << 20); /* the backlog is 1 MB */
    int64_t place = history_place();
    fake_say(&f, MULTI "\n\n" SET_A "\n");
    turn_a_little();
    assert_int_equal(history_place(), place);
    place += (int64_t)strlen(MULTI "\n\n" SET_A "\n" EXEC);
    fake_say(&f, EXEC);
    FAKE_UNTIL(&f, history_place() == place);
}

/* Byte by byte the place is only ever behind whole commands and transactions. */
static void test_places(void **state) {
    static const char text[] = SET_A INCR_A MULTI INCR_A INCR_A EXEC "\r\n" INCR_A;
    static const size_t ends[] = {sizeof(SET_A) - 1,
                                  sizeof(SET_A INCR_A) - 1,
                                  sizeof(SET_A INCR_A MULTI INCR_A INCR_A EXEC) - 1,
                                  sizeof(SET_A INCR_A MULTI INCR_A INCR_A EXEC "\r") - 1,
                                  sizeof(SET_A INCR_A MULTI INCR_A INCR_A EXEC "\r\n") - 1,
                                  sizeof(text) - 1};
    int64_t from = history_place();
    struct peer p = peer_connect();
    for (size_t i = 0, known = 0; text[i]; i++) {
        fake_say_bytes(&f, text + i, 1);
        if (known < 6 && ends[known] == i + 1) {
            FAKE_UNTIL(&f, history_place() == from + (int64_t)ends[known]);
            known++;
        } else {
            fake_turn(&f);
            assert_int_equal(history_place(), from + (int64_t)(known ? ends[known - 1] : 0));
        }
    }
    assert_answer(&p, "get a", "$1\r\n5\r\n");
    peer_close(&p);
}

/* Cut within a transaction it begins anew, and nothing of it was done. */
static void test_cut_in_transaction(void **state) {
    struct peer p = peer_connect();
    apply(SET_A);
    int64_t place = history_place();
    apply("*1\r\n$4\r\nPING\r\n");
    place = history_place();
    fake_say(&f, MULTI INCR_A INCR_A);
    turn_a_little();
    cut_and_link_again();
    assert_int_equal(history_place(), place);
    assert_answer(&p, "get a", "$1\r\n1\r\n");
    apply(MULTI INCR_A INCR_A EXEC);
    assert_answer(&p, "get a", "$1\r\n3\r\n");
    peer_close(&p);
}

/* A random stream, cut at random places: each command is done once. */
static void test_cuts(void **state) {
    struct peer p = peer_connect();
    struct buffer stream = {.class = MEMORY_OTHER};
    int64_t from = history_place(), count = 0;
    for (int i = 0; i < 300; i++) {
        int within = random_u64() % 4 ? 0 : (int)(1 + random_u64() % 3);
        if (within) buffer_append_c_string(&stream, MULTI);
        for (int j = 0; j < (within ? within : 1); j++, count++)
            buffer_append_c_string(&stream, INCR_A);
        if (within) buffer_append_c_string(&stream, EXEC);
    }
    while (history_place() - from < (int64_t)stream.length) {
        size_t at = (size_t)(history_place() - from);
        size_t length = 1 + random_u64() % 2000;
        if (length > stream.length - at) length = stream.length - at;
        fake_say_bytes(&f, stream.bytes + at, length);
        turn_a_little();
        cut_and_link_again();
    }
    char answer[64];
    snprintf(answer, sizeof(answer), "$%d\r\n%lld\r\n", count > 999 ? 4 : 3, (long long)count);
    assert_answer(&p, "get a", answer);
    buffer_free(&stream);
    peer_close(&p);
}

/* The history has the bytes as they came. */
static void test_handed_on(void **state) {
    static const char text[] = "\r\n" SET_A MULTI INCR_A EXEC "*1\r\n$4\r\nPING\r\n";
    struct feed_reader reader = {0};
    struct iovec piece;
    assert_true(feed_follow(&reader, history_feed(), history_place()));
    apply(text);
    turn_a_little();
    assert_int_equal(feed_pieces(&reader, &piece, 1, 1000), 1);
    assert_int_equal(piece.iov_len, strlen(text));
    assert_memory_equal(piece.iov_base, text, strlen(text));
    feed_leave(&reader);
}

/* Keys that are due are there for the primary, which has not deleted them yet, and for no reader.
 */
static void test_due_keys(void **state) {
    struct peer p = peer_connect();
    apply("*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n5\r\n$2\r\nPX\r\n$3\r\n100\r\n");
    whole_pass(1000);
    assert_answer(&p, "get a", "$-1\r\n");
    assert_answer(&p, "dbsize", ":1\r\n");
    apply(INCR_A);
    apply("*3\r\n$4\r\nEVAL\r\n$26\r\nredis.call('incr','a') -- \r\n$1\r\n0\r\n");
    apply(MULTI INCR_A EXEC "*2\r\n$7\r\nPERSIST\r\n$1\r\na\r\n");
    assert_answer(&p, "get a", "$1\r\n8\r\n");
    peer_close(&p);
}

static void test_acknowledges(void **state) {
    char text[64];
    f.got.length = 0;
    apply(SET_A);
    apply("*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n");
    snprintf(text, sizeof(text), "REPLCONF ACK %lld", (long long)history_place());
    fake_expect(&f, text);
    fake_pass_seconds();
    fake_expect(&f, text);
}

/* As a client: shown, and ended, after which the link is made again. */
static void test_client(void **state) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("client list type master\r\n"));
    buffer_append_char(&p.got, '\0');
    assert_non_null(strstr(p.got.bytes, "flags=M"));
    assert_non_null(strstr(p.got.bytes, "user=(superuser)"));
    buffer_clear(&p.got);
    assert_answer(&p, "client kill type master", ":1\r\n");
    fake_link_again(&f);
    apply(SET_A);
    peer_close(&p);
}

/* Its client is freed between two steps, as where a write to the primary fails before the loop
 * sleeps: until the next step nobody looks at it. For the address sanitizer. */
static void test_client_freed(void **state) {
    apply("*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n" SET_A);
    apply_acknowledge();
    LIST_FOR_EACH (link, following, client_list()) {
        struct client *c = LIST_ENTRY(link, struct client, link);
        if (c->flags & CLIENT_PRIMARY) client_close_later(c);
    }
    client_free_closing();
    assert_true(apply_is_under_way());
    assert_true(apply_heard_sec() >= 0);
    assert_int_equal(apply_database(), 3);
    apply_keep_alive();
    apply_tell();
    apply_stop();
    assert_false(apply_is_under_way());
    assert_int_equal(apply_database(), 3);
    fake_hang_up(&f);
    link_follow("127.0.0.1", f.port);
    fake_link_again(&f);
    apply(INCR_A);
}

static void test_paused(void **state) {
    struct peer p = peer_connect();
    int64_t place = history_place();
    assert_answer(&p, "client pause 100000 write", "+OK\r\n");
    fake_say(&f, "*1\r\n$4\r\nPING\r\n" SET_A INCR_A);
    FAKE_UNTIL(&f, history_place() == place + 14);
    turn_a_little();
    assert_int_equal(history_place(), place + 14);
    assert_answer(&p, "client unpause", "+OK\r\n");
    FAKE_UNTIL(&f, history_place() == place + 14 + (int64_t)strlen(SET_A INCR_A));
    assert_answer(&p, "get a", "$1\r\n2\r\n");
    peer_close(&p);
}

/* What is no protocol ends the link, and with it what it was known by. */
static void test_no_protocol(void **state) {
    static const char *const bad[] = {"SET a 1\r\n", "*2\r\n:1\r\n", "*1\r\n$x\r\n",
                                      "*99999999\r\n", "$1\r\na\r\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t place = history_place();
        fake_say(&f, bad[i]);
        fake_greet(&f);
        assert_int_equal(history_place(), place);
        assert_false(link_may_continue());
        fake_expect(&f, "PSYNC ? -1");
        link_stop_following();
        fake_link_up(&f);
    }
}

/* Nothing of it makes the server wait, or does more than answer nobody. */
static void test_odd_commands(void **state) {
    struct peer p = peer_connect();
    apply("*3\r\n$5\r\nBLPOP\r\n$1\r\nl\r\n$1\r\n0\r\n");
    apply("*1\r\n$4\r\nSYNC\r\n");
    apply("*1\r\n$6\r\nNOSUCH\r\n");
    apply("*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n");
    apply("*1\r\n$7\r\nMONITOR\r\n");
    apply("*3\r\n$9\r\nREPLICAOF\r\n$9\r\n127.0.0.1\r\n$1\r\n1\r\n");
    apply(SET_A);
    assert_answer(&p, "get a", "$1\r\n1\r\n");
    assert_int_equal(link_state(), LINK_UP);
    fake_say(&f, "*1\r\n$4\r\nQUIT\r\n");
    fake_link_again(&f);
    peer_close(&p);
}

/* A stream may itself end the following of it. */
static void test_promoted_by_stream(void **state) {
    fake_say(&f, SET_A "*3\r\n$9\r\nREPLICAOF\r\n$2\r\nno\r\n$3\r\none\r\n" INCR_A);
    FAKE_UNTIL(&f, !link_is_replica());
    turn_a_little();
    assert_int_equal(link_state(), LINK_NONE);
}

/* Arguments larger than a read, and more of them than there was room for. */
static void test_large(void **state) {
    struct peer p = peer_connect();
    struct buffer text = {.class = MEMORY_OTHER};
    int64_t place = history_place();
    buffer_append_c_string(&text, "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1000000\r\n");
    memset(buffer_reserve(&text, 1000000), 'x', 1000000);
    text.length += 1000000;
    buffer_append_c_string(&text, "\r\n*1002\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n");
    for (int i = 0; i < 1000; i++) buffer_append_c_string(&text, "$3\r\nabc\r\n");
    for (size_t at = 0; at < text.length; at += 70001)
        fake_say_bytes(&f, text.bytes + at, text.length - at < 70001 ? text.length - at : 70001);
    FAKE_UNTIL(&f, history_place() == place + (int64_t)text.length);
    assert_answer(&p, "strlen b", ":1000000\r\n");
    assert_answer(&p, "llen l", ":1000\r\n");
    buffer_free(&text);
    peer_close(&p);
}

/* Commands before the databases are chosen, and after a link that was cut. */
static void test_database(void **state) {
    struct peer p = peer_connect();
    apply("*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n" SET_A);
    assert_int_equal(link_database(), 3);
    cut_and_link_again();
    apply(INCR_A);
    assert_answer(&p, "select 3", "+OK\r\n");
    assert_answer(&p, "get a", "$1\r\n2\r\n");
    peer_close(&p);
}

/* Requests behind a FLUSHALL that waits are in memory already: no event of a socket tells that they
 * may run, so the loop must not sleep when the wait has ended. */
static void test_flush_waits(void **state) {
    enum { VALUE_BYTES = 3 << 20 }; /* FLUSHALL waits for so much */
    struct buffer set = {.class = MEMORY_OTHER};
    buffer_printf(&set, "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$%d\r\n", VALUE_BYTES);
    memset(buffer_reserve(&set, VALUE_BYTES), 'v', VALUE_BYTES);
    set.length += VALUE_BYTES;
    buffer_append_c_string(&set, "\r\n");
    apply(set.bytes);
    buffer_free(&set);
    int64_t flushed = history_place() + (int64_t)strlen(FLUSHALL);
    int64_t place = flushed + (int64_t)strlen(SET_A);
    bool has_waited = false;
    fake_say(&f, FLUSHALL SET_A);
    for (int turns = 0; history_place() != place; turns++) {
        assert_in_range(turns, 0, FAKE_TURNS_MAX);
        loop_turn(peers_loop, 1);
        if (history_place() != flushed) continue;
        has_waited = true;
        if (!batch_held_clients()) assert_int_equal(faults_epoll_msec, 0);
    }
    assert_true(has_waited);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_places),       TEST(test_says_nothing), TEST(test_cut_in_transaction),
        TEST(test_cuts),         TEST(test_handed_on),    TEST(test_due_keys),
        TEST(test_acknowledges), TEST(test_client),       TEST(test_paused),
        TEST(test_no_protocol),  TEST(test_odd_commands), TEST(test_promoted_by_stream),
        TEST(test_large),        TEST(test_database),     TEST(test_client_freed),
        TEST(test_flush_waits),
    };
    if (whole_open() != 0) return 1;
    make_script_client();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
