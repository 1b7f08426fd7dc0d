/* SPDX-License-Identifier: BSD-3-Clause
 * A radix tree: keys of any bytes in order, each with a pointer.
 *
 * For stream IDs, consumer groups, and other keys that are wanted in order or by prefix. The
 * creator owns the tree; class MEMORY_DATASET. Values are the caller's. Every operation costs
 * O(length of the key), a step of a walk included: it searches from the key that was reached
 * before, so the tree may change in any way between two steps.
 */
#ifndef EVENKEEL_DS_RAX_H
#define EVENKEEL_DS_RAX_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

struct rax;
struct relocation;

struct rax *rax_create(void);
/* Calls `release` (may be NULL) for each value, in no order. NULL is allowed. */
void rax_free(struct rax *r, void (*release)(void *value, void *context), void *context);
/* Frees up to `nodes_max` nodes (> 0; a tree has fewer than two nodes a key); true when the tree is
 * gone. Allocates nothing. After the first call only this function may be called, and rax_count and
 * rax_bytes, which tell what is left. */
bool rax_free_step(struct rax *r, size_t nodes_max, void (*release)(void *value, void *context),
                   void *context);
size_t rax_count(const struct rax *r); /* keys */
/* Bytes of memory that the tree takes. O(1). */
size_t rax_bytes(const struct rax *r);
/* The number of nodes as XINFO counts them: leaves, places where keys part, and runs of bytes
 * without such a place. For trees in which no key is a prefix of another. O(1). */
size_t rax_parts(const struct rax *r);

/* The place of the key's value, valid until the next change; NULL if there is no such key. */
void **rax_find(const struct rax *r, struct slice key);
/* Sets the key's value. Returns true if the key is new; otherwise `*old` (`old` may be NULL) is the
 * former value. */
bool rax_insert(struct rax *r, struct slice key, void *value, void **old);
/* Removes the key; `*old` (`old` may be NULL) is its value. Returns false if there is no such
 * key. */
bool rax_remove(struct rax *r, struct slice key, void **old);

enum rax_relation {
    RAX_FIRST, /* RAX_FIRST and RAX_LAST need no key */
    RAX_LAST,
    RAX_AT_LEAST, /* the smallest key >= the given one */
    RAX_ABOVE,
    RAX_AT_MOST, /* the largest key <= the given one */
    RAX_BELOW
};
/* Finds a key by its relation to the given one; false, with `found` as it was, where there is none.
 * `found`, an initialised buffer, gets the key, and may hold the given key: so a walk calls
 * rax_seek(r, RAX_ABOVE, buffer_slice(&key), &key, &value) until it is false. `value` may be NULL.
 */
bool rax_seek(const struct rax *r, enum rax_relation relation, struct slice key,
              struct buffer *found, void **value);

/* Moves blocks that are wanted elsewhere (base/relocation.h): the nodes on the way to the key,
 * which must be there, that are on no smaller key's way. So a walk over all keys in order passes
 * each node once. Returns the place of the key's value. */
void **rax_relocate_key(struct rax *r, struct slice key, struct relocation *work);
/* Moves the struct, if it is wanted elsewhere; returns its address. O(1). */
MUST_USE struct rax *rax_relocate(struct rax *r, struct relocation *work);
/* Asserts the invariants; walks everything. */
void rax_check(const struct rax *r);
#endif
