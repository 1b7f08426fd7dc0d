/* SPDX-License-Identifier: BSD-3-Clause
 * The command TRACE.
 */
#ifndef EVENKEEL_COMMANDS_TRACE_H
#define EVENKEEL_COMMANDS_TRACE_H
void commands_trace_register(void);
#endif
