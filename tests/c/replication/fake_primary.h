/* SPDX-License-Identifier: BSD-3-Clause
 * A primary that says what a test wants, to a whole server that follows it (server/whole.h). What
 * passes between them goes through a real socket, so waiting for it has a bound of turns, and none
 * of time.
 */
#ifndef EVENKEEL_TESTS_REPLICATION_FAKE_PRIMARY_H
#define EVENKEEL_TESTS_REPLICATION_FAKE_PRIMARY_H
#include <poll.h>

#include "io/socket.h"
#include "replication/history.h"
#include "replication/link.h"
#include "server/whole.h"

#define FAKE_ID "0123456789abcdef0123456789abcdef01234567"
#define FAKE_OTHER_ID "fedcba9876543210fedcba9876543210fedcba98"
#define FAKE_TURNS_MAX 20000

struct fake_primary {
    int listener, fd; /* -1: none */
    int port;
    struct buffer got;
};

static inline struct fake_primary fake_open(void) {
    char reason[128];
    struct socket_peer local;
    struct fake_primary f = {.fd = -1, .got = {.class = MEMORY_OTHER}};
    f.listener = socket_listen_tcp("127.0.0.1", 0, 16, reason, sizeof(reason));
    assert_true(f.listener >= 0);
    assert_true(socket_local_of(f.listener, &local));
    f.port = local.port;
    return f;
}

static inline void fake_hang_up(struct fake_primary *f) {
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
    buffer_clear(&f->got);
}

/* The server follows nobody any more, and knows no history that anybody has. */
static inline void fake_close(struct fake_primary *f) {
    link_stop_following();
    peers_turns();
    fake_hang_up(f);
    close(f->listener);
    buffer_free(&f->got);
}

/* Where the server has nothing to say yet, a millisecond passes: what we have said may still be on
 * its way. */
static inline void fake_turn(struct fake_primary *f) {
    struct pollfd ready = {.fd = f->fd, .events = POLLIN};
    loop_turn(peers_loop, 0);
    poll(&ready, 1, 1);
    if (f->fd < 0) return;
    ssize_t got = read(f->fd, buffer_reserve(&f->got, 65536), 65536);
    if (got > 0) f->got.length += (size_t)got;
}

#define FAKE_UNTIL(f, condition)                                                    \
    do {                                                                            \
        int turns = 0;                                                              \
        while (!(condition)) {                                                      \
            if (turns++ == FAKE_TURNS_MAX) fail_msg("not reached: %s", #condition); \
            fake_turn(f);                                                           \
        }                                                                           \
    } while (0)

static inline void fake_accept(struct fake_primary *f) {
    struct socket_peer peer;
    fake_hang_up(f);
    FAKE_UNTIL(f, (f->fd = socket_accept(f->listener, &peer)) >= 0);
}

static inline void fake_say_bytes(struct fake_primary *f, const char *bytes, size_t length) {
    for (size_t sent = 0; sent < length;) {
        ssize_t written = write(f->fd, bytes + sent, length - sent);
        if (written > 0) sent += (size_t)written;
        if (written < 0 && errno != EAGAIN) return; /* nobody listens any more */
        if (sent < length) fake_turn(f);
    }
}

static inline void fake_say(struct fake_primary *f, const char *text) {
    fake_say_bytes(f, text, strlen(text));
}

/* What has come begins with this request, which goes. */
static inline void fake_expect(struct fake_primary *f, const char *words) {
    struct buffer wanted = {.class = MEMORY_OTHER};
    struct buffer storage = {.class = MEMORY_OTHER};
    struct slice *list;
    int count = string_split_words(slice_of(words), &storage, &list);
    buffer_printf(&wanted, "*%d\r\n", count);
    for (int i = 0; i < count; i++)
        buffer_printf(&wanted, "$%zu\r\n%.*s\r\n", list[i].length, (int)list[i].length,
                      list[i].bytes);
    FAKE_UNTIL(f, f->got.length >= wanted.length);
    if (memcmp(f->got.bytes, wanted.bytes, wanted.length) != 0)
        fail_msg("%s wanted, got %.*s", words, (int)f->got.length, f->got.bytes);
    f->got.length -= wanted.length;
    memmove(f->got.bytes, f->got.bytes + wanted.length, f->got.length);
    memory_free(list, MEMORY_OTHER);
    buffer_free(&storage);
    buffer_free(&wanted);
}

/* Up to the question for the stream, which is left to the test. */
static inline void fake_greet(struct fake_primary *f) {
    fake_accept(f);
    fake_expect(f, "PING");
    fake_say(f, "+PONG\r\n");
    fake_expect(f, "REPLCONF listening-port 6379");
    fake_expect(f, "REPLCONF capa eof capa psync2");
    fake_say(f, "+OK\r\n+OK\r\n");
}

/* What is done each second is done. */
static inline void fake_pass_seconds(void) {
    whole_pass(1000);
    whole_pass(1000);
}

/* After a link that has failed within the second in which it began: asked again in the next one. */
static inline void fake_greet_again(struct fake_primary *f) {
    struct socket_peer peer;
    FAKE_UNTIL(f, link_state() == LINK_WAITS);
    for (int turn = 0; turn < 20; turn++) fake_turn(f);
    assert_int_equal(socket_accept(f->listener, &peer), -1);
    whole_pass(1000);
    fake_greet(f);
}

static inline void fake_expect_psync(struct fake_primary *f, const char *id, int64_t place) {
    char text[128];
    snprintf(text, sizeof(text), "PSYNC %s %lld", id, (long long)place);
    fake_expect(f, text);
}

/* The server follows it, and the stream begins where the server's own history ends. */
static inline void fake_link_up(struct fake_primary *f) {
    link_follow("127.0.0.1", f->port);
    fake_greet(f);
    fake_expect_psync(f, history_id(), history_place() + 1);
    fake_say(f, "+CONTINUE " FAKE_ID "\r\n");
    FAKE_UNTIL(f, link_state() == LINK_UP);
}

/* Plays the primary of a replica whose link was cut. */
static inline void fake_link_again(struct fake_primary *f) {
    fake_greet(f);
    fake_expect_psync(f, history_id(), history_place() + 1);
    fake_say(f, "+CONTINUE\r\n");
    FAKE_UNTIL(f, link_state() == LINK_UP);
}

/* Before each test: no client. The clock goes on where it was, since what is done each second would
 * else not be done before it has come there again. */
static inline void fake_begin(void **state) { (void)peers_begin(state); }

/* A client's request, and its reply. */
static inline void assert_answer(struct peer *p, const char *line, const char *reply) {
    peer_send(p, slice_of(line));
    peer_send(p, SLICE("\r\n"));
    peer_assert_got(p, slice_of(reply));
}

/* The first script makes the client that its calls run for, which stays. */
static inline void make_script_client(void) {
    struct peer p = peer_connect();
    peer_send(&p, SLICE("eval \"return redis.call('ping')\" 0\r\n"));
    peer_close(&p);
    peers_turns();
    peers_clients_bytes = peers_bytes_now();
}
#endif
