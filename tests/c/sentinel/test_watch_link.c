/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of sentinel/watch_link against a server of the test's own: what is sent when a connection
 * begins and by which periods, what answers change, answers that come after their instance has
 * ended, silence.
 */
#include "sentinel/watch_link.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/socket.h"
#include "peer/peer_reply.h"
#include "sentinel/watching.h"

#define TURNS_MAX 20000
#define ENDS_MAX 8
#define SECOND_USEC 1000000

static struct loop *loop;
static int listener, port;
static int ends[ENDS_MAX]; /* accepted connections, in their order */
static int end_count;
static char said[ENDS_MAX][8192]; /* what came over them since forget_said */
static char taken_info[64], taken_hello[64];
static int opinions;

static void take_info(struct instance *i, struct slice text) {
    snprintf(taken_info, sizeof(taken_info), "%.*s", (int)text.length, text.bytes);
}
static void take_hello(struct slice text) {
    snprintf(taken_hello, sizeof(taken_hello), "%.*s", (int)text.length, text.bytes);
}
static void take_opinion(struct voter *v, const struct peer_reply *reply) { opinions++; }
static const struct watch_link_events events = {take_info, take_hello, take_opinion};

static int begin(void **state) {
    char reason[128];
    struct socket_peer local;
    watching_begin();
    loop = loop_create();
    watch_link_open(loop, &events, NULL);
    listener = socket_listen_tcp("127.0.0.1", 0, 8, reason, sizeof(reason));
    if (listener < 0 || !socket_local_of(listener, &local)) return -1;
    port = local.port;
    end_count = opinions = 0;
    memset(said, 0, sizeof(said));
    taken_info[0] = taken_hello[0] = '\0';
    return 0;
}

static int end(void **state) {
    watching_end();
    for (int k = 0; k < end_count; k++) close(ends[k]);
    close(listener);
    loop_free(loop);
    return 0;
}

static void serve_once(void) {
    struct socket_peer peer;
    loop_turn(loop, 1);
    int fd = socket_accept(listener, &peer);
    if (fd >= 0) {
        assert_true(end_count < ENDS_MAX);
        ends[end_count++] = fd;
    }
    for (int k = 0; k < end_count; k++) {
        size_t used = strlen(said[k]);
        ssize_t got = recv(ends[k], said[k] + used, sizeof(said[k]) - 1 - used, MSG_DONTWAIT);
        if (got > 0) said[k][used + (size_t)got] = '\0';
    }
}

static void await_said(int which, const char *text) {
    for (int turn = 0; turn < TURNS_MAX && !strstr(said[which], text); turn++) serve_once();
    assert_non_null(strstr(said[which], text));
}

static void forget_said(void) { memset(said, 0, sizeof(said)); }

static void reply(int which, const char *bytes) {
    assert_int_equal(send(ends[which], bytes, strlen(bytes), 0), strlen(bytes));
}

static void await_answers(const struct instance *i) {
    for (int turn = 0; turn < TURNS_MAX && watch_link_pending(i); turn++) serve_once();
    assert_int_equal(watch_link_pending(i), 0);
}

static int64_t now(void) { return clock_monotonic_msec(); }

static struct primary *connect_primary(void) {
    struct primary *p = watching_add("m", port, 1);
    p->down_after_msec = 30000;
    watch_link_connect(&p->instance, now());
    assert_true(p->instance.signs->connected);
    await_said(0, "PING\r\n");
    await_said(1, "SUBSCRIBE\r\n");
    return p;
}

static void test_a_connection_begins(void **state) {
    struct primary *p = watching_add("m", port, 1);
    p->auth_user = memory_strdup("u", MEMORY_OTHER);
    buffer_append_c_string(&p->auth_pass, "secret");
    p->renamed = memory_alloc(sizeof(*p->renamed), MEMORY_OTHER);
    p->renamed[0] = (struct renamed_command){.command = memory_strdup("ping", MEMORY_OTHER),
                                             .name = memory_strdup("gnip", MEMORY_OTHER)};
    p->renamed_count = 1;
    assert_false(p->instance.signs->connected);
    watch_link_connect(&p->instance, now());
    await_said(0, "gnip\r\n");
    assert_string_equal(said[0],
                        "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$6\r\nsecret\r\n"
                        "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$21\r\n"
                        "sentinel-01234567-cmd\r\n*1\r\n$4\r\ngnip\r\n");
    await_said(1, "__sentinel__:hello\r\n");
    assert_string_equal(said[1],
                        "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$6\r\nsecret\r\n"
                        "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$24\r\n"
                        "sentinel-01234567-pubsub\r\n"
                        "*2\r\n$9\r\nSUBSCRIBE\r\n$18\r\n__sentinel__:hello\r\n");
}

static void test_answers_to_ping(void **state) {
    struct primary *p = connect_primary();
    const struct link_signs *s = p->instance.signs;
    clock_advance_usec(5000);
    reply(0, "+OK\r\n-MISCONF no\r\n");
    await_answers(&p->instance);
    assert_int_equal(s->last_answer, now());
    assert_true(s->last_good_answer < now());
    assert_true(s->ping_waits_since != 0);
    clock_advance_usec(2 * SECOND_USEC);
    p->instance.last_info = p->instance.last_hello_sent = now();
    watch_link_ask_periodic(&p->instance, now());
    reply(0, "-LOADING data\r\n");
    await_answers(&p->instance);
    assert_int_equal(s->last_good_answer, now());
    assert_int_equal(s->ping_waits_since, 0);
}

static void test_a_busy_server_is_told_once(void **state) {
    struct primary *p = connect_primary();
    p->instance.flags |= INSTANCE_S_DOWN;
    reply(0, "+OK\r\n-BUSY script\r\n");
    await_said(0, "SCRIPT\r\n$4\r\nKILL\r\n");
    assert_true(p->instance.flags & INSTANCE_SCRIPT_KILL_SENT);
    forget_said();
    clock_advance_usec(2 * SECOND_USEC);
    watch_link_ask_periodic(&p->instance, now());
    reply(0, "+OK\r\n-BUSY script\r\n");
    await_said(0, "PING\r\n");
    for (int k = 0; k < 20; k++) serve_once();
    assert_null(strstr(said[0], "KILL"));
}

static void test_periods(void **state) {
    struct primary *p = connect_primary();
    reply(0, "+OK\r\n+PONG\r\n");
    await_answers(&p->instance);
    forget_said();
    watch_link_ask_periodic(&p->instance, now());
    await_said(0, "INFO\r\n");
    await_said(0, "127.0.0.1"); /* the hello message names our end of the connection */
    assert_non_null(strstr(said[0], "PUBLISH\r\n$18\r\n__sentinel__:hello\r\n"));
    assert_null(strstr(said[0], "PING"));
    reply(0, "$4\r\ninfo\r\n-NOPERM no\r\n");
    await_answers(&p->instance);
    assert_string_equal(taken_info, "info");
    assert_int_equal(p->instance.last_hello_sent, 0); /* an error: again in the next tick */
    p->instance.last_info = now();
    forget_said();
    watch_link_ask_periodic(&p->instance, now());
    await_said(0, "PUBLISH\r\n");
    assert_null(strstr(said[0], "INFO"));
}

static void test_hello_messages_are_heard(void **state) {
    connect_primary();
    reply(1, "+OK\r\n*3\r\n$9\r\nsubscribe\r\n$18\r\n__sentinel__:hello\r\n:1\r\n");
    reply(1,
          "*3\r\n$7\r\nmessage\r\n$5\r\nother\r\n$1\r\nx\r\n*1\r\n$1\r\nx\r\n:1\r\n"
          "*3\r\n$7\r\nmessage\r\n$18\r\n__sentinel__:hello\r\n$2\r\nhi\r\n");
    for (int turn = 0; turn < TURNS_MAX && !taken_hello[0]; turn++) serve_once();
    assert_string_equal(taken_hello, "hi");
}

static void test_answers_after_the_end(void **state) {
    struct primary *one = watching_add("one", 1, 1), *two = watching_add("two", 2, 1);
    struct slice id = SLICE(WATCHING_OTHER_ID), host = SLICE("127.0.0.1");
    struct voter *a = sentinel_add_voter(one, host, port, id);
    struct voter *b = sentinel_add_voter(two, host, port, id);
    watch_link_connect(&a->instance, now());
    await_said(0, "PING\r\n");
    assert_true(watch_link_ask_opinion(a, 7, "*"));
    assert_true(watch_link_ask_opinion(b, 7, WATCHING_ID));
    await_said(0, "$1\r\n7\r\n$40\r\n" WATCHING_ID "\r\n");
    sentinel_drop_primary(one);
    reply(0, "+OK\r\n+PONG\r\n*3\r\n:1\r\n$1\r\n*\r\n:0\r\n*3\r\n:1\r\n$1\r\n*\r\n:0\r\n");
    await_answers(&b->instance);
    assert_int_equal(opinions, 1);
}

static void test_follow_is_six_requests(void **state) {
    struct primary *p = connect_primary();
    forget_said();
    assert_true(watch_link_send_follow(&p->instance, NULL));
    await_said(0, "EXEC\r\n");
    assert_string_equal(said[0],
                        "*1\r\n$5\r\nMULTI\r\n"
                        "*3\r\n$7\r\nSLAVEOF\r\n$2\r\nNO\r\n$3\r\nONE\r\n"
                        "*2\r\n$6\r\nCONFIG\r\n$7\r\nREWRITE\r\n"
                        "*4\r\n$6\r\nCLIENT\r\n$4\r\nKILL\r\n$4\r\nTYPE\r\n$6\r\nnormal\r\n"
                        "*4\r\n$6\r\nCLIENT\r\n$4\r\nKILL\r\n$4\r\nTYPE\r\n$6\r\npubsub\r\n"
                        "*1\r\n$4\r\nEXEC\r\n");
    watch_link_close(&p->instance);
    assert_false(watch_link_send_follow(&p->instance, NULL));
}

static void test_silence_ends_a_connection(void **state) {
    struct primary *p = connect_primary();
    p->down_after_msec = 1000;
    clock_advance_usec(14 * SECOND_USEC);
    watch_link_drop_silent(&p->instance, now());
    assert_true(p->instance.signs->connected); /* it is too young */
    clock_advance_usec(2 * SECOND_USEC);
    watch_link_drop_silent(&p->instance, now());
    assert_false(p->instance.signs->connected);
    assert_int_equal(p->instance.signs->disconnected_since, now());
    watch_link_connect(&p->instance, now());
    assert_true(p->instance.signs->connected);
    watch_link_close(&p->instance);
    watch_link_connect(&p->instance, now());
    assert_true(p->instance.signs->connected);
}

/* A server that answers nothing is not asked without end. */
static void test_requests_have_a_bound(void **state) {
    struct primary *p = connect_primary();
    for (int k = 0; k < 1000; k++) {
        clock_advance_usec(2 * SECOND_USEC);
        watch_link_ask_periodic(&p->instance, now());
    }
    assert_true(watch_link_pending(&p->instance) < 110);
}

static void test_a_lost_connection_is_made_again_once_a_second(void **state) {
    struct primary *p = connect_primary();
    shutdown(ends[0], SHUT_RDWR);
    for (int turn = 0; turn < TURNS_MAX && p->instance.signs->connected; turn++) serve_once();
    assert_false(p->instance.signs->connected);
    watch_link_connect(&p->instance, now());
    assert_false(p->instance.signs->connected);
    clock_advance_usec(SECOND_USEC);
    forget_said();
    watch_link_connect(&p->instance, now());
    await_said(2, "PING\r\n");
    assert_int_equal(end_count, 3); /* the other connection is kept */
}

/* A server that was promoted has closed our connection, and may be what nobody wants it to be: its
 * INFO does not wait for the period. */
static void test_info_is_due_on_a_new_connection(void **state) {
    struct primary *p = connect_primary();
    clock_advance_usec(2 * SECOND_USEC);
    p->instance.last_info = p->instance.info_sent = now();
    reply(0, "+OK\r\n+PONG\r\n");
    await_answers(&p->instance);
    clock_advance_usec(2 * SECOND_USEC);
    forget_said();
    watch_link_ask_periodic(&p->instance, now());
    await_said(0, "PING\r\n");
    assert_null(strstr(said[0], "INFO"));
    watch_link_close(&p->instance);
    watch_link_connect(&p->instance, now());
    await_said(2, "PING\r\n");
    watch_link_ask_periodic(&p->instance, now());
    await_said(2, "INFO\r\n");
    clock_advance_usec(2 * SECOND_USEC);
    p->instance.last_info = now();
    forget_said();
    watch_link_ask_periodic(&p->instance, now());
    await_said(2, "PING\r\n");
    assert_null(strstr(said[2], "INFO"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_connection_begins, begin, end),
        cmocka_unit_test_setup_teardown(test_answers_to_ping, begin, end),
        cmocka_unit_test_setup_teardown(test_a_busy_server_is_told_once, begin, end),
        cmocka_unit_test_setup_teardown(test_periods, begin, end),
        cmocka_unit_test_setup_teardown(test_hello_messages_are_heard, begin, end),
        cmocka_unit_test_setup_teardown(test_answers_after_the_end, begin, end),
        cmocka_unit_test_setup_teardown(test_follow_is_six_requests, begin, end),
        cmocka_unit_test_setup_teardown(test_silence_ends_a_connection, begin, end),
        cmocka_unit_test_setup_teardown(test_requests_have_a_bound, begin, end),
        cmocka_unit_test_setup_teardown(test_a_lost_connection_is_made_again_once_a_second, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_info_is_due_on_a_new_connection, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
