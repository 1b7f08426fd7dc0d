/* SPDX-License-Identifier: BSD-3-Clause
 * XREAD and XREADGROUP.
 */
#ifndef EVENKEEL_COMMANDS_STREAM_READ_H
#define EVENKEEL_COMMANDS_STREAM_READ_H
void commands_stream_read_register(void);
#endif
