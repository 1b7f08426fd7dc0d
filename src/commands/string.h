/* SPDX-License-Identifier: BSD-3-Clause
 * The commands of string.c.
 */
#ifndef EVENKEEL_COMMANDS_STRING_H
#define EVENKEEL_COMMANDS_STRING_H
void commands_string_register(void);
#endif
