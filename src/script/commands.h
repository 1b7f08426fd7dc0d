/* SPDX-License-Identifier: BSD-3-Clause
 * The commands EVAL, EVALSHA and SCRIPT.
 */
#ifndef EVENKEEL_SCRIPT_COMMANDS_H
#define EVENKEEL_SCRIPT_COMMANDS_H
void script_commands_register(void);
#endif
