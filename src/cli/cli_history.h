/* SPDX-License-Identifier: BSD-3-Clause
 * Lines that were typed, kept in a file from one session to the next; never those with a secret.
 */
#ifndef EVENKEEL_CLI_CLI_HISTORY_H
#define EVENKEEL_CLI_CLI_HISTORY_H
#include <stdbool.h>

/* Lines in memory, and in the file when it is read. */
#define CLI_HISTORY_LINES 1000

/* Whether a command's words show a password: AUTH, HELLO with AUTH, MIGRATE with AUTH, CONFIG SET
 * of one, ACL SETUSER. */
bool cli_history_is_secret(const char *line);
/* Reads the file (REDISCLI_HISTFILE, else ~/.rediscli_history; /dev/null: none), its last lines
 * only, and gives each to `take`. */
void cli_history_load(void (*take)(const char *line));
/* Appends a line to the file; one that cannot be written is given up. */
void cli_history_append(const char *line);
#endif
