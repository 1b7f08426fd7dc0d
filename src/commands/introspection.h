/* SPDX-License-Identifier: BSD-3-Clause
 * The commands of introspection.c.
 */
#ifndef EVENKEEL_COMMANDS_INTROSPECTION_H
#define EVENKEEL_COMMANDS_INTROSPECTION_H
void commands_introspection_register(void);
#endif
