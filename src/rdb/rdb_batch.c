/* SPDX-License-Identifier: BSD-3-Clause
 * Batches of keys, and the function that builds their values. rdb_batch.h has the idea.
 *
 * Invariants
 *  1. `name` and `bytes` of a key lie in `room`, below `used`.
 *  2. `entry` is set while the batch owns it: after it is built, until it is taken.
 */
#include "rdb/rdb_batch.h"

#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/stream.h"
#include "store/entry.h"
#include "store/key.h"

struct rdb_batch *rdb_batch_create(void) {
    struct rdb_batch *b = memory_alloc(sizeof(*b), MEMORY_OTHER);
    b->count = 0;
    b->used = 0;
    buffer_init(&b->store, MEMORY_OTHER);
    return b;
}

void rdb_batch_free(struct rdb_batch *b) {
    rdb_batch_clear(b);
    buffer_free(&b->store);
    memory_free_sized(b, sizeof(*b), MEMORY_OTHER);
}

void rdb_batch_clear(struct rdb_batch *b) {
    for (size_t i = 0; i < b->count; i++)
        if (b->keys[i].entry) entry_free(b->keys[i].entry);
    b->count = 0;
    b->used = 0;
}

bool rdb_batch_has_room(const struct rdb_batch *b, size_t bytes) {
    return b->count < RDB_BATCH_KEYS && bytes <= RDB_BATCH_BYTES - b->used;
}

static struct slice batch_keep_text(struct rdb_batch *b, struct slice text) {
    char *to = b->room + b->used;
    if (text.length) memcpy(to, text.bytes, text.length);
    b->used += text.length;
    return (struct slice){to, text.length};
}

struct rdb_batch_key *rdb_batch_add(struct rdb_batch *b, struct slice name, struct slice bytes) {
    ASSERT(rdb_batch_has_room(b, name.length + bytes.length));
    struct rdb_batch_key *key = &b->keys[b->count++];
    *key = (struct rdb_batch_key){.loaded = VALUE_REFUSED};
    key->name = batch_keep_text(b, name);
    if (bytes.bytes) key->bytes = batch_keep_text(b, bytes);
    return key;
}

static void batch_build_key(struct rdb_batch_key *key, struct buffer *store) {
    struct source in;
    struct string_value string;
    struct value v = {&string, 0};
    slice_source_init(&in, key->bytes);
    key->loaded = value_type(key->kind)->load(key->form, key->name, &in, store, &v);
    if (key->loaded == VALUE_REFUSED) {
        key->reason = source_fault(&in);
        key->offset -= key->bytes.length - source_offset(&in);
    }
    if (key->loaded != VALUE_LOADED) return;
    ASSERT_COMPARE(source_offset(&in), ==, key->bytes.length);
    key->hash = key_hash_of(key->name);
    key->entry =
        entry_create_value(key->name, (enum entry_type)key->kind, v, key->deadline, key->recency);
}

void rdb_batch_build(void *batch) {
    struct rdb_batch *b = batch;
    for (size_t i = 0; i < b->count; i++)
        if (b->keys[i].bytes.bytes) batch_build_key(&b->keys[i], &b->store);
}
