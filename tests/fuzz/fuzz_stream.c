/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes foreign nodes of streams: what is accepted can be walked both ways, added to, deleted from
 * and trimmed, and the rest is refused without a read beyond its end.
 *
 * Covers: src/value/stream.c
 *
 * The input's first byte says what is done with the stream; then come the low bytes of the first
 * node's key (2), the size of that node (2) and the node; what remains is a second node.
 */
#include "base/memory.h"
#include "base/panic.h"
#include "value/stream.h"
#include "value/types.h"

#define INPUT_HEAD_BYTES 5

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    value_register();
    return 0;
}

/* Gives a block of exactly its size, so that a read beyond the end is seen. */
static bool take(struct value v, struct stream_id id, const uint8_t *bytes, size_t size) {
    uint8_t *exact = memory_alloc(size, MEMORY_OTHER);
    memcpy(exact, bytes, size);
    bool good = stream_take_node(v, id, exact, size);
    memory_free(exact, MEMORY_OTHER);
    stream_check(v);
    return good;
}

/* Entries seen upwards or downwards, with all of their texts. */
static uint64_t walk(struct value v, bool backwards) {
    struct stream_cursor c;
    struct listpack_value field, text;
    struct stream_id last = {0, 0};
    uint64_t count = 0;
    stream_cursor_start(&c, v, (struct stream_id){0, 0}, STREAM_ID_MAX, backwards);
    for (; stream_cursor_step(&c); count++) {
        size_t pairs = 0;
        while (stream_cursor_pair(&c, &field, &text)) pairs++;
        ASSERT(pairs == c.pairs);
        ASSERT(count == 0 || (stream_id_compare(c.id, last) < 0) == backwards);
        ASSERT(stream_has(v, c.id));
        last = c.id;
    }
    return count;
}

static void walk_both_ways(struct value v) {
    ASSERT(walk(v, false) == stream_count(v));
    ASSERT(walk(v, true) == stream_count(v));
}

static void change(struct value v, uint8_t choice) {
    struct stream_id id;
    struct slice texts[] = {SLICE("field"), SLICE("7"), SLICE("x"), SLICE("text")};
    if (choice & 1 && stream_bottom_id(v, &id)) ASSERT(stream_delete(v, id));
    stream_check(v);
    if (choice & 2 && stream_top_id(v, &id)) ASSERT(stream_delete(v, id));
    stream_check(v);
    id = stream_last_id(v);
    if (choice & 4 && stream_id_increase(&id)) ASSERT(stream_append(v, id, texts, 1 + choice % 2));
    stream_check(v);
    struct stream_trim trim = {.by = choice & 8 ? STREAM_TRIM_COUNT : STREAM_TRIM_ID,
                               .count = stream_count(v) / 2,
                               .id = stream_last_id(v),
                               .whole_nodes = choice & 16,
                               .limit = choice & 16 ? choice / 32 : 0};
    uint64_t before = stream_count(v);
    uint64_t deleted = stream_trim(v, &trim);
    ASSERT(before - deleted == stream_count(v));
    stream_check(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < INPUT_HEAD_BYTES) return 0;
    struct stream_id id = {data[1], data[2]};
    size_t first = (size_t)data[3] | (size_t)data[4] << 8;
    size -= INPUT_HEAD_BYTES;
    if (first > size) first = size;
    struct value v = stream_create();
    bool good = take(v, id, data + INPUT_HEAD_BYTES, first);
    id = stream_last_id(v);
    if (good && stream_id_increase(&id)) take(v, id, data + INPUT_HEAD_BYTES + first, size - first);
    walk_both_ways(v);
    change(v, data[0]);
    walk_both_ways(v);
    value_type(VALUE_STREAM)->release(v);
    return 0;
}
