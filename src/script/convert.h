/* SPDX-License-Identifier: BSD-3-Clause
 * Conversion of commands' replies to values of Lua, and of a script's result to its client's reply.
 *
 *   reply                      Lua                          back
 *   integer                    number                       integer (cut)
 *   bulk                       string                       bulk
 *   status, error              {ok = text}, {err = text}    the same
 *   array                      table from 1 on              array, up to the first nil
 *   null                       false; nil by RESP3          null
 *   map, set, double (RESP3)   {map = t}, {set = {x = true}}, {double = number}    the same
 *   boolean (RESP3)            boolean                      by RESP2 1 or null
 *   big number (RESP3)         {big_number = digits}        not from a script, as in 6.2
 *   verbatim (RESP3)           {verbatim_string = {format = type, string = text}}    neither
 */
#ifndef EVENKEEL_SCRIPT_CONVERT_H
#define EVENKEEL_SCRIPT_CONVERT_H
#include <stdbool.h>

#include "base/attributes.h"
#include "net/capture.h"

struct client;
struct lua_State;

/* One reply on its way to a value. */
struct convert {
    struct capture capture; /* the client whose replies become values; its levels are open tables */
    struct lua_State *L;
    int base;          /* of the stack, when it began */
    bool done, failed; /* the value is on top of the stack; it is an error */
    bool full;         /* there is no room for more of it */
};

/* Makes the client, for as long as the server runs. The struct stays where it is. */
void convert_open(struct convert *convert);
/* Called before and after a call of the client: convert_end pushes the value of the call's reply,
 * or, if there was no reply, the value of null. Between engine_hold and engine_let_go. */
void convert_begin(struct convert *convert, struct lua_State *L);
void convert_end(struct convert *convert);

/* If the value on top of the stack is an array of texts, sorts it by the texts' bytes. */
void convert_sort(struct lua_State *L);

/* The reply of a table has at most about so many bytes. There is a limit because a small table that
 * contains itself twice describes a far larger reply. */
#define CONVERT_REPLY_BYTES_MAX ((size_t)512 << 20)
/* Replies the value on top of the stack, and pops it. With `booleans` a RESP3 client is replied
 * booleans. Raises an error, without having replied anything, if the reply is too large, or if the
 * script's hook raises one, which is run before the reply. Between engine_hold and engine_let_go.
 */
void convert_reply(struct lua_State *L, struct client *c, bool booleans);
#endif
