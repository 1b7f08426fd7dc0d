/* SPDX-License-Identifier: BSD-3-Clause
 * Sets of ids: one id within the struct, more in an array with open addressing and linear probing.
 *
 * Clients' numbers are consecutive, and a multiplication by the golden ratio spreads consecutive
 * numbers evenly. A removal leaves no tombstone: ids behind the gap move up where that brings them
 * nearer to their first place.
 *
 * Invariants (idset_check)
 *  1. capacity is 0 (at most one id, in `only`) or a power of two from CAPACITY_MIN on.
 *  2. At most three quarters of an array are taken, and above CAPACITY_MIN an eighth at least.
 *  3. No place is free between an id's first place and the place where it stands.
 */
#include "ds/idset.h"

#include <string.h>

#include "base/panic.h"

#define CAPACITY_MIN 4u
#define CAPACITY_MAX (1u << 31)
#define SPREAD UINT64_C(0x9e3779b97f4a7c15) /* 2^64 divided by the golden ratio */

static uint32_t first_place(const struct idset *s, uint64_t id) {
    return (uint32_t)((id * SPREAD) >> (64 - __builtin_ctz(s->capacity)));
}

static uint32_t next_place(const struct idset *s, uint32_t place) {
    return (place + 1) & (s->capacity - 1);
}

/* The place where the id stands, or the free place where it would. */
static uint32_t idset_place(const struct idset *s, uint64_t id) {
    uint32_t place = first_place(s, id);
    while (s->places[place] && s->places[place] != id) place = next_place(s, place);
    return place;
}

static void idset_resize(struct idset *s, uint32_t capacity, enum memory_class class) {
    struct idset old = *s;
    size_t position = 0;
    uint64_t id;
    s->capacity = capacity;
    s->places = memory_zalloc(capacity * sizeof(uint64_t), class);
    while ((id = idset_next(&old, &position)) != 0) s->places[idset_place(s, id)] = id;
    if (old.capacity) memory_free_sized(old.places, old.capacity * sizeof(uint64_t), class);
}

bool idset_is_full(const struct idset *s) {
    return s->capacity ? s->count + 1 > s->capacity / 4 * 3 : s->count == 1;
}

bool idset_has(const struct idset *s, uint64_t id) {
    if (!s->capacity) return s->count && s->only == id;
    return s->places[idset_place(s, id)] == id;
}

bool idset_add(struct idset *s, uint64_t id, enum memory_class class) {
    ASSERT(id);
    if (idset_has(s, id)) return false;
    if (!s->count) {
        s->only = id;
        s->count = 1;
        return true;
    }
    if (idset_is_full(s)) {
        ASSERT_COMPARE(s->capacity, <, CAPACITY_MAX);
        idset_resize(s, s->capacity ? s->capacity * 2 : CAPACITY_MIN, class);
    }
    s->places[idset_place(s, id)] = id;
    s->count++;
    return true;
}

/* Moves ids up into a gap: those between it and the next free place that may stand there. */
static void close_gap(struct idset *s, uint32_t gap) {
    for (uint32_t place = next_place(s, gap); s->places[place]; place = next_place(s, place)) {
        uint32_t from_first = (place - first_place(s, s->places[place])) & (s->capacity - 1);
        if (from_first < ((place - gap) & (s->capacity - 1))) continue;
        s->places[gap] = s->places[place];
        gap = place;
    }
    s->places[gap] = 0;
}

bool idset_remove(struct idset *s, uint64_t id, enum memory_class class) {
    if (!idset_has(s, id)) return false;
    if (s->count == 1) {
        idset_free(s, class);
        return true;
    }
    s->count--;
    close_gap(s, idset_place(s, id));
    if (s->capacity > CAPACITY_MIN && s->count < s->capacity / 8)
        idset_resize(s, s->capacity / 2, class);
    return true;
}

uint64_t idset_next(const struct idset *s, size_t *position) {
    if (!s->capacity) return (*position)++ < s->count ? s->only : 0;
    while (*position < s->capacity) {
        uint64_t id = s->places[(*position)++];
        if (id) return id;
    }
    return 0;
}

void idset_free(struct idset *s, enum memory_class class) {
    if (s->capacity) memory_free_sized(s->places, s->capacity * sizeof(uint64_t), class);
    *s = (struct idset){0};
}

void idset_check(const struct idset *s) {
    uint32_t count = 0;
    if (!s->capacity) {
        ASSERT_COMPARE(s->count, <=, 1);
        ASSERT((s->count == 1) == (s->only != 0));
        return;
    }
    ASSERT(s->capacity >= CAPACITY_MIN && !(s->capacity & (s->capacity - 1)));
    ASSERT_COMPARE(s->count, <=, s->capacity / 4 * 3);
    ASSERT(s->capacity == CAPACITY_MIN || s->count >= s->capacity / 8);
    for (uint32_t i = 0; i < s->capacity; i++) {
        if (!s->places[i]) continue;
        ASSERT_COMPARE(idset_place(s, s->places[i]), ==, i);
        count++;
    }
    ASSERT_COMPARE(count, ==, s->count);
}
