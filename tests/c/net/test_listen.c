/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of net/listen and net/client where the system refuses: accept fails, epoll takes no socket,
 * addresses change meanwhile. What the options do to a server that runs is in tests/integration/.
 */
#include "net/listen.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/faults.h"
#include "io/socket.h"
#include "net/peers.h"

static char logged[4096]; /* lines of the log */

static void note_line(const char *line, size_t length) {
    size_t used = strlen(logged);
    if (used + length + 2 > sizeof(logged)) return;
    memcpy(logged + used, line, length);
    memcpy(logged + used + length, "\n", 2);
}

static size_t times_logged(const char *text) {
    size_t times = 0;
    for (const char *at = logged; (at = strstr(at, text)); at++) times++;
    return times;
}

static void execute(struct request *r) { reply_ok(r->client); }
static void no_prefetch(struct request *r, int count) {}
static const struct batch_executor executor = {.prefetch = no_prefetch, .execute = execute};

static char reason[256];

/* ---- connections of another kind than clients ---- */

static int others_port; /* 0 = none */
static int others[8], others_count;
static bool others_have_room = true;

static int port_of_others(void) { return others_port; }
static bool room_for_others(void) { return others_have_room; }
static size_t count_of_others(void) { return (size_t)others_count; }

static void take_other(const struct listen_kind *kind, int fd, const struct socket_peer *peer) {
    assert_string_equal(kind->name, "others");
    assert_string_equal(peer->address, "127.0.0.1");
    assert_true(others_count < 8);
    others[others_count++] = fd;
}

static const struct listen_kind kind_of_others = {.name = "others",
                                                  .port = port_of_others,
                                                  .accepted = take_other,
                                                  .has_room = room_for_others,
                                                  .counted = count_of_others};

/* A port that was free just now. */
static int free_port(void) {
    int fd = socket_listen_tcp("127.0.0.1", 0, 1, reason, sizeof(reason));
    struct socket_peer local;
    assert_true(fd >= 0 && socket_local_of(fd, &local));
    close(fd);
    return local.port;
}

static int begin_all(void **state) {
    if (peers_open(&executor)) return -1;
    listen_register("6379", true);
    listen_add_kind(&kind_of_others);
    option_set_text("maxclients", "100");
    char port[16];
    snprintf(port, sizeof(port), "%d", free_port());
    option_set_text("port", port);
    option_set_text("bind", "127.0.0.1");
    log_set_observer(note_line);
    return listen_open(peers_loop, reason, sizeof(reason)) ? 0 : -1;
}

static int end_all(void **state) {
    log_set_observer(NULL);
    client_close_all();
    listen_close();
    return 0;
}

static int begin(void **state) {
    fault_epoll_ctl = fault_accept = (struct fault){0};
    logged[0] = 0;
    return peers_begin(state);
}

static int peer_of_listener(void) {
    int fd = socket_connect_tcp("127.0.0.1", listen_port(), NULL, 0, reason, sizeof(reason));
    assert_true(fd >= 0);
    return fd;
}

/* The server answers on this connection. */
static void assert_serves(int fd) {
    char answer[16] = "";
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(write(fd, "ping\r\n", 6), 6);
    for (int i = 0; i < 1000 && read(fd, answer, sizeof(answer)) <= 0; i++)
        loop_turn(peers_loop, 1);
    assert_memory_equal(answer, "+OK\r\n", 5);
}

/* The server has closed it. */
static void assert_ended(int fd) {
    char byte;
    ssize_t got = -1;
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 1000 && (got = read(fd, &byte, 1)) < 0 && errno == EAGAIN; i++)
        loop_turn(peers_loop, 1);
    assert_true(got == 0 || errno == ECONNRESET);
}

/* The server has said this, and closed it. */
static void assert_ended_with(int fd, const char *text) {
    char got[128];
    size_t length = 0;
    ssize_t more = -1;
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 1000 && more != 0; i++) {
        more = read(fd, got + length, sizeof(got) - length);
        if (more > 0) length += (size_t)more;
        if (more < 0) loop_turn(peers_loop, 1);
    }
    assert_int_equal(length, strlen(text));
    assert_memory_equal(got, text, length);
}

/* All peers have closed, and the server knows. */
static void await_nobody(void) {
    for (int turn = 0; turn < 1000 && client_count(); turn++) loop_turn(peers_loop, 1);
    peers_turns();
}

static int open_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 1000; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* No descriptor is left for it: a line of the log, and the connection waits until there is one. */
static void test_accept_fails(void **state) {
    static const int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM, EPERM};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        logged[0] = 0;
        fault_accept = (struct fault){.failed = 1, .error = errors[i]};
        int fd = peer_of_listener();
        for (int turn = 0; turn < 1000 && fault_accept.failed; turn++) loop_turn(peers_loop, 1);
        assert_int_equal(fault_accept.failed, 0);
        assert_int_equal(client_count(), 0);
        assert_int_equal(times_logged("Accepting client connection: "), 1);
        assert_int_equal(times_logged(strerror(errors[i])), 1);
        assert_serves(fd);
        assert_int_equal(client_count(), 1);
        close(fd);
        await_nobody();
    }
}

/* As long as none is left it is tried ten times a second, and not once a turn; a line a second says
 * how often. */
static void test_accept_fails_again_and_again(void **state) {
    enum { TRIES = 25 };
    clock_use_fixed(1000000000, 1000000000);
    fault_accept = (struct fault){.failed = TRIES, .error = EMFILE};
    int fd = peer_of_listener();
    for (int try = 1; try <= TRIES; try++) {
        for (int turn = 0; turn < 100000 && fault_accept.failed > TRIES - try; turn++)
            loop_turn(peers_loop, 1);
        for (int turn = 0; turn < 100; turn++) loop_turn(peers_loop, 0);
        assert_int_equal(fault_accept.failed, TRIES - try);
        assert_int_equal(times_logged("Accepting client connection: "), 1 + (try - 1) / 10);
        clock_advance_usec(100000);
    }
    assert_int_equal(times_logged("(10 times since"), 2);
    clock_use_system();
    assert_serves(fd);
    close(fd);
    await_nobody();
}

/* In turns within a long command no timer runs, and who comes to end it must get in. */
static void test_rest_ends_within(void **state) {
    clock_use_fixed(1000000000, 1000000000);
    fault_accept = (struct fault){.failed = 1, .error = EMFILE};
    int fd = peer_of_listener();
    for (int turn = 0; turn < 100000 && fault_accept.failed; turn++) loop_turn_within(peers_loop);
    for (int msec = 0; msec < 300 && !client_count(); msec++) {
        clock_advance_usec(1000);
        listen_within();
        loop_turn_within(peers_loop);
    }
    assert_int_equal(client_count(), 1);
    clock_use_system();
    assert_serves(fd);
    close(fd);
    await_nobody();
}

/* What is no failure of ours: the peer has given up, or a signal came. Nobody is told. */
static void test_accept_goes_on(void **state) {
    static const int errors[] = {ECONNABORTED, EINTR, EAGAIN};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        fault_accept = (struct fault){.failed = 3, .error = errors[i]};
        int fd = peer_of_listener();
        assert_serves(fd);
        assert_int_equal(fault_accept.failed, 0);
        close(fd);
        await_nobody();
    }
    assert_int_equal(times_logged("Accepting client connection"), 0);
}

/* epoll takes no further socket (/proc/sys/fs/epoll/max_user_watches): the connection is closed,
 * and nothing of it is left. */
static void test_epoll_refuses_a_client(void **state) {
    int before = open_descriptors();
    size_t bytes = memory_used(MEMORY_CLIENTS);
    fault_epoll_ctl = (struct fault){.failed = 1, .error = ENOSPC};
    int fd = peer_of_listener();
    assert_ended(fd);
    assert_int_equal(fault_epoll_ctl.failed, 0);
    assert_int_equal(client_count(), 0);
    assert_int_equal(memory_used(MEMORY_CLIENTS), bytes);
    assert_int_equal(times_logged("Error registering fd event for the new client"), 1);
    close(fd);
    assert_int_equal(open_descriptors(), before);
    fd = peer_of_listener();
    assert_serves(fd);
    close(fd);
    await_nobody();
}

/* A client whose interest cannot be changed could wait for ever: it is closed. */
static void test_epoll_refuses_a_change(void **state) {
    int fd = peer_of_listener();
    assert_serves(fd);
    struct client *c = LIST_ENTRY(client_list()->next, struct client, link);
    fault_epoll_ctl = (struct fault){.failed = 1, .error = ENOMEM};
    c->flags |= CLIENT_WRITE_WAITS;
    client_watch(c);
    assert_true(c->flags & CLIENT_CLOSING);
    assert_int_equal(client_count(), 0);
    assert_ended(fd);
    close(fd);
}

/* New listeners that epoll refuses: the old ones stay, and no descriptor is lost. */
static void test_epoll_refuses_a_listener(void **state) {
    char port[16];
    int old = listen_port(), before = open_descriptors();
    snprintf(port, sizeof(port), "%d", free_port());
    struct slice word = slice_of(port);
    fault_epoll_ctl = (struct fault){.failed = 1, .error = ENOSPC};
    assert_false(option_set(option_find(SLICE("port")), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                            sizeof(reason)));
    assert_string_equal(reason, "Unable to listen on this port. Check server logs.");
    assert_int_equal(times_logged(strerror(ENOSPC)), 1);
    assert_int_equal(listen_port(), old);
    assert_int_equal(open_descriptors(), before);
    /* An address that may be missing is not missing where it is only refused. */
    struct slice addresses[] = {SLICE("127.0.0.1"), SLICE("-127.0.0.2")};
    fault_epoll_ctl = (struct fault){.passed = 1, .failed = 1, .error = EADDRNOTAVAIL};
    assert_true(option_set(option_find(SLICE("bind")), addresses, 2, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
    int fd = socket_connect_tcp("127.0.0.2", listen_port(), NULL, 0, reason, sizeof(reason));
    assert_serves(fd);
    close(fd);
    option_set_text("bind", "127.0.0.1");
    await_nobody();
    assert_int_equal(open_descriptors(), before);
}

static bool set_port(int number) {
    char text[16];
    snprintf(text, sizeof(text), "%d", number);
    struct slice word = slice_of(text);
    return option_set(option_find(SLICE("port")), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                      sizeof(reason));
}

static void await_others(int count) {
    for (int turn = 0; turn < 1000 && others_count < count; turn++) loop_turn(peers_loop, 1);
    assert_int_equal(others_count, count);
}

static int peer_of_others(void) {
    int fd = socket_connect_tcp("127.0.0.1", others_port, NULL, 0, reason, sizeof(reason));
    assert_true(fd >= 0);
    return fd;
}

/* The kind is listened on as soon as listeners are opened anew; it is handed its sockets, is no
 * client, and waits while it has no room. */
static void test_another_kind(void **state) {
    int fds[3];
    others_port = free_port();
    assert_true(set_port(free_port()));
    fds[0] = peer_of_others();
    await_others(1);
    assert_int_equal(client_count(), 0);
    others_have_room = false;
    fds[1] = peer_of_others();
    fds[2] = peer_of_listener();
    assert_serves(fds[2]); /* who has room goes on */
    assert_int_equal(others_count, 1);
    others_have_room = true;
    await_others(2);
    others_port = 0;
    assert_true(set_port(free_port()));
    for (int i = 0; i < 2; i++) close(others[i]);
    for (int i = 0; i < 3; i++) close(fds[i]);
    others_count = 0;
    await_nobody();
}

/* They count for maxclients as clients do, and no more than their kind says. */
static void test_another_kind_counts(void **state) {
    option_set_text("maxclients", "3");
    others_count = 2;
    int first = peer_of_listener();
    assert_serves(first);
    int second = peer_of_listener();
    assert_ended_with(second, "-ERR max number of clients reached\r\n");
    others_count = 0;
    int third = peer_of_listener();
    assert_serves(third);
    option_set_text("maxclients", "100");
    close(first);
    close(second);
    close(third);
    await_nobody();
}

/* A port of theirs that is taken: nothing changes, and the reason names it. */
static void test_another_kind_without_its_port(void **state) {
    int old = listen_port(), before = open_descriptors();
    others_port = old;
    assert_false(set_port(free_port()));
    assert_int_equal(listen_port(), old);
    assert_int_equal(open_descriptors(), before);
    others_port = 0;
    int fd = peer_of_listener();
    assert_serves(fd);
    close(fd);
    await_nobody();
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, peers_nothing_left)
    const struct CMUnitTest tests[] = {
        CASE(test_accept_fails),
        CASE(test_accept_fails_again_and_again),
        CASE(test_rest_ends_within),
        CASE(test_accept_goes_on),
        CASE(test_epoll_refuses_a_client),
        CASE(test_epoll_refuses_a_change),
        CASE(test_epoll_refuses_a_listener),
        CASE(test_another_kind),
        CASE(test_another_kind_counts),
        CASE(test_another_kind_without_its_port),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
