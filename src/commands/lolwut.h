/* SPDX-License-Identifier: BSD-3-Clause
 * LOLWUT.
 */
#ifndef EVENKEEL_COMMANDS_LOLWUT_H
#define EVENKEEL_COMMANDS_LOLWUT_H
void commands_lolwut_register(void);
#endif
