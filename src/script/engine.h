/* SPDX-License-Identifier: BSD-3-Clause
 * The Lua state that all scripts run in: the one door into it, its memory, its collector.
 *
 * The door. An error of Lua leaves by longjmp, and nearly every call of Lua may raise one, since it
 * may allocate. So no file but engine.c has a state at hand: others have a `struct engine`, which
 * no function of Lua takes, and engine_enter, which calls a function of theirs with the state,
 * protected. Code that has a `lua_State *` therefore runs protected, and an error that it raises
 * ends in engine_enter or in a pcall of the script.
 *
 * Memory. What Lua holds is of the class MEMORY_LUA, and bounded by lua-memory-limit: a script that
 * wants more gets the error "not enough memory", which it may even catch. A function that holds
 * something in C must not be left by an error, so it asks for memory between engine_hold and
 * engine_let_go: there Lua gets what it wants, whatever the limit says.
 *
 * The collector. What was allocated pays for collecting: engine.c has the rules.
 */
#ifndef EVENKEEL_SCRIPT_ENGINE_H
#define EVENKEEL_SCRIPT_ENGINE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

struct engine;
struct lua_Debug;
struct lua_State;

void engine_register(void); /* lua-memory-limit; used_memory_lua */
/* An engine with an empty state; never NULL. `describe` is called with an error that leaves through
 * the door, and returns the text that engine_error has; NULL: errors stay as they are. */
struct engine *engine_create(int (*describe)(struct lua_State *L));
/* Frees the state and all that it holds. O(memory of Lua). */
void engine_free(struct engine *e);
/* From now on nothing is done with the engine but engine_free, by whichever thread. Until then its
 * memory counts. */
void engine_part_with(struct engine *e);

/* Calls `run` with the state, whose stack is empty, and with `context`. False where an error of Lua
 * has ended it: engine_error has the text. Afterwards no hook is set, nothing is held that was
 * not before, and the collector has been paid. Not from within `run`. */
MUST_USE bool engine_enter(struct engine *e, void (*run)(struct lua_State *L, void *context),
                           void *context);
/* The error that ended the last engine_enter; valid until the next one. It ends with a NUL. */
struct slice engine_error(const struct engine *e);
/* Memory was refused during the last engine_enter, or has been refused in the one that is on. */
bool engine_lacked(void);
/* Bytes that Lua holds more since the last engine_enter; SIZE_MAX where it was collected in, so
 * that nobody knows. No table has grown by more. */
size_t engine_grown(void);
/* Collects all garbage, unless too little was allocated since the last time for that to pay. */
void engine_collect(struct engine *e);

/* ---- within engine_enter ---- */

/* Between these two Lua gets all the memory that it asks for, whatever the limit says. They nest.
 */
void engine_hold(void);
void engine_let_go(void);
/* Until the end of this engine_enter there is no limit. */
void engine_lift_limit(void);
/* True while Lua holds no more than the limit, if need be after a collection. To be asked, while
 * memory is held, before each value of a reply that may be large. */
bool engine_has_room(struct lua_State *L);
/* Something large that was made in this entry is garbage now: collects everything, while memory is
 * held. */
void engine_drop(struct lua_State *L);
/* Nothing is collected between these two. They do not nest. */
void engine_suspend_collector(struct lua_State *L);
void engine_resume_collector(struct lua_State *L);
/* The script is about to lay hands on the collector: it finds Lua's own settings, and what it does
 * to them is undone at the end. */
void engine_note_collector(struct lua_State *L);
/* Sets a hook (lua_sethook) for this thread of Lua, for the one that all others run in, and, until
 * the end of this engine_enter, for each other thread when a coroutine returns to it. */
void engine_set_hook(struct lua_State *L, void (*hook)(struct lua_State *L, struct lua_Debug *ar),
                     int mask, int count);
/* Only the last of these: the hook that other threads get when a coroutine returns to them. NULL:
 * each keeps its own. */
void engine_spread_hook(void (*hook)(struct lua_State *L, struct lua_Debug *ar), int mask,
                        int count);
/* A coroutine has returned to this thread of Lua, or has failed. */
void engine_renew_hook(struct lua_State *L);

/* ---- */

/* Bytes that all states hold, garbage included, and how many there may be. */
size_t engine_bytes(void);
size_t engine_bytes_max(void);
/* For tests: NULL, or what is asked before each allocation that may be refused, once the engine has
 * been entered. */
FOR_TESTS void engine_set_refusal(bool (*refuses)(size_t size));
#endif
