/* SPDX-License-Identifier: BSD-3-Clause
 * XINFO.
 */
#ifndef EVENKEEL_COMMANDS_STREAM_INFO_H
#define EVENKEEL_COMMANDS_STREAM_INFO_H
void commands_stream_info_register(void);
#endif
