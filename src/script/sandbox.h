/* SPDX-License-Identifier: BSD-3-Clause
 * The part of Lua that scripts see: globals and libraries that scripts cannot change. None of them
 * reaches outside the state, or bypasses Lua's checks.
 *
 * docs/scripting-safety.md says which measure answers which known fault.
 */
#ifndef EVENKEEL_SCRIPT_SANDBOX_H
#define EVENKEEL_SCRIPT_SANDBOX_H
#include <stdbool.h>

#include "base/attributes.h"
#include "base/string.h"

struct lua_State;

/* A longer text is refused, so that no position in Lua's parser comes near the largest int. */
#define SANDBOX_TEXT_BYTES_MAX ((size_t)64 << 20)
/* A pattern of string.find and similar functions may have so many bytes. Lua's matcher calls itself
 * for each item that may match more than once; so many bytes of items use a small part of the
 * stack.
 */
#define SANDBOX_PATTERN_BYTES_MAX 16384

/* The name of every script in errors; the debugger knows scripts by it. */
#define SANDBOX_SCRIPT_NAME "@user_script"

/* Fills an empty state: adds Lua's libraries, calls `open`, which adds further globals, and makes
 * all of them read-only. Once for each state. */
void sandbox_open(struct lua_State *L, void (*open)(struct lua_State *L));
/* Pushes the table of the globals. Scripts see its fields and cannot set them. No script may get
 * the table itself. */
void sandbox_push_globals(struct lua_State *L);
/* Compiles a text, never byte code. True with the function on top of the stack, in the environment
 * of the sandbox; false with the error there. The collector does not run meanwhile. */
MUST_USE bool sandbox_load(struct lua_State *L, struct slice text, const char *name);
/* If the value on top is a proxy of a read-only table, replaces it by that table. For code that
 * shows the table and gives it to no script. */
void sandbox_look_through(struct lua_State *L);
/* A script begins, whose function is on top of the stack: undoes what an earlier run of it has done
 * to the function's environment. */
void sandbox_renew(struct lua_State *L);
#endif
