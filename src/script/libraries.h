/* SPDX-License-Identifier: BSD-3-Clause
 * The libraries that scripts find beside Lua's own: bit, struct, cmsgpack, cjson.
 */
#ifndef EVENKEEL_SCRIPT_LIBRARIES_H
#define EVENKEEL_SCRIPT_LIBRARIES_H
#include <lua5.1/lua.h>

/* Sets the globals `bit`, `struct`, `cmsgpack` and `cjson`, each a new table of functions and
 * constants; the sandbox makes them read-only. All memory of the libraries belongs to the state and
 * is allocated through it. Raises Lua's error if memory is short. */
void script_libraries_open(lua_State *L);
#endif
