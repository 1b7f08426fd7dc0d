/* SPDX-License-Identifier: BSD-3-Clause
 * Commands on the consumer groups of streams.
 */
#ifndef EVENKEEL_COMMANDS_STREAM_GROUPS_H
#define EVENKEEL_COMMANDS_STREAM_GROUPS_H
void commands_stream_groups_register(void);
#endif
