/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli without a command: line after line.
 */
#ifndef EVENKEEL_TOOLS_CLI_LINES_H
#define EVENKEEL_TOOLS_CLI_LINES_H
struct cli_options;

/* Until the input ends, "quit" or "exit". Returns the program's exit status. `o` changes where
 * "connect" says so. */
int cli_lines_run(struct cli_options *o);
#endif
