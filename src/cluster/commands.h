/* SPDX-License-Identifier: BSD-3-Clause
 * CLUSTER: its subcommands, and its refusal where cluster mode is off.
 */
#ifndef EVENKEEL_CLUSTER_COMMANDS_H
#define EVENKEEL_CLUSTER_COMMANDS_H

void cluster_commands_register(void);
#endif
