/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of net/client: what closing does at once and what it leaves to the end of the request, in
 * the middle of whatever runs; and the addresses that are kept.
 */
#include "net/client.h"

#include <arpa/inet.h>
#include <poll.h>

#include "io/child.h"
#include "net/client_memory.h"
#include "net/limits.h"
#include "net/peers.h"

static const struct child_kind beside_kind = {.beside = true};

/* A bit of the word of access/, as if it meant that. */

static struct client *victim;
static int requests_run, closed_clients, heard;
static size_t held_above; /* what observers say that they hold */
static bool closed_within_request, in_request;

/* "close": itself; "close-other": `victim`; "large": itself, for a reply above its limit. */
static void execute(struct request *r) {
    struct client *c = r->client;
    static const char text[100000];
    in_request = true;
    requests_run++;
    if (slice_is(r->argv[0], "close")) client_close_later(c);
    if (slice_is(r->argv[0], "close-other")) client_close_later(victim);
    if (slice_is(r->argv[0], "large")) {
        reply_bulk(c, (struct slice){text, sizeof(text)});
        reply_bulk(c, (struct slice){text, sizeof(text)});
    }
    if (c->flags & CLIENT_CLOSING) {
        assert_int_equal(c->chunk_bytes, 0);
        assert_null(client_find(c->id));
    }
    reply_ok(c);
    assert_true(!(c->flags & CLIENT_CLOSING) || !c->replies);
    in_request = false;
}

static struct client_state last;

static void note_closed(struct client *c) {
    closed_clients++;
    if (in_request) closed_within_request = true;
    assert_true(c->flags & CLIENT_CLOSED);
    /* What a layer above has of it is there until now. */
    client_set_place(c, &last, NULL);
    assert_int_equal(heard % 10, 2); /* in the order of registration */
    heard = heard * 10 + 3;
}

static void note_first(struct client *c) { heard = 1; }
static void note_second(struct client *c) { heard = heard * 10 + 2; }
static size_t first_bytes(const struct client *c) { return held_above; }
static size_t last_bytes(const struct client *c) { return 2 * held_above; }

static struct client_state first = {.name = "first",
                                    .flags = 3,
                                    .letters = "a c",
                                    .reset_flags = 1 | 4,
                                    .closing = note_first,
                                    .bytes = first_bytes},
                           second = {.name = "second", .has_place = true, .closing = note_second},
                           nothing = {.name = "nothing", .flags = 5, .letters = "z"},
                           last = {.name = "last",
                                   .flags = 23,
                                   .has_place = true,
                                   .closing = note_closed,
                                   .bytes = last_bytes};

static void prefetch(struct request *r, int count) {}

/* Before replies are written all that were marked are closed. */
static void pause_batch(void) {
    LIST_FOR_EACH (link, following, client_list())
        assert_false(LIST_ENTRY(link, struct client, link)->flags & CLIENT_CLOSING);
}

static const struct batch_executor executor = {
    .prefetch = prefetch, .execute = execute, .pause = pause_batch};

/* ---- observers ---- */

static void test_observers(void **state) {
    struct peer p = peer_connect();
    int something = 0;
    held_above = 100;
    assert_int_equal(client_bytes_above(p.client), 0); /* nobody is asked */
    client_set_place(p.client, &last, &something);
    assert_int_equal(client_bytes_above(p.client), 300);
    held_above = 0;
    client_close_later(p.client);
    client_finish_closing();
    assert_int_equal(heard, 123);
    assert_int_equal(closed_clients, 1);
    peer_close(&p);
}

/* ---- what folders above keep ---- */

/* Every flag of every folder is one of its own, and none is net's. */
static void test_flags_are_apart(void **state) {
    static const struct client_state *const rows[] = {&first, &peers_admission, &nothing, &last};
    struct peer p = peer_connect();
    const uint32_t of_net = p.client->flags;
    uint64_t seen = client_flags_of_net(UINT32_MAX);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (uint32_t flag = 1; flag < 1u << rows[i]->flags; flag <<= 1) {
            uint64_t number = client_flags_of(rows[i], flag);
            assert_int_equal(number & seen, 0);
            seen |= number;
            assert_int_equal(client_has_any(p.client, ~client_flags_of_net(UINT32_MAX)), 0);
            client_set_flags(p.client, rows[i], flag, true);
            assert_true(client_has_any(p.client, number | client_flags_of_net(CLIENT_CLOSED)));
            for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++)
                assert_int_equal(client_flags(p.client, rows[j]), i == j ? flag : 0);
            client_set_flags(p.client, rows[i], flag, false);
        }
    }
    assert_true(seen == UINT64_MAX); /* there are no more: see client_states */
    assert_int_equal(p.client->flags, of_net);
    peer_close(&p);
}

/* Letters come in the order of registration; a flag without one is not shown. */
static void test_letters(void **state) {
    struct peer p = peer_connect();
    struct buffer out = {.class = MEMORY_OTHER};
    client_append_letters(p.client, &out);
    assert_int_equal(out.length, 0);
    client_set_flags(p.client, &nothing, 1 | 2, true);
    client_set_flags(p.client, &first, 1 | 2 | 4, true);
    client_append_letters(p.client, &out);
    assert_true(slice_is(buffer_slice(&out), "acz"));
    buffer_free(&out);
    peer_close(&p);
}

/* RESET takes away what rows name, and nothing else. */
static void test_reset_flags(void **state) {
    struct peer p = peer_connect();
    const uint32_t of_net = p.client->flags;
    client_set_flags(p.client, &first, 1 | 2 | 4, true);
    client_set_flags(p.client, &nothing, 1, true);
    client_reset_flags(p.client);
    assert_int_equal(client_flags(p.client, &first), 2);
    assert_int_equal(client_flags(p.client, &nothing), 1);
    assert_int_equal(p.client->flags, of_net);
    peer_close(&p);
}

/* Each folder's place is its own; they go with the last one that is emptied. */
static void test_places(void **state) {
    struct peer p = peer_connect();
    int one = 1, other = 2;
    size_t before = client_memory_of(p.client);
    assert_null(client_place(p.client, &last));
    assert_int_equal(client_place_bytes(p.client), 0);
    client_set_place(p.client, &last, NULL); /* makes none */
    assert_int_equal(client_memory_of(p.client), before);
    client_set_place(p.client, &last, &one);
    client_set_place(p.client, &second, &other);
    for (int place = 0; place < CLIENT_PLACES_OF_NET; place++)
        if (place != CLIENT_PLACE_CONNECTION)
            assert_null(client_place_of_net(p.client, (enum client_place)place));
    assert_ptr_equal(client_place(p.client, &last), &one);
    assert_ptr_equal(client_place(p.client, &second), &other);
    client_set_place(p.client, &last, NULL);
    assert_null(client_place(p.client, &last));
    assert_ptr_equal(client_place(p.client, &second), &other);
    client_set_place(p.client, &second, NULL);
    assert_int_equal(client_memory_of(p.client), before);
    peer_close(&p);
}

/* No client has a flag, or anything in the place, of a folder that is not registered. */
static void test_unregistered(void **state) {
    const struct client_state stranger = {.name = "unregistered", .flags = 2, .has_place = true};
    struct peer p = peer_connect();
    client_set_flags(p.client, &first, 7, true);
    assert_int_equal(client_flags(p.client, &stranger), 0);
    assert_int_equal(client_flags_of(&stranger, 3), 0);
    client_set_place(p.client, &last, p.client);
    assert_null(client_place(p.client, &stranger));
    client_set_place(p.client, &last, NULL);
    peer_close(&p);
}

/* ---- closing ---- */

static void test_marked_then_closed(void **state) {
    struct peer p = peer_connect();
    int something = 0;
    client_set_place(p.client, &last, &something);
    client_close_later(p.client);
    client_close_later(p.client);
    assert_true(p.client->flags & CLIENT_CLOSING);
    assert_false(p.client->flags & CLIENT_CLOSED);
    assert_int_equal(closed_clients, 0);
    assert_int_equal(client_count(), 0);
    assert_null(client_find(p.id));
    assert_ptr_equal(client_place(p.client, &last), &something);
    assert_int_equal(client_memory_leaving(), peers_bytes_now());
    client_memory_check();
    reply_ok(p.client); /* goes nowhere */
    reply_message(p.client, "x", 1);
    assert_null(p.client->replies);
    client_finish_closing();
    assert_int_equal(closed_clients, 1);
    assert_true(p.client->flags & CLIENT_CLOSED);
    client_memory_check();
    client_finish_closing();
    assert_int_equal(closed_clients, 1);
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    assert_true(p.ended);
    peer_close(&p);
}

/* Its own request, another's, or a limit closes it: after that request and before the replies. What
 * it sent behind is not run. */
static void test_after_the_request(void **state) {
    static const char *const own[] = {"ping\r\nclose\r\nping\r\n", "ping\r\nlarge\r\nping\r\n"};
    option_set_text("client-output-buffer-limit", "normal 50kb 0 0");
    for (int i = 0; i < 3; i++) {
        struct peer p = peer_connect(), q = peer_connect();
        requests_run = closed_clients = heard = 0;
        victim = p.client;
        if (i < 2) {
            peer_send(&p, slice_of(own[i]));
            assert_int_equal(requests_run, 2);
        } else {
            peer_send(&q, SLICE("ping\r\nclose-other\r\nping\r\n"));
            assert_int_equal(requests_run, 3);
            peer_assert_got(&q, SLICE("+OK\r\n+OK\r\n+OK\r\n"));
        }
        assert_int_equal(closed_clients, 1);
        assert_false(closed_within_request);
        peer_receive(&p, SIZE_MAX);
        assert_true(p.ended);
        assert_int_equal(p.got.length, 0);
        client_memory_check();
        peer_close(&p);
        peer_close(&q);
    }
    option_set_text("client-output-buffer-limit", "normal 0 0 0");
}

/* Who closes after its reply is closed though it has none. */
static void test_close_after_no_reply(void **state) {
    struct peer p = peer_connect();
    batch_hold(p.client);
    client_close_after_reply(p.client);
    batch_resume(p.client);
    assert_false(batch_run_resumed());
    peers_turns();
    peer_receive(&p, SIZE_MAX);
    assert_true(p.ended);
    peer_close(&p);
}

/* ---- limits of the unauthenticated ---- */

static void test_unauthenticated_does_not_read(void **state) {
    for (int authenticated = 0; authenticated < 2; authenticated++) {
        client_set_admission(&peers_admission, STRANGER, STRANGER);
        struct peer p = peer_connect();
        if (authenticated) client_set_flags(p.client, &peers_admission, STRANGER, false);
        for (int i = 0; i < 300 && peer_is_served(&p); i++) {
            peer_try_send(&p, "large\r\n", 7);
            peers_turns();
            if (!authenticated && peer_is_served(&p)) assert_int_equal(p.client->chunk_bytes, 0);
        }
        assert_int_equal(peer_is_served(&p), authenticated);
        client_set_admission(&peers_admission, 0, 0);
        peer_close(&p);
    }
}

/* ---- addresses ---- */

static struct client *connect_tcp(int *other_end) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    *other_end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(*other_end, (struct sockaddr *)&address, length), 0);
    struct client *c = client_create(accept(listener, NULL, NULL), &(struct socket_peer){.port = 1},
                                     NULL, NULL, 0);
    close(listener);
    return c;
}

static void assert_addresses(struct client *c, int other_end) {
    struct sockaddr_in own, peer;
    socklen_t length = sizeof(own);
    char wanted[100];
    struct buffer text = {.class = MEMORY_OTHER};
    getsockname(other_end, (struct sockaddr *)&peer, &length);
    getpeername(other_end, (struct sockaddr *)&own, &length);
    client_append_address(c, &text);
    buffer_append_char(&text, ' ');
    client_append_local_address(c, &text);
    snprintf(wanted, sizeof(wanted), "127.0.0.1:%d 127.0.0.1:%d", ntohs(peer.sin_port),
             ntohs(own.sin_port));
    assert_true(slice_is(buffer_slice(&text), wanted));
    buffer_free(&text);
}

/* The system is asked once: without the descriptor it could not answer. */
static void test_addresses_are_kept(void **state) {
    int other_end;
    struct client *c = connect_tcp(&other_end);
    size_t bytes = client_memory_of(c);
    assert_int_equal(client_address_bytes(c), 0);
    assert_addresses(c, other_end);
    assert_true(client_memory_of(c) > bytes);
    assert_null(c->weight); /* it owns no buffer for all that */
    client_memory_check();
    int fd = c->watcher.fd;
    c->watcher.fd = -1;
    assert_addresses(c, other_end);
    c->watcher.fd = fd;
    client_close_later(c);
    client_memory_check();
    client_free_closing();
    close(other_end);
}

/* ---- forked children ---- */

static const struct child_observer *const child_observers[] = {&client_child_observer, NULL};

/* Answers the kept client, if there is one, once the parent has closed it; then stays. */
static int stay(void *kept) {
    struct client *c = kept;
    if (c) {
        client_keep_in_child(c);
        if (c->flags & CLIENT_CLOSING || client_send_plain(c, "child", 5) != 5) return 1;
    }
    while (true) pause();
    return 0;
}

static void start_child(struct client *kept) {
    struct child_job job = {.kind = &beside_kind, .title = "a-child", .label = "Test"};
    if (kept) job.kept_fd = kept->watcher.fd;
    child_open(peers_loop, child_observers);
    assert_true(child_start(&job, stay, kept) > 0);
}

/* The child closes its copies in its own time. */
static void hear(struct peer *p) {
    struct pollfd answer = {.fd = p->fd, .events = POLLIN};
    assert_int_equal(poll(&answer, 1, 30000), 1);
    peer_receive(p, SIZE_MAX);
}

static void end_child(void) {
    child_kill_and_wait(&beside_kind);
    child_open(NULL, NULL);
}

/* Whoever is closed sees it while a child lives: also who was about to go when it was forked. */
static void test_child_holds_no_socket(void **state) {
    struct peer open = peer_connect(), closed = peer_connect();
    client_close_later(closed.client);
    client_finish_closing();
    start_child(NULL);
    client_close_later(open.client);
    peers_turns();
    hear(&open);
    hear(&closed);
    assert_true(open.ended);
    assert_true(closed.ended);
    end_child();
    peer_close(&open);
    peer_close(&closed);
}

static void test_child_keeps_one_socket(void **state) {
    struct peer kept = peer_connect(), other = peer_connect();
    start_child(kept.client);
    client_close_later(kept.client);
    client_close_later(other.client);
    peers_turns();
    hear(&other);
    assert_true(other.ended);
    hear(&kept);
    assert_int_equal(kept.got.length, 5);
    assert_false(kept.ended);
    end_child();
    hear(&kept);
    assert_true(kept.ended);
    peer_close(&kept);
    peer_close(&other);
}

/* ---- the suite ---- */

/* With the one flag of peers_admission there are as many as there may be. */
static struct client_state *const client_states[] = {
    &first, &peers_admission, &nothing, &second, &last, NULL};
static bool (*const before_sleep[])(void) = {peers_end_of_turn, batch_run_resumed, NULL};

static int open_all(void **state) {
    limits_register();
    client_memory_register();
    peers_open(&executor);
    client_set_states(client_states);
    peers_set_before_sleep(before_sleep);
    return 0;
}

static int begin(void **state) {
    requests_run = closed_clients = heard = 0;
    closed_within_request = false;
    return peers_begin(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, peers_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_flags_are_apart),
        TEST(test_letters),
        TEST(test_reset_flags),
        TEST(test_places),
        TEST(test_unregistered),
        TEST(test_marked_then_closed),
        TEST(test_after_the_request),
        TEST(test_close_after_no_reply),
        TEST(test_unauthenticated_does_not_read),
        TEST(test_addresses_are_kept),
        TEST(test_observers),
        TEST(test_child_holds_no_socket),
        TEST(test_child_keeps_one_socket),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
