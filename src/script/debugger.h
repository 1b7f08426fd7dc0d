/* SPDX-License-Identifier: BSD-3-Clause
 * The debugger: a client that has said SCRIPT DEBUG steps through the script that it runs next.
 *
 * By YES a forked child runs it, speaks with the client, and ends: what the script changes is
 * changed in the child alone, and the server goes on meanwhile. By SYNC the server itself does, and
 * nobody else is served until the session is over. Either way the client is closed then.
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

/* Forked sessions at a time: each is a process that shares the server's memory until one of them
 * writes. */
#define DEBUGGER_CHILDREN_MAX 64

enum debugger_mode { DEBUGGER_OFF, DEBUGGER_FORKED, DEBUGGER_SYNC };

/* What the client has asked for. */
void debugger_set(struct client *c, enum debugger_mode mode);
enum debugger_mode debugger_mode_of(const struct client *c);
/* It has replies to come, which would arrive among the lines of a session. */
bool debugger_must_wait(const struct client *c);
/* Forgets what a client that closes has asked for. */
extern const struct child_kind debugger_child;    /* a session in a child; for server/shutdown */
extern struct client_state debugger_client_state; /* for server/wiring */

/* Begins the session that the call's client has asked for; `text` is the script. True where it is
 * here: the script is to be run, and debugger_end called. False where it is in a child, or the call
 * has been answered why there is none. */
MUST_USE bool debugger_begin(struct call *call, struct slice text);
/* After the call has been answered; nothing where no session is on. Does not return in a child. */
void debugger_end(struct call *call);

/* ---- while a session is on ---- */

bool debugger_is_on(void);
/* A script that is to be stepped through begins. It stops at its first line, and after so many
 * milliseconds without a stop; 0: DEBUGGER_TIME_LIMIT_MSEC. */
#define DEBUGGER_TIME_LIMIT_MSEC 5000
void debugger_attach(struct lua_State *L, int64_t time_limit_msec);
/* Whether what the script's calls do is shown. */
bool debugger_shows(void);
/* A call is made. Its reply, as it comes to the capture, is shown until the next function. */
void debugger_show_call(struct capture *capture, int argc, const struct slice *argv);
/* It has replied, or was refused and has not. */
void debugger_show_reply(struct capture *capture, bool replied);
/* What refused it, or another function of `redis`. */
void debugger_show_error(struct slice text);
/* redis.breakpoint: false where no session is on. */
bool debugger_stop_soon(void);
/* redis.debug: the values that L has been called with. */
void debugger_show_values(struct lua_State *L);
#endif
