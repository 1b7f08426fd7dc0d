/* SPDX-License-Identifier: BSD-3-Clause
 * Arguments of commands: numbers and options, with 6.2's errors where they are not right.
 */
#ifndef EVENKEEL_EXEC_ARGUMENTS_H
#define EVENKEEL_EXEC_ARGUMENTS_H
#include <stdbool.h>
#include <stdint.h>

#include "exec/command.h"

struct entry;

/* True with `value` set; otherwise replies `error`, or, where that is NULL, "value is not an
 * integer or out of range". */
bool argument_int64(const struct call *call, int index, int64_t *value, const char *error);
bool argument_is(const struct call *call, int index, const char *word); /* case ignored */

void reply_wrong_type(struct client *c);
void reply_syntax_error(struct client *c);
/* "Unknown subcommand or wrong number of arguments for 'X'. Try COMMAND HELP." */
void reply_unknown_subcommand(const struct call *call);
/* The array of lines that X HELP answers with: a headline, `lines` (two each: the form, and what it
 * does), and HELP itself. Ends with NULL. */
void reply_help(const struct call *call, const char *const *lines);

/* Names of the connection: no blanks or control characters. */
bool argument_is_client_name(struct slice name);

/* The key's entry, which must be a string where it exists: false after a reply of wrong type. */
bool argument_string_entry(const struct call *call, struct entry *e);
#endif
