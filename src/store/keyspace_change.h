/* SPDX-License-Identifier: BSD-3-Clause
 * How the keyspace is changed: for exec/edit, which counts, tells and announces, and for nobody
 * else. These count nothing and tell nobody, but that a key that is due has expired.
 *
 * An entry that is handed in is what keyspace_find or a reading lookup gave for the same key, with
 * no change of the keyspace since.
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
 * `value` may not point into the existing entry unless it is an integer. Returns the entry. */
struct entry *keyspace_put_string(const struct key *key, struct entry *existing,
                                  const struct string_value *value, int64_t deadline);
/* The bytes of the key's string, to be written in place: at least `length` of them, zeros where it
 * was shorter, and raw from now on. `existing` as above, a string or NULL, which makes a new one
 * without a deadline. An old entry's deadline stays. Valid until the next change of the keyspace.
 * Growing a string bit by bit costs O(1) a byte. */
char *keyspace_put_bytes(const struct key *key, struct entry *existing, size_t length);
/* Stores a value of another type than string under the key, without a deadline. Takes the value. */
struct entry *keyspace_put_object(const struct key *key, struct entry *existing,
                                  enum entry_type type, struct value v);
/* Stores a value of any type under the key, in place of what was there, with this deadline (or
 * ENTRY_NO_DEADLINE) and these bits of recency. Takes the value. */
struct entry *keyspace_put_value(const struct key *key, struct entry *existing,
                                 enum entry_type type, struct value v, int64_t deadline,
                                 unsigned recency);
/* Puts an entry that stands nowhere yet under its key, whose hash is given, with one look at the
 * table: in place of what is there, due or not; without `replaces` only where nothing is, otherwise
 * false, and the entry is the caller's as before. */
MUST_USE bool keyspace_put_loaded(struct keyspace *ks, struct entry *e, uint64_t hash,
                                  bool replaces);
/* So many keys are to come: grows the table ahead, by up to `steps` buckets. True when there is
 * room for them. */
MUST_USE bool keyspace_reserve(struct keyspace *ks, size_t keys, size_t steps);
/* An entry's value of another type than string is changed between these two, and no other key's
 * entry is taken out by that. Begin gives the value, and the entry to go on with: a nested call
 * changes a copy. End takes the value as it is now. */
MUST_USE struct entry *keyspace_change_begin(const struct key *key, struct entry *e,
                                             struct value *v);
void keyspace_change_end(const struct key *key, struct entry *e, struct value v);
/* The key of a collection that lost its last member. */
void keyspace_remove_emptied(const struct key *key, struct entry *e);
/* False where there is no such key (or it is due: it has expired then). */
bool keyspace_remove(const struct key *key, bool lazily);
/* The entry with another deadline, or ENTRY_NO_DEADLINE; it may have moved. */
struct entry *keyspace_put_deadline(const struct key *key, struct entry *e, int64_t deadline);
/* The entry under another key of the same database, with its deadline, in place of what was there.
 * Returns it at its new address; the old one is readable until the command ends. */
struct entry *keyspace_put_renamed(const struct key *from, struct entry *e, const struct key *to);
/* The entry in another database, which must not have its key. */
void keyspace_put_moved(const struct key *key, struct entry *e, struct keyspace *to);
/* A copy of an entry of another key, or of another database, in place of what was there. */
struct entry *keyspace_put_copy(const struct key *to, const struct entry *source);

/* Exchanges the contents of two databases; tells who hears of it, and counts a change. */
void keyspace_swap(struct keyspace *a, struct keyspace *b);
/* Empties the database at once, and frees what was there in that way; returns how many keys it had.
 * Tells who hears of it, and counts the keys as changes. */
size_t keyspace_flush(struct keyspace *ks, enum lazyfree_way way);

/* The contents of all databases, set aside for others that may not come to stay. */
struct keyspace_aside;
/* Leaves all databases empty; no save may be open (store/frontier.h). Who hears of it is told that
 * they are flushed; nothing counts as a change. */
MUST_USE struct keyspace_aside *keyspace_set_aside(void);
/* Back, in place of nothing: all databases are empty. Counts nothing, tells nobody. */
void keyspace_take_back(struct keyspace_aside *aside);
/* They are freed in that way. */
void keyspace_drop_aside(struct keyspace_aside *aside, enum lazyfree_way way);

/* Adds to keyspace_written. */
void keyspace_count_written(uint64_t count);
/* Tells who hears of writes that the key has changed. */
void keyspace_tell_written(const struct key *key);
#endif
