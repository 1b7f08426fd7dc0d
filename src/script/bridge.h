/* SPDX-License-Identifier: BSD-3-Clause
 * The bridge from scripts to commands: the table `redis`.
 *
 * redis.call runs a command by call_run, as a captured client that acts for the script's caller:
 * with its rights, in a database and a protocol of its own. The arguments are slices of Lua's
 * strings, and the reply comes as values (script/convert).
 */
#ifndef EVENKEEL_SCRIPT_BRIDGE_H
#define EVENKEEL_SCRIPT_BRIDGE_H
#include <stdbool.h>

struct call;
struct lua_State;

void bridge_register(void); /* lua-replicate-commands */
/* Makes the table a global. */
void bridge_open(struct lua_State *L);

/* Around a script that `eval` runs. No script runs within another. */
void bridge_begin(const struct call *eval);
void bridge_end(void);
/* A command of the script has written: it can not be ended before its time. */
bool bridge_wrote(void);
/* The script has chosen RESP3. */
bool bridge_speaks_resp3(void);
/* After bridge_end: who is to run the script itself again (enum effect_reader), since it was not to
 * be repeated by its effects; none where it has changed nothing. */
unsigned bridge_script_readers(void);
/* DEBUG LUA-ALWAYS-REPLICATE-COMMANDS: the option, as it is set behind its back. */
void bridge_set_by_effects(bool by_effects);
#endif
