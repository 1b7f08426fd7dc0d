/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of lab/watch_probe: times of answers by a clock of the test's own, over a socket whose
 * other end is the test.
 */
#include "lab/watch_probe.h"

#include <poll.h>
#include <sys/socket.h>

#include "base/seed.h"
#include "io/socket.h"
#include "lab/watch_figures.h"
#include "peer/peer.h"

#define MSEC INT64_C(1000000)
#define PATIENCE_MSEC 10000

static const struct peer_limits limits = {1 << 16, 100};
static struct peer *peer;
static struct probe *probe;
static int server;

static int begin(void **state) {
    char reason[128];
    struct socket_peer from, local;
    int listener = socket_listen_tcp("127.0.0.1", 0, 8, reason, sizeof(reason));
    if (listener < 0 || !socket_local_of(listener, &local)) return -1;
    peer = peer_create(MEMORY_OTHER, &limits);
    struct peer_address address = {.host = "127.0.0.1", .port = local.port};
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    if (!peer_connect(peer, &address) || poll(&ready, 1, PATIENCE_MSEC) != 1) return -1;
    server = socket_accept(listener, &from);
    close(listener);
    probe = probe_create(peer);
    return server < 0;
}

static int end(void **state) {
    probe_free(probe);
    peer_free(peer);
    close(server);
    return 0;
}

/* The server says this, and the probe sees it at that time. */
static void answer(const char *text, int64_t now_nsec) {
    size_t length = strlen(text);
    assert_int_equal(send(server, text, length, 0), length);
    struct pollfd ready = {.fd = peer_fd(peer), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, PATIENCE_MSEC), 1);
    assert_true(peer_advance(peer));
    probe_take(probe, now_nsec);
}

static void test_quantiles(void **state) {
    for (int i = 0; i < 100; i++) probe_send(probe, i * MSEC);
    /* Answered in order; each takes a millisecond more than the one before. */
    for (int i = 0; i < 100; i++) answer("+PONG\r\n", 2 * i * MSEC + MSEC);
    struct figures_measured measured = {.now_nsec = 0};
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 100);
    assert_int_equal(measured.probe_p50_usec, 50000);
    assert_int_equal(measured.probe_p99_usec, 99000);
    assert_int_equal(measured.probe_max_usec, 100000);
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 0);
    /* Of three, half are two: ranks are rounded up. */
    for (int i = 0; i < 3; i++) probe_send(probe, 0);
    for (int i = 1; i <= 3; i++) answer("+PONG\r\n", i * MSEC);
    probe_collect(probe, &measured);
    assert_int_equal(measured.probe_p50_usec, 2000);
    assert_int_equal(measured.probe_p99_usec, 3000);
    assert_int_equal(measured.probe_max_usec, 3000);
}

static void test_a_stall_counts_for_each_probe(void **state) {
    for (int i = 0; i < 10; i++) probe_send(probe, i * 5 * MSEC);
    assert_int_equal(probe_waiting_nsec(probe, 100 * MSEC), 100 * MSEC);
    answer("+PONG\r\n+PONG\r\n+PONG\r\n+PONG\r\n", 100 * MSEC);
    assert_int_equal(probe_waiting_nsec(probe, 100 * MSEC), 80 * MSEC);
    answer("+PONG\r\n+PONG\r\n+PONG\r\n+PONG\r\n+PONG\r\n+PONG\r\n", 100 * MSEC);
    assert_int_equal(probe_waiting_nsec(probe, 200 * MSEC), 0);
    struct figures_measured measured = {.now_nsec = 0};
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 10);
    assert_int_equal(measured.probe_max_usec, 100000);
    assert_int_equal(measured.probe_p50_usec, 75000); /* 55, 60 ... 100 */
}

static void test_what_nobody_asked_for(void **state) {
    answer("+PONG\r\n>1\r\n+news\r\n", MSEC);
    probe_send(probe, 2 * MSEC);
    answer(">1\r\n+news\r\n-ERR no\r\n", 3 * MSEC);
    struct figures_measured measured = {.now_nsec = 0};
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 1);
    assert_int_equal(measured.probe_p50_usec, 1000);
}

/* Answers that waited while this process was stopped say nothing about the server. */
static void test_stopped_and_continued(void **state) {
    for (int i = 0; i < 3; i++) probe_send(probe, i * MSEC);
    answer("+PONG\r\n", 3 * MSEC);
    probe_resume(probe, 9000 * MSEC);
    assert_int_equal(probe_waiting_nsec(probe, 9005 * MSEC), 5 * MSEC);
    probe_send(probe, 9001 * MSEC);
    answer("+PONG\r\n+PONG\r\n+PONG\r\n", 9002 * MSEC);
    struct figures_measured measured = {.now_nsec = 0};
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 2);
    assert_int_equal(measured.probe_max_usec, 3000);
    probe_send(probe, 9003 * MSEC);
    answer("+PONG\r\n", 9004 * MSEC);
    probe_collect(probe, &measured);
    assert_int_equal(measured.probes, 1);
}

static void test_unanswered_ones_are_bounded(void **state) {
    for (int i = 0; i < PROBE_UNANSWERED_MAX + 10; i++) probe_send(probe, i);
    assert_int_equal(probe_sent(probe), PROBE_UNANSWERED_MAX);
    size_t unsent = peer_unsent_bytes(peer);
    probe_send(probe, 0);
    assert_int_equal(peer_unsent_bytes(peer), unsent);
    probe_restart(probe);
    assert_int_equal(probe_sent(probe), 0);
    assert_int_equal(probe_waiting_nsec(probe, MSEC), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_quantiles, begin, end),
        cmocka_unit_test_setup_teardown(test_a_stall_counts_for_each_probe, begin, end),
        cmocka_unit_test_setup_teardown(test_what_nobody_asked_for, begin, end),
        cmocka_unit_test_setup_teardown(test_stopped_and_continued, begin, end),
        cmocka_unit_test_setup_teardown(test_unanswered_ones_are_bounded, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
