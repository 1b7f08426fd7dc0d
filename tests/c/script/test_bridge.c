/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of `redis`: what they take, give, and refuse, in 6.2's words.
 */
#include "script/bridge.h"

#include "exec/effects.h"
#include "script/scripted.h"

static struct peer p;
static struct buffer taken = {.class = MEMORY_OTHER};

static void take(int database, int argc, const struct slice *argv) {
    buffer_printf(&taken, "%d", database);
    for (int i = 0; i < argc; i++)
        buffer_printf(&taken, " %.*s", (int)argv[i].length, argv[i].bytes);
    buffer_append_char(&taken, ';');
}

static const struct effect_sink log_sink = {.reader = EFFECT_LOG, .take = take};
static const struct effect_sink *const sinks[] = {&log_sink, NULL};

static void assert_taken(const char *wanted) {
    buffer_append(&taken, "", 1);
    assert_string_equal(taken.bytes, wanted);
    buffer_clear(&taken);
}

static int begin(void **state) {
    whole_begin(state);
    buffer_clear(&taken);
    p = peer_connect();
    return 0;
}

static int end(void **state) {
    peer_close(&p);
    return whole_nothing_left(state);
}

/* What a script gives: a text, or an integer as its digits. */
static void gives(const char *script, const char *wanted) {
    struct buffer request = {.class = MEMORY_OTHER}, reply = {.class = MEMORY_OTHER};
    buffer_printf(&request, "*3\r\n$4\r\neval\r\n$%zu\r\n%s\r\n$1\r\n0\r\n", strlen(script),
                  script);
    buffer_printf(&reply, "$%zu\r\n%s\r\n", strlen(wanted), wanted);
    peer_send(&p, buffer_slice(&request));
    if (!slice_equal(buffer_slice(&p.got), buffer_slice(&reply)))
        fail_msg("%.300s and not %s: %s", p.got.bytes, reply.bytes, script);
    buffer_clear(&p.got);
    buffer_free(&request);
    buffer_free(&reply);
}

static void check_rows(const char *const (*rows)[2], size_t count) {
    for (size_t i = 0; i < count; i++) gives(rows[i][0], rows[i][1]);
}
#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

/* ---- redis.call ---- */

static void test_arguments(void **state) {
    static const char *const rows[][2] = {
        {"return redis.call('echo', 'x')", "x"},
        {"return redis.call('ECHO', 12)", "12"},
        {"return redis.call('echo', -0.5)", "-0.5"},
        {"return redis.call('echo', 1e15)", "1000000000000000"},
        {"return redis.call('echo', 2^53)", "9007199254740992"},
        {"return redis.call('echo', 1e300)", "1.0000000000000001e+300"},
        {"return redis.call('echo', 0.1)", "0.10000000000000001"},
        {"return redis.call('echo', -0)", "-0"},
        {"return redis.call('echo', 1/0)", "inf"},
        {"return redis.call('echo', 'a\\0b'):sub(3)", "b"},
        {"return tostring(#redis.call('echo', ('x'):rep(100000)))", "100000"},
        {"return redis.pcall().err",
         "@user_script: 1: Please specify at least one argument for redis.call()"},
        {"return redis.pcall('echo', {}).err",
         "@user_script: 1: Lua redis() command arguments must be strings or integers"},
        {"return redis.pcall('echo', nil).err",
         "@user_script: 1: Lua redis() command arguments must be strings or integers"},
        {"return redis.pcall(true).err",
         "@user_script: 1: Lua redis() command arguments must be strings or integers"},
        {"return redis.pcall('echo').err",
         "@user_script: 1: Wrong number of args calling Redis command From Lua script"},
        {"return redis.pcall('').err",
         "@user_script: 1: Unknown Redis command called from Lua script"},
        {"return redis.pcall(7).err",
         "@user_script: 1: Unknown Redis command called from Lua script"},
        {"return redis.pcall('multi').err",
         "@user_script: 1: This Redis command is not allowed from scripts"},
    };
    CHECK_ROWS(rows);
}

/* The stack of a C function ends where a table begins: none of them is lost, and none is kept. */
static void test_many_arguments(void **state) {
    static const char *const rows[][2] = {
        {"local t = {} for i = 1, 31 do t[i] = i end\n"
         "return tostring(redis.call('rpush', 'k', unpack(t)))",
         "31"},
        {"local t = {} for i = 1, 7000 do t[i] = 'v' .. i end\n"
         "redis.call('del', 'k') redis.call('rpush', 'k', unpack(t))\n"
         "return redis.call('lindex', 'k', -1) .. redis.call('lindex', 'k', 4000)",
         "v7000v4001"},
        {"local t = {} for i = 1, 7000 do t[i] = i + 0.5 end\n"
         "redis.call('del', 'k') redis.call('rpush', 'k', unpack(t))\n"
         "return redis.call('lindex', 'k', -1)",
         "7000.5"},
        {"local t = {} for i = 1, 40 do t[i] = i end t[40] = {}\n"
         "return redis.pcall('rpush', 'k', unpack(t)).err",
         "@user_script: 2: Lua redis() command arguments must be strings or integers"},
    };
    CHECK_ROWS(rows);
}

/* By call an error that a pcall catches, by pcall a value. */
static void test_errors(void **state) {
    static const char *const rows[][2] = {
        {"redis.call('set', 's', 'text') return redis.pcall('incr', 's').err",
         "ERR value is not an integer or out of range"},
        {"local fine, text = pcall(redis.call, 'incr', 's') return tostring(fine) .. text",
         "falseERR value is not an integer or out of range"},
        {"return redis.pcall('lpush', 's', 'x').err",
         "WRONGTYPE Operation against a key holding the wrong kind of value"},
        {"local fine, text = pcall(redis.call, 'nosuch') return type(text) .. text",
         "string=[C]: -1: Unknown Redis command called from Lua script"},
        {"local fine, text = pcall(redis.call) return text",
         "=[C]: -1: Please specify at least one argument for redis.call()"},
        {"return coroutine.wrap(function() return redis.pcall('nosuch').err end)()",
         "@user_script: 1: Unknown Redis command called from Lua script"},
    };
    whole_say(&p, "set s text", "+OK\r\n");
    CHECK_ROWS(rows);
}

/* ---- the others ---- */

static void test_other_functions(void **state) {
    static const char *const rows[][2] = {
        {"return redis.sha1hex('')", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"return redis.sha1hex(7)", "902ba3cda1883801594b6e1b452790cc53948fda"},
        {"return redis.sha1hex({})", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"return select(2, pcall(redis.sha1hex))", "wrong number of arguments"},
        {"return select(2, pcall(redis.sha1hex, 1, 2))", "wrong number of arguments"},
        {"return redis.error_reply('x').err", "x"},
        {"return redis.status_reply('x').ok", "x"},
        {"return redis.error_reply(1).err", "@user_script: 1: wrong number or type of arguments"},
        {"return redis.status_reply().err", "@user_script: 1: wrong number or type of arguments"},
        {"return redis.status_reply('a', 'b').err",
         "@user_script: 1: wrong number or type of arguments"},
        {"return select(2, pcall(redis.log, 1))", "redis.log() requires two arguments or more."},
        {"return select(2, pcall(redis.log, 'x', 'y'))",
         "First argument must be a number (log level)."},
        {"return select(2, pcall(redis.log, 4, 'y'))", "Invalid debug level."},
        {"return select(2, pcall(redis.log, -1, 'y'))", "Invalid debug level."},
        {"return select(2, pcall(redis.log, 0/0, 'y'))", "Invalid debug level."},
        {"return tostring((redis.log(redis.LOG_DEBUG, 'x', {}, 1)))", "nil"},
        {"return select(2, pcall(redis.setresp))", "redis.setresp() requires one argument."},
        {"return select(2, pcall(redis.setresp, 4))", "RESP version must be 2 or 3."},
        {"return select(2, pcall(redis.setresp, {}))", "RESP version must be 2 or 3."},
        {"redis.setresp(3) return type(redis.call('hgetall', 'none').map)", "table"},
        {"return tostring(redis.call('hgetall', 'none').map)", "nil"},
        {"return tostring(redis.breakpoint())", "false"},
        {"return tostring((redis.debug('x')))", "nil"},
        {"return select(2, pcall(redis.set_repl))", "redis.set_repl() requires two arguments."},
        {"return select(2, pcall(redis.set_repl, 4))",
         "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."},
        {"return select(2, pcall(redis.set_repl, -1))",
         "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."},
        {"return redis.REPL_ALL .. redis.REPL_AOF .. redis.REPL_SLAVE .. redis.REPL_REPLICA .. "
         "redis.REPL_NONE",
         "31220"},
        {"return redis.LOG_DEBUG .. redis.LOG_VERBOSE .. redis.LOG_NOTICE .. redis.LOG_WARNING",
         "0123"},
    };
    CHECK_ROWS(rows);
}

/* It has a database of its own, and begins in its caller's. */
static void test_database(void **state) {
    whole_say(&p, "select 5", "+OK\r\n");
    gives(
        "redis.call('set', 'k', '5') redis.call('select', 7) redis.call('set', 'k', '7')\n"
        "return redis.call('get', 'k')",
        "7");
    gives("return redis.call('get', 'k')", "5");
    whole_say(&p, "get k", "$1\r\n5\r\n");
    whole_say(&p, "select 7", "+OK\r\n");
    whole_say(&p, "get k", "$1\r\n7\r\n");
}

/* ---- what of it is repeated ---- */

static void test_readers_are_chosen(void **state) {
    effects_add_interest(EFFECT_LOG, 1);
    gives(
        "redis.set_repl(redis.REPL_NONE) redis.call('set', 'a', 1)\n"
        "redis.set_repl(redis.REPL_REPLICA) redis.call('set', 'b', 1)\n"
        "redis.set_repl(redis.REPL_AOF) redis.call('set', 'c', 1) return ''",
        "");
    assert_taken("0 MULTI;0 set c 1;0 EXEC;");
    gives("redis.call('set', 'a', 2) return ''", ""); /* all again */
    assert_taken("0 MULTI;0 set a 2;0 EXEC;");
    gives("return redis.call('get', 'a')", "2");
    assert_taken("");
    effects_add_interest(EFFECT_LOG, -1);
}

/* Where the script itself is repeated it may not count on chance. */
static void test_repeated_as_a_whole(void **state) {
    bridge_set_by_effects(false);
    effects_add_interest(EFFECT_LOG, 1);
    gives("return select(2, pcall(redis.set_repl, redis.REPL_ALL))",
          "You can set the replication behavior only after turning on single commands replication "
          "with redis.replicate_commands().");
    gives("redis.call('time') return redis.pcall('set', 'a', 1).err",
          "@user_script: 1: Write commands not allowed after non deterministic commands. Call "
          "redis.replicate_commands() at the start of your script in order to switch to single "
          "commands replication mode.");
    gives("redis.call('set', 'a', 1) redis.call('time') return redis.call('get', 'a')", "1");
    assert_taken(
        "0 eval redis.call('set', 'a', 1) redis.call('time') return redis.call('get', 'a') 0;");
    gives("redis.call('set', 'a', 1) return tostring(redis.replicate_commands())", "false");
    assert_taken("0 eval redis.call('set', 'a', 1) return tostring(redis.replicate_commands()) 0;");
    gives(
        "local can = redis.replicate_commands() redis.call('time') redis.call('set', 'a', 3)\n"
        "return tostring(can)",
        "true");
    assert_taken("0 MULTI;0 set a 3;0 EXEC;");
    effects_add_interest(EFFECT_LOG, -1);
    bridge_set_by_effects(true);
    gives("return tostring(redis.replicate_commands())", "true");
    gives("redis.call('time') return redis.call('set', 'a', 1).ok", "OK");
}

static int open_all(void **state) {
    int result = scripted_open(state);
    effects_set_sinks(sinks);
    return result;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_arguments),           TEST(test_many_arguments), TEST(test_errors),
        TEST(test_other_functions),     TEST(test_database),       TEST(test_readers_are_chosen),
        TEST(test_repeated_as_a_whole),
    };
#undef TEST
    return cmocka_run_group_tests(tests, open_all, NULL);
}
