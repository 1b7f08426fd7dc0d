/* SPDX-License-Identifier: BSD-3-Clause
 * The hash slot of a key, as Redis Cluster 6.2 computes it: a number below KEY_SLOTS, of which each
 * node of a cluster serves some.
 *
 * The slot is the CRC-16 of the key's hash tag modulo KEY_SLOTS. The tag is what stands between the
 * key's first '{' and the first '}' behind it. Without both, or with nothing between them, the
 * whole key is the tag. So clients put keys into one slot by giving them one tag.
 */
#ifndef EVENKEEL_BASE_KEY_SLOT_H
#define EVENKEEL_BASE_KEY_SLOT_H
#include "base/attributes.h"
#include "base/string.h"

#define KEY_SLOT_BITS 14
#define KEY_SLOTS (1U << KEY_SLOT_BITS)

/* The slot of a key's name. Takes 16 bytes at a time where the processor has carry-less
 * multiplication (PCLMULQDQ), 8 otherwise. O(length). Any thread. */
unsigned key_slot_of(struct slice name);
/* key_slot_of as computed by tables, on a processor without PCLMULQDQ. */
FOR_TESTS unsigned key_slot_by_tables(struct slice name);
#endif
