/* SPDX-License-Identifier: BSD-3-Clause
 * The history of typed lines, kept in a file from one session to the next. Lines with a secret are
 * never kept.
 */
#ifndef EVENKEEL_CLI_CLI_HISTORY_H
#define EVENKEEL_CLI_CLI_HISTORY_H
#include <stdbool.h>

/* The most lines that are kept in memory, and that are taken from the file. */
#define CLI_HISTORY_LINES 1000

/* Whether the line's command may contain a password: AUTH, HELLO with AUTH, MIGRATE with AUTH,
 * CONFIG SET of a password, ACL SETUSER. */
bool cli_history_is_secret(const char *line);
/* Calls `take` with each of the last CLI_HISTORY_LINES lines of the history file. The file is
 * $REDISCLI_HISTFILE, else ~/.rediscli_history; with /dev/null there is none. */
void cli_history_load(void (*take)(const char *line));
/* Appends a line to the file; a line that cannot be written is dropped without a message. */
void cli_history_append(const char *line);
#endif
