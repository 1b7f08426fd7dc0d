/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli --pipe: sends requests from standard input to the server as fast as the server takes
 * them.
 */
#ifndef EVENKEEL_CLI_CLI_PIPE_H
#define EVENKEEL_CLI_CLI_PIPE_H
struct cli_options;

/* Returns the program's exit status: 1 where a reply was an error, or the last reply did not
 * arrive.
 */
int cli_pipe_run(const struct cli_options *o);
#endif
