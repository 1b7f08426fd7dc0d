/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes saved values: what is loaded is sound and, saved again, gives the same value; the rest is
 * refused with a reason, and nothing stays in memory.
 *
 * Covers: src/value/saved.c src/ds/zipmap.c
 *
 * The input is a form's byte and the value, as in a payload of DUMP without its tail.
 */
#include "base/memory.h"
#include "base/panic.h"
#include "ds/quicklist.h"
#include "value/hash.h"
#include "value/list.h"
#include "value/saved.h"
#include "value/set.h"
#include "value/stream.h"
#include "value/string.h"
#include "value/types.h"
#include "value/zset.h"

#define STEP_MEMBERS 3

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    value_register();
    return 0;
}

static void check(enum value_kind kind, struct value v) {
    if (kind == VALUE_LIST) quicklist_check(list_of(v));
    if (kind == VALUE_SET) set_check(v);
    if (kind == VALUE_HASH) hash_check(v);
    if (kind == VALUE_ZSET) zset_check(v);
    if (kind == VALUE_STREAM) stream_check(v);
}

static void digest_of(enum value_kind kind, struct value v, unsigned char digest[SHA1_BYTES]) {
    struct value_digest d = {{0}};
    value_type(kind)->digest(v, &d);
    memcpy(digest, d.sum, SHA1_BYTES);
}

/* What a value that was saved must be when it is loaded. */
struct saved {
    struct buffer bytes;
    unsigned char digest[SHA1_BYTES];
};

/* Loads it; what was saved must be the same as `before`, where that is not NULL. */
static void load(const void *bytes, size_t size, const struct saved *before);

static void save(enum value_kind kind, struct value v, struct saved *saved) {
    struct buffer_sink b;
    struct save_cursor c = {.budget = STEP_MEMBERS};
    digest_of(kind, v, saved->digest);
    buffer_init(&saved->bytes, MEMORY_OTHER);
    buffer_sink_init(&b, &saved->bytes);
    saved_write_form(&b.sink, kind, v);
    while (!value_type(kind)->save(v, &c, &b.sink)) c.budget = STEP_MEMBERS;
    ASSERT(sink_flush(&b.sink));
}

/* Digests know nothing of a stream's groups; its bytes do, and have one order. */
static void compare(enum value_kind kind, struct value v, const struct saved *before) {
    struct saved now;
    save(kind, v, &now);
    ASSERT(memcmp(now.digest, before->digest, SHA1_BYTES) == 0);
    if (kind == VALUE_STREAM)
        ASSERT(slice_equal(buffer_slice(&now.bytes), buffer_slice(&before->bytes)));
    buffer_free(&now.bytes);
}

static void save_and_load(enum value_kind kind, struct value v) {
    struct saved saved;
    save(kind, v, &saved);
    load(saved.bytes.bytes, saved.bytes.length, &saved);
    buffer_free(&saved.bytes);
}

static void load(const void *bytes, size_t size, const struct saved *before) {
    struct string_value string;
    struct value v = {&string, 0};
    struct source in;
    struct buffer store;
    enum value_kind kind;
    unsigned char form = *(const unsigned char *)bytes;
    if (!saved_form_kind(form, &kind)) return;
    slice_source_init(&in, (struct slice){(const char *)bytes + 1, size - 1});
    buffer_init(&store, MEMORY_OTHER);
    enum value_loaded loaded = value_type(kind)->load(form, SLICE(""), &in, &store, &v);
    ASSERT(!before || loaded == VALUE_LOADED);
    ASSERT((loaded == VALUE_REFUSED) == (in.status != SOURCE_GOOD));
    if (loaded == VALUE_LOADED) {
        check(kind, v);
        if (before)
            compare(kind, v, before);
        else
            save_and_load(kind, v);
        value_type(kind)->release(v);
    }
    buffer_free(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t before = memory_used(MEMORY_DATASET);
    if (size == 0) return 0;
    uint8_t *exact = memory_alloc(size, MEMORY_OTHER);
    memcpy(exact, data, size);
    load(exact, size, NULL);
    memory_free(exact, MEMORY_OTHER);
    ASSERT(memory_used(MEMORY_DATASET) == before);
    return 0;
}
