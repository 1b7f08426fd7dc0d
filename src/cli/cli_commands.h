/* SPDX-License-Identifier: BSD-3-Clause
 * The arguments of each command, for hints, help and completion.
 */
#ifndef EVENKEEL_CLI_CLI_COMMANDS_H
#define EVENKEEL_CLI_CLI_COMMANDS_H
#include <stddef.h>

/* `name` is one word or two ("client kill"), lower case. In `arguments` a word in lower case is a
 * placeholder and a word in upper case is literal; [x] means that x is optional, a|b is a choice,
 * and ... means that the argument before may be repeated. */
struct cli_command {
    const char *name, *arguments;
};

/* Sorted by name. */
const struct cli_command *cli_commands(size_t *count);
#endif
