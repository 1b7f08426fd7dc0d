/* SPDX-License-Identifier: BSD-3-Clause
 * redis-cli --eval: a script from a file, run or debugged.
 */
#ifndef EVENKEEL_CLI_CLI_EVAL_H
#define EVENKEEL_CLI_CLI_EVAL_H
struct cli_options;

/* `arguments`: keys, then ",", then arguments that are no keys. Returns the program's exit status.
 */
int cli_eval_run(const struct cli_options *o, int count, char *const *arguments);
#endif
