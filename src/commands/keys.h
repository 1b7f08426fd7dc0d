/* SPDX-License-Identifier: BSD-3-Clause
 * The commands of keys.c.
 */
#ifndef EVENKEEL_COMMANDS_KEYS_H
#define EVENKEEL_COMMANDS_KEYS_H
void commands_keys_register(void);
#endif
