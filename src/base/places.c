/* SPDX-License-Identifier: BSD-3-Clause
 * Places in order: runs sorted by insertion, then merged, twice as long in each round.
 *
 * A key decides most comparisons within one register; the call that breaks ties is made for equal
 * keys only. Runs that follow each other in order already are copied, not merged, so sorted input,
 * such as an intset's members, costs one comparison a run.
 *
 * Invariant: of two places that are equal, the one that stood first stands first.
 */
#include "base/places.h"

#include <stdbool.h>

#include "base/memory.h"

/* Up to here insertion is the cheapest way. */
#define RUN_PLACES 12

struct rule {
    places_tie *tie;
    const void *context;
};

/* Whether `b`, which stands behind `a`, belongs before it. */
static inline bool stands_wrong(const struct rule *r, const struct place *a,
                                const struct place *b) {
    if (__builtin_expect(a->key != b->key, 1)) return b->key < a->key;
    return r->tie && r->tie(r->context, a->index, b->index) > 0;
}

static void sort_run(const struct rule *r, struct place *p, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct place moved = p[i];
        size_t to = i;
        for (; to && stands_wrong(r, &p[to - 1], &moved); to--) p[to] = p[to - 1];
        p[to] = moved;
    }
}

/* Merges p[0 .. middle) and p[middle .. count) into `to`. */
static void merge_runs(const struct rule *r, const struct place *p, size_t middle, size_t count,
                       struct place *to) {
    size_t a = 0, b = middle;
    if (middle == count || !stands_wrong(r, &p[middle - 1], &p[middle])) {
        memcpy(to, p, count * sizeof(*p));
        return;
    }
    while (a < middle && b < count) *to++ = stands_wrong(r, &p[a], &p[b]) ? p[b++] : p[a++];
    memcpy(to, p + a, (middle - a) * sizeof(*p));
    memcpy(to + (middle - a), p + b, (count - b) * sizeof(*p));
}

void places_sort(struct place *places, size_t count, places_tie *tie, const void *context) {
    struct rule r = {tie, context};
    for (size_t i = 0; i < count; i += RUN_PLACES)
        sort_run(&r, places + i, count - i < RUN_PLACES ? count - i : RUN_PLACES);
    if (count <= RUN_PLACES) return;
    struct place *other = memory_alloc(count * sizeof(*other), MEMORY_OTHER);
    struct place *from = places, *to = other;
    for (size_t width = RUN_PLACES; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t both = count - i < 2 * width ? count - i : 2 * width;
            merge_runs(&r, from + i, width < both ? width : both, both, to + i);
        }
        struct place *merged = to;
        to = from;
        from = merged;
    }
    if (from != places) memcpy(places, from, count * sizeof(*places));
    memory_free(other, MEMORY_OTHER);
}

uint64_t places_key_of_double(double number) {
    uint64_t bits;
    number += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &number, sizeof(bits));
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}
