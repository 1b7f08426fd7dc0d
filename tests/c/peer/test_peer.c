/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of peer/peer against a server of the test's own: a listening socket whose other end says
 * what the test wants, when it wants. No other process, no waiting: both ends are here.
 */
#include "peer/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/seed.h"
#include "io/child.h"
#include "io/loop.h"
#include "io/masked.h"
#include "io/socket.h"

static const struct peer_limits limits = {1 << 20, 1000};
/* Turns that anything here may take; none needs more than a few. */
#define TURNS_MAX 1000
#define PATIENCE_MSEC 10000

static const struct child_kind beside_kind = {.beside = true};

static int listener, port;
static struct peer *peer;

static int open_listener(void **state) {
    char reason[128];
    listener = socket_listen_tcp("127.0.0.1", 0, 8, reason, sizeof(reason));
    struct socket_peer local;
    if (listener < 0 || !socket_local_of(listener, &local)) return -1;
    port = local.port;
    peer = peer_create(MEMORY_OTHER, &limits);
    return 0;
}

static int close_listener(void **state) {
    peer_free(peer);
    close(listener);
    return 0;
}

static bool wait_for(int fd, short events) {
    struct pollfd ready = {.fd = fd, .events = events};
    return poll(&ready, 1, PATIENCE_MSEC) == 1;
}

/* Connects, and returns the server's end. */
static int connect_peer(void) {
    assert_true(peer_connect(peer, &(struct peer_address){.host = "127.0.0.1", .port = port}));
    assert_true(wait_for(listener, POLLIN));
    struct socket_peer from;
    int fd = socket_accept(listener, &from);
    assert_true(fd >= 0);
    for (int i = 0; i < TURNS_MAX && peer_state(peer) == PEER_CONNECTING; i++) {
        assert_int_equal(peer_interest(peer), LOOP_WRITABLE);
        assert_true(wait_for(peer_fd(peer), POLLOUT));
        assert_true(peer_advance(peer));
    }
    assert_int_equal(peer_state(peer), PEER_OPEN);
    return fd;
}

static void say(int fd, const char *bytes, size_t length) {
    while (length) {
        ssize_t written = send(fd, bytes, length, MSG_NOSIGNAL);
        if (written < 0) {
            assert_int_equal(errno, EAGAIN);
            assert_true(wait_for(fd, POLLOUT));
            continue;
        }
        bytes += written;
        length -= (size_t)written;
    }
}
#define SAY(fd, literal) say((fd), (literal), sizeof(literal) - 1)

static void hear(int fd, const char *expected) {
    char got[512];
    size_t length = strlen(expected), at = 0;
    while (at < length) {
        assert_true(wait_for(fd, POLLIN));
        ssize_t more = recv(fd, got + at, length - at, 0);
        assert_true(more > 0);
        at += (size_t)more;
    }
    assert_memory_equal(got, expected, length);
}

/* NULL where the connection ends first. */
static const struct peer_reply *await_reply(void) {
    for (;;) {
        const struct peer_reply *reply = peer_next(peer);
        if (reply || peer_state(peer) == PEER_CLOSED) return reply;
        struct pollfd entry;
        if (peer_poll_entry(peer, &entry)) assert_true(poll(&entry, 1, PATIENCE_MSEC) != 0);
        (void)peer_advance(peer);
    }
}

static void test_request_and_reply(void **state) {
    int fd = connect_peer();
    assert_int_equal(peer_interest(peer), LOOP_READABLE);
    peer_send(peer, (struct slice[]){SLICE("SET"), SLICE("k\r\n"), SLICE("")}, 3);
    assert_int_equal(peer_interest(peer), LOOP_READABLE | LOOP_WRITABLE);
    assert_true(peer_unsent_bytes(peer) > 0);
    assert_true(peer_advance(peer));
    assert_int_equal(peer_unsent_bytes(peer), 0);
    hear(fd, "*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n");
    SAY(fd, "+OK\r\n:1");
    assert_true(wait_for(peer_fd(peer), POLLIN));
    assert_true(peer_advance(peer));
    const struct peer_reply *reply = peer_next(peer);
    assert_non_null(reply);
    assert_int_equal(reply->type, PEER_STATUS);
    assert_null(peer_next(peer));
    SAY(fd, "2\r\n");
    reply = await_reply();
    assert_int_equal(reply->integer, 12);
    close(fd);
}

static void test_requests_may_be_sent_while_connecting(void **state) {
    assert_true(peer_connect(peer, &(struct peer_address){.host = "127.0.0.1", .port = port}));
    assert_int_equal(peer_state(peer), PEER_CONNECTING);
    peer_send(peer, &SLICE("PING"), 1);
    assert_true(wait_for(listener, POLLIN));
    struct socket_peer from;
    int fd = socket_accept(listener, &from);
    SAY(fd, "+PONG\r\n");
    const struct peer_reply *reply = await_reply();
    assert_non_null(reply);
    assert_true(slice_equal(reply->text, SLICE("PONG")));
    hear(fd, "*1\r\n$4\r\nPING\r\n");
    close(fd);
}

static void test_replies_before_the_end_are_given(void **state) {
    int fd = connect_peer();
    SAY(fd, "-DENIED go away\r\n");
    close(fd);
    const struct peer_reply *reply = await_reply();
    assert_non_null(reply);
    assert_int_equal(reply->type, PEER_ERROR);
    assert_null(await_reply());
    assert_int_equal(peer_state(peer), PEER_CLOSED);
    assert_string_equal(peer_error(peer), "the other side closed the connection");
    /* The descriptor stays the owner's to forget. */
    assert_true(peer_fd(peer) >= 0);
    peer_close(peer);
    assert_int_equal(peer_fd(peer), -1);
    assert_string_equal(peer_error(peer), "");
}

static void test_no_protocol_ends_the_connection(void **state) {
    int fd = connect_peer();
    SAY(fd, "+OK\r\nSSH-2.0-x\r\n");
    assert_non_null(await_reply());
    assert_null(await_reply());
    assert_int_equal(peer_state(peer), PEER_CLOSED);
    assert_string_equal(peer_error(peer),
                        "protocol: a reply begins with a byte that marks no type");
    assert_null(peer_next(peer));
    close(fd);
    /* A new connection begins anew. */
    fd = connect_peer();
    SAY(fd, ":5\r\n");
    assert_int_equal(await_reply()->integer, 5);
    close(fd);
}

static void test_refused(void **state) {
    close(listener); /* its port refuses from now on */
    listener = -1;
    bool begun = peer_connect(peer, &(struct peer_address){.host = "127.0.0.1", .port = port});
    if (begun) assert_null(await_reply());
    assert_int_equal(peer_state(peer), PEER_CLOSED);
    assert_string_equal(peer_error(peer), "connect: Connection refused");
    assert_false(peer_connect(peer, &(struct peer_address){.path = "/no/such/folder/socket"}));
    assert_string_equal(peer_error(peer), "connect: No such file or directory");
    assert_int_equal(peer_interest(peer), 0);
}

/* While the owner takes nothing, nothing is read beyond the limit; then all comes, in order. */
static void test_input_is_bounded(void **state) {
    enum { NUMBERS = 40000 };
    int fd = connect_peer();
    size_t before = memory_used(MEMORY_OTHER);
    struct buffer numbers;
    buffer_init(&numbers, MEMORY_CLIENTS);
    for (int i = 0; i < NUMBERS; i++) buffer_printf(&numbers, ":%d\r\n", i);
    assert_true(numbers.length > 2 * PEER_INPUT_BYTES_MAX);
    size_t said = 0;
    int next = 0;
    bool was_full = false;
    for (int turn = 0; turn < TURNS_MAX && next < NUMBERS; turn++) {
        if (said < numbers.length) {
            ssize_t more = send(fd, numbers.bytes + said, numbers.length - said, MSG_NOSIGNAL);
            if (more > 0) said += (size_t)more;
        }
        /* More often than the input has room for what is read at once. */
        for (int i = 0; i < 20; i++) assert_true(peer_advance(peer));
        if (!(peer_interest(peer) & LOOP_READABLE)) was_full = true;
        assert_true(memory_used(MEMORY_OTHER) - before <= 4 * PEER_INPUT_BYTES_MAX);
        const struct peer_reply *reply;
        while ((reply = peer_next(peer))) assert_int_equal(reply->integer, next++);
        assert_true(peer_interest(peer) & LOOP_READABLE);
    }
    assert_true(was_full);
    assert_int_equal(next, NUMBERS);
    buffer_free(&numbers);
    close(fd);
}

/* Output that the other side does not read waits, and leaves in order when it does. */
static void test_output_waits(void **state) {
    enum { REQUESTS = 200, VALUE_BYTES = 50000 };
    int fd = connect_peer();
    char *value = memory_alloc(VALUE_BYTES, MEMORY_OTHER);
    memset(value, 'v', VALUE_BYTES);
    for (int i = 0; i < REQUESTS; i++) peer_send(peer, &(struct slice){value, VALUE_BYTES}, 1);
    size_t total = peer_unsent_bytes(peer), heard = 0;
    for (int i = 0; i < 10; i++) assert_true(peer_advance(peer));
    assert_true(peer_unsent_bytes(peer) > 0);
    assert_true(peer_interest(peer) & LOOP_WRITABLE);
    char got[65536];
    for (int turn = 0; turn < 100 * TURNS_MAX && heard < total; turn++) {
        assert_true(peer_advance(peer));
        ssize_t more = recv(fd, got, sizeof(got), 0);
        if (more < 0) {
            assert_true(wait_for(fd, POLLIN));
            continue;
        }
        heard += (size_t)more;
    }
    assert_int_equal(heard, total);
    assert_int_equal(peer_unsent_bytes(peer), 0);
    memory_free(value, MEMORY_OTHER);
    close(fd);
}

static void test_raw_input_behind_a_reply(void **state) {
    int fd = connect_peer();
    SAY(fd, "\n+FULLRESYNC 0123 1\r\nraw bytes");
    assert_true(slice_equal(await_reply()->text, SLICE("FULLRESYNC 0123 1")));
    assert_true(slice_equal(peer_input(peer), SLICE("raw bytes")));
    peer_input_consume(peer, 4);
    assert_true(slice_equal(peer_input(peer), SLICE("bytes")));
    peer_input_consume(peer, 5);
    assert_int_equal(peer_input(peer).length, 0);
    SAY(fd, ":1\r\n");
    assert_int_equal(await_reply()->integer, 1);
    close(fd);
}

/* ---- behind a transport ---- */

static struct connection *far_end;
static char why[128];

static int connect_masked(void) {
    const struct peer_address address = {
        .host = "127.0.0.1", .port = port, .transport = &masked_transport};
    struct socket_peer from;
    assert_true(peer_connect(peer, &address));
    assert_true(wait_for(listener, POLLIN));
    int fd = socket_accept(listener, &from);
    assert_true(fd >= 0);
    far_end =
        connection_open(&masked_transport, fd, CONNECTION_ACCEPTS, MEMORY_OTHER, why, sizeof(why));
    assert_non_null(far_end);
    return fd;
}

static void close_far(int fd) {
    connection_close(far_end);
    close(fd);
    peer_close(peer);
    assert_int_equal(masked_open_count, 0);
}

/* The other side's handshake, and what it says until it has said so much. */
static void far_says(const struct buffer *what, size_t *said) {
    enum connection_step step = connection_handshake(far_end, why, sizeof(why));
    assert_int_not_equal(step, CONNECTION_FAILED);
    if (step != CONNECTION_DONE || *said == what->length) return;
    ssize_t more = connection_write(far_end, what->bytes + *said, what->length - *said);
    if (more > 0) *said += (size_t)more;
}

/* Many requests and replies at once, whatever the transport waits for; all come, in order. */
static void test_transport(void **state) {
    enum { NUMBERS = 30000 };
    struct buffer numbers = {.class = MEMORY_CLIENTS};
    for (int i = 0; i < NUMBERS; i++) buffer_printf(&numbers, ":%d\r\n", i);
    for (int round = 0; round < 5; round++) {
        int fd = connect_masked(), next = 0;
        size_t said = 0, heard = 0;
        for (int i = 0; i < 5000; i++) peer_send(peer, &SLICE("PING"), 1);
        size_t wanted = peer_unsent_bytes(peer);
        for (int idle = 0; idle < TURNS_MAX && (next < NUMBERS || heard < wanted); idle++) {
            char got[16384];
            const int before = next;
            const struct peer_reply *reply;
            far_says(&numbers, &said);
            assert_true(peer_advance(peer));
            while ((reply = peer_next(peer))) assert_int_equal(reply->integer, next++);
            ssize_t more = connection_read(far_end, got, sizeof(got));
            heard += more > 0 ? (size_t)more : 0;
            if (more > 0 || next > before)
                idle = 0;
            else
                (void)poll(NULL, 0, 1); /* a last small segment may wait for an acknowledgement */
        }
        assert_int_equal(next, NUMBERS);
        assert_int_equal(heard, wanted);
        close_far(fd);
    }
    buffer_free(&numbers);
}

/* What was read ahead is not waited for. */
static void test_transport_reads_ahead(void **state) {
    struct buffer numbers = {.class = MEMORY_CLIENTS};
    size_t said = 0;
    int fd = connect_masked();
    for (int i = 0; i < 1000; i++) buffer_printf(&numbers, ":%d\r\n", i);
    while (said < numbers.length) {
        assert_true(peer_advance(peer));
        far_says(&numbers, &said);
    }
    for (int i = 0; i < 1000; i++) {
        const struct peer_reply *reply = await_reply();
        assert_non_null(reply);
        assert_int_equal(reply->integer, i);
    }
    buffer_free(&numbers);
    close_far(fd);
}

static void test_transport_fails(void **state) {
    int fd = connect_masked();
    assert_int_equal(write(fd, "-ERR no\r\n", 9), 9); /* no handshake */
    assert_null(await_reply());
    assert_int_equal(peer_state(peer), PEER_CLOSED);
    assert_string_equal(peer_error(peer), "handshake: Protocol error");
    close_far(fd);
    fd = connect_masked();
    for (int i = 0; i < 10; i++) assert_true(peer_advance(peer)); /* nobody answers */
    assert_int_equal(peer_state(peer), PEER_CONNECTING);
    close_far(fd);
    masked_refuses = true;
    assert_false(peer_connect(
        peer,
        &(struct peer_address){.host = "127.0.0.1", .port = port, .transport = &masked_transport}));
    assert_string_equal(peer_error(peer), "no masks are left");
    masked_refuses = false;
}

/* ---- forked children ---- */

static int stay(void *unused) {
    while (true) pause();
    return 0;
}

/* The other side sees the end of the connection while a child lives. */
static void test_child_holds_no_socket(void **state) {
    static const struct child_observer *const observers[] = {&peer_child_observer, NULL};
    struct child_job job = {.kind = &beside_kind, .title = "a-child", .label = "Test"};
    struct loop *loop = loop_create();
    char c;
    int fd = connect_peer();
    child_open(loop, observers);
    assert_true(child_start(&job, stay, NULL) > 0);
    peer_close(peer);
    assert_true(wait_for(fd, POLLIN));
    assert_int_equal(read(fd, &c, 1), 0);
    child_kill_and_wait(&beside_kind);
    child_open(NULL, NULL);
    loop_free(loop);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_listener, close_listener)
        TEST(test_request_and_reply),
        TEST(test_requests_may_be_sent_while_connecting),
        TEST(test_replies_before_the_end_are_given),
        TEST(test_no_protocol_ends_the_connection),
        TEST(test_refused),
        TEST(test_input_is_bounded),
        TEST(test_output_waits),
        TEST(test_raw_input_behind_a_reply),
        TEST(test_transport),
        TEST(test_transport_reads_ahead),
        TEST(test_transport_fails),
        TEST(test_child_holds_no_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
