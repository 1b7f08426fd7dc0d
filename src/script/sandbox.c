/* SPDX-License-Identifier: BSD-3-Clause
 * The sandbox. sandbox.h has the idea.
 *
 * The system's Lua has no read-only tables. So scripts get a proxy instead of each table of ours:
 * an empty table, with a metatable that reads from the real table and refuses writes. Functions of
 * Lua that bypass metatables are wrapped: rawset, setmetatable and those of `table` refuse a proxy;
 * rawget, next, pairs and table.foreach look through it. The proxy of the globals is the
 * environment of each script. The real table of globals has a metatable of its own, which raises an
 * error for a name that does not exist.
 *
 * Invariants
 *  1. No script holds a reference to a real table of ours, nor to the metatable of a proxy or of
 *     strings: getmetatable gives a proxy for both.
 *  2. Byte code is never loaded: each text is read behind a blank, so the loader takes it for text.
 *  3. While a text is compiled, no code of a script runs, and the collector does not run.
 *  4. No value has a finalizer of a script: newproxy makes no metatables.
 *  5. Before a C function of Lua is called, its memory, its recursion and its loops are bounded.
 */
#include "script/sandbox.h"

#include <limits.h>
#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>
#include <lua5.1/lualib.h>
#include <string.h>

#include "base/log.h"
#include "base/panic.h"
#include "script/engine.h"
#include "script/lib_internal.h"
#include "script/random.h"

#define READ_ONLY "Attempt to modify a readonly table"
#define BYTES_TOO_MANY "resulting string too large"
/* The most values that a function of Lua can return. */
#define UNPACKED_MAX 8000

/* Their addresses are keys: of the mark in a proxy's metatable, and of the registry. */
static const char proxy_mark, real_globals, proxy_of_nothing, proxy_of_strings;

static void push_registered(lua_State *L, const char *key) {
    lua_pushlightuserdata(L, (void *)key);
    lua_rawget(L, LUA_REGISTRYINDEX);
}

/* Pops the value. */
static void register_as(lua_State *L, const char *key) {
    lua_pushlightuserdata(L, (void *)key);
    lua_insert(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

/* ---- proxies ---- */

/* If the value is a proxy, returns true and pushes its real table. */
static bool push_real(lua_State *L, int index) {
    if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return false;
    lua_pushlightuserdata(L, (void *)&proxy_mark);
    lua_rawget(L, -2);
    lua_remove(L, -2);
    if (lua_istable(L, -1)) return true;
    lua_pop(L, 1);
    return false;
}

static bool is_proxy(lua_State *L, int index) {
    bool is = push_real(L, index);
    if (is) lua_pop(L, 1);
    return is;
}

/* Replaces argument `index` by the real table if it is a proxy. */
static void look_through(lua_State *L, int index) {
    if (push_real(L, index)) lua_replace(L, index);
}

void sandbox_look_through(struct lua_State *L) {
    if (push_real(L, -1)) lua_remove(L, -2);
}

/* Raises an error without a position, as 6.2 does. */
static int refuse_raw(lua_State *L) {
    lua_pushliteral(L, READ_ONLY);
    return lua_error(L);
}

static int refuse_write(lua_State *L) { return luaL_error(L, READ_ONLY); }

/* Replaces the table on top of the stack by its proxy. */
static void close_table(lua_State *L) {
    lua_newtable(L);
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, refuse_write);
    lua_setfield(L, -2, "__newindex");
    push_registered(L, &proxy_of_nothing); /* nil for the first: proxy_of_nothing itself */
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        lua_pushvalue(L, -2);
    }
    lua_setfield(L, -2, "__metatable");
    lua_pushlightuserdata(L, (void *)&proxy_mark);
    lua_pushvalue(L, -4);
    lua_rawset(L, -3);
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

/* ---- wrapped: functions that bypass metatables ---- */

/* Calls the wrapped function, the first upvalue, with the arguments as they are. */
static int call_wrapped(lua_State *L) { return lua_tocfunction(L, lua_upvalueindex(1))(L); }

static int if_not_proxy(lua_State *L) { return is_proxy(L, 1) ? refuse_raw(L) : call_wrapped(L); }

static int through_proxy(lua_State *L) {
    look_through(L, 1);
    return call_wrapped(L);
}

static int wrapped_pairs(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_pushvalue(L, lua_upvalueindex(2)); /* next */
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

/* getmetatable: libraries have no metatable for a script, as in any Lua. Only the proxies of the
 * globals and of a metatable have one. */
static int wrapped_getmetatable(lua_State *L) {
    if (lua_type(L, 1) == LUA_TSTRING) {
        push_registered(L, &proxy_of_strings);
        return 1;
    }
    if (!push_real(L, 1)) return call_wrapped(L);
    push_registered(L, &real_globals);
    if (lua_rawequal(L, -1, -2)) return call_wrapped(L);
    lua_pushnil(L);
    return 1;
}

/* Level 0 is the environment of all later scripts. */
static int wrapped_setfenv(lua_State *L) {
    if (lua_isnumber(L, 1) && lua_tointeger(L, 1) == 0) return refuse_write(L);
    return call_wrapped(L);
}

/* ---- wrapped: functions that may fill the stack ---- */

/* Lua's own pcall and xpcall push the status behind the results without asking for a slot, and a
 * call that fills the stack leaves none. Therefore the wrapper takes a slot before the call. */
static int wrapped_pcall(lua_State *L) {
    luaL_checkany(L, 1);
    lua_pushboolean(L, true);
    lua_insert(L, 1);
    if (lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0)) {
        lua_pushboolean(L, false);
        lua_replace(L, 1);
    }
    return lua_gettop(L);
}

/* The handler of errors is below the status. */
static int wrapped_xpcall(lua_State *L) {
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    lua_insert(L, 1);
    lua_pushboolean(L, true);
    lua_insert(L, 2);
    if (lua_pcall(L, 0, LUA_MULTRET, 1)) {
        lua_pushboolean(L, false);
        lua_replace(L, 2);
    }
    return lua_gettop(L) - 1;
}

/* ---- wrapped: coroutines ---- */

/* A script that is to end gets an error at its next instruction, and again wherever it catches
 * that. The thread that resumed a coroutine has a hook of its own, which runs much more rarely. */
static int wrapped_resume(lua_State *L) {
    int results = call_wrapped(L);
    engine_renew_hook(L);
    return results;
}

/* Resumes a coroutine as a function. The second upvalue is its thread, the first coroutine.resume.
 * An error leaves with the position of the call before it, as from Lua's own coroutine.wrap. */
static int call_coroutine(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    int results = wrapped_resume(L);
    if (lua_toboolean(L, -results)) return results - 1;
    if (lua_isstring(L, -1)) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

/* The upvalues are Lua's own coroutine.create and coroutine.resume. */
static int wrapped_wrap(lua_State *L) {
    call_wrapped(L); /* the thread is on top */
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, -2);
    lua_pushcclosure(L, call_coroutine, 2);
    return 1;
}

/* ---- wrapped: functions that compile ---- */

struct reading {
    struct slice text;
    bool begun;
};

static const char *read_text(lua_State *L, void *context, size_t *length) {
    struct reading *r = context;
    struct slice piece = r->begun ? r->text : SLICE(" ");
    if (r->begun) r->text.length = 0;
    r->begun = true;
    *length = piece.length;
    return piece.length ? piece.bytes : NULL;
}

bool sandbox_load(struct lua_State *L, struct slice text, const char *name) {
    struct reading reading = {.text = text};
    if (text.length > SANDBOX_TEXT_BYTES_MAX) {
        lua_pushliteral(L, "script too long");
        return false;
    }
    engine_suspend_collector(L);
    int status = lua_load(L, read_text, &reading, name);
    engine_resume_collector(L);
    return status == 0;
}

static int load_result(lua_State *L, struct slice text, const char *name) {
    if (sandbox_load(L, text, name)) return 1;
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

static int wrapped_loadstring(lua_State *L) {
    struct slice text;
    text.bytes = luaL_checklstring(L, 1, &text.length);
    const char *name = luaL_optstring(L, 2, text.bytes);
    return load_result(L, text, name);
}

/* Joins the pieces that a reader function (in place 1) gives, as one text in place 3. An error of
 * the reader leaves lua_load as in 6.2: described by the handler of errors of the enclosing call.
 */
static void gather_pieces(lua_State *L) {
    size_t bytes = 0, length;
    int pieces = 0;
    lua_newtable(L);
    lua_replace(L, 3);
    for (;;) {
        lua_pushvalue(L, 1);
        lua_call(L, 0, 1);
        if (lua_isnil(L, -1)) break;
        if (!lua_isstring(L, -1)) luaL_error(L, "reader function must return a string");
        lua_tolstring(L, -1, &length);
        if (!length) break;
        bytes += length;
        if (bytes > SANDBOX_TEXT_BYTES_MAX) luaL_error(L, "script too long");
        lua_rawseti(L, 3, ++pieces);
    }
    luaL_Buffer all;
    luaL_buffinit(L, &all);
    for (int i = 1; i <= pieces; i++) {
        lua_rawgeti(L, 3, i);
        luaL_addvalue(&all);
    }
    luaL_pushresult(&all);
    lua_replace(L, 3);
    lua_settop(L, 3);
}

/* All pieces are read before the first is compiled, because the loader asks for one before it
 * begins. */
static const char *read_gathered(lua_State *L, void *context, size_t *length) {
    struct reading *r = context;
    if (!r->begun) {
        gather_pieces(L);
        r->text.bytes = lua_tolstring(L, 3, &r->text.length);
        engine_suspend_collector(L);
    }
    return read_text(L, context, length);
}

static int wrapped_load(lua_State *L) {
    struct reading reading = {.begun = false};
    const char *name = luaL_optstring(L, 2, "=(load)");
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 3);
    int status = lua_load(L, read_gathered, &reading, name);
    engine_resume_collector(L);
    if (status == 0) return 1;
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

/* ---- wrapped: functions without a bound ---- */

static int wrapped_unpack(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    double first = luaL_optnumber(L, 2, 1);
    double last = lua_isnoneornil(L, 3) ? (double)lua_objlen(L, 1) : luaL_checknumber(L, 3);
    bool within = first >= INT_MIN && first <= INT_MAX && last >= INT_MIN && last <= INT_MAX;
    if (last < first) return 0;
    if (!within || last - first >= UNPACKED_MAX) return luaL_error(L, "too many results to unpack");
    return call_wrapped(L);
}

static int wrapped_rep(lua_State *L) {
    size_t length;
    luaL_checklstring(L, 1, &length);
    int times = luaL_checkint(L, 2);
    if (!length || times <= 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (length > engine_bytes_max() / (size_t)times) return luaL_error(L, BYTES_TOO_MANY);
    return call_wrapped(L);
}

static int wrapped_matching(lua_State *L) {
    size_t length;
    luaL_checkstring(L, 1);
    luaL_checklstring(L, 2, &length);
    if (length > SANDBOX_PATTERN_BYTES_MAX) return luaL_error(L, "pattern too long");
    return call_wrapped(L);
}

/* Lua's own table.insert also moves elements that do not exist: an insertion far below the first
 * element takes minutes, and no hook runs meanwhile. */
static int insert_far_below(lua_State *L, int place) {
    unsigned steps = 0;
    for (int i = (int)lua_objlen(L, 1) + 1; i > place; i--) {
        lib_step(L, &steps);
        lua_rawgeti(L, 1, i - 1);
        lua_rawgeti(L, 1, i);
        bool is_same = lua_isnil(L, -1) && lua_isnil(L, -2);
        lua_pop(L, 1);
        if (is_same)
            lua_pop(L, 1);
        else
            lua_rawseti(L, 1, i);
    }
    lua_rawseti(L, 1, place);
    return 0;
}

static int wrapped_insert(lua_State *L) {
    if (is_proxy(L, 1)) return refuse_raw(L);
    if (lua_gettop(L) != 3 || !lua_istable(L, 1)) return call_wrapped(L);
    int place = luaL_checkint(L, 2);
    return place < -LIB_STEPS ? insert_far_below(L, place) : call_wrapped(L);
}

static int wrapped_collectgarbage(lua_State *L) {
    engine_note_collector(L);
    return call_wrapped(L);
}

/* newproxy makes no metatable, because only through that could a script give a value a finalizer.
 */
static int wrapped_newproxy(lua_State *L) {
    if (lua_toboolean(L, 1)) return luaL_error(L, "newproxy makes no metatables here");
    lua_newuserdata(L, 0);
    return 1;
}

/* print writes to the log. In 6.2 it writes to the server's standard output, which nobody reads. */
static int wrapped_print(lua_State *L) {
    luaL_Buffer line;
    int count = lua_gettop(L);
    luaL_buffinit(L, &line);
    for (int i = 1; i <= count; i++) {
        if (i > 1) luaL_addchar(&line, '\t');
        lua_getglobal(L, "tostring");
        lua_pushvalue(L, i);
        lua_call(L, 1, 1);
        if (!lua_isstring(L, -1))
            return luaL_error(L, "'tostring' must return a string to 'print'");
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    log_notice("%s", lua_tostring(L, -1));
    return 0;
}

/* ---- building ---- */

struct wrapper {
    const char *library, *name; /* library NULL: a global */
    lua_CFunction function;
};

static const struct wrapper wrappers[] = {
    {NULL, "rawset", if_not_proxy},
    {NULL, "rawget", through_proxy},
    {NULL, "next", through_proxy},
    {NULL, "setmetatable", if_not_proxy},
    {NULL, "getmetatable", wrapped_getmetatable},
    {NULL, "setfenv", wrapped_setfenv},
    {NULL, "load", wrapped_load},
    {NULL, "loadstring", wrapped_loadstring},
    {NULL, "pcall", wrapped_pcall},
    {NULL, "xpcall", wrapped_xpcall},
    {NULL, "unpack", wrapped_unpack},
    {NULL, "collectgarbage", wrapped_collectgarbage},
    {NULL, "newproxy", wrapped_newproxy},
    {NULL, "print", wrapped_print},
    {"table", "insert", wrapped_insert},
    {"table", "remove", if_not_proxy},
    {"table", "sort", if_not_proxy},
    {"table", "foreach", through_proxy},
    {"string", "rep", wrapped_rep},
    {"string", "find", wrapped_matching},
    {"string", "match", wrapped_matching},
    {"string", "gmatch", wrapped_matching},
    {"string", "gfind", wrapped_matching},
    {"string", "gsub", wrapped_matching},
};

static void wrap_coroutines(lua_State *L) {
    lua_getglobal(L, "coroutine");
    lua_getfield(L, -1, "create");
    lua_getfield(L, -2, "resume");
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, wrapped_resume, 1);
    lua_setfield(L, -4, "resume");
    lua_pushcclosure(L, wrapped_wrap, 2);
    lua_setfield(L, -2, "wrap");
    lua_pop(L, 1);
}

static void wrap_all(lua_State *L) {
    for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
        const struct wrapper *w = &wrappers[i];
        if (w->library)
            lua_getglobal(L, w->library);
        else
            lua_pushvalue(L, LUA_GLOBALSINDEX);
        lua_getfield(L, -1, w->name);
        ASSERT(lua_iscfunction(L, -1));
        lua_pushcclosure(L, w->function, 1);
        lua_setfield(L, -2, w->name);
        lua_pop(L, 1);
    }
    lua_getglobal(L, "pairs");
    lua_getglobal(L, "next");
    lua_pushcclosure(L, wrapped_pairs, 2);
    lua_setglobal(L, "pairs");
    wrap_coroutines(L);
}

static void open_library(lua_State *L, lua_CFunction open, const char *name) {
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, 0);
}

/* The libraries of Lua that scripts get: not package, io, os, debug. */
static void open_libraries(lua_State *L) {
    static const char *const removed[] = {"dofile", "loadfile"};
    open_library(L, luaopen_base, "");
    open_library(L, luaopen_table, LUA_TABLIBNAME);
    open_library(L, luaopen_string, LUA_STRLIBNAME);
    open_library(L, luaopen_math, LUA_MATHLIBNAME);
    for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
        lua_pushnil(L);
        lua_setglobal(L, removed[i]);
    }
    lua_getglobal(L, "math");
    script_random_open(L);
    lua_pop(L, 1);
}

/* Replaces each library among the globals by its proxy. */
static void close_libraries(lua_State *L) {
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        bool is_globals = lua_rawequal(L, -1, -3);
        if (!lua_istable(L, -1) || is_globals) {
            lua_pop(L, 1);
            continue;
        }
        close_table(L);
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4); /* the key exists, so lua_next may go on */
    }
    lua_pop(L, 1);
}

/* Makes the proxy of the metatable of strings that scripts see. Strings keep the real table. */
static void close_strings(lua_State *L) {
    lua_newtable(L);
    lua_getglobal(L, "string");
    lua_setfield(L, -2, "__index");
    close_table(L);
    register_as(L, &proxy_of_strings);
}

static int missing_global(lua_State *L) {
    const char *name = lua_tostring(L, 2);
    return luaL_error(L, "Script attempted to access nonexistent global variable '%s'",
                      name ? name : luaL_typename(L, 2));
}

/* Replaces the table of globals by its proxy. */
static void close_globals(lua_State *L) {
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_pushvalue(L, -1);
    register_as(L, &real_globals);
    lua_newtable(L);
    lua_pushcfunction(L, missing_global);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    close_table(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "_G");
    lua_replace(L, LUA_GLOBALSINDEX);
    lua_pop(L, 1);
}

void sandbox_open(struct lua_State *L, void (*open)(struct lua_State *L)) {
    open_libraries(L);
    if (open) open(L);
    wrap_all(L);
    lua_newtable(L);
    close_table(L);
    register_as(L, &proxy_of_nothing);
    close_libraries(L);
    close_strings(L);
    close_globals(L);
}

void sandbox_push_globals(struct lua_State *L) { push_registered(L, &real_globals); }

void sandbox_renew(struct lua_State *L) {
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    lua_setfenv(L, -2);
}
