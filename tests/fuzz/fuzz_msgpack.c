/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes cmsgpack's three ways to unpack: what they take can be packed.
 *
 * Covers: src/script/lib_msgpack.c
 *
 * The input's first byte is a limit, the second an offset, the rest the bytes.
 */
#include <lua5.1/lauxlib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/panic.h"
#include "script/libraries.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static lua_State *L;

/* Calls cmsgpack's function `name` with what stands on the stack, which the results replace. */
static bool call(const char *name) {
    ASSERT(lua_checkstack(L, LUA_MINSTACK));
    lua_getglobal(L, "cmsgpack");
    lua_getfield(L, -1, name);
    lua_replace(L, -2);
    lua_insert(L, 1);
    return lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!L) {
        L = luaL_newstate();
        script_libraries_open(L);
    }
    if (size < 2) return 0;
    const char *bytes = (const char *)data + 2;
    lua_pushlstring(L, bytes, size - 2);
    if (call("unpack") && lua_gettop(L) > 0 && lua_gettop(L) < 1000) {
        ASSERT(call("pack") && lua_gettop(L) == 1);
        /* What was deeper than is packed became nil, which is no key: so this may fail. */
        (void)call("unpack");
    }
    lua_settop(L, 0);
    lua_pushlstring(L, bytes, size - 2);
    lua_pushinteger(L, (signed char)data[1]);
    if (call("unpack_one")) ASSERT(lua_gettop(L) == 1 || lua_gettop(L) == 2);
    lua_settop(L, 0);
    lua_pushlstring(L, bytes, size - 2);
    lua_pushinteger(L, (signed char)data[0]);
    lua_pushinteger(L, (signed char)data[1]);
    if (call("unpack_limit") && (data[0] || data[1])) ASSERT(lua_gettop(L) <= data[0] + 1);
    lua_settop(L, 0);
    return 0;
}
