/* SPDX-License-Identifier: BSD-3-Clause
 * The memory of Lua: counted to the byte, bounded, and never refused where the server itself asks.
 */
#include "script/engine.h"

#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>

#include "base/memory.h"
#include "base/seed.h"
#include "option/option.h"

#define LIMIT 1000000
#define LARGE 5000000

static int register_options(void **state) {
    engine_register();
    return 0;
}

static void set_limit(const char *text) {
    struct slice word = slice_of(text);
    char reason[OPTION_REASON_BYTES];
    assert_true(option_set(option_find(SLICE("lua-memory-limit")), &word, 1, OPTION_FROM_CONFIG_SET,
                           reason, sizeof(reason)));
}

static int grow(lua_State *L) {
    lua_newuserdata(L, (size_t)lua_tointeger(L, 1));
    return 1;
}

/* LUA_ERRMEM or 0. */
static int try_to_grow(lua_State *L, size_t bytes) {
    lua_settop(L, 0);
    engine_hold();
    lua_pushcfunction(L, grow);
    lua_pushinteger(L, (lua_Integer)bytes);
    engine_let_go();
    return lua_pcall(L, 1, 1, 0);
}

static void test_bytes_are_counted(void **state) {
    lua_State *L = engine_create();
    size_t empty = engine_bytes();
    assert_true(empty > 0);
    assert_true(memory_used(MEMORY_LUA) >= empty);
    luaL_openlibs(L);
    assert_int_equal(luaL_dostring(L, "t = {} for i = 1, 1000 do t[i] = ('x'):rep(i) end"), 0);
    assert_true(engine_bytes() > empty + 500000);
    assert_int_equal((lua_gc(L, LUA_GCCOUNT, 0) << 10) + lua_gc(L, LUA_GCCOUNTB, 0),
                     engine_bytes());
    assert_int_equal(luaL_dostring(L, "t = nil"), 0);
    lua_gc(L, LUA_GCCOLLECT, 0);
    assert_true(engine_bytes() < empty + 200000);
    engine_free(L);
    assert_int_equal(engine_bytes(), 0);
    assert_int_equal(memory_used(MEMORY_LUA), 0);
}

static void test_the_limit_holds(void **state) {
    set_limit("1000000");
    assert_int_equal(engine_bytes_max(), LIMIT);
    lua_State *L = engine_create();
    assert_int_equal(try_to_grow(L, LIMIT / 2), 0);
    assert_int_equal(try_to_grow(L, LARGE), LUA_ERRMEM);
    assert_string_equal(lua_tostring(L, -1), "not enough memory");
    lua_gc(L, LUA_GCCOLLECT, 0);
    assert_int_equal(try_to_grow(L, LIMIT / 2), 0);
    assert_true(engine_bytes() <= LIMIT);
    engine_free(L);
}

static void test_the_server_itself_is_not_refused(void **state) {
    set_limit("1000000");
    lua_State *L = engine_create();
    engine_hold();
    engine_hold();
    engine_let_go();
    assert_int_equal(try_to_grow(L, LARGE), 0);
    engine_let_go();
    assert_true(engine_bytes() > LIMIT);
    /* Above the limit nothing grows, and what shrinks is not refused. */
    assert_int_equal(try_to_grow(L, 100), LUA_ERRMEM);
    lua_settop(L, 0);
    lua_gc(L, LUA_GCCOLLECT, 0);
    assert_int_equal(try_to_grow(L, 100), 0);
    engine_free(L);
}

static void test_no_limit(void **state) {
    set_limit("0");
    assert_true(engine_bytes_max() == SIZE_MAX);
    lua_State *L = engine_create();
    assert_int_equal(try_to_grow(L, LARGE), 0);
    engine_free(L);
    assert_int_equal(engine_bytes(), 0);
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_counted),
        cmocka_unit_test(test_the_limit_holds),
        cmocka_unit_test(test_the_server_itself_is_not_refused),
        cmocka_unit_test(test_no_limit),
    };
    return cmocka_run_group_tests(tests, register_options, NULL);
}
