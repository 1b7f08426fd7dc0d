/* SPDX-License-Identifier: BSD-3-Clause
 * Sessions of the debugger.
 *
 *   off --EVAL--> runs --a line to stop at, or the time limit--> stopped
 *    ^             | ^                                             |
 *    |             | `--- step, continue; or the client is gone ---+
 *    |             |                                               |
 *    `- its end ---+------- ends <---- abort, protocol error ------'
 *
 * While the script is stopped, the client's commands are read and answered within the hook that Lua
 * calls before each line. Once the client is gone, the script runs on without a stop until its time
 * limit, because a script in a SYNC session must not be left half done. A script that is to end
 * gets an error at its next instruction, and again at each later one, so that no pcall of it
 * survives.
 *
 * Invariants
 *  1. A process has at most one session at a time; a session in the server itself lives within one
 *     call.
 *  2. A child runs this call and nothing else of the server: it sends nothing to other clients
 *     (client_keep_in_child), and nothing to the log or to replicas.
 *  3. No function here but the hook raises an error of Lua to its caller.
 */
#include "script/debugger.h"

#include <errno.h>
#include <lua5.1/lua.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "command/call.h"
#include "io/child.h"
#include "io/signals.h"
#include "net/capture.h"
#include "net/client.h"
#include "net/reply.h"
#include "script/debug_commands.h"
#include "script/debug_reply.h"
#include "script/debug_session.h"
#include "script/debug_text.h"
#include "script/engine.h"
#include "script/sandbox.h"

/* The script's instructions between two looks at the clock. */
#define HOOK_INSTRUCTIONS 100000
/* At most so many arguments of a call are shown. */
#define ARGUMENTS_SHOWN 10

static bool on;
static struct debug_session session;
static bool gone;          /* the client's connection has ended */
static const char *ends;   /* the error that ends the script; NULL: it goes on */
static int64_t begun_nsec; /* when the script began to run after its last stop */
static unsigned children;  /* forked sessions that still run */

/* ---- which clients have asked for a session ---- */

/* The state of a client that has asked for a session points to one of these two marks. */
static char forked_mark, sync_mark;

void debugger_set(struct client *c, enum debugger_mode mode) {
    void *mark = mode == DEBUGGER_FORKED ? &forked_mark : mode == DEBUGGER_SYNC ? &sync_mark : NULL;
    client_set_place(c, &debugger_client_state, mark);
}

enum debugger_mode debugger_mode_of(const struct client *c) {
    const void *mark = client_place(c, &debugger_client_state);
    if (!mark) return DEBUGGER_OFF;
    return mark == &forked_mark ? DEBUGGER_FORKED : DEBUGGER_SYNC;
}

bool debugger_must_wait(const struct client *c) {
    return reply_output_bytes(c) != 0 || c->reply_bytes != 0;
}

static void forget_client(struct client *c) { debugger_set(c, DEBUGGER_OFF); }

struct client_state debugger_client_state = {
    .name = "debugger", .has_place = true, .closing = forget_client};

/* ---- begin and end ---- */

/* Whether a signal asks the server to stop. In a child this is false: the parent handles the
 * signals. */
static bool is_interrupted(void) { return !child_here() && signals_shutdown_requested(); }

static void open_session(struct client *c, struct slice text) {
    on = true;
    gone = false;
    ends = NULL;
    debug_session_open(&session, c, text, is_interrupted);
}

const struct child_kind debugger_child = {.beside = true};

static void child_ended(const struct child_end *end, void *unused) { children--; }

/* Forks. True in the child. */
static bool fork_session(struct call *call) {
    struct client *c = call->client;
    const struct child_job job = {.kind = &debugger_child,
                                  .title = "redis-script-debug",
                                  .label = "Lua debugging session",
                                  .kept_fd = c->watcher.fd,
                                  .ended = child_ended};
    if (children == DEBUGGER_CHILDREN_MAX) {
        reply_error(c, "Too many debugging sessions");
        return false;
    }
    pid_t pid = child_fork(&job);
    if (pid < 0) {
        debugger_set(c, DEBUGGER_OFF);
        reply_error_format(c, "Fork() failed: can't run EVAL in debugging mode: %s",
                           strerror(errno));
    } else if (pid > 0) {
        children++;
        log_notice("A script is debugged by child %d.", (int)pid);
        client_leave_to_child(c);
        client_close_later(c);
    }
    return pid == 0;
}

/* Earlier replies must be sent before a session begins, because the session writes its lines to the
 * socket at once. */
bool debugger_begin(struct call *call, struct slice text) {
    struct client *c = call->client;
    ASSERT(!on);
    if (debugger_must_wait(c)) {
        reply_error(c, "A script must be debugged outside a pipeline");
        return false;
    }
    if (debugger_mode_of(c) == DEBUGGER_SYNC) {
        log_notice("A script is debugged; nobody else is served meanwhile.");
    } else {
        if (!fork_session(call)) return false;
        client_keep_in_child(c);
    }
    open_session(c, text);
    return true;
}

static void write_to_client(void *unused, const char *bytes, size_t length) {
    dialog_write(&session.dialog, (struct slice){bytes, length});
}

void debugger_end(struct call *call) {
    struct client *c = call->client;
    if (!on) return;
    debug_line(&session.lines, "<endsession>");
    bool heard = debug_session_send(&session);
    on = false;
    if (child_here()) {
        reply_hand_over(c, write_to_client, NULL);
        child_exit(0);
    }
    debug_session_close(&session);
    log_notice("The script has been debugged.");
    debugger_set(c, DEBUGGER_OFF);
    if (heard)
        client_close_after_reply(c);
    else
        client_close_later(c);
}

bool debugger_is_on(void) { return on; }

/* ---- where the script stops ---- */

/* The reason to stop here; NULL: the script does not stop here. */
static const char *reason_to_stop(const lua_Debug *where) {
    if (where->event == LUA_HOOKCOUNT) {
        int64_t ran_msec = (clock_monotonic_nsec() - begun_nsec) / 1000000;
        return ran_msec >= session.time_limit_msec ? "timeout reached, infinite loop?" : NULL;
    }
    if (session.asked) return "redis.breakpoint() called";
    if (debug_session_breaks_at(&session, where->currentline)) return "break point";
    return session.stepping ? "step over" : NULL;
}

/* Reads and answers the client's commands until the script is to go on, or to end. */
static void session_speak(lua_State *L) {
    for (;;) {
        enum debug_verdict verdict = DEBUG_STAYS;
        if (!debug_session_send(&session)) break;
        switch (dialog_read(&session.dialog)) {
        case DIALOG_REQUEST: verdict = debug_command_run(&session, L); break;
        case DIALOG_FAULT: ends = "protocol error"; return;
        case DIALOG_ENDED: gone = true; break;
        }
        if (gone) break;
        if (verdict == DEBUG_ABORTS) ends = "script aborted for user request";
        if (verdict != DEBUG_STAYS) return;
    }
    gone = true;
    session.stepping = session.asked = false;
    session.breakpoint_count = 0;
}

static void session_stop(lua_State *L, const char *reason) {
    session.stepping = session.asked = false;
    debug_line(&session.lines, "* Stopped at %d, stop reason = %s", session.line, reason);
    debug_session_show_line(&session, session.line);
    session_speak(L);
    begun_nsec = clock_monotonic_nsec();
}

static void debugger_hook(lua_State *L, lua_Debug *where);

static int end_here(lua_State *L) {
    engine_set_hook(L, debugger_hook, LUA_MASKCOUNT, 1);
    lua_pushstring(L, ends);
    return lua_error(L);
}

static bool is_in_script(lua_State *L, lua_Debug *where) {
    return lua_getinfo(L, "Sl", where) && strcmp(where->source, SANDBOX_SCRIPT_NAME) == 0;
}

/* Code that the script has compiled itself has no lines to show, but the time limit applies to it.
 */
static void debugger_hook(lua_State *L, lua_Debug *where) {
    if (!ends) {
        bool shown = is_in_script(L, where);
        if (shown) session.line = where->currentline;
        if (!shown && where->event != LUA_HOOKCOUNT) return;
        const char *reason = reason_to_stop(where);
        if (!reason) return;
        engine_hold();
        if (!gone) session_stop(L, reason);
        engine_let_go();
        if (gone && where->event == LUA_HOOKCOUNT)
            ends = "timeout: nobody debugs the script any more";
    }
    if (ends) end_here(L);
}

void debugger_attach(struct lua_State *L, int64_t time_limit_msec) {
    session.time_limit_msec = time_limit_msec ? time_limit_msec : DEBUGGER_TIME_LIMIT_MSEC;
    begun_nsec = clock_monotonic_nsec();
    lua_sethook(L, debugger_hook, LUA_MASKLINE | LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
}

/* ---- what is shown while the script runs ---- */

bool debugger_shows(void) { return on && session.stepping; }

void debugger_show_call(struct capture *capture, int argc, const struct slice *argv) {
    struct debug_lines *lines = &session.lines;
    if (debug_lines_take(lines)) {
        struct buffer *line = debug_line_begin(lines);
        buffer_append_c_string(line, "<redis>");
        for (int i = 0; i < argc && i < ARGUMENTS_SHOWN; i++) {
            buffer_append_char(line, ' ');
            debug_line_add(lines, argv[i]);
        }
        if (argc > ARGUMENTS_SHOWN) buffer_printf(line, " ... (%d more)", argc - ARGUMENTS_SHOWN);
        debug_line_end(lines);
    }
    struct buffer *reply = debug_line_begin(lines);
    buffer_append_c_string(reply, "<reply> ");
    debug_reply_begin(capture, reply, debug_lines_most(lines));
}

void debugger_show_reply(struct capture *capture, bool replied) {
    debug_reply_end(capture);
    if (replied && debug_lines_take(&session.lines)) debug_line_end_cut(&session.lines);
}

void debugger_show_error(struct slice text) {
    if (!debug_lines_take(&session.lines)) return;
    struct buffer *line = debug_line_begin(&session.lines);
    buffer_append_c_string(line, "<error> ");
    debug_line_add(&session.lines, text);
    debug_line_end(&session.lines);
}

bool debugger_stop_soon(void) {
    if (on) session.asked = true;
    return on;
}

void debugger_show_values(struct lua_State *L) {
    struct debug_lines *lines = &session.lines;
    if (!on || gone || !debug_lines_take(lines)) return;
    engine_hold();
    struct buffer *line = debug_line_begin(lines);
    int count = lua_gettop(L);
    lua_State *thread = debug_text_thread(L);
    buffer_printf(line, "<debug> line %d: ", session.line);
    for (int i = 1; i <= count; i++) {
        if (i > 1) buffer_append_c_string(line, ", ");
        if (line->length > DEBUG_LINE_BYTES_MAX) break;
        lua_pushvalue(L, i);
        lua_xmove(L, thread, 1);
        debug_text_append(line, thread, DEBUG_LINE_BYTES_MAX - line->length);
    }
    debug_line_end(lines);
    engine_let_go();
}
