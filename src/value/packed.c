/* SPDX-License-Identifier: BSD-3-Clause
 * Tables of packed texts: their types, freeing, checking. packed.h has the layout.
 */
#include "value/packed.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/prefetch.h"

static inline uint64_t hash_of(struct slice text) { return hash_bytes(text.bytes, text.length); }

static inline bool text_is(struct slice text, const void *key, size_t key_length) {
    return text.length == key_length && memcmp(text.bytes, key, key_length) == 0;
}

static uint64_t one_hash(const void *element) { return hash_of(packed_first(1, element)); }
static uint64_t two_hash(const void *element) { return hash_of(packed_first(2, element)); }

static bool one_matches(const void *element, const void *key, size_t key_length) {
    return text_is(packed_first(1, element), key, key_length);
}
static bool two_matches(const void *element, const void *key, size_t key_length) {
    return text_is(packed_first(2, element), key, key_length);
}

const struct table_type packed_one = {one_hash, one_matches, MEMORY_DATASET};
const struct table_type packed_two = {two_hash, two_matches, MEMORY_DATASET};

struct packed *packed_create(const struct table_type *type) {
    struct packed *p = memory_alloc(sizeof(*p), MEMORY_DATASET);
    *p = (struct packed){.table = table_create(type)};
    return p;
}

static void release_one(void *element, void *twins) {
    twins_release(twins, element, packed_size(1, element));
}
static void release_two(void *element, void *twins) {
    twins_release(twins, element, packed_size(2, element));
}

bool packed_release_step(unsigned texts, struct packed *p, size_t effort) {
    size_t buckets = effort / TABLE_BUCKET_SLOTS + 1;
    if (!table_free_step(p->table, buckets, texts == 1 ? release_one : release_two, &p->twins))
        return false;
    memory_free_sized(p, sizeof(*p), MEMORY_DATASET);
    return true;
}

size_t packed_bytes(const struct packed *p) {
    return memory_good_size(sizeof(*p)) + table_bytes_seen(p->table) + p->twins.bytes;
}

/* ---- moving blocks ---- */

struct packed_move {
    unsigned texts;
    struct packed *packed;
};

/* Moves the element in a slot, and the one that shares its block. */
static void element_relocate(const struct packed_move *m, struct table *t, table_slot slot,
                             struct relocation *r) {
    void *element = table_slot_element(slot);
    size_t size = packed_size(m->texts, element);
    void *other = twins_other(element, size);
    table_slot other_slot = NULL;
    if (other) {
        struct slice text = packed_first(m->texts, other);
        other_slot = table_find_slot(t, hash_of(text), text.bytes, text.length);
        ASSERT(other_slot && table_slot_element(other_slot) == other);
    }
    element = twins_relocate(&m->packed->twins, element, size, r);
    table_slot_replace(slot, element);
    if (other_slot) table_slot_replace(other_slot, twins_other(element, size));
}

static void group_relocate(struct table *t, const struct table_group *group, struct relocation *r,
                           void *context) {
    for (uint64_t left = group->wanted; left != 0; left &= left - 1)
        prefetch(group->elements[__builtin_ctzll(left)]);
    for (uint64_t left = group->wanted; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (table_slot_element(group->slots[i]) == group->elements[i])
            element_relocate(context, t, group->slots[i], r);
    }
}

uint64_t packed_relocate(unsigned texts, struct packed **p, uint64_t cursor, struct relocation *r) {
    if (cursor == 0) {
        *p = relocation_settle(r, *p, MEMORY_DATASET);
        (*p)->table = table_relocate((*p)->table, r);
    }
    struct packed_move m = {texts, *p};
    do {
        cursor = table_relocate_some((*p)->table, cursor, r, group_relocate, &m);
    } while (cursor != 0 && r->budget > 0);
    return cursor;
}

struct check {
    unsigned texts;
    const struct table *table;
    size_t bytes;
};

static void check_element(void *element, void *context) {
    struct check *seen = context;
    struct slice text = packed_first(seen->texts, element);
    ASSERT(table_find(seen->table, hash_of(text), text.bytes, text.length) == element);
    seen->bytes += twins_good_size(packed_size(seen->texts, element));
}

void packed_check(unsigned texts, const struct packed *p) {
    struct check seen = {texts, p->table, 0};
    uint64_t cursor = 0;
    table_check(p->table);
    do {
        cursor = table_scan(p->table, cursor, check_element, &seen);
    } while (cursor);
    twins_check(&p->twins, seen.bytes);
}
