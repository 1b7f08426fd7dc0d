/* SPDX-License-Identifier: BSD-3-Clause
 * Arguments of commands: numbers and options, with 6.2's error replies for wrong ones.
 */
#ifndef EVENKEEL_COMMAND_ARGUMENTS_H
#define EVENKEEL_COMMAND_ARGUMENTS_H
#include <stdbool.h>
#include <stdint.h>

#include "command/call.h"
#include "command/command.h"
#include "store/entry.h"

/* Parses argument `index` as an integer. True with `value` set; otherwise false after the reply
 * `error`, or, where that is NULL, "value is not an integer or out of range". */
bool argument_int64(const struct call *call, int index, int64_t *value, const char *error);
bool argument_is(const struct call *call, int index, const char *word); /* upper or lower case */

void reply_wrong_type(struct client *c);
void reply_syntax_error(struct client *c);
/* "Unknown subcommand or wrong number of arguments for 'X'. Try COMMAND HELP." */
void reply_unknown_subcommand(const struct call *call);
/* A subcommand: a word behind the command's name, with a handler of its own. Both bounds count all
 * arguments, the command's name and the word included. */
struct subcommand {
    const char *name;
    int argc_min, argc_max;
    void (*handler)(struct call *call);
};
/* Runs the subcommand that argument 1 names, or replies reply_unknown_subcommand. */
void subcommand_run(struct call *call, const struct subcommand *rows, size_t count);
/* Replies the lines of X HELP: a headline, `lines` (two for each form: the form, and what it does;
 * ended by NULL), and HELP itself. */
void reply_help(const struct call *call, const char *const *lines);

/* Parses an integer from `low` to `high`; false after an error reply that names both. */
bool argument_int64_between(const struct call *call, int index, int64_t low, int64_t high,
                            int64_t *value);
/* Parses an integer of at least 0; false after "value is out of range, must be positive". */
bool argument_from_zero(const struct call *call, int index, int64_t *value);
/* Parses an integer of at least 0; false after the reply `error`. */
bool argument_not_negative(const struct call *call, int index, int64_t *value, const char *error);

/* Whether the text may be a connection's name: no blanks or control characters. */
bool argument_is_client_name(struct slice name);

/* Whether `e` is a string or NULL; false after a reply of wrong type. */
bool argument_string_entry(const struct call *call, struct entry *e);
/* Looks up a key whose value must be of `type`; *e = NULL where there is no such key. False after a
 * reply of wrong type. argument_read_typed is for commands that read (keyspace_read);
 * argument_find_typed, for those that write, counts no hit or miss but notes the access. */
bool argument_read_typed(const struct call *call, int index, enum entry_type type,
                         struct entry **e);
bool argument_find_typed(const struct call *call, int index, enum entry_type type,
                         struct entry **e);
#endif
