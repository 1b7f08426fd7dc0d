/* SPDX-License-Identifier: BSD-3-Clause
 * Sorting without moving the elements: places of 16 bytes, a key and an element's index, are
 * sorted.
 */
#ifndef EVENKEEL_BASE_PLACES_H
#define EVENKEEL_BASE_PLACES_H
#include <stddef.h>
#include <stdint.h>

struct place {
    uint64_t key;
    size_t index;
};

/* Compares the elements at indexes `a` and `b`, whose keys are equal: below 0, 0 or above 0, as
 * memcmp. */
typedef int places_tie(const void *context, size_t a, size_t b);

/* Sorts by key, then by `tie` (NULL: all are equal); stable. O(n log n) comparisons, O(n) where the
 * places are in order already; takes as much memory again meanwhile. */
void places_sort(struct place *places, size_t count, places_tie *tie, const void *context);

/* The key of a double other than NaN: keys have the numbers' order, and 0 and -0 the same key. */
uint64_t places_key_of_double(double number);
#endif
