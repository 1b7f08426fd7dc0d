/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/connection, and of what the loop has pending: two ends of a socketpair, one of them
 * or both behind the masked transport. SEED=n repeats the random choices.
 */
#include "io/connection.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/seed.h"
#include "io/masked.h"

#define TURNS_MAX 100000
/* Each end sends so many to the other. */
#define BYTES 300000
/* With less, TURNS_MAX turns may be too few to read BYTES. */
#define ROOM_MIN 16

/* A connection with its owner, who reads and writes all that it can. */
struct end {
    struct loop_watcher watcher;
    struct connection *connection;
    unsigned wanted;
    bool failed, ended;
    size_t to_send, sent, received, room; /* bytes; `room` at most are read at once */
    int calls;                            /* in this turn */
};

static struct loop *loop;
static struct end ends[2];
static char reason[128];

static char byte_at(size_t place) { return (char)(place * 13 + place / 251); }

static void end_read(struct end *e) {
    char bytes[65536];
    ssize_t got = connection_read(e->connection, bytes, e->room);
    if (got < 0 && errno == EAGAIN) return;
    e->ended = got == 0;
    e->failed |= got < 0;
    for (ssize_t i = 0; i < got; i++)
        if (bytes[i] != byte_at(e->received++)) fail_msg("byte %zu is another", e->received - 1);
}

static void end_write(struct end *e) {
    char bytes[30000];
    size_t length = e->to_send < sizeof(bytes) ? e->to_send : sizeof(bytes);
    for (size_t i = 0; i < length; i++) bytes[i] = byte_at(e->sent + i);
    ssize_t sent = connection_write(e->connection, bytes, length);
    if (sent > 0) {
        e->to_send -= (size_t)sent;
        e->sent += (size_t)sent;
    }
    e->failed |= sent < 0 && errno != EAGAIN;
}

static void end_ready(struct loop_watcher *watcher, unsigned ready) {
    struct end *e = (struct end *)watcher;
    e->calls++;
    enum connection_step step = connection_handshake(e->connection, reason, sizeof(reason));
    e->failed |= step == CONNECTION_FAILED;
    if (step == CONNECTION_DONE) {
        ready = connection_ready(e->connection, ready);
        if (ready & LOOP_WRITABLE) end_write(e);
        if (ready & LOOP_READABLE) end_read(e);
    }
    e->wanted = LOOP_READABLE | (e->to_send ? LOOP_WRITABLE : 0u);
    if (e->failed || e->ended)
        connection_unwatch(e->connection);
    else
        assert_true(connection_watch(e->connection, loop, watcher, e->wanted));
}

static void end_open(struct end *e, int fd, enum connection_side side) {
    *e = (struct end){.watcher = {.fd = fd, .callback = end_ready}, .room = 65536};
    e->connection =
        connection_open(&masked_transport, fd, side, MEMORY_OTHER, reason, sizeof(reason));
    assert_non_null(e->connection);
    assert_true(connection_watch(e->connection, loop, &e->watcher, LOOP_READABLE));
}

static void end_close(struct end *e) {
    connection_close(e->connection);
    if (e->connection) close(e->watcher.fd);
    *e = (struct end){.watcher.fd = -1};
}

static void one_turn(void) {
    ends[0].calls = ends[1].calls = 0;
    loop_turn(loop, 0);
    loop_check(loop);
}

static int begin(void **state) {
    masked_smooth = masked_refuses = false;
    masked_crossed_reads = masked_crossed_writes = masked_ahead_count = 0;
    loop = loop_create();
    return 0;
}

static int finish(void **state) {
    end_close(&ends[0]);
    end_close(&ends[1]);
    loop_free(loop);
    return masked_open_count ? -1 : 0;
}

static void open_pair(int fds[2]) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

static void open_both(void) {
    int fds[2];
    open_pair(fds);
    end_open(&ends[0], fds[0], CONNECTION_ACCEPTS);
    end_open(&ends[1], fds[1], CONNECTION_CONNECTS);
}

static void shake_hands(void) {
    for (int i = 0;
         i < TURNS_MAX && !(ends[0].connection->established && ends[1].connection->established);
         i++)
        one_turn();
    assert_true(ends[0].connection->established && ends[1].connection->established);
}

static void want(struct end *e, unsigned wanted) {
    assert_true(connection_watch(e->connection, loop, &e->watcher, wanted));
}

/* Both send much at once, with whatever waits the transport thinks of; then nobody is called any
 * more. */
static void test_both_ways(void **state) {
    for (int round = 0; round < 20; round++) {
        open_both();
        ends[0].room = ROOM_MIN + random_below(3000);
        ends[0].to_send = ends[1].to_send = BYTES;
        for (int i = 0; i < TURNS_MAX && ends[0].received + ends[1].received < 2 * BYTES; i++)
            one_turn();
        assert_int_equal(ends[0].received, BYTES);
        assert_int_equal(ends[1].received, BYTES);
        assert_false(ends[0].failed || ends[1].failed);
        int quiet = 0;
        for (int i = 0; i < TURNS_MAX && quiet < 3; i++) {
            one_turn();
            quiet = ends[0].calls || ends[1].calls ? 0 : quiet + 1;
        }
        assert_int_equal(quiet, 3);
        end_close(&ends[0]);
        for (int i = 0; i < TURNS_MAX && !ends[1].ended; i++) one_turn();
        assert_true(ends[1].ended);
        end_close(&ends[1]);
    }
    assert_true(masked_crossed_reads && masked_crossed_writes && masked_ahead_count);
}

/* What was read ahead is told once a turn, though the socket is empty, and no turn sleeps; not to
 * an owner that would not read. */
static void test_pending(void **state) {
    masked_smooth = true;
    open_both();
    shake_hands();
    ends[0].room = 10;
    ends[1].to_send = 100;
    want(&ends[1], LOOP_READABLE | LOOP_WRITABLE);
    while (!ends[0].received) one_turn();
    assert_true(connection_has_pending(ends[0].connection));
    for (size_t taken = 10; taken < 50; taken += 10) {
        assert_int_equal(ends[0].received, taken);
        loop_turn(loop, -1);
    }
    want(&ends[0], LOOP_HANGUP);
    for (int i = 0; i < 5; i++) one_turn();
    assert_int_equal(ends[0].received, 50);
    want(&ends[0], LOOP_READABLE);
    for (int i = 0; i < 5; i++) one_turn();
    assert_int_equal(ends[0].received, 100);
    one_turn();
    assert_int_equal(ends[0].calls, 0);
}

/* Pending, and the socket ready in the same turn: one call reads, the other one comes a turn later.
 */
static void test_pending_and_ready(void **state) {
    masked_smooth = true;
    open_both();
    shake_hands();
    ends[0].room = 10;
    ends[1].to_send = 35;
    want(&ends[1], LOOP_READABLE | LOOP_WRITABLE);
    while (!ends[0].received) one_turn();
    assert_int_equal(write(ends[1].watcher.fd, "x", 1), 1);
    for (size_t taken = 20; taken <= 30; taken += 10) {
        one_turn();
        assert_int_equal(ends[0].calls, 1);
        assert_int_equal(ends[0].received, taken);
    }
}

/* Closed while it is pending: nobody is called. */
static void test_close_while_pending(void **state) {
    masked_smooth = true;
    open_both();
    shake_hands();
    ends[0].room = 1;
    ends[1].to_send = 50;
    want(&ends[1], LOOP_READABLE | LOOP_WRITABLE);
    while (!ends[0].received) one_turn();
    end_close(&ends[0]);
    one_turn();
    assert_int_equal(ends[0].calls, 0);
}

/* ---- the loop's part ---- */

struct source {
    struct loop_watcher watcher;
    struct loop_pending pending;
    int calls;
    unsigned last_ready;
};

static void source_ready(struct loop_watcher *watcher, unsigned ready) {
    struct source *s = (struct source *)watcher;
    s->calls++;
    s->last_ready = ready;
    loop_yield(loop);
}

/* Each takes its turn's time: two that are pending, and a descriptor that is ready, come in turn.
 */
static void test_yields(void **state) {
    struct source sources[3] = {0};
    int fds[2];
    open_pair(fds);
    for (int i = 0; i < 3; i++)
        sources[i].watcher = (struct loop_watcher){.callback = source_ready};
    sources[2].watcher.fd = fds[0];
    assert_true(loop_watch(loop, &sources[2].watcher, LOOP_WRITABLE));
    for (int i = 0; i < 2; i++) {
        sources[i].pending.watcher = &sources[i].watcher;
        loop_pending_begin(loop, &sources[i].pending);
        loop_pending_begin(loop, &sources[i].pending);
    }
    for (int i = 0; i < 300; i++) one_turn();
    for (int i = 0; i < 3; i++) assert_in_range(sources[i].calls, 98, 102);
    assert_int_equal(sources[0].last_ready, LOOP_PENDING);
    assert_int_equal(sources[2].last_ready, LOOP_WRITABLE);
    for (int i = 0; i < 2; i++) loop_pending_end(loop, &sources[i].pending);
    loop_pending_end(loop, &sources[0].pending);
    loop_unwatch(loop, &sources[2].watcher);
    close(fds[0]);
    close(fds[1]);
    one_turn();
}

/* The owner's terms and the socket's. */
static void test_needs(void **state) {
    int fds[2];
    open_pair(fds);
    end_open(&ends[0], fds[0], CONNECTION_ACCEPTS);
    struct connection *c = ends[0].connection;
    assert_int_equal(connection_interest(c, LOOP_READABLE | LOOP_WRITABLE), LOOP_READABLE);
    assert_int_equal(connection_interest(c, 0), 0);
    char byte = 'x';
    assert_int_equal(connection_read(c, &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(connection_write(c, &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    c->established = true;
    c->read_needs = LOOP_WRITABLE;
    assert_int_equal(connection_interest(c, LOOP_READABLE), LOOP_WRITABLE);
    assert_int_equal(connection_ready(c, LOOP_WRITABLE), LOOP_READABLE);
    assert_int_equal(connection_interest(c, LOOP_HANGUP), LOOP_HANGUP);
    assert_int_equal(connection_ready(c, LOOP_HANGUP), LOOP_HANGUP);
    c->read_needs = LOOP_READABLE;
    c->write_needs = LOOP_READABLE;
    assert_int_equal(connection_interest(c, LOOP_HANGUP | LOOP_WRITABLE),
                     LOOP_HANGUP | LOOP_READABLE);
    assert_int_equal(connection_ready(c, LOOP_READABLE), LOOP_WRITABLE);
    connection_interest(c, LOOP_HANGUP);
    assert_int_equal(connection_ready(c, LOOP_READABLE), LOOP_READABLE); /* an error */
    masked_smooth = true;
    assert_int_equal(connection_read(c, &byte, 1), -1);
    assert_int_equal(c->write_needs, LOOP_WRITABLE); /* it may be what the write waited for */
    close(fds[1]);
}

static void test_handshake_fails(void **state) {
    static const char *const said[] = {"GET / HTTP/1.1\r\n", "hello---FINISH--", "hel"};
    for (int i = 0; i < 3; i++) {
        int fds[2];
        open_pair(fds);
        end_open(&ends[0], fds[0], CONNECTION_ACCEPTS);
        assert_int_equal(write(fds[1], said[i], strlen(said[i])), strlen(said[i]));
        for (int turn = 0; turn < 100; turn++) one_turn();
        assert_int_equal(ends[0].failed, i < 2);
        if (i == 2) assert_int_equal(ends[0].calls, 0); /* it stalls, and costs nothing */
        close(fds[1]);
        for (int turn = 0; turn < 100; turn++) one_turn();
        assert_true(ends[0].failed);
        end_close(&ends[0]);
    }
}

static void test_open_fails(void **state) {
    size_t before = memory_used(MEMORY_OTHER);
    masked_refuses = true;
    assert_null(connection_open(&masked_transport, 0, CONNECTION_ACCEPTS, MEMORY_OTHER, reason,
                                sizeof(reason)));
    assert_string_equal(reason, "no masks are left");
    assert_int_equal(memory_used(MEMORY_OTHER), before);
    connection_close(NULL);
}

/* ---- a transport that does as it is told ---- */

static struct {
    enum connection_step step;
    ssize_t got; /* what a read returns; below 0: EAGAIN */
    bool has_pending;
    uint8_t read_needs, write_needs; /* 0: the usual ones */
    int reads, writes;
} told;

static bool told_open(struct connection *c, char *why, size_t why_size) { return true; }
static enum connection_step told_handshake(struct connection *c, char *why, size_t why_size) {
    return told.step;
}
static ssize_t told_result(struct connection *c) {
    if (told.read_needs) c->read_needs = told.read_needs;
    if (told.write_needs) c->write_needs = told.write_needs;
    if (told.got < 0) errno = EAGAIN;
    return told.got;
}
static ssize_t told_read(struct connection *c, void *bytes, size_t length) {
    told.reads++;
    return told_result(c);
}
static ssize_t told_writev(struct connection *c, const struct iovec *pieces, int count) {
    told.writes++;
    return told_result(c);
}
static const char *told_broken_text(const struct connection *c) { return "told"; }
static bool told_has_pending(const struct connection *c) { return told.has_pending; }
static void told_close(struct connection *c) {}

static const enum memory_class told_memory = MEMORY_OTHER;
static const struct connection_transport told_transport = {.name = "told",
                                                           .memory = &told_memory,
                                                           .bytes = sizeof(struct connection),
                                                           .open = told_open,
                                                           .handshake = told_handshake,
                                                           .read = told_read,
                                                           .writev = told_writev,
                                                           .broken_text = told_broken_text,
                                                           .has_pending = told_has_pending,
                                                           .close = told_close};

static struct connection *open_told(enum connection_step step) {
    memset(&told, 0, sizeof(told));
    told.step = step;
    struct connection *c = connection_open(&told_transport, -1, CONNECTION_ACCEPTS, MEMORY_OTHER,
                                           reason, sizeof(reason));
    assert_int_equal(connection_handshake(c, reason, sizeof(reason)), step);
    return c;
}

static void test_nothing_before_the_handshake(void **state) {
    char byte;
    struct connection *c = open_told(CONNECTION_WAITS);
    told.got = 1;
    assert_int_equal(connection_read(c, &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(connection_write(c, "a", 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(told.reads + told.writes, 0);
    told.step = CONNECTION_DONE;
    assert_int_equal(connection_handshake(c, reason, sizeof(reason)), CONNECTION_DONE);
    assert_int_equal(connection_read(c, &byte, 1), 1);
    connection_close(c);
}

/* Half a record: nothing can be read of it, whatever the transport says. */
static void test_half_a_record(void **state) {
    char byte;
    struct connection *c = open_told(CONNECTION_DONE);
    told.has_pending = true;
    told.got = 1;
    assert_int_equal(connection_read(c, &byte, 1), 1);
    assert_true(connection_has_pending(c));
    told.got = -1;
    assert_int_equal(connection_read(c, &byte, 1), -1);
    assert_false(connection_has_pending(c));
    connection_close(c);
}

/* A read that waits for room, and a write that waits for input until there is a read. */
static void test_crossed_needs(void **state) {
    const unsigned both = LOOP_READABLE | LOOP_WRITABLE;
    char byte;
    struct connection *c = open_told(CONNECTION_DONE);
    told.got = -1;
    told.read_needs = LOOP_WRITABLE;
    assert_int_equal(connection_read(c, &byte, 1), -1);
    assert_int_equal(connection_interest(c, LOOP_READABLE), LOOP_WRITABLE);
    assert_int_equal(connection_interest(c, both), LOOP_WRITABLE);
    assert_int_equal(connection_ready(c, LOOP_WRITABLE), both);
    told.read_needs = 0;
    told.write_needs = LOOP_READABLE;
    assert_int_equal(connection_write(c, "a", 1), -1);
    assert_int_equal(connection_interest(c, LOOP_WRITABLE), LOOP_READABLE);
    told.write_needs = 0;
    assert_int_equal(connection_read(c, &byte, 1), -1);
    assert_int_equal(connection_interest(c, both), both);
    connection_close(c);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, finish)

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_before_the_handshake),
        TEST(test_half_a_record),
        TEST(test_crossed_needs),
        TEST(test_both_ways),
        TEST(test_pending),
        TEST(test_pending_and_ready),
        TEST(test_close_while_pending),
        TEST(test_needs),
        TEST(test_handshake_fails),
        TEST(test_open_fails),
        TEST(test_yields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
