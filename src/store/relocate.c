/* SPDX-License-Identifier: BSD-3-Clause
 * Moving entries and values by groups, so that cache misses and questions overlap: the entries of a
 * group are asked about and moved first, then the blocks that they point to, and at last the values
 * of several blocks, one after the other.
 */
#include "store/relocate.h"

#include "base/prefetch.h"
#include "ds/table.h"
#include "ds/timebuckets.h"
#include "store/entry.h"

/* A group under way. */
struct moving {
    struct relocate_work *work;
    struct entry *entries[RELOCATION_ASK_MAX];
    unsigned count;
    uint64_t moved; /* bit i: a block of entries[i] has moved */
};

static bool has_blob(const struct entry *e) {
    return e->type == ENTRY_STRING && e->flags & ENTRY_BLOB;
}

/* The one block outside of the entry that is its value; NULL where the value is in the entry, or is
 * more than one block. */
static void *value_block(const struct entry *e) {
    if (e->type == ENTRY_STRING) return has_blob(e) ? entry_blob(e) : NULL;
    const struct value_type *type = value_type(e->type);
    struct value v = entry_object(e);
    return type->flat && type->flat(v).length > 0 ? v.pointer : NULL;
}

static void set_value_block(struct entry *e, void *block) {
    memcpy(entry_value_bytes(e), &block, sizeof(block));
}

static void *move_entry(struct entry *e, struct timebuckets *volatiles, struct relocation *r) {
    e = relocation_move(r, e, MEMORY_DATASET);
    if (entry_has_deadline(e)) timebuckets_replace(volatiles, e);
    return e;
}

static void move_entries(struct moving *m, const struct table_group *group,
                         struct timebuckets *volatiles) {
    for (unsigned i = 0; i < group->count; i++) {
        m->entries[i] = group->elements[i];
        if (!(group->wanted >> i & 1)) continue;
        m->entries[i] = move_entry(m->entries[i], volatiles, &m->work->moves);
        table_slot_replace(group->slots[i], m->entries[i]);
        m->moved |= UINT64_C(1) << i;
    }
}

static void prefetch_values(const struct moving *m) {
    for (unsigned i = 0; i < m->count; i++)
        if (m->entries[i]->type != ENTRY_STRING) prefetch(entry_object(m->entries[i]).pointer);
}

static void move_value_blocks(struct moving *m) {
    void *asked[RELOCATION_ASK_MAX];
    unsigned owners[RELOCATION_ASK_MAX], count = 0;
    for (unsigned i = 0; i < m->count; i++) {
        asked[count] = value_block(m->entries[i]);
        owners[count] = i;
        count += asked[count] != NULL;
    }
    uint64_t left = relocation_ask(&m->work->moves, asked, count);
    for (; left != 0; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctzll(left);
        void *block = relocation_move(&m->work->moves, asked[at], MEMORY_DATASET);
        set_value_block(m->entries[owners[at]], block);
        m->moved |= UINT64_C(1) << owners[at];
    }
}

/* Moves the blocks of a value of several blocks; true if one has moved. */
static bool move_value(struct entry *e, struct relocate_work *work) {
    const struct value_type *type = value_type(e->type);
    if (!type->relocate || value_block(e)) return false;
    if (entry_free_effort(e) > work->effort_max) {
        work->large(e, work->context);
        return false;
    }
    struct relocation whole = {.budget = SIZE_MAX};
    struct value_cursor cursor = {0};
    struct value v = entry_object(e);
    while (!type->relocate(&v, &cursor, &whole)) continue;
    entry_set_object(e, v);
    size_t spent = SIZE_MAX - whole.budget;
    work->moves.budget -= spent < work->moves.budget ? spent : work->moves.budget;
    work->moves.moved += whole.moved;
    work->moves.moved_bytes += whole.moved_bytes;
    work->moves.stayed += whole.stayed;
    return whole.moved > 0;
}

void relocate_group(struct table *t, const struct table_group *group, struct relocation *r,
                    void *entries) {
    const struct relocate_entries *of = entries;
    struct moving m = {.work = of->work, .count = group->count};
    for (unsigned i = 0; i < group->count; i++) prefetch(group->elements[i]);
    move_entries(&m, group, of->volatiles);
    prefetch_values(&m);
    move_value_blocks(&m);
    for (unsigned i = 0; i < m.count; i++) {
        if (m.entries[i]->type == ENTRY_STRING) continue;
        m.moved |= (uint64_t)move_value(m.entries[i], of->work) << i;
    }
    unsigned moved = (unsigned)__builtin_popcountll(m.moved);
    of->work->keys_moved += moved;
    of->work->keys_stayed += m.count - moved;
}
