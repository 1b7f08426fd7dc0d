/* SPDX-License-Identifier: BSD-3-Clause
 * Commands about the connection itself: PING, SELECT, AUTH, HELLO ...
 */
#ifndef EVENKEEL_COMMANDS_CONNECTION_H
#define EVENKEEL_COMMANDS_CONNECTION_H
/* Once, at start. */
void commands_connection_register(void);
/* Sets what HELLO says of this server: `mode`, and what `role` returns at each call ("master",
 * "replica"). A server without a `role` (NULL) has no such field. Both are borrowed for as long as
 * the process lives. Called before the first command. */
void commands_connection_open(const char *mode, const char *(*role)(void));
#endif
