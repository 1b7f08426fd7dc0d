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

/* Appends the value at `index`, as far as the text comes to about `most` bytes: what a table has
 * beyond is left out. Calls no code of a script. Nothing may fail meanwhile (engine_hold). */
void debug_text_append(struct buffer *out, struct lua_State *L, int index, size_t most);
#endif
