/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes cjson.decode: what it takes it writes again, to a text that gives the same text.
 *
 * Covers: src/script/lib_json.c
 *
 * The input's first byte says which settings hold, the rest is the text.
 */
#include <lua5.1/lauxlib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/panic.h"
#include "script/libraries.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static lua_State *L;

/* Calls cjson's function `name` with the value on top, which its result replaces. False: an error.
 */
static bool call(const char *name) {
    ASSERT(lua_checkstack(L, LUA_MINSTACK));
    lua_getglobal(L, "cjson");
    lua_getfield(L, -1, name);
    lua_replace(L, -2);
    lua_insert(L, -2);
    return lua_pcall(L, 1, 1, 0) == 0;
}

static void set(const char *name, int value) {
    lua_pushinteger(L, value);
    ASSERT(call(name));
    lua_settop(L, 0);
}

static void set_switch(const char *name, bool value) {
    lua_pushboolean(L, value);
    ASSERT(call(name));
    lua_settop(L, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!L) {
        L = luaL_newstate();
        script_libraries_open(L);
    }
    if (size == 0) return 0;
    set_switch("decode_invalid_numbers", data[0] & 1);
    set_switch("encode_invalid_numbers", data[0] & 2);
    set_switch("encode_sparse_array", data[0] & 4);
    set("decode_max_depth", data[0] & 8 ? 5 : 100000);
    set("encode_max_depth", 100000);
    lua_pushlstring(L, (const char *)data + 1, size - 1);
    if (call("decode") && call("encode") && (data[0] & 3) == 3) {
        lua_pushvalue(L, -1);
        ASSERT(call("decode") && call("encode"));
        /* Keys of objects have no order, so only the length must stay. */
        ASSERT(lua_objlen(L, -1) == lua_objlen(L, -2));
    }
    lua_settop(L, 0);
    return 0;
}
