/* SPDX-License-Identifier: BSD-3-Clause
 * Running scripts: each begins anew, one that takes too long is ended or not, and what log and
 * replicas get of them. A command of the test lets time pass and another client speak meanwhile.
 */
#include "script/script.h"

#include "command/call.h"
#include "command/row.h"
#include "exec/effects.h"
#include "script/cache.h"
#include "script/engine.h"
#include "script/gates.h"
#include "script/scripted.h"

#define KILLED "Script killed by user with SCRIPT KILL..."

static struct peer runs, other;
static const char *says; /* what the other client sends while the script runs; NULL: nothing */
static int writes;       /* and after how many `pass`es from here on */

/* ---- the test's own command ---- */

static void command_pass(struct call *call) {
    clock_advance_usec(10 * 1000000);
    if (says && writes-- == 0) {
        assert_int_equal(peer_try_send(&other, says, strlen(says)), strlen(says));
        says = NULL;
    }
    reply_ok(call->client);
}

static struct command rows[] = {
    COMMAND("pass", command_pass, 1, FAST, NO_CATEGORY, NO_KEYS, "",
            .propagation = COMMAND_PROPAGATES_NOTHING),
};

/* ---- effects, a command a line, as "log set k v;" ---- */

static struct buffer taken = {.class = MEMORY_OTHER};

static void take(const char *who, int argc, const struct slice *argv) {
    buffer_append_c_string(&taken, who);
    for (int i = 0; i < argc; i++)
        buffer_printf(&taken, " %.*s", (int)argv[i].length, argv[i].bytes);
    buffer_append_char(&taken, ';');
}

static void take_log(int database, int argc, const struct slice *argv) { take("log", argc, argv); }
static void take_stream(int database, int argc, const struct slice *argv) {
    take("stream", argc, argv);
}

static const struct effect_sink log_sink = {.reader = EFFECT_LOG, .take = take_log};
static const struct effect_sink stream_sink = {.reader = EFFECT_STREAM, .take = take_stream};
static const struct effect_sink *const sinks[] = {&log_sink, &stream_sink, NULL};

static void assert_taken(const char *wanted) {
    buffer_append(&taken, "", 1);
    assert_string_equal(taken.bytes, wanted);
    buffer_clear(&taken);
}

/* ---- around each test ---- */

static int begin(void **state) {
    whole_begin(state);
    runs = peer_connect();
    other = peer_connect();
    whole_say(&runs, "script flush", "+OK\r\n");
    says = NULL;
    buffer_clear(&taken);
    return 0;
}

static int end(void **state) {
    peer_close(&runs);
    peer_close(&other);
    assert_false(gate_is_set(&script_gate_busy) || gate_is_set(&script_gate));
    return whole_nothing_left(state);
}

/* What the other client is answered to this, while the script of `line` runs. */
static void meanwhile(const char *line, const char *what, const char *answer, const char *reply) {
    says = what;
    writes = 1;
    whole_say(&runs, line, reply);
    peer_receive(&other, SIZE_MAX);
    peer_assert_got(&other, slice_of(answer));
}

/* ---- one after the other ---- */

static void test_each_begins_anew(void **state) {
    for (int i = 0; i < 3; i++) {
        whole_say(&runs, "eval \"return math.random(1000000)\" 0", ":170829\r\n");
        whole_say(&runs, "eval \"math.randomseed(7) return #KEYS\" 1 a", ":1\r\n");
        whole_say(&runs, "eval \"KEYS.own = 1 return ARGV[1]\" 0 x", "$1\r\nx\r\n");
        whole_say(&runs, "eval \"return tostring(KEYS.own)\" 1 a", "$3\r\nnil\r\n");
        whole_say(&runs, "eval \"setmetatable(ARGV, {__index = function() return 'own' end})\" 0",
                  "$-1\r\n");
        whole_say(&runs, "eval \"return ARGV[1]\" 0", "$-1\r\n");
        whole_say(&runs, "eval \"redis.setresp(3) redis.call('select', 3)\" 0", "$-1\r\n");
        whole_say(&runs, "eval \"redis.call('set', 'k', 'v') return redis.call('exists', 'k')\" 0",
                  ":1\r\n");
        whole_say(&runs, "get k", "$1\r\nv\r\n");
    }
}

static void test_errors_that_nobody_catches(void **state) {
    static const char *const cases[][2] = {
        {"error('x', 0)", "@user_script:1: x"},
        {"error('x')", "@user_script:1: user_script:1: x"},
        {"error({})",
         "@err_handler_def:9: err_handler_def:9: attempt to concatenate local 'err' (a table "
         "value)"},
        {"error()",
         "@err_handler_def:9: err_handler_def:9: attempt to concatenate local 'err' (a nil "
         "value)"},
        {"error('')", "@user_script:1: user_script:1: "},
        {"return redis.call('nosuch')",
         "@user_script:1: @user_script: 1: Unknown Redis command called from Lua script"},
        {"return nosuch.x",
         "@user_script:1: user_script:1: Script attempted to access nonexistent global variable "
         "'nosuch'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sha[CACHE_SHA_CHARS], line[256], wanted[256];
        cache_sha(slice_of(cases[i][0]), sha);
        snprintf(line, sizeof(line), "eval \"%s\" 0", cases[i][0]);
        snprintf(wanted, sizeof(wanted), "-ERR Error running script (call to f_%.*s): %s\r\n",
                 CACHE_SHA_CHARS, sha, cases[i][1]);
        whole_say(&runs, line, wanted);
        whole_say(&runs, "eval \"return 1\" 0", ":1\r\n");
    }
    whole_say(&runs, "eval \"return {err = 'MINE text'}\" 0", "-MINE text\r\n");
}

/* A script that fills all of the memory leaves it to the next. */
static void test_memory_is_there_for_the_next(void **state) {
    option_set_text("lua-memory-limit", "2mb");
    for (int i = 0; i < 3; i++) {
        whole_say(&runs,
                  "eval \"local t = {} return pcall(function() while true do t[#t + 1] = {} "
                  "end end) and 1 or 0\" 0",
                  ":0\r\n");
        whole_say(&runs, "eval \"return #('x'):rep(500000)\" 0", ":500000\r\n");
        assert_true(engine_bytes() < 2 * 1024 * 1024);
    }
    option_set_text("lua-memory-limit", "1gb");
}

/* ---- too long ---- */

static void test_others_are_told_and_may_end_it(void **state) {
    static const char *const lines[] = {
        "eval \"redis.call('pass') redis.call('pass') while true do end\" 0",
        "eval \"redis.call('pass') redis.call('pass') while true do pcall(function() while true do "
        "end end) end\" 0",
        "eval \"redis.call('pass') redis.call('pass') while true do coroutine.resume("
        "coroutine.create(function() while true do end end)) end\" 0",
        /* Each catches what has ended the one within, and begins it anew: for days. */
        "eval \"local function spin() while true do end end redis.call('pass') "
        "local function one() while true do pcall(coroutine.wrap(spin)) end end "
        "local function two() while true do coroutine.resume(coroutine.create(one)) end end "
        "redis.call('pass') while true do pcall(coroutine.wrap(two)) end\" 0",
        /* A reply without an end. */
        "eval \"redis.call('pass') redis.call('pass') local t = {} t[1] = t t[2] = t return t\" 0",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        says = "get k\r\nscript flush\r\nscript kill\r\n";
        writes = 1;
        peer_send(&runs, slice_of(lines[i]));
        peer_send(&runs, SLICE("\r\n"));
        buffer_append(&runs.got, "", 1);
        bool is_killed = strstr(runs.got.bytes, KILLED);
        if (!is_killed) fail_msg("%s: %s", lines[i], runs.got.bytes);
        buffer_clear(&runs.got);
        peer_receive(&other, SIZE_MAX);
        peer_assert_got(&other,
                        SLICE("-BUSY Redis is busy running a script. You can only call SCRIPT KILL "
                              "or SHUTDOWN NOSAVE.\r\n"
                              "-BUSY Redis is busy running a script. You can only call SCRIPT KILL "
                              "or SHUTDOWN NOSAVE.\r\n"
                              "+OK\r\n"));
        whole_say(&runs, "eval \"return 1\" 0", ":1\r\n");
    }
}

/* A text that a table holds many times over, and tables that hold each other. */
static void test_reply_has_a_bound(void **state) {
    static const char *const lines[] = {
        "eval \"local t, s = {}, ('x'):rep(2^20) for i = 1, 513 do t[i] = s end return t\" 0",
        ("eval \"local t, s = {}, ('x'):rep(2^20) t[1] = t "
         "for i = 2, 80 do t[i] = i % 2 == 0 and t or s end return {1, t}\" 0"),
        "eval \"local t = {} t.map = t t[1] = ('x'):rep(2^20) t[t] = t return t\" 0",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        peer_send(&runs, slice_of(lines[i]));
        peer_send(&runs, SLICE("\r\n"));
        buffer_append(&runs.got, "", 1);
        bool is_refused = strstr(runs.got.bytes, "): result larger than 512 MB\r\n");
        if (!is_refused || runs.got.bytes[0] != '-') fail_msg("%s: %s", lines[i], runs.got.bytes);
        buffer_clear(&runs.got);
    }
}

/* Half of what it does would stay. */
static void test_one_that_has_written_is_not_ended(void **state) {
    meanwhile(
        "eval \"redis.call('set', 'k', 'v') redis.call('pass') redis.call('pass') "
        "for i = 1, 300000 do end return redis.call('get', 'k')\" 0",
        "script kill\r\n",
        "-UNKILLABLE Sorry the script already executed write commands against the dataset. "
        "You can either wait the script termination or kill the server in a hard way using "
        "the SHUTDOWN NOSAVE command.\r\n",
        "$1\r\nv\r\n");
}

static void test_within_its_time_nobody_is_told(void **state) {
    option_set_text("lua-time-limit", "1000000");
    meanwhile("eval \"redis.call('pass') redis.call('pass') for i = 1, 300000 do end return 1\" 0",
              "get k\r\n", "$-1\r\n", ":1\r\n");
    option_set_text("lua-time-limit", "0"); /* never */
    meanwhile("eval \"redis.call('pass') redis.call('pass') for i = 1, 300000 do end return 2\" 0",
              "get k\r\n", "$-1\r\n", ":2\r\n");
    option_set_text("lua-time-limit", "5000");
}

/* ---- who repeats it ---- */

#define INCR "\"return redis.call('incr', KEYS[1])\""
#define INCR_TEXT "return redis.call('incr', KEYS[1])"

static void test_by_its_effects(void **state) {
    effects_add_interest(EFFECT_BOTH, 1);
    whole_say(&runs, "eval " INCR " 1 k", ":1\r\n");
    assert_taken("log MULTI;log incr k;log EXEC;stream MULTI;stream incr k;stream EXEC;");
    whole_say(&runs, "eval \"return redis.call('get', KEYS[1])\" 1 k", "$1\r\n1\r\n");
    assert_taken("");
    effects_add_interest(EFFECT_BOTH, -1);
}

/* As a whole, by the text where they do not know it: whoever is new does not. */
static void test_by_itself(void **state) {
    option_set_text("lua-replicate-commands", "no");
    effects_add_interest(EFFECT_BOTH, 1);
    whole_say(&runs, "eval " INCR " 1 k", ":1\r\n");
    assert_taken("log eval " INCR_TEXT " 1 k;stream eval " INCR_TEXT " 1 k;");
    effects_add_interest(EFFECT_BOTH, -1);
    effects_add_interest(EFFECT_BOTH, 1);
    char sha[64], line[128], wanted[512];
    peer_send(&runs, SLICE("script load " INCR "\r\n"));
    snprintf(sha, sizeof(sha), "%.40s", runs.got.bytes + 5);
    buffer_clear(&runs.got);
    snprintf(wanted, sizeof(wanted),
             "log script load " INCR_TEXT ";stream script load " INCR_TEXT ";");
    assert_taken(wanted);
    snprintf(line, sizeof(line), "evalsha %s 1 k", sha);
    whole_say(&runs, line, ":2\r\n");
    snprintf(wanted, sizeof(wanted), "log evalsha %s 1 k;stream evalsha %s 1 k;", sha, sha);
    assert_taken(wanted);
    effects_add_interest(EFFECT_BOTH, -1);
    effects_add_interest(EFFECT_BOTH, 1);
    whole_say(&runs, line, ":3\r\n");
    assert_taken("log EVAL " INCR_TEXT " 1 k;stream EVAL " INCR_TEXT " 1 k;");
    whole_say(&runs, line, ":4\r\n");
    assert_taken(wanted);
    effects_add_interest(EFFECT_BOTH, -1);
    option_set_text("lua-replicate-commands", "yes");
}

static int open_all(void **state) {
    int result = scripted_open(state);
    command_register(COMMAND_ROWS(rows));
    effects_set_sinks(sinks);
    option_set_text("slowlog-log-slower-than", "-1"); /* it would keep the address of who is slow */
    return result;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_each_begins_anew),
        TEST(test_errors_that_nobody_catches),
        TEST(test_memory_is_there_for_the_next),
        TEST(test_others_are_told_and_may_end_it),
        TEST(test_reply_has_a_bound),
        TEST(test_one_that_has_written_is_not_ended),
        TEST(test_within_its_time_nobody_is_told),
        TEST(test_by_its_effects),
        TEST(test_by_itself),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
