/* SPDX-License-Identifier: BSD-3-Clause
 * The keys in the order of their last use.
 *
 * Each use takes a new place behind all others, and leaves a gap at the old one. When the places
 * are used up, the keys move together; there are twice as many places as keys, so that this happens
 * once in so many uses as there are keys, at least.
 *
 * Invariants
 *  1. key_at[place] is the key whose place_of is `place`, or NOBODY.
 *  2. The tree's sum of the places from 1 to p is the bytes of the keys that stand there.
 */
#include "replay/curve_distance.h"

#include <string.h>

#include "base/memory.h"
#include "base/panic.h"

#define NOBODY UINT32_MAX

struct curve_distance {
    uint32_t keys_max, places, next; /* places are counted from 1; `next` is the first free one */
    uint32_t *place_of;              /* 0 = the key is not there */
    uint32_t *key_at;
    int64_t *bytes_of, *tree, total;
};

struct curve_distance *curve_distance_create(uint32_t keys_max) {
    struct curve_distance *d = memory_zalloc(sizeof(*d), MEMORY_OTHER);
    d->keys_max = keys_max;
    d->places = 2 * keys_max;
    d->next = 1;
    d->place_of = memory_zalloc(keys_max * sizeof(*d->place_of), MEMORY_OTHER);
    d->bytes_of = memory_zalloc(keys_max * sizeof(*d->bytes_of), MEMORY_OTHER);
    d->tree = memory_zalloc(((size_t)d->places + 1) * sizeof(*d->tree), MEMORY_OTHER);
    d->key_at = memory_alloc(((size_t)d->places + 1) * sizeof(*d->key_at), MEMORY_OTHER);
    memset(d->key_at, 0xff, ((size_t)d->places + 1) * sizeof(*d->key_at));
    return d;
}

void curve_distance_free(struct curve_distance *d) {
    memory_free(d->place_of, MEMORY_OTHER);
    memory_free(d->bytes_of, MEMORY_OTHER);
    memory_free(d->tree, MEMORY_OTHER);
    memory_free(d->key_at, MEMORY_OTHER);
    memory_free(d, MEMORY_OTHER);
}

static void add_to_tree(struct curve_distance *d, uint32_t place, int64_t bytes) {
    for (uint32_t p = place; p <= d->places; p += p & -p) d->tree[p] += bytes;
    d->total += bytes;
}

static int64_t sum_up_to(const struct curve_distance *d, uint32_t place) {
    int64_t sum = 0;
    for (uint32_t p = place; p; p -= p & -p) sum += d->tree[p];
    return sum;
}

static void take_place(struct curve_distance *d, uint32_t key) {
    d->key_at[d->next] = key;
    d->place_of[key] = d->next++;
    add_to_tree(d, d->place_of[key], d->bytes_of[key]);
}

/* Moves the keys together, in their order. */
static void close_gaps(struct curve_distance *d) {
    uint32_t end = d->next;
    memset(d->tree, 0, ((size_t)d->places + 1) * sizeof(*d->tree));
    d->next = 1;
    d->total = 0;
    for (uint32_t place = 1; place < end; place++) {
        uint32_t key = d->key_at[place];
        d->key_at[place] = NOBODY;
        if (key != NOBODY) take_place(d, key);
    }
    ASSERT(d->next <= d->keys_max + 1);
}

int64_t curve_distance_of(const struct curve_distance *d, uint32_t key) {
    uint32_t place = d->place_of[key];
    return place ? d->total - sum_up_to(d, place - 1) : -1;
}

void curve_distance_remove(struct curve_distance *d, uint32_t key) {
    uint32_t place = d->place_of[key];
    if (!place) return;
    add_to_tree(d, place, -d->bytes_of[key]);
    d->key_at[place] = NOBODY;
    d->place_of[key] = 0;
}

void curve_distance_use(struct curve_distance *d, uint32_t key, int64_t bytes) {
    curve_distance_remove(d, key);
    if (d->next > d->places) close_gaps(d);
    d->bytes_of[key] = bytes;
    take_place(d, key);
}

void curve_distance_resize(struct curve_distance *d, uint32_t key, int64_t bytes) {
    if (!d->place_of[key]) return;
    add_to_tree(d, d->place_of[key], bytes - d->bytes_of[key]);
    d->bytes_of[key] = bytes;
}
