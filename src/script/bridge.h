/* SPDX-License-Identifier: BSD-3-Clause
 * The bridge from scripts to commands: the table `redis`.
 *
 * redis.call runs a command by call_run, for a captured client that acts for the script's caller:
 * it has the caller's rights, and a database and a protocol of its own. The arguments are slices of
 * Lua's strings, and the reply arrives as values (script/convert).
 */
#ifndef EVENKEEL_SCRIPT_BRIDGE_H
#define EVENKEEL_SCRIPT_BRIDGE_H
#include <stdbool.h>

struct call;
struct lua_State;

void bridge_register(void); /* lua-replicate-commands */
/* Creates the table as a global. */
void bridge_open(struct lua_State *L);

/* Called before and after the script that `eval` runs. No script runs within another. */
void bridge_begin(const struct call *eval);
void bridge_end(void);
/* Whether a command of the script has written, so that the script cannot be killed. */
bool bridge_wrote(void);
/* Whether the script has chosen RESP3. */
bool bridge_speaks_resp3(void);
/* After bridge_end: the readers (enum effect_reader) that must be given the script itself, because
 * it is not replicated by its effects; none if it has changed nothing. */
unsigned bridge_script_readers(void);
/* DEBUG LUA-ALWAYS-REPLICATE-COMMANDS: sets the variable of the option lua-replicate-commands. */
void bridge_set_by_effects(bool by_effects);
#endif
