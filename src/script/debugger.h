/* SPDX-License-Identifier: BSD-3-Clause
 * The debugger: a client that has said SCRIPT DEBUG steps through the script that it runs next.
 *
 * After SCRIPT DEBUG YES a forked child runs the script, talks to the client, and exits: the
 * script's changes stay in the child, and the server goes on meanwhile. After SYNC the server
 * itself runs the script, and serves no other client until the session ends. The client is closed
 * after both.
 */
#ifndef EVENKEEL_SCRIPT_DEBUGGER_H
#define EVENKEEL_SCRIPT_DEBUGGER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

struct call;
struct capture;
struct client;
struct child_kind;
struct client_state;
struct lua_State;

/* At most so many forked sessions exist at a time: each is a process that shares the server's
 * memory until one of them writes. */
#define DEBUGGER_CHILDREN_MAX 64

enum debugger_mode { DEBUGGER_OFF, DEBUGGER_FORKED, DEBUGGER_SYNC };

/* Sets and tells the mode that the client has asked for. */
void debugger_set(struct client *c, enum debugger_mode mode);
enum debugger_mode debugger_mode_of(const struct client *c);
/* Whether the client still waits for replies, which would arrive among the lines of a session. */
bool debugger_must_wait(const struct client *c);
/* The kind of child that runs a forked session; for server/shutdown. */
extern const struct child_kind debugger_child;
/* The mode that a client has asked for, which ends with the client; for server/wiring. */
extern struct client_state debugger_client_state;

/* Begins the session that the call's client has asked for; `text` is the script. Returns true if
 * the session is in this process: the caller runs the script and then calls debugger_end. Returns
 * false if it is in a child, or if there is none and the call has been answered with the reason. */
MUST_USE bool debugger_begin(struct call *call, struct slice text);
/* Ends the session, after the call has been answered; does nothing without a session. Does not
 * return in a child. */
void debugger_end(struct call *call);

/* ---- while a session is on ---- */

bool debugger_is_on(void);
/* A script of the session begins. It stops at its first line, and whenever it has run for so many
 * milliseconds without a stop; 0: DEBUGGER_TIME_LIMIT_MSEC. */
#define DEBUGGER_TIME_LIMIT_MSEC 5000
void debugger_attach(struct lua_State *L, int64_t time_limit_msec);
/* Whether the script's calls are shown to the client. */
bool debugger_shows(void);
/* Shows a call of the script, and from now on its reply as the capture receives it, until
 * debugger_show_reply. */
void debugger_show_call(struct capture *capture, int argc, const struct slice *argv);
/* The call has ended: shows its reply if it has `replied`; otherwise it was refused. */
void debugger_show_reply(struct capture *capture, bool replied);
/* Shows the error of a refused call, or of another function of `redis`. */
void debugger_show_error(struct slice text);
/* redis.breakpoint: the script stops at its next line. False without a session. */
bool debugger_stop_soon(void);
/* redis.debug: shows the values on the stack of L, its arguments. */
void debugger_show_values(struct lua_State *L);
#endif
