/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on the deadlines of keys, and TIME.
 */
#ifndef EVENKEEL_COMMANDS_EXPIRE_H
#define EVENKEEL_COMMANDS_EXPIRE_H
void commands_expire_register(void);
#endif
