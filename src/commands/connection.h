/* SPDX-License-Identifier: BSD-3-Clause
 * The commands of connection.c.
 */
#ifndef EVENKEEL_COMMANDS_CONNECTION_H
#define EVENKEEL_COMMANDS_CONNECTION_H
void commands_connection_register(void);
#endif
