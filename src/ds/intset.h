/* SPDX-License-Identifier: BSD-3-Clause
 * A small set of integers: a sorted array in one block, as narrow as its widest member needs.
 *
 * The bytes are those that RDB files of Redis 6.2 have: width (4 bytes: 2, 4 or 8), number of
 * members (4), the members in ascending order, all lowest byte first. A set never becomes
 * narrower.
 *
 * The creator owns the set; class MEMORY_DATASET. A function that changes a set takes the address
 * of the owner's pointer, because the block may move. Finding is O(log n). Adding and removing move
 * the members behind the place, O(n) bytes, so O(1) at the upper end.
 */
#ifndef EVENKEEL_DS_INTSET_H
#define EVENKEEL_DS_INTSET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define INTSET_HEADER_BYTES 8
#define INTSET_COUNT_MAX ((size_t)1 << 27) /* 1 GiB of the widest */

/* The block of bytes itself; see intset_bytes. */
struct intset;

struct intset *intset_create(void);
/* NULL is allowed. */
void intset_free(struct intset *s);
struct intset *intset_dup(const struct intset *s);
/* A copy of foreign bytes that intset_validate found good. */
struct intset *intset_from_bytes(const void *bytes, size_t size);

const uint8_t *intset_bytes(const struct intset *s);
size_t intset_size(const struct intset *s);
/* Bytes of memory that the block takes. */
size_t intset_memory(const struct intset *s);
size_t intset_count(const struct intset *s);
/* The member at `index` in ascending order, index < count. */
int64_t intset_at(const struct intset *s, size_t index);
bool intset_has(const struct intset *s, int64_t member);
/* How many members are smaller; O(log n). */
FOR_TESTS size_t intset_count_below(const struct intset *s, int64_t member);
/* A random member, each equally likely; the set must not be empty. Uses base/random. */
int64_t intset_random(const struct intset *s);
/* Returns false if the member is there already. */
bool intset_add(struct intset **s, int64_t member);
/* Returns false if the member is not there. */
bool intset_remove(struct intset **s, int64_t member);
/* Removes the members at these places, which ascend strictly, in one pass. O(n). */
void intset_remove_places(struct intset **s, const size_t *places, size_t count);

/* Whether foreign bytes are a set that the functions above may read: sizes, a known width, members
 * strictly ascending. O(size). */
bool intset_validate(const void *bytes, size_t size);
/* Asserts the invariants. */
void intset_check(const struct intset *s);
#endif
