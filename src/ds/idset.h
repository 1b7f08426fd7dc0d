/* SPDX-License-Identifier: BSD-3-Clause
 * A small set of ids, 64-bit numbers other than 0, in as little memory as possible.
 *
 * 16 bytes in the owner's struct hold up to one id; more are in an array with open addressing that
 * doubles and halves. Only for ids that nobody can choose freely, such as clients' numbers, because
 * the hash is a multiplication without a secret. Adding and removing cost O(1), and O(ids) when the
 * array is resized.
 */
#ifndef EVENKEEL_DS_IDSET_H
#define EVENKEEL_DS_IDSET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/* Zeroed: empty. */
struct idset {
    union {
        uint64_t only;    /* capacity 0: the one id, where count is 1 */
        uint64_t *places; /* 0 = free */
    };
    uint32_t count, capacity;
};

/* Returns false if the id is there already. All calls for one set name the same class. */
bool idset_add(struct idset *s, uint64_t id, enum memory_class class);
/* Returns false if the id is not there. */
bool idset_remove(struct idset *s, uint64_t id, enum memory_class class);
bool idset_has(const struct idset *s, uint64_t id);
/* Returns true if one more id makes the array grow: the moment for the owner to remove ids that are
 * out of date. */
bool idset_is_full(const struct idset *s);
/* Walks the ids in no order: start with *position 0; returns 0 at the end. The set may not change
 * meanwhile. */
uint64_t idset_next(const struct idset *s, size_t *position);
/* Empties the set. */
void idset_free(struct idset *s, enum memory_class class);
/* Asserts the invariants; walks everything. */
void idset_check(const struct idset *s);
#endif
