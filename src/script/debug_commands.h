/* SPDX-License-Identifier: BSD-3-Clause
 * What somebody who debugs a script may say while it stands.
 */
#ifndef EVENKEEL_SCRIPT_DEBUG_COMMANDS_H
#define EVENKEEL_SCRIPT_DEBUG_COMMANDS_H
#include "base/attributes.h"

struct debug_session;
struct lua_State;

enum debug_verdict {
    DEBUG_STAYS,   /* answered: the next command, please */
    DEBUG_GOES_ON, /* the script runs */
    DEBUG_ABORTS,  /* it is to end */
};

/* Runs the command that the session's dialog has read. L is the thread of Lua that stands. The
 * answer is added to the lines. No error of Lua leaves it; within engine_hold, which it leaves
 * where it runs code of the user's. */
MUST_USE enum debug_verdict debug_command_run(struct debug_session *s, struct lua_State *L);
#endif
