/* SPDX-License-Identifier: BSD-3-Clause
 * Sorting without moving what is sorted: places of 16 bytes, a key and an index, are put in order.
 */
#ifndef EVENKEEL_BASE_PLACES_H
#define EVENKEEL_BASE_PLACES_H
#include <stddef.h>
#include <stdint.h>

struct place {
    uint64_t key;
    size_t index;
};

/* How what stands at index `a` compares with what stands at `b`, where their keys are equal: below
 * 0, 0 or above 0, as memcmp. */
typedef int places_tie(const void *context, size_t a, size_t b);

/* Sorts by key, then by `tie` (NULL: everything ties), then as they stood. O(n log n) comparisons,
 * O(n) for what is in order already; takes as much memory again meanwhile. */
void places_sort(struct place *places, size_t count, places_tie *tie, const void *context);

/* A key whose order is that of the numbers, which are not NaN; 0 and -0 have the same. */
uint64_t places_key_of_double(double number);
#endif
