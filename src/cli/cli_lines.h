/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli without a command: line after line.
 */
#ifndef EVENKEEL_CLI_CLI_LINES_H
#define EVENKEEL_CLI_CLI_LINES_H
#include <stdbool.h>
#include <stddef.h>

struct cli_options;
struct slice;

/* Prints the help that these words ask for, "help" or "?" first; false where they do not. */
bool cli_lines_show_help(const struct slice *words, size_t count);

/* Until the input ends, "quit" or "exit". Returns the program's exit status. `o` changes where
 * "connect" says so. */
int cli_lines_run(struct cli_options *o);
#endif
