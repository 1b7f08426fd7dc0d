/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes struct: formats and data are foreign. What is unpacked can be packed by the same format.
 *
 * Covers: src/script/lib_struct.c
 *
 * The input's first byte is the length of the format, the second the position; format and data
 * follow.
 */
#include <lua5.1/lauxlib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/panic.h"
#include "script/libraries.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static lua_State *L;

/* Calls struct's function `name` with what stands on the stack, which the results replace. */
static bool call(const char *name) {
    ASSERT(lua_checkstack(L, LUA_MINSTACK));
    lua_getglobal(L, "struct");
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
    size_t format_length = data[0] <= size - 2 ? data[0] : size - 2;
    const char *format = (const char *)data + 2;
    lua_pushlstring(L, format, format_length);
    (void)call("size");
    lua_settop(L, 0);
    lua_pushlstring(L, format, format_length);
    lua_pushlstring(L, format + format_length, size - 2 - format_length);
    lua_pushinteger(L, (signed char)data[1]);
    if (call("unpack")) {
        lua_pop(L, 1); /* The position behind. */
        lua_pushlstring(L, format, format_length);
        lua_insert(L, 1);
        (void)call("pack"); /* A c0 has lost its size, so this may fail. */
    }
    lua_settop(L, 0);
    return 0;
}
