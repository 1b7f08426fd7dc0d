/* SPDX-License-Identifier: BSD-3-Clause
 * Values of Lua as somebody reads them who debugs a script.
 *
 *   "text"  1.5  true  nil  {1; "b"}  {["k"]="v"; [3]=true}  "function@0x1234"
 */
#ifndef EVENKEEL_SCRIPT_DEBUG_TEXT_H
#define EVENKEEL_SCRIPT_DEBUG_TEXT_H
#include "base/string.h"

struct lua_State;

/* Tables within each other that are shown. */
#define DEBUG_TEXT_DEPTH_MAX 10

/* Pushes a thread of Lua that has an empty stack and no hook; returns it. A script may have filled
 * the stack of its own thread, so what shows values moves each of them to such a thread. Nothing
 * may fail meanwhile (engine_hold). */
struct lua_State *debug_text_thread(struct lua_State *L);
/* Appends the value on top of the stack of such a thread, and pops it. The text ends at about
 * `most` bytes: what a table has beyond is left out. Calls no code of a script. Nothing may fail
 * meanwhile (engine_hold). */
void debug_text_append(struct buffer *out, struct lua_State *thread, size_t most);
#endif
