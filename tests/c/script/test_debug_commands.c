/* SPDX-License-Identifier: BSD-3-Clause
 * What the debugger is told, and what it answers, while a script stands at a line.
 */
#include "script/debug_commands.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>

#include "base/seed.h"
#include "script/debug_session.h"
#include "script/entered.h"
#include "script/sandbox.h"

static struct engine *engine;
static lua_State *L;
static struct debug_session session;

/* The script stands at the line when it comes there first, and is told this. */
static struct {
    int line;
    const char *command;
    bool stood;
    enum debug_verdict verdict;
} stand;

/* ---- a session ---- */

/* `redis.pcall` of a server that knows one command. */
static int redis_pcall(lua_State *state) {
    assert_string_equal(lua_tostring(state, 1), "echo");
    assert_true(session.stepping); /* what it does is to be shown */
    debug_line(&session.lines, "<redis> echo %s", lua_tostring(state, 2));
    if (lua_gettop(state) > 2) return luaL_error(state, "too many");
    lua_pushvalue(state, 2);
    return 1;
}

static void add_redis(lua_State *state) {
    static const luaL_Reg functions[] = {{"pcall", redis_pcall}, {NULL, NULL}};
    luaL_register(state, "redis", functions);
    lua_pop(state, 1);
}

static bool never(void) { return false; }

static int register_options(void **state) {
    engine_register();
    return 0;
}

static int begin(void **state) {
    engine = engine_create(NULL);
    L = entered_state(engine);
    sandbox_open(L, add_redis);
    return 0;
}

static int end(void **state) {
    engine_free(engine);
    return engine_bytes() == 0 ? 0 : -1;
}

static char words_text[4096];

static void set_words(const char *command) {
    struct dialog *dialog = &session.dialog;
    snprintf(words_text, sizeof(words_text), "%s", command);
    dialog->argc = 0;
    for (char *rest, *word = strtok_r(words_text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        dialog->argv[dialog->argc++] = slice_of(word);
}

static void hook(lua_State *state, lua_Debug *where) {
    int top = lua_gettop(state);
    if (stand.stood || where->currentline != stand.line) return;
    stand.stood = true;
    session.line = where->currentline;
    session.stepping = false;
    set_words(stand.command);
    engine_hold();
    stand.verdict = debug_command_run(&session, state);
    engine_let_go();
    assert_int_equal(lua_gettop(state), top);
}

static void open_session(const char *script) {
    debug_session_open(&session, NULL, slice_of(script), never);
    session.time_limit_msec = 1000;
}

static struct buffer run_to(const char *script, int line, const char *command) {
    struct buffer out = {.class = MEMORY_OTHER};
    stand.line = line;
    stand.command = command;
    stand.stood = false;
    assert_true(sandbox_load(L, slice_of(script), SANDBOX_SCRIPT_NAME));
    lua_sethook(L, hook, LUA_MASKLINE, 0);
    if (lua_pcall(L, 0, 0, 0)) fail_msg("%s", lua_tostring(L, -1));
    lua_sethook(L, NULL, 0, 0);
    assert_true(stand.stood);
    debug_lines_finish(&session.lines, &out);
    return out;
}

/* What it is answered, where the script stands at this line: "*COUNT" and lines with a sign. */
static void check_session(const char *script, int line, const char *command, const char *wanted) {
    struct buffer out = run_to(script, line, command);
    if (strcmp(out.bytes, wanted) != 0) fail_msg("%s and not %s: %s", out.bytes, wanted, command);
    buffer_free(&out);
}

static void check(const char *script, int line, const char *command, const char *wanted) {
    open_session(script);
    check_session(script, line, command, wanted);
    debug_session_close(&session);
}

#define UNKNOWN \
    "*1\r\n+<error> Unknown Redis Lua debugger command or wrong number of arguments.\r\n"

/* ---- going on ---- */

static const struct {
    const char *command;
    enum debug_verdict verdict;
    bool stepping;
    const char *lines;
} verdicts[] = {
    {"step", DEBUG_GOES_ON, true, "*0\r\n"},      {"s", DEBUG_GOES_ON, true, "*0\r\n"},
    {"NEXT", DEBUG_GOES_ON, true, "*0\r\n"},      {"n", DEBUG_GOES_ON, true, "*0\r\n"},
    {"continue", DEBUG_GOES_ON, false, "*0\r\n"}, {"C", DEBUG_GOES_ON, false, "*0\r\n"},
    {"abort", DEBUG_ABORTS, false, "*0\r\n"},     {"a", DEBUG_ABORTS, false, "*0\r\n"},
    {"step 1", DEBUG_STAYS, false, UNKNOWN},      {"co", DEBUG_STAYS, false, UNKNOWN},
    {"steps", DEBUG_STAYS, false, UNKNOWN},       {"abort x", DEBUG_STAYS, false, UNKNOWN},
    {"z", DEBUG_STAYS, false, UNKNOWN},           {"eval", DEBUG_STAYS, false, UNKNOWN},
    {"redis", DEBUG_STAYS, false, UNKNOWN},       {"print a b", DEBUG_STAYS, false, UNKNOWN},
    {"maxlen 1 2", DEBUG_STAYS, false, UNKNOWN},  {"list 1 2 3", DEBUG_STAYS, false, UNKNOWN},
};

static void test_verdicts(void **state) {
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        open_session("local a = 1\nreturn a");
        check_session("local a = 1\nreturn a", 1, verdicts[i].command, verdicts[i].lines);
        assert_int_equal(stand.verdict, verdicts[i].verdict);
        assert_int_equal(session.stepping, verdicts[i].stepping);
        debug_session_close(&session);
    }
}

static void test_help_names_all(void **state) {
    static const char *const names[] = {
        "step",  "next", "continue", "list",   "whole", "print", "break",
        "trace", "eval", "redis",    "maxlen", "abort", "help",  "redis.breakpoint()"};
    open_session("return 1");
    struct buffer out = run_to("return 1", 1, "h");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strstr(out.bytes, names[i])) fail_msg("%s", names[i]);
    buffer_free(&out);
    debug_session_close(&session);
}

/* ---- the script's text ---- */

#define FIVE "local a = 1\nlocal b = 2\nlocal c = 3\nlocal d = 4\nreturn a"

static void test_text(void **state) {
    static const char *const rows[][2] = {
        {"list 1 0", "*1\r\n+   1   local a = 1\r\n"},
        {"list 2 1", "*3\r\n+   1   local a = 1\r\n+   2   local b = 2\r\n+-> 3   local c = 3\r\n"},
        {"list 0 0", "*1\r\n+-> 3   local c = 3\r\n"},
        {"list -5 0", "*1\r\n+-> 3   local c = 3\r\n"},
        {"list 99 0", "*0\r\n"},
        {"list 9223372036854775807 9223372036854775807",
         "*5\r\n+   1   local a = 1\r\n+   2   local b = 2\r\n+-> 3   local c = 3\r\n"
         "+   4   local d = 4\r\n+   5   return a\r\n"},
        {"list -9223372036854775808 -9223372036854775808", "*0\r\n"},
        {"list x", "*1\r\n+Invalid argument:'x'\r\n"},
        {"list 1 x", "*1\r\n+Invalid argument:'x'\r\n"},
        {"whole",
         "*5\r\n+   1   local a = 1\r\n+   2   local b = 2\r\n+-> 3   local c = 3\r\n"
         "+   4   local d = 4\r\n+   5   return a\r\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check(FIVE, 3, rows[i][0], rows[i][1]);
}

/* ---- breakpoints ---- */

static void test_breakpoints(void **state) {
    static const char *const rows[][2] = {
        {"break", "*1\r\n+No breakpoints set. Use 'b <line>' to add one.\r\n"},
        {"break 2", "*3\r\n+-> 1   local a = 1\r\n+  #2   local b = 2\r\n+   3   local c = 3\r\n"},
        {"b 2", "*1\r\n+Wrong line number.\r\n"},
        {"b 6", "*1\r\n+Wrong line number.\r\n"},
        {"b 9223372036854775807", "*1\r\n+Wrong line number.\r\n"},
        {"b 5", "*2\r\n+   4   local d = 4\r\n+  #5   return a\r\n"},
        {"b", "*3\r\n+2 breakpoints set:\r\n+  #2   local b = 2\r\n+  #5   return a\r\n"},
        {"b -3", "*1\r\n+No breakpoint in the specified line.\r\n"},
        {"b -9223372036854775808", "*1\r\n+No breakpoint in the specified line.\r\n"},
        {"b -2 x -5",
         "*3\r\n+Breakpoint removed.\r\n+Invalid argument:'x'\r\n+Breakpoint removed.\r\n"},
        {"b 0", "*1\r\n+All breakpoints removed.\r\n"},
    };
    open_session(FIVE);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_session(FIVE, 1, rows[i][0], rows[i][1]);
    assert_int_equal(session.breakpoint_count, 0);
    debug_session_close(&session);
}

/* ---- values ---- */

static const char values[] =
    "local a, hidden = 1, 2\n"
    "local function f(x)\n"
    "  local hidden = {x, k = 'v'}\n"
    "  return hidden\n"
    "end\n"
    "local r = f(5)\n"
    "return r";

static void test_print(void **state) {
    static const char *const rows[][2] = {
        {"print", "*2\r\n+<value> x = 5\r\n+<value> hidden = {[1]=5; [\"k\"]=\"v\"}\r\n"},
        {"print x", "*1\r\n+<value> 5\r\n"},
        {"print hidden", "*1\r\n+<value> {[1]=5; [\"k\"]=\"v\"}\r\n"}, /* the innermost */
        {"print a", "*1\r\n+<value> 1\r\n"},
        {"print nosuch", "*1\r\n+No such variable.\r\n"},
        {"print redis", "*1\r\n+No such variable.\r\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check(values, 4, rows[i][0], rows[i][1]);
    check("return 1", 1, "print", "*1\r\n+No local variables in the current context.\r\n");
    check("local a = 1\nlocal a = 2\nreturn a", 3, "print a", "*1\r\n+<value> 2\r\n");
}

static void test_trace(void **state) {
    check(values, 4, "trace",
          "*4\r\n+In f:\r\n+-> 4     return hidden\r\n+From top level:\r\n"
          "+   6   local r = f(5)\r\n");
    check("local function f()\n  return 1\nend\nlocal x = f()\nreturn x", 2, "t",
          "*4\r\n+In f:\r\n+-> 2     return 1\r\n+From top level:\r\n+   4   local x = f()\r\n");
}

/* Each has a line, a name or values beyond what a line may show; %1$s is a word as long as that. */
static const struct {
    const char *script;
    int line;
    const char *command;
} longs[] = {
    {"local a = 1\nreturn a -- %1$s", 2, "break 2 -2 2 -2 2 -2 2 -2 2 -2 2 -2 2 -2"},
    {"local a = 1\na = '%1$s'\na = '%1$s'\na = '%1$s'\na = '%1$s'\na = '%1$s'\na = '%1$s'\nreturn "
     "a",
     8, "whole"},
    {"local function f(n)\nif n == 0 then\nreturn 1 end\nreturn 1 + f(n - 1) -- %1$s\nend\n"
     "return f(20)",
     3, "trace"},
    {"local function %1$s(n)\nif n == 0 then\nreturn 1 end\nreturn 1 + %1$s(n - 1)\nend\n"
     "return 1 + %1$s(20)",
     3, "trace"},
    {"local s = '%1$s'\nlocal a, b, c, d, e, f = s, s, s, s, s, s\nreturn a", 3, "print"},
};

static char word[2 * DEBUG_LINE_BYTES_MAX + 1];

static void test_answers_are_bounded(void **state) {
    memset(word, 'x', sizeof(word) - 1);
    for (size_t i = 0; i < sizeof(longs) / sizeof(longs[0]); i++) {
        struct buffer script = {.class = MEMORY_OTHER};
        buffer_printf(&script, longs[i].script, word);
        open_session(script.bytes);
        session.lines.cut_to = 0;
        struct buffer out = run_to(script.bytes, longs[i].line, longs[i].command);
        if (out.length > DEBUG_LINES_BYTES_MAX + 2 * DEBUG_LINE_BYTES_MAX + 1000)
            fail_msg("%zu bytes: %s", out.length, longs[i].command);
        assert_non_null(strstr(out.bytes + out.length - 60, " more lines were left out.\r\n"));
        assert_true(session.lines.line.capacity < 2 * DEBUG_LINE_BYTES_MAX + 1000);
        buffer_free(&out);
        debug_session_close(&session);
        buffer_free(&script);
    }
}

static void test_maxlen(void **state) {
    static const char *const rows[][2] = {
        {"maxlen", "*1\r\n+<value> replies are truncated at 256 bytes.\r\n"},
        {"maxlen 5", "*1\r\n+<value> replies are truncated at 60 bytes.\r\n"},
        {"maxlen 1000", "*1\r\n+<value> replies are truncated at 1000 bytes.\r\n"},
        {"maxlen x", "*1\r\n+Invalid argument:'x'\r\n"},
        {"maxlen", "*1\r\n+<value> replies are truncated at 1000 bytes.\r\n"},
        {"maxlen 9223372036854775807", "*1\r\n+<value> replies are unlimited.\r\n"},
        {"maxlen 0", "*1\r\n+<value> replies are unlimited.\r\n"},
    };
    open_session("return 1");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_session("return 1", 1, rows[i][0], rows[i][1]);
    debug_session_close(&session);
}

/* ---- running code ---- */

static void test_eval(void **state) {
    static const char *const rows[][2] = {
        {"eval 1 + 1", "*1\r\n+<retval> 2\r\n"},
        {"eval local x = 3 return x", "*1\r\n+<retval> 3\r\n"},
        {"eval a",
         "*1\r\n+<error> ldb_eval:1: Script attempted to access nonexistent global "
         "variable 'a'\r\n"},
        {"eval {1, {}}", "*1\r\n+<retval> {1; {}}\r\n"},
        {"eval x = 1", "*1\r\n+<error> ldb_eval:1: Attempt to modify a readonly table\r\n"},
        {"eval ) x", "*1\r\n+<error> ldb_eval:1: unexpected symbol near ')'\r\n"},
        {"eval error({'t'})", "*1\r\n+<error> {\"t\"}\r\n"},
        {"eval error()", "*1\r\n+<error> nil\r\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check("local a = 1\nreturn a", 2, rows[i][0], rows[i][1]);
}

static void test_eval_ends_in_time(void **state) {
    static const char script[] = "return 1";
    static const char *const endless[] = {
        "eval while true do end",
        "eval while true do pcall(function() while true do end end) end",
    };
    open_session(script);
    session.time_limit_msec = 20;
    for (size_t i = 0; i < sizeof(endless) / sizeof(endless[0]); i++)
        check_session(script, 1, endless[i],
                      "*1\r\n+<error> the code has run as long as lua-time-limit allows\r\n");
    session.time_limit_msec = INT64_MAX;
    check_session(script, 1, "eval for i = 1, 1000000 do end", "*1\r\n+<retval> nil\r\n");
    debug_session_close(&session);
}

static void test_redis(void **state) {
    check("return 1", 1, "redis echo x", "*1\r\n+<redis> echo x\r\n");
    check("return 1", 1, "r echo x y", "*2\r\n+<redis> echo x\r\n+<error> too many\r\n");
    assert_false(session.stepping);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        TEST(test_verdicts),
        TEST(test_help_names_all),
        TEST(test_text),
        TEST(test_breakpoints),
        TEST(test_print),
        TEST(test_trace),
        TEST(test_answers_are_bounded),
        TEST(test_maxlen),
        TEST(test_eval),
        TEST(test_eval_ends_in_time),
        TEST(test_redis),
    };
    return cmocka_run_group_tests(tests, register_options, NULL);
}
