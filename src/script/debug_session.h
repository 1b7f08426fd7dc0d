/* SPDX-License-Identifier: BSD-3-Clause
 * A session of the debugger: the script's lines, the line that runs next, and the breakpoints.
 */
#ifndef EVENKEEL_SCRIPT_DEBUG_SESSION_H
#define EVENKEEL_SCRIPT_DEBUG_SESSION_H
#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "net/dialog.h"
#include "script/debug_lines.h"

struct client;
struct lua_State;

/* As 6.2. */
#define DEBUG_BREAKPOINTS_MAX 64

struct debug_session {
    struct dialog dialog;
    struct debug_lines lines;
    struct slice text;     /* the script's, borrowed, without empty lines at its end */
    uint32_t *line_begins; /* of each line of it, the offset */
    int line_count;
    int breakpoints[DEBUG_BREAKPOINTS_MAX], breakpoint_count; /* lines, from 1 on */
    int line;                                                 /* that runs next */
    bool stepping;            /* the script stops at the next line; its calls are shown */
    bool asked;               /* as `stepping`, by redis.breakpoint() */
    int64_t time_limit_msec;  /* that the script may run without a stop */
    struct lua_State *thread; /* of debug_text_thread, while a command of the debugger runs */
};

/* Opens a session. The text stays where it is until the session is closed. A text that is too long
 * to be compiled has no lines. */
void debug_session_open(struct debug_session *s, struct client *c, struct slice text,
                        bool (*interrupted)(void));
void debug_session_close(struct debug_session *s);
/* Sends the gathered lines. Returns false if the client is gone. */
bool debug_session_send(struct debug_session *s);

bool debug_session_breaks_at(const struct debug_session *s, int line);
enum debug_breakpoint {
    DEBUG_BREAKPOINT_SET,
    DEBUG_BREAKPOINTS_TOO_MANY,
    DEBUG_BREAKPOINT_WRONG, /* there is no such line, or one is set there */
};
enum debug_breakpoint debug_session_set(struct debug_session *s, int64_t line);
/* Removes a breakpoint; false if there is none at this line. */
bool debug_session_unset(struct debug_session *s, int64_t line);

/* Adds a line of the script: "-> 3   local a = 1", with a '#' if it is a breakpoint. */
void debug_session_show_line(struct debug_session *s, int line);
/* Adds the script's lines from `around` - `beside` to `around` + `beside` that exist, as far as
 * DEBUG_LINES_BYTES_MAX allows. Both arguments are at most INT32_MAX. */
void debug_session_show_lines(struct debug_session *s, int64_t around, int64_t beside);
#endif
