/* SPDX-License-Identifier: BSD-3-Clause
 * Sessions: where a script stops, what its client sees, and how each ends. The call is made by
 * hand, so that what the client says in the session waits in its socket from the beginning.
 */
#include "script/debugger.h"

#include <poll.h>

#include "command/call.h"
#include "command/command.h"
#include "exec/gates.h"
#include "exec/run.h"
#include "script/scripted.h"

#define WAIT_MSEC 60000 /* for a child, which is another process */

static const char counting[] =
    "local a = 0\n"
    "for i = 1, 2 do\n"
    "  a = a + i\n"
    "end\n"
    "redis.call('set', 'k', a)\n"
    "return a";

#define STOPPED(line) "+* Stopped at " line ", stop reason = step over\r\n"

static int begin(void **state) {
    option_set_text("lua-time-limit", "5000");
    return whole_begin(state);
}

static void tell(struct peer *p, const char *line) {
    char request[256];
    int length = snprintf(request, sizeof(request), "*1\r\n$%zu\r\n%s\r\n", strlen(line), line);
    assert_int_equal(peer_try_send(p, request, (size_t)length), length);
}

/* A client that has asked for a session and says these words in it, one a request. */
static struct peer open_client(const char *mode, const char *const *words) {
    char line[32];
    struct peer p = peer_connect();
    snprintf(line, sizeof(line), "script debug %s", mode);
    whole_say(&p, line, "+OK\r\n");
    for (; *words; words++) tell(&p, *words);
    return p;
}

/* Runs EVAL of the text for the client, with a key. */
static void eval(struct peer *p, const char *text) {
    const struct slice argv[] = {SLICE("eval"), slice_of(text), SLICE("1"), SLICE("key")};
    struct call call = {.client = p->client,
                        .command = command_find(argv[0]),
                        .argc = 4,
                        .argv = argv,
                        .keyspace = keyspace_at(0),
                        .origin = CALL_NETWORK};
    assert_int_equal(call_run(&call), GATE_OPEN);
    reply_write_all();
    client_finish_closing();
    assert_null(call_running());
}

/* All that comes until the connection is closed. */
static void assert_session(struct peer *p, const char *wanted) {
    struct pollfd ready = {.fd = p->fd, .events = POLLIN};
    while (!p->ended) {
        peers_turns();
        if (poll(&ready, 1, WAIT_MSEC) != 1) fail_msg("nothing comes: %s", p->got.bytes);
        peer_receive(p, SIZE_MAX);
    }
    peer_assert_got(p, slice_of(wanted));
    peer_close(p);
    assert_false(debugger_is_on());
}

static void check(const char *mode, const char *text, const char *const *words,
                  const char *wanted) {
    struct peer p = open_client(mode, words);
    eval(&p, text);
    assert_session(&p, wanted);
}
#define SAYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- steps ---- */

static const char *const mode_words[] = {"sync", "yes"};

static void test_from_line_to_line(void **state) {
    struct peer other = peer_connect();
    for (size_t i = 0; i < sizeof(mode_words) / sizeof(mode_words[0]); i++) {
        check(mode_words[i], counting, SAYS("step", "s", "n", "next", "s", "s", "continue"),
              "*2\r\n" STOPPED("1") "+-> 1   local a = 0\r\n"
              "*2\r\n" STOPPED("2") "+-> 2   for i = 1, 2 do\r\n"
              "*2\r\n" STOPPED("3") "+-> 3     a = a + i\r\n"
              "*2\r\n" STOPPED("2") "+-> 2   for i = 1, 2 do\r\n"
              "*2\r\n" STOPPED("3") "+-> 3     a = a + i\r\n"
              "*2\r\n" STOPPED("2") "+-> 2   for i = 1, 2 do\r\n"
              "*2\r\n" STOPPED("5") "+-> 5   redis.call('set', 'k', a)\r\n"
              "*1\r\n+<endsession>\r\n:3\r\n");
        /* What a child has changed is gone with it. */
        whole_say(&other, "get k", i == 0 ? "$1\r\n3\r\n" : "$-1\r\n");
        whole_say(&other, "del k", i == 0 ? ":1\r\n" : ":0\r\n");
    }
    peer_close(&other);
}

static void test_what_calls_do_is_shown(void **state) {
    check("sync", "redis.call('set', KEYS[1], 'v')\nredis.pcall('nosuch')\nreturn 1",
          SAYS("s", "s", "s"),
          "*2\r\n" STOPPED("1") "+-> 1   redis.call('set', KEYS[1], 'v')\r\n"
          "*4\r\n+<redis> set key v\r\n+<reply> \"+OK\"\r\n" STOPPED("2")
          "+-> 2   redis.pcall('nosuch')\r\n"
          "*4\r\n+<redis> nosuch\r\n+<error> Unknown Redis command called from Lua script\r\n"
          STOPPED("3") "+-> 3   return 1\r\n"
          "*1\r\n+<endsession>\r\n:1\r\n");
}

static void test_breakpoints(void **state) {
    check("sync",
          "local a = 1\nredis.breakpoint()\nredis.debug('seen', a, {a})\nreturn a",
          SAYS("c", "c"),
          "*2\r\n" STOPPED("1") "+-> 1   local a = 1\r\n"
          "*2\r\n+* Stopped at 3, stop reason = redis.breakpoint() called\r\n"
          "+-> 3   redis.debug('seen', a, {a})\r\n"
          "*2\r\n+<debug> line 3: \"seen\", 1, {1}\r\n+<endsession>\r\n:1\r\n");
}

/* ---- ends ---- */

static void test_abort(void **state) {
    static const char *const texts[] = {
        "pcall(function() while true do end end) return 1",
        "while true do pcall(error) end",
        "coroutine.wrap(function() while true do pcall(error) end end)()",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct peer p = open_client("sync", SAYS("abort"));
        eval(&p, texts[i]);
        peer_receive(&p, SIZE_MAX);
        buffer_append(&p.got, "", 1);
        if (!strstr(p.got.bytes, "+<endsession>\r\n-ERR Error running script") ||
            !strstr(p.got.bytes, "script aborted for user request\r\n"))
            fail_msg("%s", p.got.bytes);
        buffer_clear(&p.got);
        assert_session(&p, "");
    }
}

static void test_no_protocol(void **state) {
    struct peer p = open_client("sync", SAYS("s"));
    assert_int_equal(peer_try_send(&p, "PING\r\n", 6), 6);
    eval(&p, "local a = 1\nreturn a");
    peer_receive(&p, SIZE_MAX);
    buffer_append(&p.got, "", 1);
    assert_non_null(strstr(p.got.bytes, "protocol error"));
    buffer_clear(&p.got);
    assert_session(&p, "");
}

/* It runs on without a stop, and is not left half done. */
static void test_client_that_goes(void **state) {
    struct peer p = open_client("sync", SAYS("break 5")), other = peer_connect();
    shutdown(p.fd, SHUT_WR);
    eval(&p, counting);
    assert_false(debugger_is_on());
    peer_close(&p);
    whole_say(&other, "get k", "$1\r\n3\r\n");
    peer_close(&other);
}

static void test_script_that_fails(void **state) {
    struct peer p = open_client("sync", SAYS("c"));
    eval(&p, "error('mine', 0)");
    peer_receive(&p, SIZE_MAX);
    buffer_append(&p.got, "", 1);
    assert_non_null(strstr(p.got.bytes, "+<endsession>\r\n-ERR Error running script"));
    buffer_clear(&p.got);
    assert_session(&p, "");
    check("sync", "no program", SAYS("c"),
          "*1\r\n+<endsession>\r\n-ERR Error compiling script (new function): user_script:1: '=' "
          "expected near 'program'\r\n");
}

/* ---- who wants one ---- */

static void test_modes(void **state) {
    struct peer p = peer_connect();
    assert_int_equal(debugger_mode_of(p.client), DEBUGGER_OFF);
    whole_say(&p, "script debug yes", "+OK\r\n");
    assert_int_equal(debugger_mode_of(p.client), DEBUGGER_FORKED);
    whole_say(&p, "script debug sync", "+OK\r\n");
    assert_int_equal(debugger_mode_of(p.client), DEBUGGER_SYNC);
    whole_say(&p, "script debug no", "+OK\r\n");
    assert_int_equal(debugger_mode_of(p.client), DEBUGGER_OFF);
    assert_false(debugger_is_on() || debugger_shows() || debugger_stop_soon());
    whole_say(&p, "eval \"redis.breakpoint() redis.debug('x') return 1\" 0", ":1\r\n");
    whole_say(&p, "script debug yes", "+OK\r\n");
    peer_close(&p); /* it leaves nothing */
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, whole_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_from_line_to_line), TEST(test_what_calls_do_is_shown),
        TEST(test_breakpoints),       TEST(test_abort),
        TEST(test_no_protocol),       TEST(test_client_that_goes),
        TEST(test_script_that_fails), TEST(test_modes),
    };
#undef TEST
    return cmocka_run_group_tests(tests, scripted_open, NULL);
}
