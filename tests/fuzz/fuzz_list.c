/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes lists with elements about as long as a node may be: against a model, no change makes a
 * node larger than its bound, whatever grows, comes or goes.
 *
 * Covers: src/ds/quicklist.c
 *
 * The input's first two bytes choose fill and depth; then four bytes are one change: what is done,
 * where, and two for how long the element is.
 */
#include "base/memory.h"
#include "base/panic.h"
#include "ds/quicklist.h"

#define CHANGE_BYTES 4
#define CHANGES_MAX 300
#define ELEMENTS_MAX 4000
#define TEXT_MAX 70000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An element of the model: so often this letter, or a number. */
struct element {
    uint32_t length;
    char letter;
};

static struct element model[ELEMENTS_MAX];
static size_t count;
static char text_bytes[TEXT_MAX];

static struct slice text_of(struct element e) {
    memset(text_bytes, e.letter, e.length);
    return (struct slice){text_bytes, e.length};
}

static void model_insert(size_t at, struct element e) {
    memmove(model + at + 1, model + at, (count - at) * sizeof(*model));
    model[at] = e;
    count++;
}

static void model_delete(size_t at, size_t how_many) {
    memmove(model + at, model + at + how_many, (count - at - how_many) * sizeof(*model));
    count -= how_many;
}

static const int fills[] = {-1, -2, -3, -4, -5, 0, 1, 2, 5, 100, 32767};

static size_t bound_of(int fill) { return fill < 0 ? (size_t)2048 << -fill : 8192; }

/* Short, or near the bound, half or a third of it. */
static struct element element_of(const uint8_t *change, int fill) {
    struct element e = {change[3] % 64, (char)('0' + change[3] % 60)};
    size_t parts = change[2] % 8;
    if (parts == 0 || parts > 4) return e;
    size_t length = bound_of(fill) / parts;
    e.length = (uint32_t)(length + change[2] / 8 - e.length);
    return e;
}

static void compare(struct quicklist *q, int fill, bool backwards) {
    struct quicklist_stats stats;
    struct quicklist_cursor c;
    char scratch[LISTPACK_SCRATCH];
    quicklist_check(q);
    quicklist_stats(q, &stats);
    ASSERT(stats.widest_bytes <= bound_of(fill));
    if (fill >= 0) ASSERT(quicklist_nodes(q) >= count / (size_t)(fill ? fill : 1));
    ASSERT(quicklist_count(q) == count);
    bool there = quicklist_seek(q, backwards ? -1 : 0, backwards, &c);
    for (size_t i = 0; i < count; i++, there = quicklist_step(&c)) {
        ASSERT(there);
        struct listpack_value v = quicklist_get(&c);
        struct slice expected = text_of(model[backwards ? count - 1 - i : i]);
        ASSERT(slice_equal(listpack_value_text(&v, scratch), expected));
        ASSERT(quicklist_equal(&c, expected));
    }
    ASSERT(!there);
    quicklist_end(&c);
}

static void change_end(struct quicklist *q, const uint8_t *change, struct element e) {
    enum quicklist_end end = change[1] % 2 ? QUICKLIST_HEAD : QUICKLIST_TAIL;
    if (change[0] & 8 && count) {
        quicklist_drop(q, end);
        model_delete(end == QUICKLIST_HEAD ? 0 : count - 1, 1);
        return;
    }
    for (size_t i = change[1]; i-- > 0 && count < ELEMENTS_MAX - 1;) {
        quicklist_push(q, end, text_of(e));
        model_insert(end == QUICKLIST_HEAD ? 0 : count, e);
        if (e.length > 64) break;
    }
}

/* Deletes each third of the elements that a walk meets. */
static void change_walk(struct quicklist *q, size_t at, bool backwards) {
    struct quicklist_cursor c;
    bool there = quicklist_seek(q, (int64_t)at, backwards, &c);
    for (int i = 0; there && i < 100; i++) {
        if (i % 3 == 0) {
            there = quicklist_delete(&c);
            model_delete(at, 1);
            at -= backwards;
        } else {
            there = quicklist_step(&c);
            at += backwards ? (size_t)-1 : 1;
        }
    }
    quicklist_end(&c);
}

static void change_inside(struct quicklist *q, const uint8_t *change, struct element e) {
    struct quicklist_cursor c;
    size_t at = (size_t)change[1] * 17 % count, deleted;
    unsigned what = change[0] >> 3;
    if (what % 8 == 6) {
        change_walk(q, at, what & 8);
        return;
    }
    if (what % 8 == 7) {
        deleted = quicklist_delete_range(q, at, change[2]);
        model_delete(at, deleted);
        return;
    }
    if (count == ELEMENTS_MAX) return;
    ASSERT(quicklist_seek(q, (int64_t)at, what & 8, &c));
    if (what % 8 == 0) {
        quicklist_insert_before(&c, text_of(e));
        model_insert(at, e);
    } else if (what % 8 == 1) {
        quicklist_insert_after(&c, text_of(e));
        model_insert(at + 1, e);
    } else {
        quicklist_replace(&c, text_of(e));
        model[at] = e;
    }
    quicklist_end(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    int fill = fills[data[0] % (sizeof(fills) / sizeof(*fills))];
    struct quicklist *q = quicklist_create(fill, data[1] % 4);
    count = 0;
    for (size_t i = 2; i + CHANGE_BYTES <= size && i < CHANGES_MAX * CHANGE_BYTES;
         i += CHANGE_BYTES) {
        struct element e = element_of(data + i, fill);
        if (data[i] % 8 == 0 || !count)
            change_end(q, data + i, e);
        else
            change_inside(q, data + i, e);
        if (i / CHANGE_BYTES % 16 == 0) compare(q, fill, i % 32);
    }
    compare(q, fill, false);
    struct quicklist *copy = quicklist_dup(q);
    while (!quicklist_free_step(q, 2)) continue;
    compare(copy, fill, true);
    quicklist_free(copy);
    return 0;
}
