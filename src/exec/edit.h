/* SPDX-License-Identifier: BSD-3-Clause
 * An edit: the one way in which commands change a key.
 *
 *     struct edit edit;
 *     if (!edit_open(&edit, call, 1, ENTRY_SET)) return;       wrong type: edit_open has replied
 *     struct value *v = edit_value(&edit, set_create);         creates the set if there is none
 *     for (...) added += set_add(v, ...);
 *     edit_close(&edit, added, NOTIFY_SET, "sadd");
 *
 * Opening looks the key up. Closing does the following, once and in this order: it puts the value
 * back into its entry, deletes the key if the value is empty, counts the changes, tells the
 * observers of the key, announces the event, and announces "del" if the key was deleted. A command
 * replies before or after closing, so that reply and messages come in the order of 6.2.
 *
 * An open edit has taken the value out of the key's entry. Until it is closed no other edit of the
 * same key may be opened, and nothing else may change the keyspace.
 */
#ifndef EVENKEEL_EXEC_EDIT_H
#define EVENKEEL_EXEC_EDIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "publish/notify.h"
#include "store/entry.h"
#include "store/key.h"
#include "store/lazyfree.h"

struct call;
struct keyspace_aside;

enum edit_state {
    EDIT_LOOKED,   /* nothing is changed */
    EDIT_CHANGING, /* `value` is the entry's value */
    EDIT_MAKING,   /* `value` is a new value, not in the keyspace yet */
    EDIT_CHANGED   /* the change is in the keyspace */
};

struct edit {
    struct key key;
    struct entry *entry; /* NULL: no such key. The edit may move the entry when it changes it */
    struct value value;  /* in the states CHANGING and MAKING */
    enum entry_type type;
    enum edit_state state;
};

/* Registers lazyfree-lazy-user-del. Once, at start. */
void edit_register(void);
/* Whether lazyfree-lazy-user-del is on: commands by which a client deletes a key (DEL, GETDEL) free
 * its value in the background, as UNLINK does. */
bool edit_user_deletes_lazily(void);

/* ---- opening ---- */

/* Opens an edit of a key of any type. Counts no hit or miss, notes no access. */
void edit_find(struct edit *edit, const struct key *key);
/* Opens an edit of the key that is argument `index`, of any type. Counts no hit or miss, notes no
 * access. */
void edit_find_argument(struct edit *edit, const struct call *call, int index);
/* Opens an edit of the key that is argument `index`, which must be of this type if it exists
 * (argument_find_typed). Notes the access. Returns false after the reply -WRONGTYPE; then there is
 * no edit to close. */
bool edit_open(struct edit *edit, const struct call *call, int index, enum entry_type type);
/* Opens an edit of a key without a call. Returns false, without a reply, if the key is of another
 * type. Notes no access. */
bool edit_open_key(struct edit *edit, const struct key *key, enum entry_type type);
/* Opens an edit of an entry that the caller has found; the keyspace must not have changed since. */
void edit_of_entry(struct edit *edit, const struct key *key, struct entry *entry);

/* ---- changing ---- */

/* The value of an entry that is no string; it may be changed until the edit is closed. If there is
 * no entry, a new value that `create` makes; NULL if `create` is NULL. Further calls return the
 * same value. */
struct value *edit_value(struct edit *edit, struct value (*create)(void));
/* Sets the key to a string. `deadline` is ENTRY_NO_DEADLINE or KEYSPACE_KEEP_DEADLINE. Takes
 * value->blob. */
void edit_put_string(struct edit *edit, const struct string_value *value, int64_t deadline);
/* Makes the key's string at least `length` bytes long, filled up with zeros, and returns its bytes.
 * They may be written until the keyspace changes. */
char *edit_put_bytes(struct edit *edit, size_t length);
void edit_put_deadline(struct edit *edit, int64_t deadline);
/* Deletes the key; with `lazily` a large value is freed in the background. Returns false if there
 * is no key. */
bool edit_remove(struct edit *edit, bool lazily);

/* ---- closing ---- */

/* edit_count counts changes, also changes of no single key; edit_tell tells the observers that the
 * key has changed. Closing an edit does both. */
void edit_count(uint64_t changes);
void edit_tell(const struct edit *edit);

/* Announces a further event of the key, before or after the edit is closed. */
static inline void edit_announce(const struct edit *edit, enum notify_class class,
                                 const char *event) {
    notify_event(edit->key.keyspace, class, event, edit->key.name);
}
/* The slow path of edit_close, for an edit that has a value to put back or nothing to count. */
void edit_close_value(struct edit *edit, uint64_t changes, enum notify_class class,
                      const char *event);
/* Closes an edit that has made so many changes. With 0 changes nothing is counted or announced, and
 * a new value is dropped. `event` may be NULL: no event is announced. */
static inline void edit_close(struct edit *edit, uint64_t changes, enum notify_class class,
                              const char *event) {
    if (edit->state != EDIT_CHANGED || !changes) {
        edit_close_value(edit, changes, class, event);
        return;
    }
    edit_count(changes);
    edit_tell(edit);
    if (event) edit_announce(edit, class, event);
}
/* Closes an edit as edit_close does, but tells the observers and announces the event even with 0
 * changes. */
void edit_close_anyway(struct edit *edit, uint64_t changes, enum notify_class class,
                       const char *event);
/* Closes an edit as edit_close does, but does not tell the observers (WATCH, tracking), because in
 * 6.2 changes of a stream's groups are no change of the key. */
void edit_close_untold(struct edit *edit, uint64_t changes, enum notify_class class,
                       const char *event);

/* ---- whole edits ---- */

/* Deletes the key and announces "del". Returns false if there is no key. */
bool edit_delete(const struct key *key, bool lazily);
/* Stores the result of a STORE command, which is no string, in place of the old value. A result
 * with members is stored and announced as `event`; `changes` are counted. An empty result deletes
 * the key: if there was one, "del" is announced and 1 change is counted. Takes the value. */
void edit_store(const struct key *key, enum entry_type type, struct value value, uint64_t changes,
                enum notify_class class, const char *event);
/* RESTORE: stores a value of any type in place of the old one, with this deadline (or
 * ENTRY_NO_DEADLINE) and these bits of recency. Takes the value. */
void edit_restore(const struct key *key, enum entry_type type, struct value value, int64_t deadline,
                  unsigned recency);
/* Loading: puts a new entry into the database; `hash` is that of its key. Nothing is counted, and
 * observers are not told. If the key exists and `replaces` is false, returns false, and the caller
 * keeps the entry. */
MUST_USE bool edit_load(struct keyspace *ks, struct entry *e, uint64_t hash, bool replaces);
/* Loading: makes room for so many keys, by up to `steps` buckets. True when there is room for all
 * of them. */
MUST_USE bool edit_expect(struct keyspace *ks, size_t keys, size_t steps);
/* RENAME, MOVE and COPY of the key that edit_find has found, with their events. The target must be
 * another key. RENAME and COPY replace it; for MOVE it must not exist. */
void edit_rename(struct edit *from, const struct key *to);
void edit_move(struct edit *from, struct keyspace *to);
void edit_copy(const struct edit *from, const struct key *to);
void edit_swap(struct keyspace *a, struct keyspace *b);
/* Empties a database and frees its data in this way. Returns how many keys it had, which a command
 * counts by edit_count; code that replaces all data outside of a call counts nothing. */
size_t edit_flush(struct keyspace *ks, enum lazyfree_way way);
/* For loading a full copy that may fail: edit_set_aside empties all databases, edit_take_back puts
 * their data back, edit_drop_aside frees the data. See keyspace_set_aside. */
MUST_USE struct keyspace_aside *edit_set_aside(void);
void edit_take_back(struct keyspace_aside *aside);
void edit_drop_aside(struct keyspace_aside *aside, enum lazyfree_way way);
#endif
