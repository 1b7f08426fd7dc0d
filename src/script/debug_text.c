/* SPDX-License-Identifier: BSD-3-Clause
 * Lua values as text. Tables are read raw. A table that holds itself ends at a depth; a table that
 * holds others many times ends when the room for the text is full.
 */
#include "script/debug_text.h"

#include <lua5.1/lua.h>

#include "base/panic.h"
#include "script/sandbox.h"

/* The places that a table takes on the stack: a key, its value, the table behind a proxy, a copy.
 */
#define PLACES 5

static void append_value(struct buffer *out, lua_State *L, int depth, size_t most);

static void append_string(struct buffer *out, lua_State *L, size_t most) {
    struct slice text;
    size_t room = most > out->length ? most - out->length : 0;
    text.bytes = lua_tolstring(L, -1, &text.length);
    if (text.length > room) text.length = room;
    buffer_append_quoted(out, text);
}

/* Whether lua_next gives the keys as 1, 2, 3 ... */
static bool is_list(lua_State *L) {
    lua_Number expected = 1;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        bool follows = lua_type(L, -2) == LUA_TNUMBER && lua_tonumber(L, -2) == expected++;
        lua_pop(L, 1);
        if (follows) continue;
        lua_pop(L, 1);
        return false;
    }
    return true;
}

/* Writes the table on top. */
static void append_table(struct buffer *out, lua_State *L, int depth, size_t most) {
    bool list = is_list(L), first = true;
    buffer_append_char(out, '{');
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (out->length > most) {
            lua_pop(L, 2);
            break;
        }
        if (!first) buffer_append_c_string(out, "; ");
        first = false;
        if (!list) {
            buffer_append_char(out, '[');
            lua_pushvalue(L, -2);
            append_value(out, L, depth + 1, most);
            buffer_append_c_string(out, "]=");
        }
        append_value(out, L, depth + 1, most);
    }
    buffer_append_char(out, '}');
}

static void append_address(struct buffer *out, lua_State *L) {
    const void *address = lua_islightuserdata(L, -1) ? lua_touserdata(L, -1) : lua_topointer(L, -1);
    buffer_printf(out, "\"%s@%p\"", lua_typename(L, lua_type(L, -1)), address);
}

/* Writes the value on top, and pops it. */
static void append_value(struct buffer *out, lua_State *L, int depth, size_t most) {
    int room = lua_checkstack(L, PLACES);
    ASSERT(room);
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: append_string(out, L, most); break;
    case LUA_TBOOLEAN: buffer_append_c_string(out, lua_toboolean(L, -1) ? "true" : "false"); break;
    case LUA_TNUMBER: buffer_printf(out, "%.14g", lua_tonumber(L, -1)); break;
    case LUA_TNIL: buffer_append_c_string(out, "nil"); break;
    case LUA_TTABLE:
        if (depth == DEBUG_TEXT_DEPTH_MAX) {
            buffer_append_c_string(out, "<max recursion level reached! Nested table?>");
            break;
        }
        sandbox_look_through(L);
        append_table(out, L, depth, most);
        break;
    default: append_address(out, L);
    }
    lua_pop(L, 1);
}

struct lua_State *debug_text_thread(struct lua_State *L) {
    lua_State *thread = lua_newthread(L);
    lua_sethook(thread, NULL, 0, 0); /* a new thread inherits L's hook */
    return thread;
}

void debug_text_append(struct buffer *out, struct lua_State *thread, size_t most) {
    append_value(out, thread, 0, out->length + most);
}
