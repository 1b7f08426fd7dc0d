/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on lists.
 */
#ifndef EVENKEEL_COMMANDS_LIST_H
#define EVENKEEL_COMMANDS_LIST_H
void commands_list_register(void);
#endif
