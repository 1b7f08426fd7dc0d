/* SPDX-License-Identifier: BSD-3-Clause
 * The tables of a database.
 *
 * A partitioned database has a table for each slot of which a key was seen. The tables' structs
 * stand side by side in GROUPS groups of GROUP_SLOTS slots, and a group is allocated with its first
 * key. So a lookup reads the group's address, which stays in the processor's cache, then the
 * table's struct, which may be a cache miss more than in a keyspace that is not partitioned.
 *
 *    slot_tables.tables[slot / 128] -> struct table of slot % 128 -> buckets -> entries
 *
 * To draw a key by chance, and to skip empty slots, the numbers of keys of each slot and the sums
 * for each group stand in arrays of their own: 128 sums and then 128 numbers are looked at, which
 * is 2 KiB, and never all slots.
 *
 * Invariants (key_map_check)
 *  1. counts[slot] is the number of keys in the slot's table, or 0 where the slot is hidden
 *     (`hidden`). A hidden slot has keys, and there are `hidden_count` of them.
 *  2. sums[group] is the sum of the group's counts, `count` that of all sums.
 *  3. `bytes` is the sum of table_bytes_seen of all tables, with the blocks that hold their
 *     structs.
 *  4. A table that loses its last key is cleared, unless it has more than CLEAR_BUCKETS buckets:
 *     then it owes shrinking first, so that no removal frees much.
 *
 * Ownership: the tables own the entries' places, the keyspace the entries.
 */
#include "store/key_map.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/panic.h"
#include "base/prefetch.h"
#include "base/random.h"
#include "base/relocation.h"
#include "ds/table.h"
#include "store/entry.h"

#define GROUP_SHIFT KEY_MAP_GROUP_SHIFT
#define GROUP_SLOTS KEY_MAP_GROUP_SLOTS
#define GROUPS KEY_MAP_GROUPS
#define GROUP_BYTES ((size_t)GROUP_SLOTS * TABLE_BYTES)
#define COUNTS_BYTES (GROUP_SLOTS * sizeof(size_t))
/* 4 KiB of buckets. */
#define CLEAR_BUCKETS 64
#define HAND_SLOT_SHIFT 32

/* ---- entries in tables ---- */

uint64_t key_map_hash(const struct entry *e) { return key_hash_of(entry_key(e)); }

/* Without the slot, which the table does not look at. */
static uint64_t entry_hash(const void *element) {
    struct slice key = entry_key(element);
    return hash_bytes(key.bytes, key.length);
}

static bool entry_matches(const void *element, const void *key, size_t key_length) {
    struct slice own = entry_key(element);
    return own.length == key_length && memcmp(own.bytes, key, key_length) == 0;
}

static const struct table_type entries_type = {entry_hash, entry_matches, MEMORY_DATASET};

/* ---- slots ---- */

static struct table *slot_table(const struct slot_tables *s, unsigned slot) {
    struct table *group = s->tables[slot >> GROUP_SHIFT];
    return group ? table_nth(group, slot % GROUP_SLOTS) : NULL;
}

static struct slot_tables *slots_create(void) {
    struct slot_tables *s = memory_zalloc(sizeof(*s), MEMORY_DATASET);
    s->bytes = memory_good_size(sizeof(*s));
    return s;
}

static struct table *slot_table_create(struct slot_tables *s, unsigned slot) {
    struct table **group = &s->tables[slot >> GROUP_SHIFT];
    if (!*group) {
        *group = table_create_many(&entries_type, GROUP_SLOTS);
        s->counts[slot >> GROUP_SHIFT] = memory_zalloc(COUNTS_BYTES, MEMORY_DATASET);
        s->bytes += memory_good_size(GROUP_BYTES) + memory_good_size(COUNTS_BYTES);
    }
    return table_nth(*group, slot % GROUP_SLOTS);
}

static size_t slot_count(const struct slot_tables *s, unsigned slot) {
    const size_t *counts = s->counts[slot >> GROUP_SHIFT];
    return counts ? counts[slot % GROUP_SLOTS] : 0;
}

static bool slot_is_hidden(const struct slot_tables *s, unsigned slot) {
    return s->hidden_count != 0 && s->hidden[slot / 64] >> slot % 64 & 1;
}

static void slot_note_keys(struct slot_tables *s, unsigned slot, size_t more) {
    s->counts[slot >> GROUP_SHIFT][slot % GROUP_SLOTS] += more;
    s->sums[slot >> GROUP_SHIFT] += more;
    s->count += more;
}

/* The first slot from `slot` on that has keys and is not hidden; KEY_SLOTS where there is none. */
static unsigned slot_with_keys(const struct slot_tables *s, unsigned slot) {
    while (slot < KEY_SLOTS && slot_count(s, slot) == 0) {
        bool skips = s->sums[slot >> GROUP_SHIFT] == 0;
        slot = skips ? (slot | (GROUP_SLOTS - 1)) + 1 : slot + 1;
    }
    return slot;
}

/* The slot of the key of this rank, in rising order of slots. */
static unsigned slot_at_rank(const struct slot_tables *s, size_t rank) {
    unsigned group = 0;
    while (rank >= s->sums[group]) rank -= s->sums[group++];
    const size_t *counts = s->counts[group];
    unsigned i = 0;
    while (rank >= counts[i]) rank -= counts[i++];
    return (group << GROUP_SHIFT) + i;
}

static struct table *table_drawn(const struct slot_tables *s) {
    return slot_table(s, slot_at_rank(s, random_below(s->count)));
}

static void table_pay_noted(struct slot_tables *s, struct table *t, size_t steps) {
    if (steps == 0 || !table_owes(t)) return;
    size_t before = table_bytes_seen(t);
    table_pay(t, steps);
    s->bytes += table_bytes_seen(t) - before;
}

size_t key_map_slot_count(const struct key_map *map, unsigned slot) {
    ASSERT(slot < KEY_SLOTS);
    return map->slots ? slot_count(map->slots, slot) : 0;
}

void key_map_hide_slot(const struct key_map *map, unsigned slot) {
    struct slot_tables *s = map->slots;
    size_t count = key_map_slot_count(map, slot);
    if (count == 0) return;
    slot_note_keys(s, slot, -count);
    s->hidden[slot / 64] |= UINT64_C(1) << slot % 64;
    s->hidden_count++;
}

void key_map_show_slot(const struct key_map *map, unsigned slot) {
    struct slot_tables *s = map->slots;
    if (!key_map_is_hidden(map, slot)) return;
    s->hidden[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    s->hidden_count--;
    slot_note_keys(s, slot, table_count(slot_table(s, slot)));
}

bool key_map_is_hidden(const struct key_map *map, unsigned slot) {
    ASSERT(slot < KEY_SLOTS);
    return map->slots && slot_is_hidden(map->slots, slot);
}

unsigned key_map_hidden_slot(const struct key_map *map) {
    const struct slot_tables *s = map->slots;
    if (!s || s->hidden_count == 0) return KEY_SLOTS;
    unsigned word = 0;
    while (s->hidden[word] == 0) word++;
    return word * 64 + (unsigned)__builtin_ctzll(s->hidden[word]);
}

/* ---- one key ---- */

size_t key_map_count(const struct key_map *map) {
    if (map->table) return table_count(map->table);
    return map->slots ? map->slots->count : 0;
}

size_t key_map_bytes(const struct key_map *map) {
    if (map->table) return table_bytes(map->table);
    return map->slots ? map->slots->bytes : 0;
}

static void insert_in_slot(struct slot_tables *s, uint64_t hash, struct entry *e) {
    unsigned slot = key_hash_slot(hash);
    struct table *t = slot_table_create(s, slot);
    size_t before = table_bytes_seen(t);
    table_insert(t, hash, e);
    s->bytes += table_bytes_seen(t) - before;
    if (!slot_is_hidden(s, slot)) slot_note_keys(s, slot, 1);
}

__attribute__((noinline)) static void insert_slowly(struct key_map *map, uint64_t hash,
                                                    struct entry *e) {
    if (key_hash_has_slots()) {
        if (!map->slots) map->slots = slots_create();
        insert_in_slot(map->slots, hash, e);
    } else {
        map->table = table_create(&entries_type);
        table_insert(map->table, hash, e);
    }
}

void key_map_insert(struct key_map *map, uint64_t hash, struct entry *e) {
    if (__builtin_expect(map->table != NULL, 1))
        table_insert(map->table, hash, e);
    else
        insert_slowly(map, hash, e);
}

/* Counts a key that was removed from the slot's table, which had `before` bytes. */
static void note_removed(struct slot_tables *s, struct table *t, unsigned slot, size_t before) {
    if (table_count(t) == 0 && table_buckets(t) <= CLEAR_BUCKETS) table_clear(t);
    s->bytes += table_bytes_seen(t) - before;
    if (!slot_is_hidden(s, slot)) {
        slot_note_keys(s, slot, -(size_t)1);
    } else if (table_count(t) == 0) {
        s->hidden[slot / 64] &= ~(UINT64_C(1) << slot % 64);
        s->hidden_count--;
    }
}

__attribute__((noinline)) static struct entry *remove_from_slot(struct slot_tables *s,
                                                                const struct key *key) {
    unsigned slot = key_slot(key);
    struct table *t = s ? slot_table(s, slot) : NULL;
    if (!t) return NULL;
    size_t before = table_bytes_seen(t);
    struct entry *e = table_remove(t, key->hash, key->name.bytes, key->name.length);
    if (e) note_removed(s, t, slot, before);
    return e;
}

struct entry *key_map_remove(struct key_map *map, const struct key *key) {
    if (__builtin_expect(map->table != NULL, 1))
        return table_remove(map->table, key->hash, key->name.bytes, key->name.length);
    return remove_from_slot(map->slots, key);
}

__attribute__((noinline)) static bool remove_entry_from_slot(struct slot_tables *s, uint64_t hash,
                                                             const struct entry *e) {
    unsigned slot = key_hash_slot(hash);
    struct table *t = s ? slot_table(s, slot) : NULL;
    if (!t) return false;
    size_t before = table_bytes_seen(t);
    if (!table_remove_element(t, hash, e)) return false;
    note_removed(s, t, slot, before);
    return true;
}

bool key_map_remove_entry(struct key_map *map, uint64_t hash, const struct entry *e) {
    if (__builtin_expect(map->table != NULL, 1)) return table_remove_element(map->table, hash, e);
    return remove_entry_from_slot(map->slots, hash, e);
}

void key_map_pay(const struct key_map *map, uint64_t hash, size_t steps) {
    struct table *t = key_map_table(map, hash);
    if (!t) return;
    if (map->slots)
        table_pay_noted(map->slots, t, steps);
    else if (table_owes(t))
        table_pay(t, steps);
}

bool key_map_reserve(struct key_map *map, size_t keys, size_t steps) {
    if (key_hash_has_slots()) return true;
    if (!map->table) map->table = table_create(&entries_type);
    return table_reserve(map->table, keys, steps);
}

const struct table *key_map_prefetch_table(const struct key_map *map, uint64_t hash) {
    const struct table *t = key_map_slot_table(map, key_hash_slot(hash));
    if (t) prefetch(t);
    return t;
}

/* Functions of their own, called last, so that a keyspace with one table saves no registers. */
__attribute__((noinline)) static void prefetch_bucket_of_slot(const struct key_map *map,
                                                              uint64_t hash) {
    const struct table *t = key_map_slot_table(map, key_hash_slot(hash));
    if (t) table_prefetch_bucket(t, hash);
}

__attribute__((noinline)) static void prefetch_entry_of_slot(const struct key_map *map,
                                                             uint64_t hash) {
    const struct table *t = key_map_slot_table(map, key_hash_slot(hash));
    if (t) table_prefetch_element(t, hash);
}

void key_map_prefetch_bucket(const struct key_map *map, uint64_t hash) {
    if (__builtin_expect(map->table != NULL, 1))
        table_prefetch_bucket(map->table, hash);
    else
        prefetch_bucket_of_slot(map, hash);
}

void key_map_prefetch_entry(const struct key_map *map, uint64_t hash) {
    if (__builtin_expect(map->table != NULL, 1))
        table_prefetch_element(map->table, hash);
    else
        prefetch_entry_of_slot(map, hash);
}

/* ---- all keys ---- */

void key_map_each(const struct key_map *map, key_map_visit *visit, void *context) {
    const struct slot_tables *s = map->slots;
    if (map->table) table_each(map->table, visit, context);
    if (!s) return;
    for (unsigned slot = 0; (slot = slot_with_keys(s, slot)) < KEY_SLOTS; slot++)
        table_each(slot_table(s, slot), visit, context);
}

static uint64_t scan_slots(struct slot_tables *s, uint64_t cursor, size_t wanted, size_t steps,
                           key_map_visit *visit, void *context) {
    unsigned at = (unsigned)(cursor % KEY_SLOTS), slot = slot_with_keys(s, at);
    uint64_t place = slot == at ? cursor >> KEY_SLOT_BITS : 0;
    if (slot == KEY_SLOTS) return 0;
    struct table *t = slot_table(s, slot);
    table_pay_noted(s, t, steps);
    place = table_scan_some(t, place, wanted, visit, context);
    if (place != 0) return place << KEY_SLOT_BITS | slot;
    slot = slot_with_keys(s, slot + 1);
    return slot == KEY_SLOTS ? 0 : slot;
}

uint64_t key_map_scan(const struct key_map *map, uint64_t cursor, size_t wanted, size_t steps,
                      key_map_visit *visit, void *context) {
    if (map->slots) return scan_slots(map->slots, cursor, wanted, steps, visit, context);
    if (!map->table) return 0;
    if (table_owes(map->table)) table_pay(map->table, steps);
    return table_scan_some(map->table, cursor, wanted, visit, context);
}

struct entry *key_map_random(const struct key_map *map, size_t steps) {
    if (key_map_count(map) == 0) return NULL;
    struct table *t = map->table ? map->table : table_drawn(map->slots);
    if (map->slots)
        table_pay_noted(map->slots, t, steps);
    else if (table_owes(t))
        table_pay(t, steps);
    return table_random(t);
}

/* From the slots that follow on one drawn by its number of keys, wrapping. */
static size_t sample_slots(const struct slot_tables *s, void **entries, size_t wanted) {
    unsigned first = slot_at_rank(s, random_below(s->count)), slot = first;
    size_t found = 0;
    do {
        found += table_sample(slot_table(s, slot), entries + found, wanted - found);
        slot = slot_with_keys(s, slot + 1);
        if (slot == KEY_SLOTS) slot = slot_with_keys(s, 0);
    } while (found < wanted && slot != first);
    return found;
}

size_t key_map_sample(const struct key_map *map, void **entries, size_t wanted) {
    if (key_map_count(map) == 0) return 0;
    return map->table ? table_sample(map->table, entries, wanted)
                      : sample_slots(map->slots, entries, wanted);
}

void key_map_sweep(const struct key_map *map, size_t *hand, key_map_visit *visit, void *context) {
    const struct slot_tables *s = map->slots;
    if (map->table) {
        table_sweep(map->table, hand, visit, context);
        return;
    }
    unsigned at = (unsigned)(*hand >> HAND_SLOT_SHIFT),
             slot = s ? slot_with_keys(s, at) : KEY_SLOTS;
    size_t bucket = slot == at ? (uint32_t)*hand : 0;
    *hand = 0;
    if (slot >= KEY_SLOTS) return;
    table_sweep(slot_table(s, slot), &bucket, visit, context);
    if (bucket == 0) slot = slot_with_keys(s, slot + 1);
    if (slot < KEY_SLOTS) *hand = (size_t)slot << HAND_SLOT_SHIFT | bucket;
}

/* ---- the walk of a save ---- */

/* Ends the walk over a slot's table. */
static void walk_next_slot(struct key_walk *walk) {
    walk->slot++;
    walk->cursor = 0;
    walk->buckets = 0;
    walk->done = walk->slot == KEY_SLOTS;
}

static void walk_table(struct key_walk *walk, const struct table *t, size_t positions,
                       const bool *enough, key_map_visit *visit, void *context) {
    walk->overlaps = table_buckets(t) < walk->buckets;
    size_t now = walk->overlaps ? 1 : positions;
    walk->cursor = table_scan_run(t, walk->cursor, now, enough, visit, context);
    walk->buckets = table_buckets(t);
}

/* The positions that a step of so many takes in a table, at least one; a table's end may come
 * earlier. */
static size_t positions_in(const struct table *t, size_t positions) {
    size_t buckets = table_buckets(t);
    return buckets < positions ? buckets : positions;
}

void key_walk_run(struct key_walk *walk, const struct key_map *map, size_t positions, bool *enough,
                  key_map_visit *visit, void *context) {
    const struct slot_tables *s = map->slots;
    if (!s) {
        if (map->table) walk_table(walk, map->table, positions, enough, visit, context);
        walk->done = walk->cursor == 0;
        return;
    }
    while (positions > 0 && !walk->done && !(enough && *enough)) {
        const struct table *t = slot_table(s, walk->slot);
        bool empty = !t || table_count(t) == 0;
        size_t now = empty ? 1 : positions_in(t, positions);
        if (!empty) walk_table(walk, t, now, enough, visit, context);
        if (empty || walk->cursor == 0) walk_next_slot(walk);
        positions -= now;
    }
}

bool key_walk_is_ahead(const struct key_walk *walk, uint64_t hash) {
    if (walk->done) return false;
    if (key_hash_has_slots() && key_hash_slot(hash) != walk->slot)
        return key_hash_slot(hash) > walk->slot;
    return table_place(hash) >= table_place(walk->cursor);
}

/* The table of the slot at which the walk is. Where a group of slots begins, its blocks are moved.
 */
static struct table *slot_relocate(struct slot_tables *s, const struct key_walk *walk,
                                   struct relocation *r) {
    unsigned group = walk->slot >> GROUP_SHIFT;
    if (walk->slot % GROUP_SLOTS == 0 && walk->cursor == 0 && s->tables[group]) {
        s->tables[group] = table_relocate_many(s->tables[group], GROUP_SLOTS, r);
        s->counts[group] = relocation_settle(r, s->counts[group], MEMORY_DATASET);
    }
    return slot_table(s, walk->slot);
}

void key_map_relocate_some(const struct key_map *map, struct key_walk *walk, struct relocation *r,
                           void (*visit)(struct table *t, const struct table_group *group,
                                         struct relocation *r, void *context),
                           void *context) {
    struct table *t = map->slots ? slot_relocate(map->slots, walk, r) : map->table;
    unsigned looks = GROUP_SLOTS;
    while (map->slots && (!t || table_count(t) == 0) && looks-- > 0) {
        walk_next_slot(walk);
        if (walk->done) return;
        t = slot_relocate(map->slots, walk, r);
    }
    walk->cursor = t ? table_relocate_some(t, walk->cursor, r, visit, context) : 0;
    if (!map->slots)
        walk->done = walk->cursor == 0;
    else if (walk->cursor == 0)
        walk_next_slot(walk);
}

/* ---- the whole ---- */

/* Calls `visit` for the map's only table, or the tables of all slots. */
static void each_table(const struct key_map *map, void (*visit)(struct table *t, void *context),
                       void *context) {
    if (map->table) visit(map->table, context);
    for (unsigned slot = 0; map->slots && slot < KEY_SLOTS; slot++) {
        struct table *t = slot_table(map->slots, slot);
        if (t) visit(t, context);
    }
}

static void reconsider_table(struct table *t, void *context) { table_reconsider(t); }
void key_map_reconsider(const struct key_map *map) { each_table(map, reconsider_table, NULL); }

static void detach_table(struct table *t, void *context) { table_detach(t); }
void key_map_detach(const struct key_map *map) { each_table(map, detach_table, NULL); }

/* Frees the tables of the slots from the last one down; those behind are freed already. */
static bool free_slots_step(struct slot_tables *s, size_t buckets_max, key_map_visit *release,
                            void *context) {
    for (unsigned group = GROUPS; group-- > 0;) {
        if (!s->tables[group]) continue;
        for (unsigned i = GROUP_SLOTS; i-- > 0;) {
            struct table *t = table_nth(s->tables[group], i);
            size_t before = table_bytes_seen(t);
            bool cleared = table_clear_step(t, &buckets_max, release, context);
            s->bytes += table_bytes_seen(t) - before;
            if (!cleared) return false;
        }
        table_free_many(s->tables[group], GROUP_SLOTS);
        memory_free_sized(s->counts[group], COUNTS_BYTES, MEMORY_DATASET);
        s->bytes -= memory_good_size(GROUP_BYTES) + memory_good_size(COUNTS_BYTES);
        s->tables[group] = NULL;
    }
    memory_free_sized(s, sizeof(*s), MEMORY_DATASET);
    return true;
}

bool key_map_free_step(struct key_map *map, size_t buckets_max, key_map_visit *release,
                       void *context) {
    bool gone = map->table
                    ? table_free_step(map->table, buckets_max, release, context)
                    : !map->slots || free_slots_step(map->slots, buckets_max, release, context);
    if (gone) *map = (struct key_map){NULL, NULL};
    return gone;
}

struct stats_sum {
    struct table_stats *stats;
    size_t tables;
};

static void add_stats(struct table *t, void *context) {
    struct stats_sum *sum = context;
    struct table_stats one, *all = sum->stats;
    if (table_count(t) == 0) return;
    table_stats(t, &one);
    sum->tables++;
    all->elements += one.elements;
    all->buckets += one.buckets;
    all->overflow_buckets += one.overflow_buckets;
    if (one.longest_chain > all->longest_chain) all->longest_chain = one.longest_chain;
    all->splits += one.splits;
    all->merges += one.merges;
    all->owes |= one.owes;
    all->may_pay |= one.may_pay;
}

size_t key_map_stats(const struct key_map *map, struct table_stats *stats) {
    *stats = (struct table_stats){.bytes = key_map_bytes(map)};
    struct stats_sum sum = {stats, 0};
    each_table(map, add_stats, &sum);
    return sum.tables;
}

void key_map_check(const struct key_map *map) {
    const struct slot_tables *s = map->slots;
    ASSERT(!map->table || !s);
    if (map->table) table_check(map->table);
    if (!s) return;
    size_t count = 0, hidden = 0, bytes = memory_good_size(sizeof(*s));
    for (unsigned group = 0; group < GROUPS; group++) {
        size_t sum = 0;
        if (s->tables[group])
            bytes += memory_good_size(GROUP_BYTES) + memory_good_size(COUNTS_BYTES);
        for (unsigned i = 0; i < GROUP_SLOTS; i++) {
            unsigned slot = (group << GROUP_SHIFT) + i;
            const struct table *t = slot_table(s, slot);
            if (t) table_check(t);
            size_t here = slot_count(s, slot);
            size_t in_table = t ? table_count(t) : 0;
            ASSERT_COMPARE(here, ==, slot_is_hidden(s, slot) ? 0 : in_table);
            ASSERT(in_table || !slot_is_hidden(s, slot));
            hidden += slot_is_hidden(s, slot);
            sum += here;
            bytes += t ? table_bytes_seen(t) : 0;
        }
        ASSERT_COMPARE(sum, ==, s->sums[group]);
        count += sum;
    }
    ASSERT_COMPARE(count, ==, s->count);
    ASSERT_COMPARE(hidden, ==, s->hidden_count);
    ASSERT_COMPARE(bytes, ==, s->bytes);
}
