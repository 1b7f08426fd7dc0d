/* SPDX-License-Identifier: BSD-3-Clause
 * Unions, intersections and differences of sorted sets.
 */
#ifndef EVENKEEL_COMMANDS_ZSET_COMBINE_H
#define EVENKEEL_COMMANDS_ZSET_COMBINE_H
void commands_zset_combine_register(void);
#endif
