/* SPDX-License-Identifier: BSD-3-Clause
 * The write stream and the log: replicas may be sent what the log has, to the byte, also where more
 * turns wait for it than are told apart; and the stream's bytes.
 */
#include "replication/stream.h"

#include <sys/uio.h>

#include "replication/feed.h"
#include "replication/history.h"
#include "server/whole.h"

/* A log that is told of records by the test (allow). */
static void take(int database, int argc, const struct slice *argv) {}
static const struct effect_sink log_sink = {
    .reader = EFFECT_LOG, .take = take, .holds_replies = true};
static const struct effect_sink *const sinks[] = {&stream_sink, &log_sink, NULL};

static struct peer p;

static int begin(void **state) {
    (void)whole_begin(state);
    stream_open();
    effects_set_sinks(sinks);
    effects_add_interest(EFFECT_LOG, 1);
    p = peer_connect();
    return 0;
}

static int end(void **state) {
    effects_add_interest(EFFECT_LOG, -1);
    peer_close(&p);
    stream_close();
    return whole_nothing_left(state);
}

struct point {
    uint64_t record;
    int64_t place;
};

/* A turn that writes; where it ends. */
static struct point write_once(void) {
    peer_send(&p, SLICE("incr a\r\n"));
    (void)stream_look_at_log();
    return (struct point){effects_record_ended(), history_place()};
}

static int64_t limit_after(uint64_t record) {
    reply_allow(record);
    (void)stream_look_at_log();
    return feed_limit(history_feed());
}

static void test_each_turn_with_its_record(void **state) {
    struct point points[20];
    int64_t before = limit_after(effects_record_ended());
    for (int i = 0; i < 20; i++) points[i] = write_once();
    assert_int_equal(feed_limit(history_feed()), before);
    assert_true(points[0].place > before);
    for (int i = 0; i < 20; i++)
        if (i % 3 == 0) assert_int_equal(limit_after(points[i].record), points[i].place);
    assert_int_equal(limit_after(points[19].record), history_place());
}

/* What has changed nothing has no place of its own. */
static void test_reads_between(void **state) {
    struct point first = write_once();
    peer_send(&p, SLICE("get a\r\n"));
    (void)stream_look_at_log();
    struct point last = write_once();
    assert_int_equal(limit_after(first.record), first.place);
    assert_int_equal(limit_after(first.record + 1), first.place);
    assert_int_equal(limit_after(last.record), last.place);
}

/* Never beyond what the log has, though turns are not told apart any more; and all in the end. */
static void test_more_turns_than_marks(void **state) {
    enum { TURNS = 200 };
    struct point points[TURNS];
    for (int i = 0; i < TURNS; i++) points[i] = write_once();
    int exact = 0;
    for (int i = 0; i < TURNS; i++) {
        int64_t limit = limit_after(points[i].record);
        assert_true(limit <= points[i].place);
        exact += limit == points[i].place;
    }
    assert_true(exact >= 60);
    assert_int_equal(feed_limit(history_feed()), history_place());
}

/* Turns come and are logged all the time, in any rhythm. */
static void test_any_rhythm(void **state) {
    struct point points[1000];
    int written = 0, logged = 0;
    while (logged < 1000) {
        if (written < 1000 && random_u64() % 2)
            points[written++] = write_once();
        else if (logged < written)
            assert_true(limit_after(points[logged].record) <= points[logged].place), logged++;
    }
    assert_int_equal(feed_limit(history_feed()), history_place());
}

/* A history that begins anew waits for nothing of the one before. */
static void test_another_history(void **state) {
    (void)write_once();
    history_adopt("0123456789abcdef0123456789abcdef01234567", 5);
    stream_take_effects(true);
    struct point point = write_once();
    assert_true(feed_limit(history_feed()) <= 5);
    assert_int_equal(limit_after(point.record), point.place);
}

/* A request in canonical form is in the stream as it was sent, any other request as its words; a
 * SELECT stands before a command about another database, and only there. */
static void test_bytes(void **state) {
#define SELECT(n) "*2\r\n$6\r\nSELECT\r\n$1\r\n" n "\r\n"
#define SET(name, value) "*3\r\n$3\r\n" name "\r\n$1\r\nk\r\n$1\r\n" value "\r\n"
    static const char expected[] = SELECT("0") SET("sEt", "1") SET("set", "2") SET("set", "3")
        SELECT("3") SET("set", "4") SELECT("0") SET("SET", "5");
    struct feed_reader reader = {0};
    struct iovec piece;
    stream_begin_copy();
    assert_true(feed_follow(&reader, history_feed(), history_place()));
    peer_send(&p, SLICE(SET("sEt", "1") "set k 2\r\n"));
    peer_send(&p, SLICE("*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1\r\n3--"));
    peer_send(&p, SLICE("select 3\r\nset k 4\r\nget k\r\nselect 0\r\n" SET("SET", "5")));
    (void)limit_after(effects_record_ended());
    assert_int_equal(feed_pieces(&reader, &piece, 1, 1000), 1);
    assert_int_equal(piece.iov_len, strlen(expected));
    assert_memory_equal(piece.iov_base, expected, strlen(expected));
    assert_int_equal(stream_written(), history_place());
    feed_leave(&reader);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_each_turn_with_its_record), TEST(test_reads_between),
        TEST(test_more_turns_than_marks),     TEST(test_any_rhythm),
        TEST(test_another_history),           TEST(test_bytes),
    };
    if (whole_open() != 0) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
