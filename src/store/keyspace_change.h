/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that change the keyspace. Only exec/edit may call them: it counts the change, tells
 * observers and announces the event. The functions here count nothing and tell observers nothing,
 * except that a due key has expired.
 *
 * An entry that is passed must be the result of a lookup of the same key, with no change of the
 * keyspace since.
 */
#ifndef EVENKEEL_STORE_KEYSPACE_CHANGE_H
#define EVENKEEL_STORE_KEYSPACE_CHANGE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "store/entry.h"
#include "store/key.h"
#include "store/lazyfree.h"

/* Stores a string under the key, whatever was there (`existing`, NULL = nothing). `deadline` is
 * ENTRY_NO_DEADLINE, or KEYSPACE_KEEP_DEADLINE for the one the old entry has. Takes value->blob.
 * `value` must not point into the existing entry unless it is an integer. Returns the key's entry.
 */
struct entry *keyspace_put_string(const struct key *key, struct entry *existing,
                                  const struct string_value *value, int64_t deadline);
/* The bytes of the key's string, to be written in place: at least `length`, new bytes being zero.
 * The string becomes raw. `existing` is the key's entry, a string, whose deadline stays, or NULL
 * for a new key without a deadline. Valid until the next change of the keyspace. Growing a string
 * step by step costs O(1) a byte. */
char *keyspace_put_bytes(const struct key *key, struct entry *existing, size_t length);
/* Stores a value of another type than string under the key, without a deadline. Takes the value. */
struct entry *keyspace_put_object(const struct key *key, struct entry *existing,
                                  enum entry_type type, struct value v);
/* Stores a value of any type under the key, in place of what was there, with this deadline (or
 * ENTRY_NO_DEADLINE) and these bits of recency. Takes the value. */
struct entry *keyspace_put_value(const struct key *key, struct entry *existing,
                                 enum entry_type type, struct value v, int64_t deadline,
                                 unsigned recency);
/* Puts an entry that is in no table under its key with one lookup; `hash` is its key's. Replaces an
 * existing entry, due or not, if `replaces`; otherwise returns false, and the caller still owns the
 * entry. */
MUST_USE bool keyspace_put_loaded(struct keyspace *ks, struct entry *e, uint64_t hash,
                                  bool replaces);
/* Grows the table for `keys` further keys, by up to `steps` buckets. True when there is room for
 * them. */
MUST_USE bool keyspace_reserve(struct keyspace *ks, size_t keys, size_t steps);
/* Enclose a change of a value of another type than string, which must not take another key's entry
 * out. Begin sets `*v` to the value and returns the entry to go on with (a nested call changes a
 * copy). End takes the changed value. */
MUST_USE struct entry *keyspace_change_begin(const struct key *key, struct entry *e,
                                             struct value *v);
void keyspace_change_end(const struct key *key, struct entry *e, struct value v);
/* Deletes the key of a collection that has lost its last member. */
void keyspace_remove_emptied(const struct key *key, struct entry *e);
/* Deletes a key; with `lazily` a large value is freed in the background. Returns false if there is
 * no such key, or it was due: it has expired then. */
bool keyspace_remove(const struct key *key, bool lazily);
/* Gives the entry another deadline, or ENTRY_NO_DEADLINE. Returns the entry, which may have
 * moved. */
struct entry *keyspace_put_deadline(const struct key *key, struct entry *e, int64_t deadline);
/* Renames the entry's key within the database, in place of an existing entry; the deadline stays.
 * Returns the entry at its new address; the old one is readable until the command ends. */
struct entry *keyspace_put_renamed(const struct key *from, struct entry *e, const struct key *to);
/* Moves the entry to another database, which must not have its key. */
void keyspace_put_moved(const struct key *key, struct entry *e, struct keyspace *to);
/* Puts a copy of another key's or another database's entry under the key, in place of an existing
 * entry. Returns the copy. */
struct entry *keyspace_put_copy(const struct key *to, const struct entry *source);

/* Exchanges the contents of two databases; tells observers, and counts a change. */
void keyspace_swap(struct keyspace *a, struct keyspace *b);
/* Empties the database at once, and frees its contents in this way; returns how many keys it had.
 * Tells observers; counts no change, because a copy that is loaded may replace the data, too. */
size_t keyspace_flush(struct keyspace *ks, enum lazyfree_way way);

/* The contents of all databases, kept aside while a full copy, which may fail, is loaded. */
struct keyspace_aside;
/* Takes all contents and leaves the databases empty; no save may be open (store/frontier.h). Tells
 * observers that the databases are flushed; counts no change. */
MUST_USE struct keyspace_aside *keyspace_set_aside(void);
/* Puts the contents back into the databases, which must all be empty, and frees `aside`. Counts
 * nothing, tells observers nothing. */
void keyspace_take_back(struct keyspace_aside *aside);
/* Frees the contents in this way, and `aside`. */
void keyspace_drop_aside(struct keyspace_aside *aside, enum lazyfree_way way);

/* Adds to keyspace_written. */
void keyspace_count_written(uint64_t count);
/* Tells observers, if any is interested in writes, that the key has changed. */
void keyspace_tell_written(const struct key *key);
#endif
