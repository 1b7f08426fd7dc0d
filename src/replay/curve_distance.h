/* SPDX-License-Identifier: BSD-3-Clause
 * Stack distances: an exact LRU cache of every size at once (Mattson et al. 1970).
 *
 * A key's distance is the bytes of all keys that were used since its last use, its own included: an
 * LRU cache that is at least so large holds it. The keys stand in the order of their last use, and
 * a Fenwick tree (1994) over that order sums their bytes.
 */
#ifndef EVENKEEL_REPLAY_CURVE_DISTANCE_H
#define EVENKEEL_REPLAY_CURVE_DISTANCE_H
#include <stdint.h>

#include "base/attributes.h"

struct curve_distance;
/* Keys are numbers below `keys_max`. */
MUST_USE struct curve_distance *curve_distance_create(uint32_t keys_max);
void curve_distance_free(struct curve_distance *d);
/* The key's distance in bytes; -1 = it is not there. O(log keys). */
int64_t curve_distance_of(const struct curve_distance *d, uint32_t key);
/* The key is used now, and takes so many bytes. O(log keys), amortised. */
void curve_distance_use(struct curve_distance *d, uint32_t key, int64_t bytes);
/* The bytes of a key that is there change. O(log keys). */
void curve_distance_resize(struct curve_distance *d, uint32_t key, int64_t bytes);
/* Harmless where the key is not there. O(log keys). */
void curve_distance_remove(struct curve_distance *d, uint32_t key);
#endif
