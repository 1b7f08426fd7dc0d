/* SPDX-License-Identifier: BSD-3-Clause
 * The keyspace: databases of entries, found by key and by deadline.
 *
 * Lookups hide keys that are due and delete them, unless keyspace_hold_expiry or keyspace_show_due
 * say otherwise.
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

/* The module's options and metrics; then the databases, as many as the option says. */
void keyspace_register(void);
void keyspace_open(void);
int keyspace_databases(void);
/* 0 <= index < keyspace_databases(). */
struct keyspace *keyspace_at(int index);
int keyspace_index(const struct keyspace *ks);

size_t keyspace_count(const struct keyspace *ks);
size_t keyspace_count_volatile(const struct keyspace *ks); /* keys with a deadline */
size_t keyspace_volatile_total(void);                      /* of all databases */
/* Mean time to live of the keys with one, in ms; those that are due and still there count as less
 * than 0, and the mean is not less. O(1). */
FOR_TESTS int64_t keyspace_average_ttl_msec(const struct keyspace *ks);

/* For commands that read: counts hits and misses and notes the access. NULL where there is none or
 * the key is due. The entry, and what points into it, can be read until the command ends, whatever
 * becomes of the key (limbo.h); it is the key's entry until the next change of the keyspace. */
struct entry *keyspace_read(const struct key *key);
/* For commands that ask about a key without using it (TYPE, TTL): counts hits and misses, notes no
 * access. */
struct entry *keyspace_peek(const struct key *key);
/* The same for OBJECT, which as in 6.2 counts a miss but has observers hear of none. */
struct entry *keyspace_peek_quietly(const struct key *key);
/* For commands that write, or look without using: counts nothing, notes no access. */
struct entry *keyspace_find(const struct key *key);

/* Whether who would change the key should wait, for a save (store/frontier.h) is about to copy its
 * value, which is large. `changes`: the enum entry_changes that are about to be made. Changes
 * nothing but the save's order. */
MUST_USE bool keyspace_awaits_save(const struct key *key, unsigned changes);

/* What stands under a key, without a change: a key that is due is hidden but not deleted. For
 * observers. */
enum keyspace_presence { KEYSPACE_ABSENT, KEYSPACE_HIDDEN, KEYSPACE_PRESENT };
enum keyspace_presence keyspace_presence(const struct key *key);

/* What keyspace_put_string takes for the deadline that the old entry has. */
#define KEYSPACE_KEEP_DEADLINE (INT64_MIN + 1)
/* Deletes an entry to make room: a large one in the background with `lazily`. Returns the bytes
 * that it took. Counts no change. */
size_t keyspace_evict(struct keyspace *ks, struct entry *e, uint64_t hash, bool lazily);
/* For commands that use an entry that they found by keyspace_find. */
void keyspace_note_access(struct entry *e);
/* SCAN: looks at about `wanted` keys, and at most those of one table position: calls `visit` for
 * each that is not due, deletes those that are, and returns the next cursor; see table_scan_some.
 * `visit` must neither change the keyspace nor look keys up, for a lookup may pay a step of owed
 * shrinking. */
typedef void keyspace_visit(struct entry *e, void *context);
MUST_USE uint64_t keyspace_scan(struct keyspace *ks, uint64_t cursor, size_t wanted,
                                keyspace_visit *visit, void *context);
/* Calls `visit` once for each key that is not due. O(keys). `visit` as above. */
void keyspace_each(const struct keyspace *ks, keyspace_visit *visit, void *context);
/* A random key, each as likely as any other; NULL where there is none. Deletes the due ones that it
 * draws; where nearly all are due it looks for one that is not, in O(keys) at worst. */
struct entry *keyspace_random(struct keyspace *ks);

/* Deletes up to `keys_max` keys that are due; `*more` where there may be further ones. */
size_t keyspace_expire_due(struct keyspace *ks, int64_t now_msec, size_t keys_max, bool *more);
/* What keeps keys that are due from being deleted. While any holder does, such keys are hidden and
 * stay, whatever command meets them, until no holder does or a new entry takes their place. Each
 * feature that holds keys has a holder of its own, static and zeroed but for `elsewhere`. */
struct keyspace_holder {
    /* Another server says what has expired, and holds all keys but this one's own
     * (keyspace_expire_own); what it has not said yet belongs to a save. */
    bool elsewhere;
    bool holds; /* keyspace_hold_expiry's */
};
/* The holder holds, or does no longer; it is no count. */
void keyspace_hold_expiry(struct keyspace_holder *holder, bool on);
/* Whether a holder that is `elsewhere` holds. */
bool keyspace_expiry_is_elsewhere(void);
/* For a call that must find keys that are due, as if they were not: a primary's, which has not
 * deleted them yet. Nothing expires meanwhile. Returns what it was, which is to be put back after
 * the call. */
bool keyspace_show_due(bool show);
/* Whether keys that are due are deleted now: nobody holds expiry, and they are not shown. */
bool keyspace_may_expire(void);
/* Whether a key that is given this deadline is gone at once: it is over, and due keys are not
 * shown. */
bool keyspace_is_over(int64_t deadline);
/* Keys due and still there. */
size_t keyspace_due(const struct keyspace *ks, int64_t now_msec);
int64_t keyspace_next_deadline(const struct keyspace *ks);
/* A random key with a deadline, due or not; NULL where there is none. */
struct entry *keyspace_random_volatile(struct keyspace *ks);
/* The deadline of what stands under a key, due or not; ENTRY_NO_DEADLINE: none, or nothing. */
int64_t keyspace_deadline(const struct key *key);
/* Deletes what stands there, which is due, as one that has expired, though a replica's keys are
 * held by a holder that is `elsewhere`: it is not the primary's. False where anything else holds
 * it. */
bool keyspace_expire_own(const struct key *key);
/* Deletes an entry if it is due and keys may expire. True where it was due and is gone. */
bool keyspace_expire_if_due(struct keyspace *ks, struct entry *e);
/* Time from deadline to deletion of the keys that expired, by whatever way. */
struct histogram;
const struct histogram *keyspace_expiry_lag(void);

/* Hints; see table_prefetch_*. */
void keyspace_prefetch_bucket(const struct keyspace *ks, uint64_t hash);
void keyspace_prefetch_entry(const struct keyspace *ks, uint64_t hash);

/* Up to `steps` of owed table work, of whatever tables owe it (none where activerehashing is off),
 * and as many of what indexes by deadline have put off; true where more may be done now. O(steps).
 */
bool keyspace_maintain(size_t steps);
/* saving_end: indexes by deadline have put something off. */
void keyspace_settle(void);
/* Bytes of tables and deadline indexes, all databases. O(databases). */
size_t keyspace_overhead_bytes(void);
/* Those of one database. */
size_t keyspace_table_bytes(const struct keyspace *ks);
size_t keyspace_deadline_bytes(const struct keyspace *ks);
/* Bytes of a database's entries with their values. O(1). */
size_t keyspace_entry_bytes(const struct keyspace *ks);
/* Bytes that one key takes: its entry with the value, and its average share of the hash table and
 * of the index by deadline. So the sum over all keys of a large database is about its memory. */
size_t keyspace_key_bytes(const struct entry *e);
uint64_t keyspace_changes(void); /* since start: rdb_changes_since_last_save */
uint64_t keyspace_written(void); /* those of commands; expiry does not count here */
/* A hit of a command that had the entry without keyspace_read. */
void keyspace_count_hit(void);

/* Why a key's value changed or went. */
enum keyspace_cause { KEYSPACE_WRITTEN, KEYSPACE_EXPIRED, KEYSPACE_EVICTED };
/* Who wants to hear of changes. Told in the order of registration, and only while somebody is
 * interested. Observers may not change the keyspace; NULL members are passed over. */
struct keyspace_observer {
    /* The key's value has changed, or the key has come, moved, gone or got another deadline. `key`
     * is valid during the call. */
    void (*changed)(const struct key *key, enum keyspace_cause cause);
    /* An entry that is no string has come to stand under the key, by whatever way. Always told. */
    void (*added)(const struct key *key);
    /* All keys of the database are about to go; told, too, where there is none. */
    void (*flushing)(struct keyspace *ks);
    /* The contents of two databases are about to be exchanged. */
    void (*swapping)(struct keyspace *a, struct keyspace *b);
    /* A command that reads has found no such key (keyspace_read, keyspace_peek). */
    void (*missed)(const struct key *key);
};
/* Who hears, in order, ended by NULL; the array lives as long as the process. server/wiring.c has
 * the one of the server. */
void keyspace_set_observers(const struct keyspace_observer *const *observers);
/* What an observer may want to hear of. What nobody wants to hear of costs one test. */
enum keyspace_event {
    KEYSPACE_WRITES,   /* changed, by a command */
    KEYSPACE_REMOVALS, /* changed, because the key expired or was evicted */
    KEYSPACE_SWEEPS,   /* flushing, swapping */
    KEYSPACE_MISSES,   /* missed */
    KEYSPACE_EVENTS
};
/* Adds to the number of those interested in an event, or takes away from it. */
void keyspace_add_interest(enum keyspace_event event, int delta);
struct table;
struct timebuckets;
/* For store/evict, DEBUG HTSTATS and tests; NULL where there is none yet. */
const struct table *keyspace_table(const struct keyspace *ks);
const struct timebuckets *keyspace_deadlines(const struct keyspace *ks);
FOR_TESTS void keyspace_check(const struct keyspace *ks);
#endif
