/* SPDX-License-Identifier: BSD-3-Clause
 * Values of Lua as the debugger shows them.
 *
 *   "text"  1.5  true  nil  {1; "b"}  {["k"]="v"; [3]=true}  "function@0x1234"
 */
#ifndef EVENKEEL_SCRIPT_DEBUG_TEXT_H
#define EVENKEEL_SCRIPT_DEBUG_TEXT_H
#include "base/string.h"

struct lua_State;

/* So many levels of nested tables are shown. */
#define DEBUG_TEXT_DEPTH_MAX 10

/* Pushes a thread of Lua that has an empty stack and no hook, and returns it. Code that shows
 * values moves each value to such a thread, because a script may have filled the stack of its own
 * thread. To be called between engine_hold and engine_let_go. */
struct lua_State *debug_text_thread(struct lua_State *L);
/* Appends the value on top of the stack of such a thread as text, and pops it. The text ends at
 * about `most` bytes: further elements of a table are left out. Calls no code of a script. To be
 * called between engine_hold and engine_let_go. */
void debug_text_append(struct buffer *out, struct lua_State *thread, size_t most);
#endif
