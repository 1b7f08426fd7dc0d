/* SPDX-License-Identifier: BSD-3-Clause
 * Moving a table's own blocks out of the allocator's sparse slabs, and calling its owner for the
 * elements, some buckets at a time, so that cache misses and questions to the allocator overlap.
 *
 * A chunk of more than RELOCATION_BYTES_MAX has no slab: of all chunks at most the last one moves.
 */
#include "base/prefetch.h"
#include "base/relocation.h"
#include "ds/table_internal.h"

/* Buckets that are looked at together. */
#define BUCKET_GROUP ((size_t)8)

/* A table that has moved is in a list: its neighbours, which have not moved, are told. */
static void list_follow(struct table *t) {
    if (t->listed) t->link.next->previous = t->link.previous->next = &t->link;
}

struct table *table_relocate(struct table *t, struct relocation *r) {
    ASSERT_SLOW(!t->side_by_side && !t->watched);
    t = relocation_settle(r, t, t->type->class);
    list_follow(t);
    return t;
}

/* A neighbour in a list as it is after a block has moved: it may have been in that block. */
static struct list_link *neighbour_after(struct list_link *neighbour, uintptr_t block, size_t bytes,
                                         struct table *moved) {
    size_t offset = (uintptr_t)neighbour - block;
    return offset < bytes ? (struct list_link *)(void *)((char *)moved + offset) : neighbour;
}

struct table *table_relocate_many(struct table *tables, size_t count, struct relocation *r) {
    uintptr_t block = (uintptr_t)tables;
    size_t bytes = count * sizeof(*tables);
    if (!relocation_wants(r, tables)) return tables;
    tables = relocation_move_aligned(r, tables, BUCKET_BYTES, bytes, tables->type->class);
    for (size_t i = 0; i < count; i++) {
        struct table *t = &tables[i];
        if (!t->listed) continue;
        t->link.next = neighbour_after(t->link.next, block, bytes, tables);
        t->link.previous = neighbour_after(t->link.previous, block, bytes, tables);
        list_follow(t);
    }
    return tables;
}

/* Moves the directory, and the last chunk where it is a small block. */
static void chunks_relocate(struct table *t, struct relocation *r) {
    size_t last = (t->buckets - 1) >> CHUNK_SHIFT, bytes = t->last_capacity * BUCKET_BYTES;
    t->root = relocation_settle(r, t->root, t->type->class);
    for (size_t page = 0; t->root && page <= last >> PAGE_SHIFT; page++)
        t->root[page] = relocation_settle(r, t->root[page], t->type->class);
    struct bucket **place = chunk_place(t, last);
    if (bytes <= RELOCATION_BYTES_MAX && relocation_wants(r, *place))
        *place = relocation_move_aligned(r, *place, chunk_alignment(t->last_capacity), bytes,
                                         t->type->class);
}

/* Moves overflow buckets that are wanted elsewhere, of up to RELOCATION_ASK_MAX a call. */
static void links_relocate(struct table *t, struct bucket *const *with_link, unsigned count,
                           struct relocation *r) {
    void *asked[RELOCATION_ASK_MAX];
    for (unsigned i = 0; i < count; i++) asked[i] = bucket_next(with_link[i]);
    for (uint64_t wanted = relocation_ask(r, asked, count); wanted != 0; wanted &= wanted - 1) {
        unsigned i = (unsigned)__builtin_ctzll(wanted);
        with_link[i]->slots[LINK_SLOT] = (uint64_t)(uintptr_t)relocation_move_aligned(
            r, asked[i], BUCKET_BYTES, BUCKET_BYTES, t->type->class);
    }
}

/* Moves the overflow buckets at one depth after the other, because a bucket that moves takes the
 * link to the next one along. */
static void chains_relocate(struct table *t, struct bucket *const *primaries, unsigned count,
                            struct relocation *r) {
    struct bucket *level[BUCKET_GROUP];
    unsigned linked = 0;
    for (unsigned i = 0; i < count; i++)
        if (bucket_next(primaries[i])) level[linked++] = primaries[i];
    while (linked > 0) {
        unsigned deeper = 0;
        links_relocate(t, level, linked, r);
        for (unsigned i = 0; i < linked; i++) {
            struct bucket *b = bucket_next(level[i]);
            if (bucket_next(b)) level[deeper++] = b;
        }
        linked = deeper;
    }
}

struct relocating {
    struct table *table;
    struct relocation *r;
    table_group_visit *visit;
    void *context;
    struct table_group group;
};

static void group_end(struct relocating *w) {
    w->group.wanted = relocation_ask(w->r, w->group.elements, w->group.count);
    w->visit(w->table, &w->group, w->r, w->context);
    w->group.count = 0;
}

static void group_add_chain(struct relocating *w, struct bucket *b) {
    for (; b != NULL; b = bucket_next(b)) {
        for (unsigned m = head_occupied(b->head); m != 0; m &= m - 1) {
            uint64_t *slot = &b->slots[__builtin_ctz(m)];
            w->group.slots[w->group.count] = slot;
            w->group.elements[w->group.count++] = word_element(*slot);
            if (w->group.count == RELOCATION_ASK_MAX) group_end(w);
        }
    }
}

uint64_t table_relocate_some(struct table *t, uint64_t cursor, struct relocation *r,
                             table_group_visit *visit, void *context) {
    struct relocating w = {.table = t, .r = r, .visit = visit, .context = context};
    struct bucket *primaries[BUCKET_GROUP];
    unsigned count = 0;
    if (t->buckets == 0) return 0;
    if (cursor == 0) chunks_relocate(t, r);
    do {
        primaries[count] = bucket_at(t, scan_advance(t, &cursor));
        prefetch(primaries[count++]);
    } while (count < BUCKET_GROUP && cursor != 0);
    chains_relocate(t, primaries, count, r);
    for (unsigned i = 0; i < count && visit != NULL; i++) group_add_chain(&w, primaries[i]);
    if (w.group.count > 0) group_end(&w);
    return cursor;
}
