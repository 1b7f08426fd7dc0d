/* SPDX-License-Identifier: BSD-3-Clause
 * Commands of replication.
 */
#ifndef EVENKEEL_COMMANDS_REPLICATION_H
#define EVENKEEL_COMMANDS_REPLICATION_H
void commands_replication_register(void);
#endif
