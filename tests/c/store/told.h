/* SPDX-License-Identifier: BSD-3-Clause
 * Changes of the keyspace as exec/edit makes them for commands: changed, counted, told. And lookups
 * of keys that are no arguments of a call.
 */
#ifndef EVENKEEL_TESTS_STORE_TOLD_H
#define EVENKEEL_TESTS_STORE_TOLD_H
#include "base/panic.h"
#include "store/keyspace.h"
#include "store/keyspace_change.h"

static inline struct entry *told_find(struct keyspace *ks, struct slice name, uint64_t hash) {
    return keyspace_find(&(struct key){ks, name, hash});
}
static inline struct entry *told_read(struct keyspace *ks, struct slice name, uint64_t hash) {
    return keyspace_read(&(struct key){ks, name, hash});
}
static inline struct entry *told_peek(struct keyspace *ks, struct slice name, uint64_t hash) {
    return keyspace_peek(&(struct key){ks, name, hash});
}

static inline struct entry *told_store(struct keyspace *ks, struct slice name, uint64_t hash,
                                       struct entry *existing, const struct string_value *value,
                                       int64_t deadline) {
    const struct key key = {ks, name, hash};
    struct entry *e = keyspace_put_string(&key, existing, value, deadline);
    keyspace_count_written(1);
    keyspace_tell_written(&key);
    return e;
}

static inline char *told_bytes(struct keyspace *ks, struct slice name, uint64_t hash,
                               struct entry *existing, size_t length) {
    const struct key key = {ks, name, hash};
    char *bytes = keyspace_put_bytes(&key, existing, length);
    keyspace_count_written(1);
    keyspace_tell_written(&key);
    return bytes;
}

static inline bool told_delete_with(struct keyspace *ks, struct slice name, uint64_t hash,
                                    bool lazily) {
    const struct key key = {ks, name, hash};
    if (!keyspace_remove(&key, lazily)) return false;
    keyspace_count_written(1);
    keyspace_tell_written(&key);
    return true;
}

static inline bool told_delete(struct keyspace *ks, struct slice name, uint64_t hash) {
    return told_delete_with(ks, name, hash, lazyfree_wanted(LAZYFREE_SERVER_DEL));
}

static inline struct entry *told_deadline(struct keyspace *ks, struct entry *e, uint64_t hash,
                                          int64_t deadline) {
    const struct key key = {ks, entry_key(e), hash};
    struct entry *moved = keyspace_put_deadline(&key, e, deadline);
    const struct key now = {ks, entry_key(moved), hash};
    keyspace_count_written(1);
    keyspace_tell_written(&now);
    return moved;
}

static inline struct entry *told_rename(struct keyspace *ks, struct entry *e, uint64_t hash,
                                        struct slice name, uint64_t new_hash) {
    char old[512]; /* outside of a call the old entry is freed at once */
    struct slice old_name = {old, entry_key(e).length};
    ASSERT_COMPARE(old_name.length, <=, sizeof(old));
    memcpy(old, entry_key(e).bytes, old_name.length);
    const struct key from = {ks, old_name, hash}, to = {ks, name, new_hash};
    struct entry *moved = keyspace_put_renamed(&from, e, &to);
    keyspace_count_written(1);
    keyspace_tell_written(&from);
    keyspace_tell_written(&to);
    return moved;
}

static inline void told_move(struct keyspace *from, struct entry *e, uint64_t hash,
                             struct keyspace *to) {
    const struct key key = {from, entry_key(e), hash}, target = {to, entry_key(e), hash};
    keyspace_put_moved(&key, e, to);
    keyspace_count_written(1);
    keyspace_tell_written(&key);
    keyspace_tell_written(&target);
}

static inline struct entry *told_copy(struct keyspace *to, struct slice name, uint64_t hash,
                                      const struct entry *source) {
    const struct key key = {to, name, hash};
    struct entry *e = keyspace_put_copy(&key, source);
    keyspace_count_written(1);
    keyspace_tell_written(&key);
    return e;
}

static inline struct entry *told_object(struct keyspace *ks, struct slice name, uint64_t hash,
                                        struct entry *existing, enum entry_type type,
                                        struct value v, int64_t deadline) {
    const struct key key = {ks, name, hash};
    if (deadline == KEYSPACE_KEEP_DEADLINE)
        deadline = existing ? entry_deadline(existing) : ENTRY_NO_DEADLINE;
    struct entry *e = keyspace_put_object(&key, existing, type, v);
    return deadline == ENTRY_NO_DEADLINE ? e : keyspace_put_deadline(&key, e, deadline);
}

static inline struct entry *told_begin(struct keyspace *ks, struct entry *e, uint64_t hash,
                                       struct value *v) {
    const struct key key = {ks, entry_key(e), hash};
    return keyspace_change_begin(&key, e, v);
}

static inline void told_end(struct keyspace *ks, struct entry *e, struct value v) {
    const struct key key = {.keyspace = ks, .name = entry_key(e)};
    keyspace_change_end(&key, e, v);
}

static inline size_t told_flush(struct keyspace *ks) { return keyspace_flush(ks, LAZYFREE_NOW); }
static inline size_t told_flush_lazily(struct keyspace *ks) {
    return keyspace_flush(ks, LAZYFREE_LATER);
}
static inline size_t told_flush_awaited(struct keyspace *ks) {
    return keyspace_flush(ks, LAZYFREE_AWAITED);
}
#endif
