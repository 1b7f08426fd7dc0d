/* SPDX-License-Identifier: BSD-3-Clause
 * The Lua state that all scripts run in: the only entry into it, its memory, its collector.
 *
 * Entry. An error of Lua leaves by longjmp, and nearly every call of Lua may raise one, because it
 * may allocate. Therefore only engine.c keeps a state. Other files have a `struct engine`, which no
 * function of Lua takes, and call engine_enter, which calls one of their functions with the state,
 * protected. So code that has a `lua_State *` runs protected, and an error that it raises ends in
 * engine_enter or in a pcall of the script.
 *
 * Memory. Lua's memory is of the class engine_memory, and bounded by lua-memory-limit: a script
 * that wants more gets the error "not enough memory", which it may catch. A C function that holds a
 * resource must not be left by an error, so it allocates between engine_hold and engine_let_go,
 * where Lua gets all the memory that it asks for, whatever the limit is.
 *
 * Collector. A script pays for collecting in proportion to what it allocates: engine.c has the
 * rules.
 */
#ifndef EVENKEEL_SCRIPT_ENGINE_H
#define EVENKEEL_SCRIPT_ENGINE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "base/string.h"

struct engine;
struct lua_Debug;
struct lua_State;

/* The class of Lua's heap: values of scripts, their code, garbage that is not collected yet. Apart
 * from other memory, as in 6.2, whose Lua has an allocator of its own. */
extern enum memory_class engine_memory;

/* Registers lua-memory-limit, used_memory_lua and the class of memory. Once, at start. */
void engine_register(void);
/* Creates an engine with an empty state; never NULL. `describe` is called with an error that ends
 * engine_enter, and pushes the text that engine_error returns. NULL: errors stay as they are. */
struct engine *engine_create(int (*describe)(struct lua_State *L));
/* Frees the engine, its state and all memory of it. O(memory of Lua). */
void engine_free(struct engine *e);
/* Gives the engine up: afterwards only engine_free may be called with it, by any thread. Its memory
 * counts until then. */
void engine_part_with(struct engine *e);

/* Calls `run` with the state, whose stack is empty, and with `context`. Returns false if an error
 * of Lua has ended it: engine_error returns its text. Afterwards no hook is set, engine_hold is
 * undone, and the collector has done its share. Not to be called from within `run`. */
MUST_USE bool engine_enter(struct engine *e, void (*run)(struct lua_State *L, void *context),
                           void *context);
/* The text of the error that ended the last engine_enter, followed by a NUL; valid until the next
 * engine_enter. */
struct slice engine_error(const struct engine *e);
/* Whether Lua was refused memory in the last engine_enter, or in the one that runs. */
bool engine_lacked(void);
/* By how many bytes Lua's memory has grown in the last engine_enter; SIZE_MAX if garbage was
 * collected in it, because the growth is unknown then. No table has grown by more. */
size_t engine_grown(void);
/* Collects all garbage, unless too little was allocated since the last time to make it
 * worthwhile. */
void engine_collect(struct engine *e);

/* ---- within engine_enter ---- */

/* Between engine_hold and engine_let_go Lua gets all the memory that it asks for, whatever the
 * limit is. They nest. */
void engine_hold(void);
void engine_let_go(void);
/* Removes the limit of memory until the end of this engine_enter. */
void engine_lift_limit(void);
/* Returns true while Lua's memory is within the limit, if necessary after a collection. To be asked
 * between engine_hold and engine_let_go, before each value of a reply that may be large. */
bool engine_has_room(struct lua_State *L);
/* Collects all garbage, because a large value of this engine_enter has just become garbage. Between
 * engine_hold and engine_let_go. */
void engine_drop(struct lua_State *L);
/* Between these two calls the collector does not run. They do not nest. */
void engine_suspend_collector(struct lua_State *L);
void engine_resume_collector(struct lua_State *L);
/* The script is about to change the collector's settings: it finds Lua's default settings, and its
 * changes are undone at the end of this engine_enter. */
void engine_note_collector(struct lua_State *L);
/* Sets a hook (lua_sethook) for this thread of Lua, for the one that all others run in, and, until
 * the end of this engine_enter, for each other thread when a coroutine returns to it. */
void engine_set_hook(struct lua_State *L, void (*hook)(struct lua_State *L, struct lua_Debug *ar),
                     int mask, int count);
/* Sets only the hook that a thread of Lua gets when a coroutine returns to it. NULL: each thread
 * keeps its own hook. */
void engine_spread_hook(void (*hook)(struct lua_State *L, struct lua_Debug *ar), int mask,
                        int count);
/* Renews the hook of this thread of Lua, to which a coroutine has returned, or in which one has
 * failed. */
void engine_renew_hook(struct lua_State *L);

/* ---- */

/* The memory of all states in bytes, garbage included; and its limit. */
size_t engine_bytes(void);
size_t engine_bytes_max(void);
/* Sets the function that may refuse an allocation within engine_enter; NULL: none. */
FOR_TESTS void engine_set_refusal(bool (*refuses)(size_t size));
#endif
