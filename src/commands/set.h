/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on sets.
 */
#ifndef EVENKEEL_COMMANDS_SET_H
#define EVENKEEL_COMMANDS_SET_H
void commands_set_register(void);
#endif
