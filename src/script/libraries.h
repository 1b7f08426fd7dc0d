/* SPDX-License-Identifier: BSD-3-Clause
 * The libraries that scripts find beside Lua's own: bit, struct, cmsgpack, cjson.
 */
#ifndef EVENKEEL_SCRIPT_LIBRARIES_H
#define EVENKEEL_SCRIPT_LIBRARIES_H
#include <lua5.1/lua.h>

/* Sets the globals `bit`, `struct`, `cmsgpack` and `cjson`, each a fresh table of functions and
 * constants; whoever runs scripts makes them read-only. All that the libraries hold belongs to the
 * state and is allocated through it. Raises Lua's error where memory is short. */
void script_libraries_open(lua_State *L);
#endif
