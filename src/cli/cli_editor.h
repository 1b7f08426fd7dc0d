/* SPDX-License-Identifier: BSD-3-Clause
 * Reads input lines: from a terminal with editing, history, hints and completion; from a file or a
 * pipe as they are.
 */
#ifndef EVENKEEL_CLI_CLI_EDITOR_H
#define EVENKEEL_CLI_CLI_EDITOR_H
#include <stdbool.h>

/* Opens the editor; a second call does nothing. Where standard input or output is no terminal,
 * lines are read without editing. */
void cli_editor_open(void);
/* Restores the terminal. */
void cli_editor_close(void);
/* Turns hints after the cursor and completion on or off; both are on at first. */
void cli_editor_show_hints(bool on);
/* Reads a line, without its line end, valid until the next call. NULL at the end of input, or after
 * an interrupt. */
const char *cli_editor_read(const char *prompt);
/* Adds the line to the history, unless it contains a secret. */
void cli_editor_remember(const char *line);
#endif
