/* SPDX-License-Identifier: BSD-3-Clause
 * What the libraries of scripts share: buffers, and numbers that become integers.
 *
 * Scripts are foreign code: each argument of each function may be anything. All four libraries
 * keep these rules:
 *  1. Memory comes from the state (userdata, strings, tables), nothing else: what a script takes is
 *     counted, an error that jumps away loses nothing, and there is no size to compute twice.
 *  2. No recursion whose depth a script or its bytes choose. The Lua stack is the only stack, asked
 *     for by lua_checkstack, which stops at some 8,000 slots. A finalizer may run in the midst of a
 *     call and call again: so frames are small, too.
 *  3. A number becomes an integer by the functions below alone; a length is compared with what is
 *     left, never added to a position first.
 *  4. Tables are read and written raw: no metamethod runs within a library.
 *  5. What they make has a bound, LIB_RESULT_MAX; a table that holds itself twice can reach it with
 *     hundreds of millions of values, so loops over values run the script's hook (lib_step).
 */
#include "script/lib_internal.h"

void lib_buffer_init(struct lib_buffer *buffer, lua_State *L, int slot) {
    buffer->L = L;
    buffer->slot = slot;
    buffer->used = 0;
    buffer->size = sizeof(buffer->first);
    buffer->bytes = buffer->first;
}

void lib_buffer_grow(struct lib_buffer *buffer, size_t more) {
    if (more > LIB_RESULT_MAX - buffer->used)
        luaL_error(buffer->L, "result larger than %d MB", (int)(LIB_RESULT_MAX / (1024 * 1024)));
    size_t needed = buffer->used + more;
    size_t size = buffer->size > LIB_RESULT_MAX / 2 ? LIB_RESULT_MAX : buffer->size * 2;
    if (size < needed) size = needed;
    lib_check_stack(buffer->L, 1, "no room for a buffer");
    unsigned char *bytes = lua_newuserdata(buffer->L, size);
    memcpy(bytes, buffer->bytes, buffer->used);
    lua_replace(buffer->L, buffer->slot);
    buffer->bytes = bytes;
    buffer->size = size;
}

void lib_buffer_push(struct lib_buffer *buffer) {
    lua_pushlstring(buffer->L, (const char *)buffer->bytes, buffer->used);
}

void lib_check_stack(lua_State *L, int slots, const char *what) {
    if (lua_checkstack(L, slots)) return;
    lib_error(L, "stack overflow (%s)", what);
}

void lib_run_hook(lua_State *L) {
    lua_Hook hook = lua_gethook(L);
    lua_Debug caller;
    if (!hook || !(lua_gethookmask(L) & LUA_MASKCOUNT) || !lua_getstack(L, 1, &caller)) return;
    if (!lua_checkstack(L, LUA_MINSTACK)) return;
    caller.event = LUA_HOOKCOUNT;
    hook(L, &caller);
}

int64_t lib_int64(lua_Number number) {
    if (number >= -0x1p63 && number < 0x1p63) return (int64_t)number;
    return INT64_MIN;
}

uint64_t lib_uint64(lua_Number number) {
    if (number < 0x1p63) return (uint64_t)lib_int64(number);
    if (number < 0x1p64) return (uint64_t)number;
    return number >= 0x1p64 ? 0 : (uint64_t)INT64_MIN;
}

int64_t lib_check_int64(lua_State *L, int index) { return lib_int64(luaL_checknumber(L, index)); }

int64_t lib_optional_int64(lua_State *L, int index, int64_t missing) {
    return lua_isnoneornil(L, index) ? missing : lib_check_int64(L, index);
}

int32_t lib_int32(int64_t number) {
    uint32_t low = (uint32_t)number;
    int32_t result;
    memcpy(&result, &low, sizeof(result));
    return result;
}
