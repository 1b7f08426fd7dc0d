/* SPDX-License-Identifier: BSD-3-Clause
 * SENTINEL and its subcommands.
 */
#ifndef EVENKEEL_SENTINEL_COMMANDS_H
#define EVENKEEL_SENTINEL_COMMANDS_H

/* Registers the row. Once, at start, of a Sentinel. */
void sentinel_commands_register(void);
#endif
