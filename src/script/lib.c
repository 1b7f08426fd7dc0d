/* SPDX-License-Identifier: BSD-3-Clause
 * What the libraries of scripts share: buffers, and numbers that become integers.
 *
 * Scripts are foreign code: each argument of each function may be anything. All four libraries
 * keep these rules:
 *  1. Memory comes from the Lua state (userdata, strings, tables) and from nothing else. So the
 *     memory that a script takes is counted, an error that jumps away leaks nothing, and no size is
 *     computed twice.
 *  2. No recursion whose depth a script or its bytes choose. The Lua stack is the only stack, asked
 *     for by lua_checkstack, which stops at some 8,000 slots. A finalizer may run in the midst of a
 *     call and call the library again, so frames are small, too.
 *  3. A number becomes an integer only by the functions below. A length is compared with what is
 *     left, never added to a position first.
 *  4. Tables are read and written raw: no metamethod runs within a library.
 *  5. A large buffer costs more to make than to fill. So a finished buffer stays in a weak table
 *     until the next call takes it out of the table, or the collector frees it.
 *  6. A result is bounded by LIB_RESULT_MAX. A table that holds itself twice can reach the bound
 *     with hundreds of millions of values, so loops over values run the script's hook (lib_step).
 */
#include "script/lib_internal.h"

/* The address of this is the registry's key of the weak table. */
static const char last_buffer;

void lib_open(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&last_buffer);
    lua_createtable(L, 1, 0);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

/* Pushes the weak table and the buffer in it, or nil. */
static void *push_last_buffer(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&last_buffer);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_rawgeti(L, -1, 1);
    return lua_touserdata(L, -1);
}

/* Pushes a userdata of at least `*size` bytes, and sets `*size` to the size that it has. */
static void *push_buffer(lua_State *L, size_t *size) {
    void *last = push_last_buffer(L);
    size_t found = last ? lua_objlen(L, -1) : 0;
    if (found < *size) {
        lua_pop(L, 2);
        return lua_newuserdata(L, *size);
    }
    lua_pushnil(L);
    lua_rawseti(L, -3, 1);
    lua_remove(L, -2);
    *size = found;
    return last;
}

/* Puts the buffer in `slot`, which is not used any more, into the weak table if it is the larger
 * one. */
static void leave_buffer(lua_State *L, int slot) {
    if (!lua_checkstack(L, 3)) return;
    push_last_buffer(L);
    if (lua_objlen(L, -1) < lua_objlen(L, slot)) {
        lua_pushvalue(L, slot);
        lua_rawseti(L, -3, 1);
    }
    lua_pop(L, 2);
}

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
    lib_check_stack(buffer->L, 3, "no room for a buffer");
    unsigned char *bytes = push_buffer(buffer->L, &size);
    memcpy(bytes, buffer->bytes, buffer->used);
    lua_replace(buffer->L, buffer->slot);
    buffer->bytes = bytes;
    buffer->size = size;
}

void lib_buffer_push(struct lib_buffer *buffer) {
    lua_pushlstring(buffer->L, (const char *)buffer->bytes, buffer->used);
}

void lib_buffer_finish(struct lib_buffer *buffer) {
    lib_buffer_push(buffer);
    if (buffer->bytes != buffer->first) leave_buffer(buffer->L, buffer->slot);
}

void lib_check_stack(lua_State *L, int slots, const char *what) {
    if (lua_checkstack(L, slots)) return;
    lib_error(L, "stack overflow (%s)", what);
}

/* `level` is that of the function that has called the library's. There is none while a result is
 * counted. */
static void run_hook(lua_State *L, int level) {
    lua_Debug caller;
    if (!lua_getstack(L, level, &caller) && !lua_getstack(L, level - 1, &caller)) return;
    caller.event = LUA_HOOKCOUNT;
    lua_gethook(L)(L, &caller);
}

static int run_hook_apart(lua_State *L) {
    run_hook(L, 2);
    return 0;
}

/* If the function has filled the part of the stack that it may have, the hook runs in another
 * function, which gets a part of its own. */
void lib_run_hook(lua_State *L) {
    if (!lua_gethook(L) || !(lua_gethookmask(L) & LUA_MASKCOUNT)) return;
    if (lua_checkstack(L, LUA_MINSTACK)) {
        run_hook(L, 1);
    } else if (lua_checkstack(L, 1)) {
        lua_pushcfunction(L, run_hook_apart);
        lua_call(L, 0, 0);
    }
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
