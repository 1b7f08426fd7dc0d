/* SPDX-License-Identifier: BSD-3-Clause
 * The command MEMORY. It stands here and not in commands/, because it shows INFO's figures.
 */
#ifndef EVENKEEL_SERVER_MEMORY_H
#define EVENKEEL_SERVER_MEMORY_H
void memory_command_register(void);
#endif
