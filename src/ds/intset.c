/* SPDX-License-Identifier: BSD-3-Clause
 * Sorted integers in one block. intset.h has the format.
 *
 * A member that is too wide for the set is below or above all that are there, so the array is
 * widened in one pass from its end, and the new member goes to one of its ends.
 *
 * Invariants (intset_check):
 *  1. The block is memory_good_size(size) bytes, so whether a change needs another is arithmetic.
 *  2. Members are strictly ascending, the width is 2, 4 or 8.
 */
#include "ds/intset.h"

#include "base/memory.h"
#include "base/panic.h"
#include "base/random.h"

struct intset {
    uint32_t width; /* bytes of a member */
    uint32_t count;
    uint8_t members[];
};
_Static_assert(sizeof(struct intset) == INTSET_HEADER_BYTES, "the header is what files have");

static inline size_t intset_size_for(size_t width, size_t count) {
    return INTSET_HEADER_BYTES + width * count;
}

static inline size_t intset_used_size(const struct intset *s) {
    return intset_size_for(s->width, s->count);
}

static uint32_t width_of(int64_t member) {
    if (member == (int16_t)member) return 2;
    return member == (int32_t)member ? 4 : 8;
}

/* Little-endian machines only, as everywhere here. */
static inline int64_t member_read(const uint8_t *members, size_t width, size_t index) {
    int16_t narrow;
    int32_t word;
    int64_t wide;
    switch (width) {
    case 2: memcpy(&narrow, members + 2 * index, 2); return narrow;
    case 4: memcpy(&word, members + 4 * index, 4); return word;
    default: memcpy(&wide, members + 8 * index, 8); return wide;
    }
}

static inline void member_write(struct intset *s, size_t index, int64_t member) {
    memcpy(s->members + s->width * index, &member, s->width);
}

struct intset *intset_create(void) {
    struct intset *s = memory_alloc(memory_good_size(sizeof(*s)), MEMORY_DATASET);
    s->width = 2;
    s->count = 0;
    return s;
}

void intset_free(struct intset *s) {
    if (s) memory_free_sized(s, intset_used_size(s), MEMORY_DATASET);
}

struct intset *intset_from_bytes(const void *bytes, size_t size) {
    struct intset *s = memory_alloc(memory_good_size(size), MEMORY_DATASET);
    memcpy(s, bytes, size);
    return s;
}

struct intset *intset_dup(const struct intset *s) {
    return intset_from_bytes(s, intset_used_size(s));
}

const uint8_t *intset_bytes(const struct intset *s) { return (const uint8_t *)s; }

size_t intset_size(const struct intset *s) { return intset_used_size(s); }

size_t intset_memory(const struct intset *s) { return memory_good_size(intset_used_size(s)); }

size_t intset_count(const struct intset *s) { return s->count; }

int64_t intset_at(const struct intset *s, size_t index) {
    ASSERT_SLOW(index < s->count);
    return member_read(s->members, s->width, index);
}

size_t intset_count_below(const struct intset *s, int64_t member) {
    size_t low = 0, high = s->count;
    if (high && intset_at(s, high - 1) < member) return high; /* ascending additions */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (member_read(s->members, s->width, middle) < member)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool stands_at(const struct intset *s, size_t index, int64_t member) {
    return index < s->count && intset_at(s, index) == member;
}

bool intset_has(const struct intset *s, int64_t member) {
    return width_of(member) <= s->width && stands_at(s, intset_count_below(s, member), member);
}

int64_t intset_random(const struct intset *s) { return intset_at(s, random_below(s->count)); }

/* Resizes the block; contents are kept up to the smaller size. */
static void intset_resize(struct intset **s, size_t size) {
    size_t good = memory_good_size(size);
    if (good != memory_good_size(intset_used_size(*s)))
        *s = memory_realloc(*s, good, MEMORY_DATASET);
}

/* Adds a member that is too wide for the set, so below all others or above them. */
static void add_wider(struct intset **set, int64_t member, uint32_t width) {
    intset_resize(set, intset_size_for(width, (*set)->count + (size_t)1));
    struct intset *s = *set;
    uint32_t old_width = s->width;
    size_t shift = member < 0 ? 1 : 0;
    s->width = width;
    for (size_t i = s->count; i-- > 0;)
        member_write(s, i + shift, member_read(s->members, old_width, i));
    member_write(s, shift ? 0 : s->count, member);
    s->count++;
}

bool intset_add(struct intset **set, int64_t member) {
    ASSERT((*set)->count < INTSET_COUNT_MAX);
    uint32_t width = width_of(member);
    if (width > (*set)->width) {
        add_wider(set, member, width);
        return true;
    }
    size_t index = intset_count_below(*set, member);
    if (stands_at(*set, index, member)) return false;
    intset_resize(set, intset_size_for((*set)->width, (*set)->count + (size_t)1));
    struct intset *s = *set;
    uint8_t *place = s->members + s->width * index;
    memmove(place + s->width, place, s->width * (s->count - index));
    member_write(s, index, member);
    s->count++;
    return true;
}

static void remove_at(struct intset **set, size_t index) {
    struct intset *s = *set;
    ASSERT(index < s->count);
    uint8_t *place = s->members + s->width * index;
    memmove(place, place + s->width, s->width * (s->count - index - 1));
    intset_resize(set, intset_size_for(s->width, s->count - (size_t)1));
    (*set)->count--;
}

void intset_remove_places(struct intset **set, const size_t *places, size_t count) {
    struct intset *s = *set;
    uint8_t *to = s->members;
    if (!count) return;
    ASSERT(places[count - 1] < s->count);
    to += s->width * places[0];
    for (size_t i = 0; i < count; i++) {
        size_t from = places[i] + 1, end = i + 1 < count ? places[i + 1] : s->count;
        ASSERT(from <= end);
        memmove(to, s->members + s->width * from, s->width * (end - from));
        to += s->width * (end - from);
    }
    intset_resize(set, intset_size_for(s->width, s->count - count));
    (*set)->count -= (uint32_t)count;
}

bool intset_remove(struct intset **set, int64_t member) {
    if (!intset_has(*set, member)) return false;
    remove_at(set, intset_count_below(*set, member));
    return true;
}

bool intset_validate(const void *bytes, size_t size) {
    struct intset header;
    if (size < sizeof(header)) return false;
    memcpy(&header, bytes, sizeof(header));
    if (header.width != 2 && header.width != 4 && header.width != 8) return false;
    if (header.count > INTSET_COUNT_MAX || size != intset_size_for(header.width, header.count))
        return false;
    const uint8_t *members = (const uint8_t *)bytes + sizeof(header);
    for (size_t i = 1; i < header.count; i++) {
        if (member_read(members, header.width, i - 1) >= member_read(members, header.width, i))
            return false;
    }
    return true;
}

void intset_check(const struct intset *s) { ASSERT(intset_validate(s, intset_used_size(s))); }
