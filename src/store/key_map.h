/* SPDX-License-Identifier: BSD-3-Clause
 * The hash tables of a database: one table, or, in a partitioned keyspace, one for each slot.
 *
 * The functions here do for a whole database what those of ds/table.h do for a table. The struct is
 * a handle of two pointers, which may be copied; the copy and the original are the same tables.
 *
 * A slot may be hidden (key_map_hide_slot). Its keys can still be found and removed, but they are
 * not counted, walked or drawn, except by key_walk_run and key_map_free_step.
 */
#ifndef EVENKEEL_STORE_KEY_MAP_H
#define EVENKEEL_STORE_KEY_MAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "ds/table.h"
#include "store/key.h"

struct entry;

/* The tables of a partitioned database, in groups of slots. key_map.c has the idea; the struct
 * stands here because each lookup reads `tables`. */
#define KEY_MAP_GROUP_SHIFT 7
#define KEY_MAP_GROUP_SLOTS (1U << KEY_MAP_GROUP_SHIFT)
#define KEY_MAP_GROUPS (KEY_SLOTS >> KEY_MAP_GROUP_SHIFT)
struct slot_tables {
    /* KEY_MAP_GROUP_SLOTS side by side; NULL until the group's first key. */
    struct table *tables[KEY_MAP_GROUPS];
    size_t *counts[KEY_MAP_GROUPS]; /* of the group's slots; NULL until the group's first key */
    size_t sums[KEY_MAP_GROUPS];
    size_t count, bytes;
    unsigned hidden_count;
    uint64_t hidden[KEY_SLOTS / 64]; /* a bit for each slot */
};

/* Both pointers are NULL until the first key. At most one of them is not. */
struct key_map {
    struct table *table; /* of all keys */
    struct slot_tables *slots;
};

/* The hash of an entry's key (key_hash_of). O(length). */
uint64_t key_map_hash(const struct entry *e);

/* The table that has the keys of this slot; NULL where there is none yet. O(1). */
static inline struct table *key_map_slot_table(const struct key_map *map, unsigned slot) {
    const struct slot_tables *s = map->slots;
    if (!s) return NULL;
    struct table *group = s->tables[slot >> KEY_MAP_GROUP_SHIFT];
    return group ? table_nth(group, slot % KEY_MAP_GROUP_SLOTS) : NULL;
}
/* The table that a hash belongs to; NULL where there is none yet. O(1). */
static inline struct table *key_map_table(const struct key_map *map, uint64_t hash) {
    struct table *t = map->table;
    return __builtin_expect(t != NULL, 1) ? t : key_map_slot_table(map, key_hash_slot(hash));
}

/* The number of keys. O(1). */
size_t key_map_count(const struct key_map *map);
/* Bytes of all tables (table_bytes_seen) and of what finds them. O(1). */
size_t key_map_bytes(const struct key_map *map);

/* Inserts an entry whose key is not there; `hash` is the key's. */
void key_map_insert(struct key_map *map, uint64_t hash, struct entry *e);
/* Removes and returns the entry of a key; NULL if there is none. */
struct entry *key_map_remove(struct key_map *map, const struct key *key);
/* Removes exactly this entry; false if it is not there. */
bool key_map_remove_entry(struct key_map *map, uint64_t hash, const struct entry *e);
/* Lets the hash's table, if there is one, pay up to `steps` steps of the resizing that it owes. */
void key_map_pay(const struct key_map *map, uint64_t hash, size_t steps);
/* table_reserve for all keys. In a partitioned keyspace it does nothing and returns true, because
 * it is not known how many keys each slot will get. */
MUST_USE bool key_map_reserve(struct key_map *map, size_t keys, size_t steps);

/* Prefetch in up to three stages: the table's header, which only a partitioned keyspace needs, and
 * which returns the table, NULL where there is none; the bucket; the entry. */
const struct table *key_map_prefetch_table(const struct key_map *map, uint64_t hash);
void key_map_prefetch_bucket(const struct key_map *map, uint64_t hash);
void key_map_prefetch_entry(const struct key_map *map, uint64_t hash);

typedef void key_map_visit(void *entry, void *context);
/* Visits each entry once. `visit` must not change the map. */
void key_map_each(const struct key_map *map, key_map_visit *visit, void *context);
/* table_scan_some over all tables, with the promise of table_scan: an entry that is there from the
 * first call to the last is visited. Begins with cursor 0 and ends when it returns 0. The table
 * that is scanned pays up to `steps` steps of the resizing that it owes first. Slots come in rising
 * order: the cursor's low KEY_SLOT_BITS bits are the slot, the others the cursor in its table. */
uint64_t key_map_scan(const struct key_map *map, uint64_t cursor, size_t wanted, size_t steps,
                      key_map_visit *visit, void *context);
/* A random entry, each equally likely; NULL if there is none. Its table pays up to `steps` steps of
 * what it owes first. */
struct entry *key_map_random(const struct key_map *map, size_t steps);
/* Up to `wanted` distinct entries that stand near each other, at a random place; at least one where
 * there is any. A slot is drawn by its number of keys. */
size_t key_map_sample(const struct key_map *map, void **entries, size_t wanted);
/* The clock hand of eviction (table_sweep) over all tables: visits all entries of one bucket, and
 * moves the hand to the next one; 0 behind the last. A hand holds the bucket's number in its low 32
 * bits and the slot above them. */
void key_map_sweep(const struct key_map *map, size_t *hand, key_map_visit *visit, void *context);

/* A walk over all entries in scan order, of a save (store/frontier.h): slots in rising order, in
 * each the places of its table (table_place). */
struct key_walk {
    unsigned slot;   /* 0 where the keyspace is not partitioned */
    uint64_t cursor; /* of table_scan in the slot's table: the next position */
    size_t buckets;  /* of the table after the last step; 0 before the first one */
    bool overlaps;   /* while `visit` is called: the entry may have been passed already */
    bool done;       /* all is behind the walk */
};
/* Walks on over up to `positions` (>= 1) buckets or empty slots, hidden slots included, from where
 * the walk is; a new walk is all zero. Calls `visit` for each entry, until the end of the bucket in
 * which it sets `*enough` (may be NULL). After a merge a bucket may hold entries that the walk has
 * passed already: they are visited again. */
void key_walk_run(struct key_walk *walk, const struct key_map *map, size_t positions, bool *enough,
                  key_map_visit *visit, void *context);
/* Whether the place of a hash is not behind the walk. O(1). */
bool key_walk_is_ahead(const struct key_walk *walk, uint64_t hash);

struct relocation;
struct table_group;
/* table_relocate_some from where the walk is, over a few buckets, or empty slots; hidden slots are
 * included. A new walk is all zero. The structs of slots' tables move; that of a table for all keys
 * stays. */
void key_map_relocate_some(const struct key_map *map, struct key_walk *walk, struct relocation *r,
                           void (*visit)(struct table *t, const struct table_group *group,
                                         struct relocation *r, void *context),
                           void *context);

/* ---- slots: only in a partitioned keyspace ---- */

/* The number of keys in a slot; 0 where it is hidden. O(1). */
size_t key_map_slot_count(const struct key_map *map, unsigned slot);
/* Hides a slot until its last key is removed, if it has any. O(1). */
void key_map_hide_slot(const struct key_map *map, unsigned slot);
/* Shows the keys of a slot that is hidden; does nothing if it is not. O(1). */
void key_map_show_slot(const struct key_map *map, unsigned slot);
bool key_map_is_hidden(const struct key_map *map, unsigned slot);
/* A slot that is hidden; KEY_SLOTS where there is none. O(KEY_SLOTS / 64) where there is one. */
unsigned key_map_hidden_slot(const struct key_map *map);

/* ---- the whole ---- */

/* Applies table_set_min_fill to all tables. O(slots). */
void key_map_reconsider(const struct key_map *map);
/* To be called before another thread gets the map, which may only free it. O(slots). */
void key_map_detach(const struct key_map *map);
/* Frees the tables in steps of up to `buckets_max` buckets: calls `release` for each entry, and
 * returns true when all is gone. After the first call only this function, and key_map_bytes where
 * it has returned false, may be called. */
bool key_map_free_step(struct key_map *map, size_t buckets_max, key_map_visit *release,
                       void *context);
/* table_stats over all tables: sums, the longest chain of any, and whether any owes. Returns the
 * number of tables that have keys. O(keys). */
size_t key_map_stats(const struct key_map *map, struct table_stats *stats);
/* Asserts the invariants; walks everything. */
void key_map_check(const struct key_map *map);
#endif
