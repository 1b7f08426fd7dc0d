/* SPDX-License-Identifier: BSD-3-Clause
 * The sandbox by itself: whatever a script can reach of ours it cannot change, no byte code loads,
 * and nothing runs or is collected while a text is compiled.
 */
#include "script/sandbox.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>

#include "base/random.h"
#include "base/seed.h"
#include "script/entered.h"
#include "script/libraries.h"

#define ROUNDS 3000

static struct engine *engine;
static lua_State *L;

static int register_options(void **state) {
    engine_register();
    return 0;
}

static int begin(void **state) {
    engine = engine_create(NULL);
    L = entered_state(engine);
    sandbox_open(L, script_libraries_open);
    return 0;
}

static int end(void **state) {
    engine_free(engine);
    assert_int_equal(engine_bytes(), 0);
    return 0;
}

/* What a script gives, as a text, or "!" and its error. */
static const char *run(const char *text, size_t length) {
    lua_settop(L, 0);
    lua_pushliteral(L, "!");
    if (sandbox_load(L, (struct slice){text, length}, "=x")) {
        sandbox_renew(L);
        if (!lua_pcall(L, 0, 1, 0)) {
            if (lua_isboolean(L, -1)) return lua_toboolean(L, -1) ? "true" : "false";
            return lua_isnil(L, -1) ? "nil" : lua_tostring(L, -1);
        }
    }
    lua_concat(L, 2);
    return lua_tostring(L, -1);
}

static void check(const char *text, const char *expected) {
    const char *result = run(text, strlen(text));
    if (!result || strcmp(result, expected) != 0)
        fail_msg("%.200s and not %s: %.600s", result ? result : "no text", expected, text);
}

/* Walks all that a script reaches from its globals, its functions' environments and metatables,
 * and tries to change each table by each way that there is. */
static void test_nothing_in_reach_can_be_changed(void **state) {
    check(
        "local seen, open = {}, {}\n"
        "local ours = {[seen] = true, [open] = true}\n"
        "local walk\n"
        "local ways = {\n"
        "  function(t) t.intruder = 1 end, function(t) rawset(t, 'intruder', 1) end,\n"
        "  function(t) setmetatable(t, {}) end, function(t) table.insert(t, 1) end,\n"
        "  function(t) t[next(t) or 1] = 1 end,\n"
        "  function(t) table.sort(t) t.x = 1 end, function(t) table.remove(t) t.x = 1 end}\n"
        "function walk(v, name)\n"
        "  if v == nil or seen[v] or ours[v] then return end\n"
        "  seen[v] = true\n"
        "  walk(getmetatable(v), name .. ' metatable')\n"
        "  if type(v) == 'function' then\n"
        "    walk(getfenv(v), name .. ' environment')\n"
        "    if pcall(setfenv, v, {}) then open[#open + 1] = name .. ' environment' end\n"
        "  elseif type(v) == 'table' then\n"
        "    for i, way in ipairs(ways) do\n"
        "      if pcall(way, v) then open[#open + 1] = name .. ' by way ' .. i end\n"
        "    end\n"
        "    for k, x in pairs(v) do walk(k, name) walk(x, name .. '.' .. tostring(k)) end\n"
        "  end\n"
        "end\n"
        "walk(_G, '_G') walk('', 'string') walk(1, 'number') walk(true, 'boolean')\n"
        "walk(coroutine.create(function() end), 'thread') walk(newproxy(), 'userdata')\n"
        "local count = 0 for k in pairs(seen) do count = count + 1 end\n"
        "assert(count > 120, count)\n"
        "return table.concat(open, ', ')",
        "");
}

static void test_what_is_shared_reads_as_ever(void **state) {
    static const char *const rows[][2] = {
        {"return type(_G) .. type(_G._G) .. tostring(_G._G == _G)", "tabletabletrue"},
        {"return tostring(getfenv() == _G) .. tostring(getfenv(print) == _G)", "truetrue"},
        {"return tostring(getmetatable(string)) .. tostring(getmetatable(_G) ~= nil)", "niltrue"},
        {"return ('x'):rep(3) .. #'abc' .. ('%d'):format(5)", "xxx35"},
        {"return type(nosuch)",
         "!x:1: Script attempted to access nonexistent global variable "
         "'nosuch'"},
        {"return tostring(rawget(_G, 'nosuch')) .. type(rawget(_G, 'print'))", "nilfunction"},
        {"nosuch = 1", "!x:1: Attempt to modify a readonly table"},
        {"return tostring(next({})) .. type(next(math))", "nilstring"},
        {"local t = setmetatable({}, {__index = string}) return t.upper('a')", "A"},
        {"local t = {3, 1, 2} table.sort(t) table.insert(t, 4) return table.concat(t)", "1234"},
        {"return select('#', unpack({1, 2, 3})) .. select('#', unpack({}, 3, 1))", "30"},
        {"return tostring(pcall(error)) .. tostring(xpcall(error, function() end))", "falsefalse"},
        {"local t = {} for i = 1, 7900 do t[i] = i end return select('#', pcall(unpack, t)) .. "
         "select('#', xpcall(function() return unpack(t) end, error))",
         "79017901"},
        {"return select('#', pcall(error)) .. select('#', xpcall(error, type))", "22"},
        {"return (select(2, pcall(pcall))) .. select(2, pcall(xpcall, 1))",
         "bad argument #1 to '?' (value expected)bad argument #2 to '?' (value expected)"},
        {"return (load(function() return nil end)) and 'loaded'", "loaded"},
        {"local n = 0 return load(function() n = n + 1 return ({'return', ' 7'})[n] end)()", "7"},
        {"return (select(2, load(function() return {} end)))",
         "x:1: reader function must return a string"},
        {"return (select(2, load(function() error('mine', 0) end)))", "mine"},
        {"return loadstring('return getfenv()')() == _G", "true"},
        {"return (select(2, loadstring('x x', '=name')))", "name:1: '=' expected near 'x'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) check(rows[i][0], rows[i][1]);
}

static void test_what_has_no_bound_gets_one(void **state) {
    static const char *const rows[][2] = {
        {"return newproxy(true)", "!x:1: newproxy makes no metatables here"},
        {"return unpack({}, 1, 8001)", "!x:1: too many results to unpack"},
        {"return unpack({}, 0, 2^31 - 1)", "!x:1: too many results to unpack"},
        {"return unpack({}, -2^31, 2^31 - 1)", "!x:1: too many results to unpack"},
        {"return unpack({}, 2^31, 2^31)", "!x:1: too many results to unpack"},
        {"return unpack({}, 0/0, 0/0)", "!x:1: too many results to unpack"},
        {"return select('#', unpack({}, 1, 7900))", "7900"},
        {"return ('x'):rep(2^31 - 1)", "!x:1: resulting string too large"},
        {"return ('x'):rep(0) .. (''):rep(2^31 - 1) .. ('x'):rep(-1)", ""},
        {"return ('a'):find(('a?'):rep(8193))", "!x:1: pattern too long"},
        {"return ('a'):gmatch(('a?'):rep(8193))", "!x:1: pattern too long"},
        {"return ('a'):gsub(('a?'):rep(8193), '')", "!x:1: pattern too long"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) check(rows[i][0], rows[i][1]);
    check("return (('a'):match(('a?'):rep(8192)))", "a");
}

/* A place far below the first element is no shorter way than in Lua's own table.insert. */
static void test_insert_far_below(void **state) {
    static const char *const rows[][2] = {
        {"local t = {1, 2, 3} table.insert(t, -70000, 'x')\n"
         "return t[-70000] .. tostring(t[1]) .. t[2] .. t[3] .. t[4]",
         "xnil123"},
        {"local t = {1, [-69990] = 'a', [-69999] = 'b'} table.insert(t, -70000, 'x')\n"
         "return t[-70000] .. t[-69998] .. t[-69989] .. t[2] .. tostring(t[-69990])",
         "xba1nil"},
        {"return (select(2, pcall(table.insert, string, -70000, 'x')))",
         "Attempt to modify a readonly table"},
        {"return (select(2, pcall(table.insert, 1, -70000, 'x')))",
         "bad argument #1 to '?' (table expected, got number)"},
        {"return (select(2, pcall(table.insert, {}, -70000, 'x', 1)))",
         "wrong number of arguments to 'insert'"},
        {"local t = {} table.insert(t, '-70000', 'x') return t[-70000]", "x"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) check(rows[i][0], rows[i][1]);
}

static void end_here(lua_State *state, lua_Debug *where) {
    lua_pushliteral(state, "ended");
    lua_error(state);
}

/* Minutes of work, in which the script must be stoppable. */
static void test_insert_runs_the_hook(void **state) {
    lua_sethook(L, end_here, LUA_MASKCOUNT, 1000000);
    check("local fine, text = pcall(table.insert, {}, -2^31, 'x') return text", "ended");
    lua_sethook(L, NULL, 0, 0);
}

/* ---- compiling ---- */

static int write_code(lua_State *state, const void *bytes, size_t length, void *out) {
    buffer_append(out, bytes, length);
    return 0;
}

static void test_no_byte_code(void **state) {
    struct buffer code;
    buffer_init(&code, MEMORY_OTHER);
    lua_State *other = luaL_newstate();
    assert_int_equal(luaL_loadstring(other, "return 1"), 0);
    lua_dump(other, write_code, &code);
    lua_close(other);
    assert_memory_equal(code.bytes, LUA_SIGNATURE, 4);
    for (size_t length = 1; length <= code.length; length++) {
        const char *result = run(code.bytes, length);
        if (result[0] != '!') fail_msg("%zu bytes of code gave %s", length, result);
    }
    buffer_free(&code);
    check("return (select(2, loadstring(string.dump(function() end), '=c')))",
          "c:1: unexpected symbol near 'char(27)'");
    check(
        "local code = string.dump(function() end)\n"
        "local n = 0\n"
        "return (select(2, load(function() n = n + 1 return n <= #code and code:sub(n, n) or nil "
        "end, '=c')))",
        "c:1: unexpected symbol near 'char(27)'");
}

static int finalized;

static int finalize(lua_State *state) {
    finalized++;
    return 0;
}

/* Garbage whose end would be noticed, more than any step of the collector leaves alone. */
static void make_garbage(void) {
    for (int i = 0; i < 1000; i++) {
        lua_newuserdata(L, 100);
        lua_createtable(L, 0, 1);
        lua_pushcfunction(L, finalize);
        lua_setfield(L, -2, "__gc");
        lua_setmetatable(L, -2);
        lua_pop(L, 1);
    }
}

static void test_nothing_is_collected_while_a_text_is_compiled(void **state) {
    lua_gc(L, LUA_GCSETPAUSE, 0);
    lua_gc(L, LUA_GCSETSTEPMUL, 100000);
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    for (int i = 0; i < 5000; i++) buffer_printf(&text, "do local v%d = 'text %d' end\n", i, i);
    lua_gc(L, LUA_GCSTOP, 0);
    make_garbage();
    finalized = 0;
    assert_true(sandbox_load(L, buffer_slice(&text), "=x"));
    assert_int_equal(finalized, 0);
    buffer_append_c_string(&text, "\nno program");
    lua_gc(L, LUA_GCSTOP, 0);
    assert_false(sandbox_load(L, buffer_slice(&text), "=x"));
    assert_int_equal(finalized, 0);
    lua_settop(L, 0);
    lua_gc(L, LUA_GCCOLLECT, 0);
    assert_int_equal(finalized, 1000);
    buffer_free(&text);
}

static void test_texts_have_a_bound(void **state) {
    char *text = memory_alloc(SANDBOX_TEXT_BYTES_MAX + 1, MEMORY_OTHER);
    memset(text, ' ', SANDBOX_TEXT_BYTES_MAX + 1);
    assert_string_equal(run(text, SANDBOX_TEXT_BYTES_MAX + 1), "!script too long");
    assert_string_equal(run(text, SANDBOX_TEXT_BYTES_MAX), "nil");
    memory_free(text, MEMORY_OTHER);
    check(
        "local s = (' '):rep(2^20) local n = 0\n"
        "return (select(2, load(function() n = n + 1 return n <= 65 and s or nil end)))",
        "x:2: script too long");
}

static const char *const words[] = {
    "local ",
    "a",
    "b",
    " = ",
    "function ",
    "(",
    ")",
    "end ",
    "return ",
    "if ",
    "then",
    " else ",
    "for ",
    "in ",
    "while",
    " do ",
    "[[",
    "]]",
    "[==[",
    "--",
    "'x'",
    "\"",
    "0x",
    "1e",
    "...",
    "..",
    ",",
    ";",
    "{",
    "}",
    "\n",
    "repeat ",
    "until ",
    "not",
    " and",
    " or ",
    "[",
    "]",
    ":",
    "#",
    "\\",
    "\0",
    "\x1b",
    "\xff",
    "--[==[",
    "break ",
    "goto ",
    "8",
    "~= ",
    "<",
    "%",
    "^",
    "collectgarbage()",
    "error()",
    "_G",
    "load",
};

/* Random texts of the words of Lua compile or do not. */
static void test_random_texts(void **state) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    for (int round = 0; round < ROUNDS; round++) {
        buffer_clear(&text);
        for (uint64_t n = random_below(40); n; n--) {
            const char *word = words[random_below(sizeof(words) / sizeof(words[0]))];
            buffer_append(&text, word, *word ? strlen(word) : 1);
        }
        lua_settop(L, 0);
        bool compiled = sandbox_load(L, buffer_slice(&text), "=x");
        assert_int_equal(lua_gettop(L), 1);
        assert_int_equal(lua_type(L, 1), compiled ? LUA_TFUNCTION : LUA_TSTRING);
    }
    buffer_free(&text);
}

/* ---- the next script ---- */

static void run_stopping_the_collector(lua_State *state, void *unused) {
    check("collectgarbage('setpause', 100000) collectgarbage('stop') return 1", "1");
}

static void run_making_garbage(lua_State *state, void *unused) {
    check("for i = 1, 1000 do local s = ('x'):rep(100000) .. i end return 1", "1");
    assert_true(engine_bytes() < 50000000);
}

static void test_a_script_begins_anew(void **state) {
    static const char text[] =
        "local before = getfenv(1) == _G\n"
        "setfenv(1, setmetatable({}, {__index = _G}))\n"
        "collectgarbage('stop')\n"
        "return before";
    assert_true(sandbox_load(L, slice_of(text), "=x"));
    for (int i = 0; i < 3; i++) {
        lua_pushvalue(L, 1);
        sandbox_renew(L);
        assert_int_equal(lua_pcall(L, 0, 1, 0), 0);
        assert_true(lua_toboolean(L, -1));
        lua_settop(L, 1);
    }
    check("return 1", "1");
    /* The collector runs again: garbage of a thousand times the limit's size is no matter. */
    for (int i = 0; i < 2; i++) {
        assert_true(engine_enter(engine, run_stopping_the_collector, NULL));
        assert_true(engine_enter(engine, run_making_garbage, NULL));
    }
}

static void test_globals_of_ours(void **state) {
    sandbox_push_globals(L);
    lua_newtable(L);
    lua_pushliteral(L, "key");
    lua_rawseti(L, -2, 1);
    lua_setfield(L, -2, "KEYS");
    check("return KEYS[1]", "key");
    check("return rawget(_G, 'KEYS')[1]", "key");
    check("KEYS = 1", "!x:1: Attempt to modify a readonly table");
    sandbox_push_globals(L);
    lua_pushnil(L);
    lua_setfield(L, -2, "KEYS");
    check("return rawget(_G, 'KEYS')", "nil");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_in_reach_can_be_changed),
        TEST(test_what_is_shared_reads_as_ever),
        TEST(test_what_has_no_bound_gets_one),
        TEST(test_insert_far_below),
        TEST(test_insert_runs_the_hook),
        TEST(test_no_byte_code),
        TEST(test_nothing_is_collected_while_a_text_is_compiled),
        TEST(test_texts_have_a_bound),
        TEST(test_random_texts),
        TEST(test_a_script_begins_anew),
        TEST(test_globals_of_ours),
    };
    return cmocka_run_group_tests(tests, register_options, NULL);
}
