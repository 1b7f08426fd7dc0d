/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on the bits of strings.
 */
#ifndef EVENKEEL_COMMANDS_BITMAP_H
#define EVENKEEL_COMMANDS_BITMAP_H
void commands_bitmap_register(void);
#endif
