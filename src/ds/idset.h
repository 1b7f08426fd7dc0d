/* SPDX-License-Identifier: BSD-3-Clause
 * A small set of ids: 64-bit numbers other than 0, in as little memory as can be.
 *
 * 16 bytes in its owner's struct hold none or one; more stand in an array of open addressing that
 * doubles and halves. For ids that nobody chooses freely (clients' numbers): places are found by a
 * multiplication, without a secret. Adding and removing cost O(1), now and then O(ids).
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

/* The same class in all calls for one set. False where it is there already. */
bool idset_add(struct idset *s, uint64_t id, enum memory_class class);
/* False where it is not there. */
bool idset_remove(struct idset *s, uint64_t id, enum memory_class class);
bool idset_has(const struct idset *s, uint64_t id);
/* True where another id makes the array grow: the moment to drop ids that mean nothing more. */
bool idset_is_full(const struct idset *s);
/* The ids in no order: start with *position 0, ends with 0. The set may not change meanwhile. */
uint64_t idset_next(const struct idset *s, size_t *position);
/* Empties it. */
void idset_free(struct idset *s, enum memory_class class);
/* Asserts the invariants; walks everything. */
void idset_check(const struct idset *s);
#endif
