/* SPDX-License-Identifier: BSD-3-Clause
 * Commands that walk over all keys.
 */
#ifndef EVENKEEL_COMMANDS_SCAN_H
#define EVENKEEL_COMMANDS_SCAN_H
void commands_scan_register(void);
#endif
