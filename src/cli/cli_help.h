/* SPDX-License-Identifier: BSD-3-Clause
 * What can be said of commands: help texts, hints behind the cursor, completions of a line.
 */
#ifndef EVENKEEL_CLI_CLI_HELP_H
#define EVENKEEL_CLI_CLI_HELP_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

/* Appends the help for the words behind "help": none, "@group", or a command's name, of which a
 * beginning will do. Sequences for bold and colours only with `colours`. */
void cli_help_print(struct buffer *out, const struct slice *words, size_t count, bool colours);
/* Appends what the command that `line` begins still takes; nothing where it is not known. */
void cli_help_hint(struct buffer *out, struct slice line);
/* Calls `take` with each whole line that `line` may become: commands, and topics behind "help". */
void cli_help_complete(struct slice line, void (*take)(void *context, const char *whole),
                       void *context);
#endif
