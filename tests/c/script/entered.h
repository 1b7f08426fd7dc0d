/* SPDX-License-Identifier: BSD-3-Clause
 * The state of an engine, for tests that are about what is within it. What they do with it is not
 * protected: they see to it that it cannot fail, or is in a lua_pcall of their own.
 */
#ifndef EVENKEEL_TESTS_SCRIPT_ENTERED_H
#define EVENKEEL_TESTS_SCRIPT_ENTERED_H
#include <lua5.1/lauxlib.h>
#include <lua5.1/lua.h>

#include "base/panic.h"
#include "script/engine.h"

/* A thread of its own, which lives as long as the state. */
static inline void entered_keep(lua_State *L, void *context) {
    engine_hold();
    *(lua_State **)context = lua_newthread(L);
    luaL_ref(L, LUA_REGISTRYINDEX);
}

static inline lua_State *entered_state(struct engine *e) {
    lua_State *L = NULL;
    bool entered = engine_enter(e, entered_keep, &L);
    ASSERT(entered);
    lua_gc(L, LUA_GCRESTART, 0); /* as Lua collects by itself: nobody else will */
    return L;
}
#endif
