/* SPDX-License-Identifier: BSD-3-Clause
 * The commands of the debugger, which its client may send while the script is stopped.
 */
#ifndef EVENKEEL_SCRIPT_DEBUG_COMMANDS_H
#define EVENKEEL_SCRIPT_DEBUG_COMMANDS_H
#include "base/attributes.h"

struct debug_session;
struct lua_State;

enum debug_verdict {
    DEBUG_STAYS,   /* the script stays stopped: the next command is read */
    DEBUG_GOES_ON, /* the script continues */
    DEBUG_ABORTS,  /* the script is to end */
};

/* Runs the command that the session's dialog has read, and adds the answer to the lines. L is the
 * thread of Lua that is stopped. Raises no error of Lua. To be called between engine_hold and
 * engine_let_go; the limit of memory holds again while it runs code of the user's. */
MUST_USE enum debug_verdict debug_command_run(struct debug_session *s, struct lua_State *L);
#endif
