/* SPDX-License-Identifier: BSD-3-Clause
 * An edit: the one way in which commands change a key.
 *
 *     struct edit edit;
 *     if (!edit_open(&edit, call, 1, ENTRY_SET)) return;       another type: it has replied
 *     struct value *v = edit_value(&edit, set_create);         makes the set where there is none
 *     for (...) added += set_add(v, ...);
 *     edit_close(&edit, added, NOTIFY_SET, "sadd");
 *
 * Opening looks the key up; closing does what follows a change, once and in one order: the value
 * goes back into its entry, a key that was emptied goes, the changes are counted, observers hear of
 * the key, the event is announced, and "del" after it where the key went. A command replies before
 * or after closing, as 6.2 orders reply and messages.
 *
 * An edit that is open has the key's value in its hands: until it is closed no other edit of the
 * same key is opened, and nothing else may change the keyspace.
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
    EDIT_CHANGING, /* the entry's value is in `value` */
    EDIT_MAKING,   /* `value` is a new one, not in the keyspace yet */
    EDIT_CHANGED   /* what was to be changed stands in the keyspace */
};

struct edit {
    struct key key;
    struct entry *entry; /* NULL: no such key. It may move when the edit changes it */
    struct value value;  /* while CHANGING or MAKING */
    enum entry_type type;
    enum edit_state state;
};

/* ---- opening ---- */

/* Looks the key up. Counts nothing, notes no access. */
void edit_find(struct edit *edit, const struct key *key);
/* The same for an argument. */
void edit_find_argument(struct edit *edit, const struct call *call, int index);
/* For an argument that must be of a type where it exists, as argument_find_typed: false after a
 * reply of wrong type, with nothing to be closed. Notes the access. */
bool edit_open(struct edit *edit, const struct call *call, int index, enum entry_type type);
/* The same without a call, which neither replies nor notes an access. */
bool edit_open_key(struct edit *edit, const struct key *key, enum entry_type type);
/* For an entry that was found otherwise, with no change of the keyspace since. */
void edit_of_entry(struct edit *edit, const struct key *key, struct entry *entry);

/* ---- changing ---- */

/* The value of an entry that is no string, to be changed where it stands until the edit is closed;
 * where there is no entry, a new one that `create` makes, or NULL where that is NULL. Asked again
 * it is the same. */
struct value *edit_value(struct edit *edit, struct value (*create)(void));
/* The string under the key; `deadline` is ENTRY_NO_DEADLINE or KEYSPACE_KEEP_DEADLINE. Takes
 * value->blob. */
void edit_put_string(struct edit *edit, const struct string_value *value, int64_t deadline);
/* Its bytes, to be written in place until the keyspace changes: at least `length`, zeros where it
 * was shorter or missing. */
char *edit_put_bytes(struct edit *edit, size_t length);
void edit_put_deadline(struct edit *edit, int64_t deadline);
/* Takes the key away, freed in the background with `lazily` where it is large. False where there is
 * none. */
bool edit_remove(struct edit *edit, bool lazily);

/* ---- closing ---- */

/* Counts changes, those that are no key's too; tells who hears of the key's changes. Closing does
 * both. */
void edit_count(uint64_t changes);
void edit_tell(const struct edit *edit);

/* A further event of the key, in its place before or after the closing. */
static inline void edit_announce(const struct edit *edit, enum notify_class class,
                                 const char *event) {
    notify_event(edit->key.keyspace, class, event, edit->key.name);
}
/* What edit_close does where there is a value to be put back. */
void edit_close_value(struct edit *edit, uint64_t changes, enum notify_class class,
                      const char *event);
/* So many changes were made; with 0 nothing is counted or told, and a value that was made is
 * dropped. `event` may be NULL. */
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
/* The same, but the key is told of and the event announced even where nothing counts as changed. */
void edit_close_anyway(struct edit *edit, uint64_t changes, enum notify_class class,
                       const char *event);
/* The same as edit_close, but who watches or tracks the key is not told: what changes in the groups
 * of a stream is no change of the key, in 6.2. */
void edit_close_untold(struct edit *edit, uint64_t changes, enum notify_class class,
                       const char *event);

/* ---- whole edits ---- */

/* Deletes the key and announces "del"; false where there is none. */
bool edit_delete(const struct key *key, bool lazily);
/* What a STORE leaves under a key: a value of another type than string in place of what was there,
 * with `event`, or, where it has no members, nothing, with "del" where there was something. Takes
 * the value. Counts `changes`, or 1 for what is deleted. */
void edit_store(const struct key *key, enum entry_type type, struct value value, uint64_t changes,
                enum notify_class class, const char *event);
/* What RESTORE leaves under a key: a value of any type in place of what was there, with this
 * deadline (or ENTRY_NO_DEADLINE) and these bits of recency. Takes the value. */
void edit_restore(const struct key *key, enum entry_type type, struct value value, int64_t deadline,
                  unsigned recency);
/* The same for an entry of a file that is loaded, which stands nowhere yet; `hash` is its key's.
 * Nothing is counted, nobody is told. Without `replaces` only where there is no such key: otherwise
 * false, and the entry is the caller's as before. */
MUST_USE bool edit_load(struct keyspace *ks, struct entry *e, uint64_t hash, bool replaces);
/* So many keys are to be loaded: room is made for them, by up to `steps` buckets. True when there
 * is room for all. */
MUST_USE bool edit_expect(struct keyspace *ks, size_t keys, size_t steps);
/* RENAME, MOVE, COPY of what edit_find found, with their events. The target's key must be another.
 * What stands under it goes; for a move there must be nothing. */
void edit_rename(struct edit *from, const struct key *to);
void edit_move(struct edit *from, struct keyspace *to);
void edit_copy(const struct edit *from, const struct key *to);
void edit_swap(struct keyspace *a, struct keyspace *b);
/* Empties a database, freed in that way; returns how many keys it had. */
size_t edit_flush(struct keyspace *ks, enum lazyfree_way way);
/* All databases are empty, and what they had can be put back in its place, or freed: for a copy of
 * the data that may turn out bad. See keyspace_set_aside. */
MUST_USE struct keyspace_aside *edit_set_aside(void);
void edit_take_back(struct keyspace_aside *aside);
void edit_drop_aside(struct keyspace_aside *aside, enum lazyfree_way way);
#endif
