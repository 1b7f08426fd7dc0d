/* SPDX-License-Identifier: BSD-3-Clause
 * The keyspace: databases of entries, found by key and by deadline.
 *
 * Lookups hide and delete keys that are due. While expiry is held (keyspace_hold_expiry) they only
 * hide them; while due keys are shown (keyspace_show_due) they return them.
 */
#ifndef EVENKEEL_STORE_KEYSPACE_H
#define EVENKEEL_STORE_KEYSPACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "store/entry.h"
#include "store/key.h"

struct keyspace;

/* Registers options and metrics; then creates as many databases as the option `databases` says. */
void keyspace_register(void);
void keyspace_open(void);
/* Partitions all databases into KEY_SLOTS tables, one for each slot (base/key_slot.h), or, with
 * false, makes each of them one table again. All databases must be empty and no save may be under
 * way, and no hash of a key from before (key_hash_of) may be used afterwards. Called before
 * keyspace_open where the server is a node of a cluster. */
void keyspace_partition(bool on);
/* Whether the databases are partitioned by slots. O(1). */
bool keyspace_is_partitioned(void);
/* Whether keyspace_partition has partitioned them, because this server is a node of a cluster, and
 * not the option keyspace-by-slot for tests. The commands that a cluster refuses (SELECT, MOVE,
 * SWAPDB, COPY DB ...) ask this. O(1). */
bool keyspace_is_of_cluster(void);
int keyspace_databases(void);
/* 0 <= index < keyspace_databases(). */
struct keyspace *keyspace_at(int index);
int keyspace_index(const struct keyspace *ks);

/* Called by walks for each key. */
typedef void keyspace_visit(struct entry *e, void *context);

size_t keyspace_count(const struct keyspace *ks);
size_t keyspace_count_volatile(const struct keyspace *ks); /* keys with a deadline */

/* ---- slots: only in a partitioned keyspace ---- */

/* The number of keys in a slot, due ones included; 0 while the slot is dropped. O(1). */
size_t keyspace_slot_count(const struct keyspace *ks, unsigned slot);
/* Calls `visit` for up to `wanted` keys of the slot that are not due; deletes due keys that it
 * meets, if keys may expire. Returns the number of keys visited: fewer than `wanted` only if the
 * slot has no more. Visits none while the slot is dropped. O(wanted + due keys met), besides at
 * most 1,024 empty buckets. `visit` must neither change the keyspace nor look keys up. */
size_t keyspace_slot_each(struct keyspace *ks, unsigned slot, size_t wanted, keyspace_visit *visit,
                          void *context);
/* Removes an entry of a slot that is dropped (store/slot_drop.h, which alone calls it); observers
 * hear KEYSPACE_DROPPED. */
void keyspace_drop(struct keyspace *ks, struct entry *e, uint64_t hash);

size_t keyspace_volatile_total(void); /* of all databases */
/* Mean time to live in ms of the keys with a deadline; due keys that still exist count with a
 * negative one, but the mean is at least 0. O(1). */
FOR_TESTS int64_t keyspace_average_ttl_msec(const struct keyspace *ks);

/* The lookup for commands that read: counts hits and misses and notes the access. Returns NULL if
 * there is no such key or it is due. The entry, and pointers into it, can be read until the command
 * ends, whatever happens to the key (limbo.h); it is the key's entry until the next change of the
 * keyspace. */
struct entry *keyspace_read(const struct key *key);
/* The lookup for commands that ask about a key without using it (TYPE, TTL): counts hits and
 * misses, notes no access. */
struct entry *keyspace_peek(const struct key *key);
/* The lookup for OBJECT: like keyspace_peek, but does not tell observers of a miss, as in 6.2. */
struct entry *keyspace_peek_quietly(const struct key *key);
/* The lookup for commands that write, or look without using: counts nothing, notes no access. */
struct entry *keyspace_find(const struct key *key);

/* Whether a writer should wait before it makes `changes` (enum entry_changes) to the key, because a
 * save (store/frontier.h) must copy its large value first. Changes only the save's order. */
MUST_USE bool keyspace_awaits_save(const struct key *key, unsigned changes);

/* The state of a key, found without a change: a due key is hidden, but not deleted. For
 * observers. */
enum keyspace_presence { KEYSPACE_ABSENT, KEYSPACE_HIDDEN, KEYSPACE_PRESENT };
enum keyspace_presence keyspace_presence(const struct key *key);
/* The entry of a key, found without a change and without a count: NULL where there is no such key
 * or it is due. For reports. */
const struct entry *keyspace_look(const struct key *key);

/* A deadline for keyspace_put_string: that of the old entry. */
#define KEYSPACE_KEEP_DEADLINE (INT64_MIN + 1)
/* Deletes an entry to free memory; with `lazily` a large one is freed in the background. Returns
 * the bytes that it took. Counts no change. */
size_t keyspace_evict(struct keyspace *ks, struct entry *e, uint64_t hash, bool lazily);
/* For commands that use an entry that they found by keyspace_find. */
void keyspace_note_access(struct entry *e);
/* SCAN: looks at about `wanted` keys of one bucket: calls `visit` for each key that is not due,
 * deletes due ones, and returns the next cursor; see table_scan_some. `visit` must neither change
 * the keyspace nor look keys up, because a lookup may pay a step of owed shrinking. */
MUST_USE uint64_t keyspace_scan(struct keyspace *ks, uint64_t cursor, size_t wanted,
                                keyspace_visit *visit, void *context);
/* Calls `visit` once for each key that is not due. O(keys). `visit` must neither change the
 * keyspace nor look keys up. */
void keyspace_each(const struct keyspace *ks, keyspace_visit *visit, void *context);
/* A random key, each equally likely; NULL if there is none. Deletes due keys that it draws.
 * Where nearly all keys are due, it searches for one that is not, in O(keys) at worst. */
struct entry *keyspace_random(struct keyspace *ks);

/* Deletes up to `keys_max` due keys; returns how many. `*more`: there may be further due keys. */
size_t keyspace_expire_due(struct keyspace *ks, int64_t now_msec, size_t keys_max, bool *more);
/* A reason why due keys must not be deleted. While any holder holds, due keys are hidden and stay,
 * whatever command meets them, until a new entry takes their place. Each feature that holds keys
 * has a holder of its own: static, and zeroed except for `elsewhere`. */
struct keyspace_holder {
    /* Another server (a primary) decides which keys have expired; only this server's own keys may
     * expire (keyspace_expire_own). A save includes due keys that the other server has not deleted
     * yet. */
    bool elsewhere;
    bool holds; /* keyspace_hold_expiry's */
};
/* Makes the holder hold expiry, or not; calls are not counted. */
void keyspace_hold_expiry(struct keyspace_holder *holder, bool on);
/* Whether a holder with `elsewhere` holds. */
bool keyspace_expiry_is_elsewhere(void);
/* Shows due keys as if they were not due, for a call from the primary, which has not deleted them
 * yet. Nothing expires meanwhile. Returns the former state, which the caller restores after the
 * call. */
bool keyspace_show_due(bool show);
/* Whether due keys are deleted now: no holder holds expiry, and they are not shown. */
bool keyspace_may_expire(void);
/* Whether a key that gets this deadline is gone at once: the deadline has passed, and due keys are
 * not shown. */
bool keyspace_is_over(int64_t deadline);
/* The number of due keys that still exist, estimated (timebuckets_due). */
size_t keyspace_due(const struct keyspace *ks, int64_t now_msec);
int64_t keyspace_next_deadline(const struct keyspace *ks);
/* A random key with a deadline, due or not; NULL if there is none. */
struct entry *keyspace_random_volatile(struct keyspace *ks);
/* The deadline of a key, due or not; ENTRY_NO_DEADLINE where it has none, or does not exist. */
int64_t keyspace_deadline(const struct key *key);
/* Deletes a due key as expired although a holder with `elsewhere` holds: the key is the replica's
 * own, not the primary's. Returns false if any other holder holds expiry. */
bool keyspace_expire_own(const struct key *key);
/* Deletes an entry if it is due and keys may expire; true if it was deleted. */
bool keyspace_expire_if_due(struct keyspace *ks, struct entry *e);
/* Times in us from deadline to deletion of expired keys. */
struct histogram;
const struct histogram *keyspace_expiry_lag(void);

struct table;
/* Prefetch hints, in this order; see table_prefetch_bucket and table_prefetch_element. The table's
 * header is worth asking for in a partitioned keyspace only. The first function returns the table,
 * NULL where there is none, so that a caller with many keys in different databases can ask the
 * table for the rest; it is valid until the next change of the keyspace. */
const struct table *keyspace_prefetch_table(const struct keyspace *ks, uint64_t hash);
void keyspace_prefetch_bucket(const struct keyspace *ks, uint64_t hash);
void keyspace_prefetch_entry(const struct keyspace *ks, uint64_t hash);
/* All stages for a group of keys that are looked up next, so that their cache misses overlap. A
 * group has some 32 keys at most: twice as many misses as a core keeps in flight. */
void keyspace_prefetch(const struct keyspace *ks, const uint64_t *hashes, size_t count);

/* Does up to `steps` steps of the resizing that tables owe (none where activerehashing is off), and
 * as many of the work that indexes by deadline have put off; true if more can be done now.
 * O(steps). */
bool keyspace_maintain(size_t steps);
/* Called by saving_end: indexes by deadline may have put work off. */
void keyspace_settle(void);
/* Bytes of tables and deadline indexes, all databases. O(databases). */
size_t keyspace_overhead_bytes(void);
/* Bytes of one database's table, and of its deadline index. */
size_t keyspace_table_bytes(const struct keyspace *ks);
size_t keyspace_deadline_bytes(const struct keyspace *ks);
/* Bytes of a database's entries with their values. O(1). */
size_t keyspace_entry_bytes(const struct keyspace *ks);
/* Bytes that one key takes: its entry with the value, and its average share of the hash table and
 * of the index by deadline. So the sum over all keys of a large database is about its memory. */
size_t keyspace_key_bytes(const struct entry *e);
uint64_t keyspace_changes(void); /* since start: rdb_changes_since_last_save */
uint64_t keyspace_written(void); /* changes by commands, without expiry */
/* Counts a hit of a command that had the entry without keyspace_read. */
void keyspace_count_hit(void);

/* Why a key's value changed or was deleted. */
enum keyspace_cause {
    KEYSPACE_WRITTEN,
    KEYSPACE_EXPIRED,
    KEYSPACE_EVICTED,
    KEYSPACE_DROPPED /* with its slot (store/slot_drop.h) */
};
/* An observer of changes. Observers are called in the order of registration, and only while a party
 * is interested (keyspace_add_interest). They must not change the keyspace; NULL members are
 * skipped. */
struct keyspace_observer {
    /* The key's value has changed, or the key was created, moved, deleted or got another deadline.
     * `key` is valid during the call. */
    void (*changed)(const struct key *key, enum keyspace_cause cause);
    /* The key got an entry of another type than string, by whatever way. Always called. */
    void (*added)(const struct key *key);
    /* The database is about to be emptied; called for an empty database, too. */
    void (*flushing)(struct keyspace *ks);
    /* The contents of two databases are about to be exchanged. */
    void (*swapping)(struct keyspace *a, struct keyspace *b);
    /* A command that reads has found no such key (keyspace_read, keyspace_peek). */
    void (*missed)(const struct key *key);
};
/* Sets the observers, in order, ended by NULL; the array must live as long as the process.
 * server/wiring.c has the server's. */
void keyspace_set_observers(const struct keyspace_observer *const *observers);
/* The events in which a party may be interested. An event in which none is interested costs one
 * test. */
enum keyspace_event {
    KEYSPACE_WRITES,   /* changed, by a command */
    KEYSPACE_REMOVALS, /* changed, because the key expired, was evicted or dropped */
    KEYSPACE_SWEEPS,   /* flushing, swapping */
    KEYSPACE_MISSES,   /* missed */
    KEYSPACE_EVENTS
};
/* Adds `delta` to the number of parties interested in an event. */
void keyspace_add_interest(enum keyspace_event event, int delta);
/* ---- moving blocks out of the allocator's sparse slabs (store/relocate.h) ---- */

struct key_walk;
struct relocate_work;
struct relocation;
/* These functions may be called only while no call runs (limbo_is_open) and no save by walk is
 * under way (frontier_is_open), because both have pointers into the data; and should not be called
 * while a child saves. */

/* Moves blocks of the entries in the next few buckets from `walk` on (all zero at first), until
 * `walk->done`; large values excepted. The database may change between two calls. */
void keyspace_relocate_some(struct keyspace *ks, struct key_walk *walk, struct relocate_work *work);
/* Moves blocks of a large value from `c` on until the budget is spent. True when the value is
 * through, or its entry, which is not dereferenced before it is found, is no longer there, or has a
 * value of another type than the cursor was made for. */
MUST_USE bool keyspace_relocate_value(struct keyspace *ks, const struct entry *e, uint64_t hash,
                                      unsigned type, struct value_cursor *c, struct relocation *r);
/* Moves blocks of the index by deadline; see timebuckets_relocate_some. */
MUST_USE uint64_t keyspace_relocate_deadlines(struct keyspace *ks, uint64_t cursor,
                                              struct relocation *r);

struct key_map;
struct timebuckets;
/* For store/evict, DEBUG HTSTATS and tests. */
const struct key_map *keyspace_map(const struct keyspace *ks);
/* NULL if the database has none yet. */
const struct timebuckets *keyspace_deadlines(const struct keyspace *ks);
FOR_TESTS void keyspace_check(const struct keyspace *ks);
#endif
