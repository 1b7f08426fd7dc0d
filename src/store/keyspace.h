/* SPDX-License-Identifier: BSD-3-Clause
 * The keyspace: databases of entries, found by key and by deadline.
 *
 * Lookups hide keys that are due and delete them. `hash` is always hash_bytes(key); callers that
 * prefetched pass what they have.
 */
#ifndef EVENKEEL_STORE_KEYSPACE_H
#define EVENKEEL_STORE_KEYSPACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/entry.h"

struct keyspace;

/* The module's options and metrics; then the databases, as many as the option says. */
void keyspace_register(void);
void keyspace_open(void);
int keyspace_databases(void);
/* 0 <= index < keyspace_databases(). */
struct keyspace *keyspace_at(int index);
int keyspace_index(const struct keyspace *ks);

size_t keyspace_count(const struct keyspace *ks);
size_t keyspace_count_volatile(const struct keyspace *ks); /* keys with a deadline */
/* Mean time to live of the keys with one, estimated from a sample, in ms. */
int64_t keyspace_average_ttl_msec(struct keyspace *ks);

/* For commands that read: counts hits and misses and notes the access. NULL where there is none or
 * the key is due. The entry is valid until the next change of the keyspace. */
struct entry *keyspace_read(struct keyspace *ks, struct slice key, uint64_t hash);
/* For commands that write, or look without using: counts nothing, notes no access. */
struct entry *keyspace_find(struct keyspace *ks, struct slice key, uint64_t hash);

/* Stores a string under the key, whatever was there. `deadline` is ENTRY_NO_DEADLINE, or
 * KEYSPACE_KEEP_DEADLINE for the one the old entry has. `existing` is what keyspace_find returned
 * for this key just before (NULL = none), so that it is not looked up twice. Takes value->blob.
 * `value` may not point into the existing entry unless it is an integer. Returns the entry. */
#define KEYSPACE_KEEP_DEADLINE INT64_MAX
struct entry *keyspace_store(struct keyspace *ks, struct slice key, uint64_t hash,
                             struct entry *existing, const struct entry_value *value,
                             int64_t deadline);
/* False where there is no such key (or it is due). */
bool keyspace_delete(struct keyspace *ks, struct slice key, uint64_t hash);
/* Sets or clears (ENTRY_NO_DEADLINE) an entry's deadline; returns the entry, which may have moved.
 */
struct entry *keyspace_set_deadline(struct keyspace *ks, struct entry *e, uint64_t hash,
                                    int64_t deadline);
/* Empties the database at once; returns how many keys it had. */
size_t keyspace_flush(struct keyspace *ks);

/* Deletes up to `keys_max` keys that are due; `*more` where there may be further ones. */
size_t keyspace_expire_due(struct keyspace *ks, int64_t now_msec, size_t keys_max, bool *more);
/* Keys due and still held. */
size_t keyspace_due(const struct keyspace *ks, int64_t now_msec);
int64_t keyspace_next_deadline(const struct keyspace *ks);

/* Hints; see table_prefetch_*. */
void keyspace_prefetch_bucket(const struct keyspace *ks, uint64_t hash);
void keyspace_prefetch_entry(const struct keyspace *ks, uint64_t hash);

/* Up to `steps` of owed table work over all databases; true where more is owed. */
bool keyspace_maintain(size_t steps);
/* Bytes of tables and deadline indexes, all databases. O(databases). */
size_t keyspace_overhead_bytes(void);
/* The clock of recency: 24 bits of seconds. */
unsigned keyspace_lru_clock(void);
uint64_t keyspace_changes(void); /* writes since start: rdb_changes_since_last_save */
void keyspace_note_change(uint64_t count);
struct table;
const struct table *keyspace_table(const struct keyspace *ks); /* DEBUG HTSTATS and tests */
void keyspace_check(const struct keyspace *ks);
#endif
