/* SPDX-License-Identifier: BSD-3-Clause
 * Values of Lua as text: each type, tables of either kind, and those without an end.
 */
#include "script/debug_text.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lualib.h>

#include "base/seed.h"
#include "script/entered.h"

static struct engine *engine;
static lua_State *L;

static int begin(void **state) {
    engine = engine_create(NULL);
    L = entered_state(engine);
    luaL_openlibs(L);
    return 0;
}

static int end(void **state) {
    engine_free(engine);
    return engine_bytes() == 0 ? 0 : -1;
}

/* The value of an expression; the caller frees it. */
static struct buffer text_of(const char *expression, size_t most) {
    struct buffer out = {.class = MEMORY_OTHER};
    lua_settop(L, 0);
    lua_pushfstring(L, "return %s", expression);
    assert_int_equal(luaL_loadstring(L, lua_tostring(L, -1)), 0);
    assert_int_equal(lua_pcall(L, 0, 1, 0), 0);
    lua_State *thread = debug_text_thread(L);
    lua_insert(L, -2);
    lua_xmove(L, thread, 1);
    debug_text_append(&out, thread, most);
    assert_int_equal(lua_gettop(thread), 0);
    return out;
}

static const struct {
    const char *expression, *text;
} values[] = {
    {"nil", "nil"},
    {"true", "true"},
    {"false", "false"},
    {"1", "1"},
    {"-1.5", "-1.5"},
    {"0.1", "0.1"},
    {"2^40", "1099511627776"},
    {"1e300", "1e+300"},
    {"1/0", "inf"},
    {"''", "\"\""},
    {"'a\"b\\n\\0\\255'", "\"a\\\"b\\n\\x00\\xff\""},
    {"{}", "{}"},
    {"{1, 'b', {}}", "{1; \"b\"; {}}"},
    {"{[2] = 1}", "{[2]=1}"},
    {"{1, 2, nil, 4}", "{[1]=1; [2]=2; [4]=4}"},
    {"{k = {1}}", "{[\"k\"]={1}}"},
    {"{[true] = false}", "{[true]=false}"},
};

static void test_values(void **state) {
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct buffer out = text_of(values[i].expression, 1000);
        assert_string_equal(out.bytes, values[i].text);
        buffer_free(&out);
    }
}

static const struct {
    const char *expression, *head;
} addresses[] = {
    {"print", "\"function@0x"},
    {"coroutine.create(function() end)", "\"thread@0x"},
    {"newproxy()", "\"userdata@0x"},
};

static void test_addresses(void **state) {
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        struct buffer out = text_of(addresses[i].expression, 1000);
        assert_memory_equal(out.bytes, addresses[i].head, strlen(addresses[i].head));
        buffer_free(&out);
    }
}

/* One within itself, and one that holds another a hundred times, and that the first. */
static void test_without_end(void **state) {
    struct buffer out = text_of("(function() local t = {} t[1] = t return t end)()", 1000);
    assert_string_equal(out.bytes,
                        "{{{{{{{{{{<max recursion level reached! Nested table?>}}}}}}}}}}");
    buffer_free(&out);
    out = text_of(
        "(function() local t, u = {}, {} for i = 1, 100 do t[i] = u u[i] = t end"
        " return t end)()",
        10000);
    assert_true(out.length >= 10000 && out.length < 11000);
    buffer_free(&out);
    out = text_of("('x'):rep(100000)", 1000);
    assert_true(out.length <= 1002);
    buffer_free(&out);
}

/* What looks like a table of addresses and is none: metatables are not asked. */
static void test_no_code_is_called(void **state) {
    static const char *const guarded =
        "setmetatable({1}, {__index = error, __tostring = error, __len = error})";
    struct buffer out = text_of(guarded, 1000);
    assert_string_equal(out.bytes, "{1}");
    buffer_free(&out);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_values),
        TEST(test_addresses),
        TEST(test_without_end),
        TEST(test_no_code_is_called),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
