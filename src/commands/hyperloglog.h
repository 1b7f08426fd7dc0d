/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on HyperLogLogs.
 */
#ifndef EVENKEEL_COMMANDS_HYPERLOGLOG_H
#define EVENKEEL_COMMANDS_HYPERLOGLOG_H
void commands_hyperloglog_register(void);
#endif
