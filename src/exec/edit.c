/* SPDX-License-Identifier: BSD-3-Clause
 * Edits. edit.h has the idea.
 *
 *   LOOKED --edit_value--> CHANGING or MAKING --edit_close--> closed
 *      \---edit_put_..., edit_remove--> CHANGED ---/
 *
 * Invariants
 *  1. Nothing but this file and store/ changes the keyspace (store/keyspace_change.h).
 *  2. Observers are told of a change when it is in the keyspace, and before its event.
 *  3. The row of the running command declares every change of an entry (enum entry_changes).
 *  4. A key whose last member was removed is deleted before observers are told; "del" follows the
 *     event.
 */
#include "exec/edit.h"

#include "base/panic.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/blocked.h"
#include "option/option.h"
#include "store/keyspace.h"
#include "store/keyspace_change.h"
#include "store/lazyfree.h"
#include "value/value.h"

static bool lazy_user_del;

static const struct option_row option_rows[] = {
    OPTION_BOOL("lazyfree-lazy-user-del", &lazy_user_del, false, OPTION_MUTABLE, "lazyfree", 40,
                "DEL frees in the background, as UNLINK does."),
};

void edit_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}

bool edit_user_deletes_lazily(void) { return lazy_user_del; }

void edit_count(uint64_t changes) { keyspace_count_written(changes); }
void edit_tell(const struct edit *edit) { keyspace_tell_written(&edit->key); }

/* Whether the row of the running call, if there is one, covers this change of an entry. Changes by
 * a blocked client that is being served are not checked, because its own call has ended. */
static bool is_announced(const struct entry *e, bool whole) {
    const struct call *call = call_running();
    if (!e || !call || blocked_is_serving()) return true;
    return entry_changes_cover(call->command->changes, e->type, whole);
}

/* Whether the row of the running call declares one of these changes. */
static bool is_any_announced(unsigned changes) {
    const struct call *call = call_running();
    return !call || blocked_is_serving() || call->command->changes & changes;
}

/* ---- opening ---- */

void edit_of_entry(struct edit *edit, const struct key *key, struct entry *entry) {
    edit->key = *key;
    edit->entry = entry;
    edit->state = EDIT_LOOKED;
}

void edit_find(struct edit *edit, const struct key *key) {
    edit_of_entry(edit, key, keyspace_find(key));
}

void edit_find_argument(struct edit *edit, const struct call *call, int index) {
    const struct key key = call_key(call, index);
    edit_find(edit, &key);
}

bool edit_open_key(struct edit *edit, const struct key *key, enum entry_type type) {
    edit_find(edit, key);
    edit->type = type;
    return !edit->entry || edit->entry->type == type;
}

bool edit_open(struct edit *edit, const struct call *call, int index, enum entry_type type) {
    edit->key = call_key(call, index);
    edit->state = EDIT_LOOKED;
    edit->type = type;
    return argument_find_typed(call, index, type, &edit->entry);
}

/* ---- changing ---- */

struct value *edit_value(struct edit *edit, struct value (*create)(void)) {
    if (edit->state != EDIT_LOOKED) return &edit->value;
    if (edit->entry) {
        ASSERT_SLOW(is_announced(edit->entry, false));
        edit->entry = keyspace_change_begin(&edit->key, edit->entry, &edit->value);
        edit->type = edit->entry->type;
        edit->state = EDIT_CHANGING;
        return &edit->value;
    }
    if (!create) return NULL;
    edit->value = create();
    edit->state = EDIT_MAKING;
    return &edit->value;
}

void edit_put_string(struct edit *edit, const struct string_value *value, int64_t deadline) {
    ASSERT_SLOW(is_announced(edit->entry, true));
    edit->entry = keyspace_put_string(&edit->key, edit->entry, value, deadline);
    edit->state = EDIT_CHANGED;
}

char *edit_put_bytes(struct edit *edit, size_t length) {
    ASSERT_SLOW(is_announced(edit->entry, false));
    edit->state = EDIT_CHANGED;
    return keyspace_put_bytes(&edit->key, edit->entry, length);
}

void edit_put_deadline(struct edit *edit, int64_t deadline) {
    ASSERT_SLOW(is_any_announced(ENTRY_CHANGES_ANYTHING));
    edit->entry = keyspace_put_deadline(&edit->key, edit->entry, deadline);
    edit->state = EDIT_CHANGED;
}

bool edit_remove(struct edit *edit, bool lazily) {
    ASSERT_SLOW(is_any_announced(~0U));
    edit->state = EDIT_CHANGED;
    edit->entry = NULL;
    return keyspace_remove(&edit->key, lazily);
}

/* ---- closing ---- */

static bool is_empty(enum entry_type type, struct value v) {
    const struct value_type *row = value_type(type);
    return row->count && !row->count(v);
}

/* Puts the value back into its entry, or into a new one. True if the key was deleted, because the
 * value is empty. */
static bool put_value_back(struct edit *edit, bool changed) {
    const struct key *key = &edit->key;
    if (edit->state == EDIT_CHANGING) {
        keyspace_change_end(key, edit->entry, edit->value);
        if (!changed || !is_empty(edit->type, edit->value)) return false;
        keyspace_remove_emptied(key, edit->entry);
        edit->entry = NULL;
        return true;
    }
    if (edit->state == EDIT_MAKING) {
        if (changed)
            edit->entry = keyspace_put_object(key, NULL, edit->type, edit->value);
        else
            value_type(edit->type)->release(edit->value);
    }
    return false;
}

/* What is told and announced at the end of an edit. */
enum telling {
    TELL_ALL,    /* observers and the event */
    TELL_EVENT,  /* only the event */
    TELL_NOTHING /* neither: nothing has changed */
};

static inline void edit_finish(struct edit *edit, uint64_t changes, enum telling telling,
                               enum notify_class class, const char *event) {
    bool emptied = edit->state != EDIT_CHANGED && put_value_back(edit, telling != TELL_NOTHING);
    edit->state = EDIT_CHANGED;
    if (telling == TELL_NOTHING) return;
    edit_count(changes);
    if (telling == TELL_ALL) keyspace_tell_written(&edit->key);
    if (event) edit_announce(edit, class, event);
    if (emptied) edit_announce(edit, NOTIFY_GENERIC, "del");
}

void edit_close_value(struct edit *edit, uint64_t changes, enum notify_class class,
                      const char *event) {
    edit_finish(edit, changes, changes ? TELL_ALL : TELL_NOTHING, class, event);
}

void edit_close_anyway(struct edit *edit, uint64_t changes, enum notify_class class,
                       const char *event) {
    edit_finish(edit, changes, TELL_ALL, class, event);
}

void edit_close_untold(struct edit *edit, uint64_t changes, enum notify_class class,
                       const char *event) {
    edit_finish(edit, changes, changes ? TELL_EVENT : TELL_NOTHING, class, event);
}

/* ---- whole edits ---- */

bool edit_delete(const struct key *key, bool lazily) {
    struct edit edit = {.key = *key};
    if (!edit_remove(&edit, lazily)) return false;
    edit_close(&edit, 1, NOTIFY_GENERIC, "del");
    return true;
}

void edit_store(const struct key *key, enum entry_type type, struct value value, uint64_t changes,
                enum notify_class class, const char *event) {
    struct edit edit;
    if (is_empty(type, value)) {
        value_type(type)->release(value);
        edit_delete(key, lazyfree_wanted(LAZYFREE_SERVER_DEL));
        return;
    }
    edit_find(&edit, key);
    ASSERT_SLOW(is_announced(edit.entry, true));
    edit.entry = keyspace_put_object(key, edit.entry, type, value);
    edit.state = EDIT_CHANGED;
    edit_close(&edit, changes, class, event);
}

void edit_restore(const struct key *key, enum entry_type type, struct value value, int64_t deadline,
                  unsigned recency) {
    struct edit edit;
    edit_find(&edit, key);
    ASSERT_SLOW(is_announced(edit.entry, true));
    edit.entry = keyspace_put_value(key, edit.entry, type, value, deadline, recency);
    edit.state = EDIT_CHANGED;
    edit_close(&edit, 1, NOTIFY_GENERIC, "restore");
}

bool edit_load(struct keyspace *ks, struct entry *e, uint64_t hash, bool replaces) {
    return keyspace_put_loaded(ks, e, hash, replaces);
}

bool edit_expect(struct keyspace *ks, size_t keys, size_t steps) {
    return keyspace_reserve(ks, keys, steps);
}

void edit_rename(struct edit *from, const struct key *to) {
    ASSERT_SLOW(is_any_announced(ENTRY_CHANGES_ANYTHING));
    keyspace_put_renamed(&from->key, from->entry, to);
    from->state = EDIT_CHANGED;
    keyspace_tell_written(&from->key);
    keyspace_tell_written(to);
    edit_count(1);
    edit_announce(from, NOTIFY_GENERIC, "rename_from");
    notify_event(to->keyspace, NOTIFY_GENERIC, "rename_to", to->name);
}

void edit_move(struct edit *from, struct keyspace *to) {
    const struct key target = {to, from->key.name, from->key.hash};
    ASSERT_SLOW(is_any_announced(ENTRY_CHANGES_ANYTHING));
    keyspace_put_moved(&from->key, from->entry, to);
    from->state = EDIT_CHANGED;
    keyspace_tell_written(&from->key);
    keyspace_tell_written(&target);
    edit_count(1);
    edit_announce(from, NOTIFY_GENERIC, "move_from");
    notify_event(to, NOTIFY_GENERIC, "move_to", target.name);
}

void edit_copy(const struct edit *from, const struct key *to) {
    ASSERT_SLOW(is_any_announced(~0U));
    keyspace_put_copy(to, from->entry);
    keyspace_tell_written(to);
    edit_count(1);
    notify_event(to->keyspace, NOTIFY_GENERIC, "copy_to", to->name);
}

void edit_swap(struct keyspace *a, struct keyspace *b) { keyspace_swap(a, b); }

struct keyspace_aside *edit_set_aside(void) {
    return keyspace_set_aside();
}
void edit_take_back(struct keyspace_aside *aside) { keyspace_take_back(aside); }
void edit_drop_aside(struct keyspace_aside *aside, enum lazyfree_way way) {
    keyspace_drop_aside(aside, way);
}

size_t edit_flush(struct keyspace *ks, enum lazyfree_way way) { return keyspace_flush(ks, way); }
