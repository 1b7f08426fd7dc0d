/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of clients behind a transport: what is its own, the handshake above all. The other tests of
 * net/ run behind it, too: test_batch_masked and its like.
 */
#include "base/clock.h"
#include "net/batch.h"
#include "net/client_memory.h"
#include "net/peers.h"

/* "kill ID" marks a client, "big BYTES" answers so many, anything else is answered by its length.
 */
static void execute(struct request *r) {
    if (r->argc == 2 && slice_is(r->argv[0], "kill")) {
        struct client *c = client_find(strtoull(r->argv[1].bytes, NULL, 10));
        if (c) client_close_later(c);
        reply_integer(r->client, c != NULL);
    } else if (r->argc == 2 && slice_is(r->argv[0], "big")) {
        size_t length = strtoull(r->argv[1].bytes, NULL, 10);
        char *bytes = memory_alloc(length, MEMORY_OTHER);
        memset(bytes, 'b', length);
        reply_raw(r->client, bytes, length);
        memory_free(bytes, MEMORY_OTHER);
    } else {
        reply_integer(r->client, (int64_t)r->argv[r->argc - 1].length);
    }
}

static void prefetch(struct request *r, int count) {}
static const struct batch_executor executor = {.prefetch = prefetch, .execute = execute};

static int open_all(void **state) { return peers_open(&executor); }

/* One behind the transport that has not said anything. */
static struct peer silent(void) {
    int ends[2];
    char reason[128];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    struct peer p = {.fd = ends[1],
                     .masked = true,
                     .answer_left = MASKED_FLIGHT_CHARS,
                     .got = {.class = MEMORY_OTHER}};
    p.client = client_create(ends[0], &(struct socket_peer){.is_unix = true}, &masked_transport,
                             reason, sizeof(reason));
    assert_non_null(p.client);
    p.id = p.client->id;
    return p;
}

static void say(struct peer *p, const char *text) {
    assert_int_equal(write(p->fd, text, strlen(text)), strlen(text));
}

static void turns(void) {
    for (int i = 0; i < 200; i++) peers_turns();
}

/* Cut anywhere, with requests right behind it. */
static void test_handshake_in_pieces(void **state) {
    const char *whole = "hello---finish--";
    for (size_t cut = 0; cut <= 16; cut++) {
        struct peer p = silent();
        char front[17] = "";
        memcpy(front, whole, cut);
        say(&p, front);
        turns();
        assert_true(peer_is_served(&p));
        client_memory_check();
        assert_int_equal(client_connection(p.client)->established, cut == 16);
        say(&p, whole + cut);
        peer_try_send(&p, "PING\r\n", 6);
        turns();
        peer_receive(&p, SIZE_MAX);
        peer_assert_got(&p, SLICE(":4\r\n"));
        assert_int_equal(p.client->watcher.interest, LOOP_READABLE);
        peer_close(&p);
    }
}

static void test_handshake_fails(void **state) {
    static const char *const said[] = {"*1\r\n$4\r\nPING\r\n", "hello---FINISH--", "", "hel",
                                       "hello---"};
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        struct peer p = silent();
        say(&p, said[i]);
        turns();
        assert_int_equal(peer_is_served(&p), i >= 2);
        peer_close(&p);
    }
}

/* It stalls: it costs no events, and can be killed or found idle as any other. */
static void test_handshake_stalls(void **state) {
    struct peer stalled = silent(), killer = peer_connect();
    char text[64];
    say(&stalled, "hello---fin");
    turns();
    uint64_t events = loop_stats(peers_loop)->events;
    turns();
    assert_int_equal(loop_stats(peers_loop)->events, events);
    snprintf(text, sizeof(text), "kill %llu\r\n", (unsigned long long)stalled.id);
    peer_send(&killer, slice_of(text));
    peer_assert_got(&killer, SLICE(":1\r\n"));
    assert_false(peer_is_served(&stalled));
    assert_int_equal(masked_open_count, 0);
    peer_close(&stalled);
    clock_use_fixed(1000000000, 1000000000);
    peers_turns();
    stalled = silent();
    option_set_text("timeout", "10");
    clock_advance_usec(11000000);
    peers_turns();
    client_cron();
    turns();
    assert_false(peer_is_served(&stalled));
    option_set_text("timeout", "0");
    clock_use_system();
    peers_turns();
    peer_close(&stalled);
    peer_close(&killer);
}

/* It kills itself, and another one that has bytes pending. */
static void test_kill(void **state) {
    for (int round = 0; round < 50; round++) {
        struct peer p = silent(), other = silent();
        char text[128];
        say(&p, "hello---finish--");
        say(&other, "hello---finish--");
        turns();
        for (int i = 0; i < 100; i++) peer_try_send(&other, "PING\r\n", 6);
        snprintf(text, sizeof(text), "PING\r\nkill %llu\r\nPING\r\nkill %llu\r\nPING\r\n",
                 (unsigned long long)other.id, (unsigned long long)p.id);
        peer_try_send(&p, text, strlen(text));
        turns();
        assert_false(peer_is_served(&p));
        assert_false(peer_is_served(&other));
        assert_int_equal(masked_open_count, 0);
        peer_close(&p);
        peer_close(&other);
    }
}

/* A reader that is slow: replies wait in chunks, what the transport was offered is offered again,
 * and what comes meanwhile is run. */
static void test_slow_reader(void **state) {
    enum { REPLIES = 30, BYTES = 100000 };
    struct peer p = silent();
    size_t got = 0;
    say(&p, "hello---finish--");
    turns();
    for (int i = 0; i < REPLIES; i++) peer_try_send(&p, "big 100000\r\n", 12);
    turns();
    assert_true(p.client->reply_bytes > BYTES);
    assert_true(p.client->flags & CLIENT_WRITE_WAITS);
    client_memory_check();
    for (int i = 0; i < 100000 && got < (size_t)REPLIES * BYTES; i++) {
        got += peer_receive(&p, 1 + random_below(60000));
        peers_turns();
    }
    assert_int_equal(got, REPLIES * BYTES);
    for (size_t i = 0; i < got; i++)
        if (p.got.bytes[i] != 'b') fail_msg("byte %zu is another", i);
    turns();
    assert_int_equal(p.client->watcher.interest, LOOP_READABLE);
    assert_null(p.client->replies);
    peer_close(&p);
}

static void test_refused(void **state) {
    int ends[2];
    char reason[128];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    masked_refuses = true;
    assert_null(client_create(ends[0], &(struct socket_peer){.is_unix = true}, &masked_transport,
                              reason, sizeof(reason)));
    masked_refuses = false;
    assert_string_equal(reason, "no masks are left");
    assert_int_equal(read(ends[1], reason, 1), 0); /* closed */
    close(ends[1]);
}

static void nothing_ready(struct loop_watcher *watcher, unsigned ready) {}

/* A peer's connection becomes a client's: it is booked as such. */
static void test_taken_over(void **state) {
    int fds[2];
    char reason[128];
    size_t before = memory_used(MEMORY_SAVES);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    struct connection *connection = connection_open(&masked_transport, fds[0], CONNECTION_CONNECTS,
                                                    MEMORY_SAVES, reason, sizeof(reason));
    assert_non_null(connection);
    struct client *c =
        client_create_primary(fds[0], connection, nothing_ready, reason, sizeof(reason));
    assert_non_null(c);
    client_memory_check();
    assert_int_equal(memory_used(MEMORY_SAVES), before);
    client_close_later(c);
    turns();
    assert_int_equal(masked_open_count, 0);
    close(fds[1]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, peers_begin, peers_nothing_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_handshake_in_pieces), TEST(test_handshake_fails),
        TEST(test_handshake_stalls),    TEST(test_kill),
        TEST(test_slow_reader),         TEST(test_refused),
        TEST(test_taken_over),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
