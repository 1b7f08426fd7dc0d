/* SPDX-License-Identifier: BSD-3-Clause
 * The command LATENCY and its option.
 */
#ifndef EVENKEEL_COMMANDS_LATENCY_H
#define EVENKEEL_COMMANDS_LATENCY_H
void commands_latency_register(void);
#endif
