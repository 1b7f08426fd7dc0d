/* SPDX-License-Identifier: BSD-3-Clause
 * Values as commands that create them, for a rewrite of the append only file: the code that the
 * types' rows share.
 *
 * Commands are arrays of bulk texts. A collection takes one command for each REWRITTEN_MEMBERS_MAX
 * members, as in Redis 6.2, so that no command blocks the server that loads it for long. Rewriting
 * may go in steps, with a cursor as saving has (value/saved.h).
 */
#ifndef EVENKEEL_VALUE_REWRITTEN_H
#define EVENKEEL_VALUE_REWRITTEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "value/value.h"

struct save_cursor;
struct sink;

#define REWRITTEN_MEMBERS_MAX 64

/* Writes the commands that create the value under a key that does not exist. */
void rewritten_write_value(struct sink *out, enum value_kind kind, struct value v,
                           struct slice key);

/* ---- for the types ---- */

/* Begins a command of so many words; each word follows by one of the functions below. */
void rewritten_begin(struct sink *out, uint64_t words);
void rewritten_text(struct sink *out, struct slice text);
/* Enclose a word of `length` bytes that the caller writes to the sink itself. */
void rewritten_text_begin(struct sink *out, uint64_t length);
void rewritten_text_end(struct sink *out);
void rewritten_integer(struct sink *out, int64_t integer);
void rewritten_number(struct sink *out, uint64_t number);
void rewritten_double(struct sink *out, double number); /* %.17g */

/* A collection's members, in commands of REWRITTEN_MEMBERS_MAX members each. */
struct rewritten {
    struct sink *out;
    struct slice key, command;
    unsigned words;       /* a member */
    uint64_t count, done; /* members; members written */
};
/* To be called before each member's words: begins a command where the last one is full. */
void rewritten_member(struct rewritten *r);
/* Writes further members of the cursor's shadow, not of the value, as far as the cursor's budget
 * allows; at[0] is the number written. `visit` gets `r`. True when all are written. */
MUST_USE bool rewritten_write_shadow(struct rewritten *r, struct save_cursor *c,
                                     value_visit *visit);
#endif
