/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of Redis 6.2 that are not built yet. */
#ifndef EVENKEEL_SERVER_COMMANDS_PENDING_H
#define EVENKEEL_SERVER_COMMANDS_PENDING_H
/* After all rows of commands. */
void commands_pending_register(void);
#endif
