/* SPDX-License-Identifier: BSD-3-Clause
 * A radix tree: keys of any bytes in order, each with a pointer.
 *
 * For stream IDs, consumer groups, and whatever wants its keys in order or by prefix. Owned by
 * whoever created it; class MEMORY_DATASET; values are the caller's. Every operation costs
 * O(length of the key), and a step through the tree as well: it begins at the key that was reached
 * before, so the tree may change in any way between two steps.
 */
#ifndef EVENKEEL_DS_RAX_H
#define EVENKEEL_DS_RAX_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

struct rax;

struct rax *rax_create(void);
/* Calls `release` (may be NULL) for each value, in no order. NULL is allowed. */
void rax_free(struct rax *r, void (*release)(void *value, void *context), void *context);
/* Frees up to `nodes_max` nodes (> 0; there are more of them than keys, but less than twice as
 * many); true when the tree is gone. Needs no memory. After a first call only this one, rax_count
 * and rax_bytes may follow, which tell what is left. */
bool rax_free_step(struct rax *r, size_t nodes_max, void (*release)(void *value, void *context),
                   void *context);
size_t rax_count(const struct rax *r); /* keys */
/* What the tree takes of memory. O(1). */
size_t rax_bytes(const struct rax *r);
/* The nodes of a tree whose nodes are leaves, places where keys part, and runs of bytes without
 * such a place: as XINFO counts them. For trees in which no key begins another. O(1). */
size_t rax_parts(const struct rax *r);

/* Where the key's value stands, until the next change; NULL where there is no such key. */
void **rax_find(const struct rax *r, struct slice key);
/* Sets the key's value. True where the key is new; otherwise `*old` (may be NULL) is what it had.
 */
bool rax_insert(struct rax *r, struct slice key, void *value, void **old);
/* False where there is no such key; otherwise `*old` (may be NULL) is what it had. */
bool rax_remove(struct rax *r, struct slice key, void **old);

enum rax_relation {
    RAX_FIRST, /* these two need no key */
    RAX_LAST,
    RAX_AT_LEAST, /* the smallest key that is the given one or above it */
    RAX_ABOVE,
    RAX_AT_MOST, /* the largest key that is the given one or below it */
    RAX_BELOW
};
/* Finds a key in order. `found` gets it, an initialised buffer whose contents may be the given key:
 * so a walk is rax_seek(r, RAX_ABOVE, buffer_slice(&key), &key, &value) until it is false, which
 * leaves `found` as it was. `value` may be NULL. */
bool rax_seek(const struct rax *r, enum rax_relation relation, struct slice key,
              struct buffer *found, void **value);

/* Asserts the invariants; walks everything. */
void rax_check(const struct rax *r);
#endif
