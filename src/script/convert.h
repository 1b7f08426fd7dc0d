/* SPDX-License-Identifier: BSD-3-Clause
 * Replies of commands to values of Lua, and what a script returns to its client's reply.
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
/* Around a call of its client: the value of its reply is pushed. Where there was none, it is what
 * null is. Nothing may fail meanwhile (engine_hold). */
void convert_begin(struct convert *convert, struct lua_State *L);
void convert_end(struct convert *convert);

/* The array of texts on top of the stack is put in order, where it is one: by their bytes. */
void convert_sort(struct lua_State *L);

/* A reply of a table has at most about so many bytes: a small table that holds itself twice says
 * far more. */
#define CONVERT_REPLY_BYTES_MAX ((size_t)512 << 20)
/* Replies the value on top of the stack, and pops it. With `booleans` true and false are those of
 * RESP3, for a client of that protocol. Raises an error, and has replied nothing, where the reply
 * is too large; runs the script's hook before it replies, which may raise one, too. Lua must get
 * all the memory that it asks for (engine_hold). */
void convert_reply(struct lua_State *L, struct client *c, bool booleans);
#endif
