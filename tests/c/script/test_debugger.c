/* SPDX-License-Identifier: BSD-3-Clause
 * Sessions: where a script stops, what its client sees, and how each ends.
 */
#include "script/debugger.h"

#include "script/debugged.h"

static const char counting[] =
    "local a = 0\n"
    "for i = 1, 2 do\n"
    "  a = a + i\n"
    "end\n"
    "redis.call('set', 'k', a)\n"
    "return a";

static int begin(void **state) {
    option_set_text("lua-time-limit", "5000");
    return whole_begin(state);
}

/* This comes until the connection is closed. */
static void assert_session(struct peer *p, const char *wanted) {
    debugged_hear(p);
    peer_assert_got(p, slice_of(wanted));
    peer_close(p);
}

static void check(const char *mode, const char *text, const char *const *words,
                  const char *wanted) {
    struct peer p = debugged_open(mode, words);
    debugged_eval(&p, slice_of(text));
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

/* Values of Lua's stack up to its end, where the script stands, or in what shows values. */
static void test_full_stack(void **state) {
    static const char *const words[] = {"break 3", "c",          "s",
                                        "s",       "print t",    "print",
                                        "trace",   "redis ping", "redis del a b c d e",
                                        "eval t",  "continue",   NULL};
    static const char *const texts[] = {
        "local t = {} for i = 1, %d do t[i] = {i} end\nlocal f = type\nf(\nunpack(t))\n"
        "return 1",
        "local t = {} for i = 1, %d do t[i] = {i} end\nlocal f = redis.debug\nf(\nunpack(t))\n"
        "return 1",
        "local t = {} for i = 1, %d do t[i] = i end\nlocal f = redis.pcall\nf('del',\n"
        "unpack(t))\nreturn 1",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (int values = 7960; values < 8000; values++) {
            char text[256];
            snprintf(text, sizeof(text), texts[i], values);
            struct peer p = debugged_open("sync", words);
            debugged_eval(&p, slice_of(text));
            debugged_hear(&p);
            buffer_append(&p.got, "", 1);
            assert_non_null(strstr(p.got.bytes, "+<endsession>\r\n"));
            buffer_clear(&p.got);
            peer_close(&p);
        }
    }
}

/* ---- ends ---- */

static void test_abort(void **state) {
    static const char *const texts[] = {
        "pcall(function() while true do end end) return 1",
        "while true do pcall(error) end",
        "coroutine.wrap(function() while true do pcall(error) end end)()",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct peer p = debugged_open("sync", SAYS("abort"));
        debugged_eval(&p, slice_of(texts[i]));
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
    struct peer p = debugged_open("sync", SAYS("s"));
    assert_int_equal(peer_try_send(&p, "PING\r\n", 6), 6);
    debugged_eval(&p, slice_of("local a = 1\nreturn a"));
    peer_receive(&p, SIZE_MAX);
    buffer_append(&p.got, "", 1);
    assert_non_null(strstr(p.got.bytes, "protocol error"));
    buffer_clear(&p.got);
    assert_session(&p, "");
}

/* It runs on without a stop, and is not left half done. */
static void test_client_that_goes(void **state) {
    struct peer p = debugged_open("sync", SAYS("break 5")), other = peer_connect();
    shutdown(p.fd, SHUT_WR);
    debugged_eval(&p, slice_of(counting));
    assert_false(debugger_is_on());
    peer_close(&p);
    whole_say(&other, "get k", "$1\r\n3\r\n");
    peer_close(&other);
}

static void test_script_that_fails(void **state) {
    struct peer p = debugged_open("sync", SAYS("c"));
    debugged_eval(&p, slice_of("error('mine', 0)"));
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
        TEST(test_from_line_to_line),
        TEST(test_what_calls_do_is_shown),
        TEST(test_breakpoints),
        TEST(test_full_stack),
        TEST(test_abort),
        TEST(test_no_protocol),
        TEST(test_client_that_goes),
        TEST(test_script_that_fails),
        TEST(test_modes),
    };
#undef TEST
    return cmocka_run_group_tests(tests, scripted_open, NULL);
}
