/* SPDX-License-Identifier: BSD-3-Clause
 * Which arguments commands take, for hints, help and completion.
 */
#ifndef EVENKEEL_CLI_CLI_COMMANDS_H
#define EVENKEEL_CLI_CLI_COMMANDS_H
#include <stddef.h>

/* `name` is one word or two ("client kill"), lower case. In `arguments` words in lower case stand
 * for something, those in upper case for themselves; [] may be left out, | parts alternatives, ...
 * may come again. */
struct cli_command {
    const char *name, *arguments;
};

/* Sorted by name. */
const struct cli_command *cli_commands(size_t *count);
#endif
