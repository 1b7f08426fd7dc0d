/* SPDX-License-Identifier: BSD-3-Clause
 * The command SLOWLOG.
 */
#ifndef EVENKEEL_COMMANDS_SLOWLOG_H
#define EVENKEEL_COMMANDS_SLOWLOG_H
void commands_slowlog_register(void);
#endif
