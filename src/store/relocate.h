/* SPDX-License-Identifier: BSD-3-Clause
 * Moves entries, and the blocks of their values, out of the allocator's sparse slabs
 * (base/relocation.h). The keyspace has the walks (keyspace_relocate_some).
 */
#ifndef EVENKEEL_STORE_RELOCATE_H
#define EVENKEEL_STORE_RELOCATE_H
#include <stddef.h>
#include <stdint.h>

#include "base/relocation.h"

struct entry;
struct table;
struct table_group;
struct timebuckets;

/* A stretch of work over entries. */
struct relocate_work {
    struct relocation moves;
    /* Values of more blocks than this (value_type.free_effort) are handed to `large`, which notes
     * them for keyspace_relocate_value; all others are moved whole. `large` changes nothing. */
    size_t effort_max;
    void (*large)(const struct entry *e, void *context);
    void *context;
    uint64_t keys_moved, keys_stayed; /* keys of which a block has moved, and others */
};

/* A database's entries: its work and its index by deadline (NULL: it has none). */
struct relocate_entries {
    struct relocate_work *work;
    struct timebuckets *volatiles;
};
/* For table_relocate_some: moves the entries of a group and their values. `entries` is a struct
 * relocate_entries. */
void relocate_group(struct table *t, const struct table_group *group, struct relocation *r,
                    void *entries);
#endif
