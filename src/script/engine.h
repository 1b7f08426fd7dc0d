/* SPDX-License-Identifier: BSD-3-Clause
 * The Lua state that all scripts run in, and its memory.
 *
 * What Lua holds is of the class MEMORY_LUA, and bounded by lua-memory-limit: a script that wants
 * more gets the error "not enough memory", which it may even catch. Where the server itself uses
 * the state (arguments, replies) nothing may fail, for an error of Lua leaves by longjmp:
 * engine_hold.
 */
#ifndef EVENKEEL_SCRIPT_ENGINE_H
#define EVENKEEL_SCRIPT_ENGINE_H
#include <stddef.h>

struct lua_State;

void engine_register(void); /* lua-memory-limit; used_memory_lua */
/* The state, empty; never NULL. */
struct lua_State *engine_create(void);
void engine_free(struct lua_State *L);
/* From now on nothing is done with the state but engine_free, by whichever thread. Until then it
 * counts. */
void engine_part_with(struct lua_State *L);
/* Between these two Lua gets all the memory that it asks for, whatever the limit says. They nest.
 */
void engine_hold(void);
void engine_let_go(void);
/* Bytes that all states hold, garbage included, and how many there may be. */
size_t engine_bytes(void);
size_t engine_bytes_max(void);
#endif
