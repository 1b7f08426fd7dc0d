/* SPDX-License-Identifier: BSD-3-Clause
 * The commands of Redis 6.2 that are not built yet, so that its configurations load.
 *
 * Many take commands away that must not be run (`rename-command EVAL ""`); for one that is missing
 * that is true already. Who builds a command takes its name from here: the start asserts that no
 * name has a row, too.
 */
#include "server/commands_pending.h"

#include "command/command.h"

static const char *const names[] = {
    "asking", "cluster", "module", "readonly", "readwrite",
};

void commands_pending_register(void) {
    command_register_missing(names, sizeof(names) / sizeof(names[0]));
}
