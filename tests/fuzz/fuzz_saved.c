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

/* Loads it; with `digest` not NULL the value must have that one. */
static void load(const void *bytes, size_t size, const unsigned char *digest);

static void save_and_load(enum value_kind kind, struct value v) {
    unsigned char digest[SHA1_BYTES];
    struct buffer out;
    struct buffer_sink b;
    struct save_cursor c = {.budget = STEP_MEMBERS};
    digest_of(kind, v, digest);
    buffer_init(&out, MEMORY_OTHER);
    buffer_sink_init(&b, &out);
    saved_write_form(&b.sink, kind, v);
    while (!value_type(kind)->save(v, &c, &b.sink)) c.budget = STEP_MEMBERS;
    ASSERT(sink_flush(&b.sink));
    load(out.bytes, out.length, digest);
    buffer_free(&out);
}

static void load(const void *bytes, size_t size, const unsigned char *digest) {
    struct string_value string;
    struct value v = {&string, 0};
    struct source in;
    struct buffer store;
    enum value_kind kind;
    unsigned char form = *(const unsigned char *)bytes;
    if (!saved_form_kind(form, &kind)) return;
    slice_source_init(&in, (struct slice){(const char *)bytes + 1, size - 1});
    buffer_init(&store, MEMORY_OTHER);
    enum value_loaded loaded = value_type(kind)->load(form, &in, &store, &v);
    ASSERT(!digest || loaded == VALUE_LOADED);
    ASSERT((loaded == VALUE_REFUSED) == (in.status != SOURCE_GOOD));
    if (loaded == VALUE_LOADED) {
        unsigned char again[SHA1_BYTES];
        check(kind, v);
        digest_of(kind, v, again);
        ASSERT(!digest || memcmp(digest, again, SHA1_BYTES) == 0);
        if (!digest) save_and_load(kind, v);
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
