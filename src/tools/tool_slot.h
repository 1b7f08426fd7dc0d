/* SPDX-License-Identifier: BSD-3-Clause
 * The hash slot of a key in a Redis Cluster.
 */
#ifndef EVENKEEL_TOOLS_TOOL_SLOT_H
#define EVENKEEL_TOOLS_TOOL_SLOT_H
#include "base/string.h"

#define TOOL_SLOTS 16384

/* Returns the slot of a key: CRC-16/XMODEM of its hash tag modulo TOOL_SLOTS. The hash tag is what
 * stands between the first '{' and the first '}' behind it; a key without a tag, or with an empty
 * one, is hashed as a whole (Redis Cluster specification). O(key), a byte a step. */
unsigned tool_slot_of_key(struct slice key);
#endif
