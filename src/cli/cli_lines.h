/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli without a command on its command line: commands are read line by line from standard
 * input.
 */
#ifndef EVENKEEL_CLI_CLI_LINES_H
#define EVENKEEL_CLI_CLI_LINES_H
#include <stdbool.h>
#include <stddef.h>

struct cli_options;
struct slice;

/* Prints the help that the words ask for; false if the first word is neither "help" nor "?". */
bool cli_lines_show_help(const struct slice *words, size_t count);

/* Runs lines until the input ends, or until "quit" or "exit". Returns the program's exit status.
 * "connect" changes the connection in `o`. */
int cli_lines_run(struct cli_options *o);
#endif
