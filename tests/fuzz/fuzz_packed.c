/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes foreign listpacks, ziplists and intsets: what is accepted can be read, changed and written
 * again, and the rest is refused without a read beyond its end.
 *
 * Covers: src/ds/listpack.c src/ds/ziplist.c src/ds/intset.c
 *
 * The input's first byte says what the rest is; a block of exactly its size is given to the reader.
 * The last bytes also say which changes are made.
 */
#include "base/memory.h"
#include "base/panic.h"
#include "ds/intset.h"
#include "ds/listpack.h"
#include "ds/ziplist.h"

#define CHANGES_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count_visited(const struct listpack_value *v, size_t index, void *context) {
    size_t *visited = context;
    ASSERT(index == (*visited)++);
    return true;
}

/* Both ways through the listpack, and everything found again. */
static void read_listpack(const struct listpack *lp) {
    char scratch[LISTPACK_SCRATCH];
    size_t count = 0;
    uint32_t last = 0;
    for (uint32_t at = listpack_first(lp); at; at = listpack_next(lp, at)) {
        struct listpack_value v = listpack_get(lp, at);
        struct slice text = listpack_value_text(&v, scratch);
        ASSERT(listpack_prev(lp, at) == last);
        uint32_t found = listpack_find(lp, listpack_first(lp), text, 0);
        ASSERT(found && found <= at);
        last = at;
        count++;
    }
    ASSERT(listpack_last(lp) == last);
    ASSERT(listpack_count(lp) == count);
}

static void change_listpack(struct listpack **lp, const uint8_t *choices, size_t size) {
    for (size_t i = 0; i < size && i < CHANGES_MAX; i++) {
        size_t count = listpack_count(*lp);
        uint32_t at = count ? listpack_seek(*lp, (int64_t)(choices[i] / 4 % count)) : 0;
        struct slice text = {(const char *)choices, i * i};
        if (i * i > size) text.length = i;
        if (!at)
            listpack_append(lp, text);
        else if (choices[i] % 4 == 0)
            listpack_insert_before(lp, at, text);
        else if (choices[i] % 4 == 1)
            listpack_replace(lp, at, text);
        else if (choices[i] % 4 == 2)
            listpack_delete_range(lp, at, choices[i] / 16 + 1U);
        else
            listpack_insert_after(lp, at, text);
        listpack_check(*lp);
    }
}

static void try_listpack(const uint8_t *bytes, size_t size) {
    size_t visited = 0;
    bool sound = listpack_validate(bytes, size, count_visited, &visited);
    struct listpack *lp = listpack_from_foreign(bytes, size);
    ASSERT(lp || !sound);
    if (!lp) return;
    listpack_check(lp);
    if (sound) ASSERT(listpack_count(lp) == visited);
    read_listpack(lp);
    change_listpack(&lp, bytes, size);
    read_listpack(lp);
    listpack_free(lp);
}

static void try_ziplist(const uint8_t *bytes, size_t size) {
    struct listpack *lp = ziplist_to_listpack(bytes, size);
    if (!lp) return;
    listpack_check(lp);
    read_listpack(lp);
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    ziplist_from_listpack(lp, &out);
    struct listpack *back = ziplist_to_listpack(out.bytes, out.length);
    ASSERT(back && listpack_size(back) == listpack_size(lp));
    ASSERT(memcmp(listpack_bytes(back), listpack_bytes(lp), listpack_size(lp)) == 0);
    listpack_free(back);
    listpack_free(lp);
    buffer_free(&out);
}

static void try_intset(const uint8_t *bytes, size_t size) {
    if (!intset_validate(bytes, size)) return;
    struct intset *s = intset_from_bytes(bytes, size);
    size_t count = intset_count(s);
    for (size_t i = 0; i < count; i++) {
        ASSERT(intset_has(s, intset_at(s, i)));
        ASSERT(intset_count_below(s, intset_at(s, i)) == i);
    }
    for (size_t i = 0; i < size && i < CHANGES_MAX; i++) {
        int64_t member = (int64_t)((uint64_t)bytes[i] << (bytes[size - 1 - i] % 64));
        bool there = intset_has(s, member);
        ASSERT((i % 2 ? intset_remove(&s, member) : intset_add(&s, member)) ==
               (i % 2 ? there : !there));
        intset_check(s);
    }
    intset_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    uint8_t *exact = memory_alloc(size - 1, MEMORY_OTHER);
    memcpy(exact, data + 1, size - 1);
    if (data[0] % 3 == 0)
        try_listpack(exact, size - 1);
    else if (data[0] % 3 == 1)
        try_ziplist(exact, size - 1);
    else
        try_intset(exact, size - 1);
    memory_free(exact, MEMORY_OTHER);
    return 0;
}
