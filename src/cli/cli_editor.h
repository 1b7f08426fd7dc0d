/* SPDX-License-Identifier: BSD-3-Clause
 * Lines from a person, with editing, history, hints and completion; or from anything else, as they
 * come.
 */
#ifndef EVENKEEL_CLI_CLI_EDITOR_H
#define EVENKEEL_CLI_CLI_EDITOR_H
#include <stdbool.h>

/* Is done again without harm. Standard input that is no terminal is read without prompts. */
void cli_editor_open(void);
/* Puts the terminal back. */
void cli_editor_close(void);
/* Hints behind the cursor and completion, by the tables of commands; on at first. */
void cli_editor_show_hints(bool on);
/* A line without its end, valid until the next call. NULL at the end of input, or after an
 * interrupt. */
const char *cli_editor_read(const char *prompt);
/* The line is offered again, unless it shows a secret. */
void cli_editor_remember(const char *line);
#endif
