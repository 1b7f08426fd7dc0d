/* SPDX-License-Identifier: BSD-3-Clause
 * Values as commands that make them anew, for an append only file that is written anew: what the
 * types' rows share for it.
 *
 * Commands are arrays of bulk texts. A collection takes one for each REWRITTEN_MEMBERS_MAX members,
 * as Redis 6.2 does, so that none holds up whoever runs it. Rewriting may go in steps, with the
 * cursor that saving has (value/saved.h).
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

/* Writes the commands that make the value under a key that is not there. */
void rewritten_write_value(struct sink *out, enum value_kind kind, struct value v,
                           struct slice key);

/* ---- for the types ---- */

/* A command of so many words follows, each by one of those below. */
void rewritten_begin(struct sink *out, uint64_t words);
void rewritten_text(struct sink *out, struct slice text);
/* The same for one whose bytes are written in between, by others. */
void rewritten_text_begin(struct sink *out, uint64_t length);
void rewritten_text_end(struct sink *out);
void rewritten_integer(struct sink *out, int64_t integer);
void rewritten_number(struct sink *out, uint64_t number);
void rewritten_double(struct sink *out, double number); /* %.17g */

/* A collection's members, a command for each so many of them. */
struct rewritten {
    struct sink *out;
    struct slice key, command;
    unsigned words;       /* that a member is */
    uint64_t count, done; /* members; those that were written */
};
/* A member's words follow: a command begins where the one before is full. */
void rewritten_member(struct rewritten *r);
/* Goes on with the members of the cursor's shadow in place of the value's, as far as its budget
 * allows; at[0] is how many are written. `visit` gets `r`. True when all are. */
MUST_USE bool rewritten_write_shadow(struct rewritten *r, struct save_cursor *c,
                                     value_visit *visit);
#endif
