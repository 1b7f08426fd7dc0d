/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on members of sorted sets.
 */
#ifndef EVENKEEL_COMMANDS_ZSET_H
#define EVENKEEL_COMMANDS_ZSET_H
void commands_zset_register(void);
#endif
