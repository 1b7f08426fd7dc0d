/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on ranges of sorted sets.
 */
#ifndef EVENKEEL_COMMANDS_ZSET_RANGE_H
#define EVENKEEL_COMMANDS_ZSET_RANGE_H
void commands_zset_range_register(void);
#endif
