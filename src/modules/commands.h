/* SPDX-License-Identifier: BSD-3-Clause
 * MODULE. */
#ifndef EVENKEEL_MODULES_COMMANDS_H
#define EVENKEEL_MODULES_COMMANDS_H

void modules_commands_register(void);
#endif
