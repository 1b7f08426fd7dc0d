/* SPDX-License-Identifier: BSD-3-Clause
 * Help on commands: help texts, hints after the cursor, completions of a line.
 */
#ifndef EVENKEEL_CLI_CLI_HELP_H
#define EVENKEEL_CLI_CLI_HELP_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

/* Appends the help for the words after "help": no word, "@group", or a command's name or its
 * beginning. Escape sequences for bold and colours are used only with `colours`. */
void cli_help_print(struct buffer *out, const struct slice *words, size_t count, bool colours);
/* Appends the arguments that the command at the beginning of `line` still takes; nothing where the
 * command is unknown. */
void cli_help_hint(struct buffer *out, struct slice line);
/* Calls `take` with each completion of `line`, as a whole line: commands, and after "help" also
 * groups. */
void cli_help_complete(struct slice line, void (*take)(void *context, const char *whole),
                       void *context);
#endif
