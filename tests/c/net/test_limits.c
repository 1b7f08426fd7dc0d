/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of net/limits: when a client that does not read is closed. The clock stands still unless a
 * test moves it.
 *
 * The executor's requests: "b <n>" replies n bytes, "i <n>" n integers, "o <n>" sends n bytes to
 * the client `other`.
 */
#include "net/limits.h"

#include "base/clock.h"
#include "base/number.h"
#include "net/peers.h"

static struct peer other;

static void execute(struct request *r) {
    int64_t length;
    struct buffer text = {.class = MEMORY_OTHER};
    struct client *c = r->argv[0].bytes[0] == 'o' ? other.client : r->client;
    assert_true(number_parse_int64(r->argv[1].bytes, r->argv[1].length, &length));
    if (r->argv[0].bytes[0] == 'i') {
        for (int64_t i = 0; i < length; i++) reply_integer(c, i);
        return;
    }
    memset(buffer_reserve(&text, (size_t)length + 1), 'x', (size_t)length);
    reply_bulk(c, (struct slice){text.bytes, (size_t)length});
    buffer_free(&text);
}

static void no_prefetch(struct request *r, int count) {}
static const struct batch_executor executor = {.prefetch = no_prefetch, .execute = execute};

static void set_limit(const char *text) { option_set_text("client-output-buffer-limit", text); }

/* Makes the loop turn with a request of a client that reads nothing. */
static void ask(struct peer *p, const char *request) {
    peer_try_send(p, request, strlen(request));
    peers_turns();
}

static void seconds_pass(int64_t seconds) {
    clock_advance_usec(seconds * 1000000);
    client_cron();
    peers_turns();
}

/* Reads until nothing more comes. */
static void drain(struct peer *p) {
    do peers_turns();
    while (peer_receive(p, SIZE_MAX));
    buffer_clear(&p->got);
}

static void test_hard(void **state) {
    struct peer p = peer_connect();
    set_limit("normal 1mb 0 0");
    ask(&p, "b 900000\n"); /* the socket takes a part of it */
    assert_true(peer_is_served(&p));
    assert_true(reply_check(p.client));
    ask(&p, "b 900000\n");
    assert_false(peer_is_served(&p));
    peer_close(&p);
}

static void test_hard_in_one_reply(void **state) {
    struct peer p = peer_connect();
    set_limit("normal 1mb 0 0");
    ask(&p, "b 2000000\nb 10\nb 2000000\n");
    assert_false(peer_is_served(&p));
    drain(&p);
    assert_true(p.ended);
    peer_close(&p);
}

/* The output buffer is full: what stands in it becomes a chunk, and that is too much. */
static void test_hard_when_spilled(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    set_limit("normal 64kb 0 0");
    ask(&p, "i 50000\nb 10\n");
    assert_false(peer_is_served(&p));
    drain(&p);
    assert_true(p.ended && p.got.length == 0);
    ask(&q, "b 10\n");
    drain(&q);
    assert_true(peer_is_served(&q));
    peer_close(&p);
    peer_close(&q);
}

/* What does not go through chunks does not count, and what was read no longer does. */
static void test_reader(void **state) {
    struct peer p = peer_connect();
    set_limit("normal 200kb 100kb 0");
    for (int i = 0; i < 100; i++) {
        ask(&p, "b 90000\n");
        drain(&p);
        seconds_pass(10);
    }
    assert_true(peer_is_served(&p));
    peer_close(&p);
}

static void test_soft(void **state) {
    struct peer p = peer_connect();
    set_limit("normal 0 1mb 10");
    ask(&p, "b 2000000\n");
    seconds_pass(10);
    assert_true(peer_is_served(&p));
    assert_int_not_equal(p.client->over_soft_nsec, 0);
    seconds_pass(1);
    assert_false(peer_is_served(&p));
    peer_close(&p);
}

/* The time begins anew when the client was below the limit meanwhile. */
static void test_soft_begins_anew(void **state) {
    struct peer p = peer_connect();
    set_limit("normal 0 1mb 10");
    for (int i = 0; i < 5; i++) {
        ask(&p, "b 2000000\n");
        seconds_pass(9);
        assert_true(peer_is_served(&p));
        drain(&p);
        assert_int_equal(p.client->over_soft_nsec, 0);
        assert_int_equal(p.client->chunk_bytes, 0);
    }
    /* Below it, but not empty. */
    for (int i = 0; i < 20; i++) ask(&p, "b 100000\n");
    seconds_pass(9);
    while (p.client->chunk_bytes > 900000) {
        peer_receive(&p, 10000);
        peers_turns();
    }
    ask(&p, "b 10\n");
    assert_true(p.client->chunk_bytes > 0);
    assert_int_equal(p.client->over_soft_nsec, 0);
    ask(&p, "b 2000000\n");
    seconds_pass(9);
    assert_true(peer_is_served(&p));
    seconds_pass(2);
    assert_false(peer_is_served(&p));
    peer_close(&p);
}

/* Nothing is added any more, and the cron closes nonetheless; each client is looked at. */
static void test_soft_of_many(void **state) {
    struct peer peers[300];
    set_limit("normal 0 1mb 10");
    for (int i = 0; i < 300; i++) {
        peers[i] = peer_connect();
        ask(&peers[i], i == 150 || i == 299 ? "b 2000000\n" : "b 10\n");
    }
    clock_advance_usec(11000000);
    for (int i = 0; i < 2; i++) client_cron();
    for (int i = 0; i < 300; i++) {
        assert_true(peer_is_served(&peers[i]) == (i != 150 && i != 299));
        peer_close(&peers[i]);
    }
}

static void test_set_while_connected(void **state) {
    struct peer p = peer_connect();
    set_limit("normal 0 0 0");
    ask(&p, "b 2000000\n");
    assert_false(limits_need_cron());
    seconds_pass(1000);
    assert_true(peer_is_served(&p));
    set_limit("normal 0 1mb 10");
    assert_true(limits_need_cron());
    seconds_pass(1);
    assert_true(peer_is_served(&p));
    seconds_pass(11);
    assert_false(peer_is_served(&p));
    peer_close(&p);
}

/* Messages of another's command close the client that gets them, wherever its own replies stand. */
static void test_replies_from_others(void **state) {
    peers_do_not_cut();
    set_limit("normal 1mb 0 0");
    for (int i = 0; i < 3; i++) {
        struct peer p = peer_connect();
        other = peer_connect();
        if (i > 0) peer_try_send(&other, "b 90000\n", 8); /* in the output buffer, or in chunks */
        if (i > 1) peers_turns();
        ask(&p, "o 2000000\no 10\nb 10\n");
        assert_false(peer_is_served(&other));
        drain(&p);
        assert_true(peer_is_served(&p));
        peer_close(&p);
        peer_close(&other);
    }
}

/* One's own reply and another's message are below the limit each, and together above it. */
static void test_sum_with_others(void **state) {
    peers_need_one_thread();
    peers_do_not_cut();
    struct peer p = peer_connect();
    other = peer_connect();
    set_limit("normal 150kb 0 0");
    peer_try_send(&other, "b 100000\n", 9);
    ask(&p, "o 100000\n");
    assert_false(peer_is_served(&other));
    assert_true(peer_is_served(&p));
    peer_close(&p);
    peer_close(&other);
}

static void test_other_classes(void **state) {
    struct peer p = peer_connect();
    set_limit("normal 0 0 0 slave 1 1 0 pubsub 1 1 0");
    assert_false(limits_need_cron());
    ask(&p, "b 2000000\n");
    seconds_pass(100);
    assert_true(peer_is_served(&p));
    peer_close(&p);
}

/* Who listens to something has limits of its own, whatever those of others are. */
static void test_subscribers(void **state) {
    struct peer p = peer_connect(), q = peer_connect();
    set_limit("normal 1mb 0 0 pubsub 0 3mb 10");
    assert_false(limits_need_cron());
    client_set_listening(p.client, true);
    assert_true(limits_need_cron());
    ask(&p, "b 2000000\nb 10\n");
    ask(&p, "b 2000000\nb 10\n");
    ask(&q, "b 2000000\nb 10\n");
    assert_true(peer_is_served(&p));
    assert_false(peer_is_served(&q));
    seconds_pass(11);
    assert_false(peer_is_served(&p));
    peer_close(&p);
    peer_close(&q);
    p = peer_connect();
    client_set_listening(p.client, true);
    client_set_listening(p.client, true);
    assert_int_equal(client_listeners(), 1);
    client_set_listening(p.client, false);
    assert_int_equal(client_listeners(), 0);
    ask(&p, "b 2000000\nb 10\n");
    assert_false(peer_is_served(&p));
    peer_close(&p);
}

static void test_rewrite(void **state) {
    peers_need_one_thread(); /* else io-threads is among the lines */
    struct buffer text = {.class = MEMORY_OTHER};
    set_limit("normal 3 1kb 5 Replica 1mb 0 0 pubsub 1gb 1001 99999999999");
    option_rewrite_text(SLICE("client-output-buffer-limit normal 9 9 9\n"), false, &text);
    assert_string_equal(text.bytes,
                        "client-output-buffer-limit normal 3 1kb 5\n"
                        "client-output-buffer-limit replica 1mb 0 0\n"
                        "client-output-buffer-limit pubsub 1gb 1001 2147483647\n");
    buffer_free(&text);
}

static int open_all(void **state) {
    limits_register();
    return peers_open(&executor);
}

static int begin(void **state) {
    clock_use_fixed(1000000000, 1000000000);
    return peers_begin(state);
}

static int end(void **state) {
    set_limit("normal 0 0 0");
    clock_use_system();
    return peers_nothing_left(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_hard),
        TEST(test_hard_in_one_reply),
        TEST(test_hard_when_spilled),
        TEST(test_reader),
        TEST(test_soft),
        TEST(test_soft_begins_anew),
        TEST(test_soft_of_many),
        TEST(test_set_while_connected),
        TEST(test_replies_from_others),
        TEST(test_sum_with_others),
        TEST(test_other_classes),
        TEST(test_subscribers),
        TEST(test_rewrite),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
