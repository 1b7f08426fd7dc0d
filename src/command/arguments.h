/* SPDX-License-Identifier: BSD-3-Clause
 * Arguments of commands: numbers and options, with 6.2's errors where they are not right.
 */
#ifndef EVENKEEL_COMMAND_ARGUMENTS_H
#define EVENKEEL_COMMAND_ARGUMENTS_H
#include <stdbool.h>
#include <stdint.h>

#include "command/call.h"
#include "command/command.h"
#include "store/entry.h"

/* True with `value` set; otherwise replies `error`, or, where that is NULL, "value is not an
 * integer or out of range". */
bool argument_int64(const struct call *call, int index, int64_t *value, const char *error);
bool argument_is(const struct call *call, int index, const char *word); /* case ignored */

void reply_wrong_type(struct client *c);
void reply_syntax_error(struct client *c);
/* "Unknown subcommand or wrong number of arguments for 'X'. Try COMMAND HELP." */
void reply_unknown_subcommand(const struct call *call);
/* A word behind a command that has a handler of its own. Of the arguments both bounds count all,
 * the command and the word included. */
struct subcommand {
    const char *name;
    int argc_min, argc_max;
    void (*handler)(struct call *call);
};
/* Runs the one that argument 1 names, or replies that there is none. */
void subcommand_run(struct call *call, const struct subcommand *rows, size_t count);
/* The array of lines that X HELP answers with: a headline, `lines` (two each: the form, and what it
 * does), and HELP itself. Ends with NULL. */
void reply_help(const struct call *call, const char *const *lines);

/* low <= value <= high: an error that names both otherwise. */
bool argument_int64_between(const struct call *call, int index, int64_t low, int64_t high,
                            int64_t *value);
/* From 0 on: "value is out of range, must be positive" otherwise. */
bool argument_from_zero(const struct call *call, int index, int64_t *value);
/* From 0 on: `error` for what is negative or no integer. */
bool argument_not_negative(const struct call *call, int index, int64_t *value, const char *error);

/* Names of the connection: no blanks or control characters. */
bool argument_is_client_name(struct slice name);

/* The key's entry, which must be a string where it exists: false after a reply of wrong type. */
bool argument_string_entry(const struct call *call, struct entry *e);
/* The entry of a key that must be of a type where it exists (*e NULL: it does not): false after a
 * reply of wrong type. For commands that read (keyspace_read), and for those that write, which
 * counts nothing but notes the access. */
bool argument_read_typed(const struct call *call, int index, enum entry_type type,
                         struct entry **e);
bool argument_find_typed(const struct call *call, int index, enum entry_type type,
                         struct entry **e);
#endif
