/* SPDX-License-Identifier: BSD-3-Clause
 * What scripts see of Lua: globals and libraries that they cannot change, and nothing that reaches
 * out of the state, or below what Lua checks.
 *
 * docs/scripting-safety.md says which measure answers which known fault.
 */
#ifndef EVENKEEL_SCRIPT_SANDBOX_H
#define EVENKEEL_SCRIPT_SANDBOX_H
#include <stdbool.h>

#include "base/attributes.h"
#include "base/string.h"

struct lua_State;

/* A longer text is no script: no position in the parser comes near the largest int. */
#define SANDBOX_TEXT_BYTES_MAX ((size_t)64 << 20)
/* Of a pattern of string.find and the like. Lua's matcher calls itself for each item that may match
 * more than once; this many items of two bytes stay within a small part of the stack. */
#define SANDBOX_PATTERN_BYTES_MAX 16384

/* The name of scripts, in errors and for who looks at what runs. */
#define SANDBOX_SCRIPT_NAME "@user_script"

/* Fills an empty state: libraries of Lua's own, then what `open` adds as globals, then all of it is
 * closed. Once a state. */
void sandbox_open(struct lua_State *L, void (*open)(struct lua_State *L));
/* Pushes the table of the globals: what is set there scripts see and cannot set. No script may get
 * the table itself. */
void sandbox_push_globals(struct lua_State *L);
/* Compiles a text, never byte code. True with the function on top of the stack, its environment the
 * sandbox's; false with the error there. Nothing is collected meanwhile. */
MUST_USE bool sandbox_load(struct lua_State *L, struct slice text, const char *name);
/* The table on top, where it is one of ours that scripts see a proxy of, becomes the real one: for
 * who shows it, and gives it to no script. */
void sandbox_look_through(struct lua_State *L);
/* A script begins: what it did to its function's environment when it ran before is undone. The
 * function is on top of the stack. */
void sandbox_renew(struct lua_State *L);
#endif
