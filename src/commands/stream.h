/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on the entries of streams.
 */
#ifndef EVENKEEL_COMMANDS_STREAM_H
#define EVENKEEL_COMMANDS_STREAM_H
void commands_stream_register(void);
#endif
