/* SPDX-License-Identifier: BSD-3-Clause
 * Simulated caches: of each policy and size one, all side by side, over the same keys.
 *
 * A key is a number below `keys_max`. What is the same in all caches stands once (struct
 * curve_key): size, deadline, the last access. A cache knows which keys it holds and how to choose
 * the one to evict, as Redis 6.2 and Evenkeel do by default: the best of maxmemory-samples keys
 * drawn at random and of a pool of sixteen that were drawn before.
 *
 * A cache evicts before an event, not after it, as the servers do; so it may be over its capacity
 * by the last key.
 */
#ifndef EVENKEEL_REPLAY_CURVE_CACHE_H
#define EVENKEEL_REPLAY_CURVE_CACHE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

enum curve_policy {
    CURVE_ALLKEYS_LRU,
    CURVE_ALLKEYS_LFU,
    CURVE_ALLKEYS_RANDOM,
    CURVE_VOLATILE_LRU,
    CURVE_VOLATILE_LFU,
    CURVE_VOLATILE_RANDOM,
    CURVE_VOLATILE_TTL,
    CURVE_NOEVICTION,
    CURVE_POLICIES,
};

/* A key as all caches see it. */
struct curve_key {
    int64_t bytes;
    int64_t deadline_msec; /* 0 = none */
    int64_t used_msec;     /* the last access */
};

struct curve_caches;
/* `columns` caches, numbered from 0, all unused at first. `samples`: maxmemory-samples. Memory: 9
 * bytes for each key and column. */
MUST_USE struct curve_caches *curve_caches_create(uint32_t keys_max, uint32_t columns,
                                                  unsigned samples);
void curve_caches_free(struct curve_caches *caches);
/* The keys, which the caller fills in; a key that a cache holds is changed by curve_caches_resize
 * and curve_caches_set_deadline only. */
struct curve_key *curve_caches_key(struct curve_caches *caches, uint32_t key);

/* Makes the column an empty cache without a limit. */
void curve_cache_begin(struct curve_caches *caches, uint32_t column, enum curve_policy policy);
/* Makes the column a copy of another one, with a capacity in bytes. O(keys). */
void curve_cache_copy(struct curve_caches *caches, uint32_t column, uint32_t from, double capacity);
/* The column is unused again. O(keys). */
void curve_cache_end(struct curve_caches *caches, uint32_t column);
void curve_cache_set_capacity(struct curve_caches *caches, uint32_t column, double capacity);
int64_t curve_cache_used(const struct curve_caches *caches, uint32_t column);
/* Hits so far, each counted with the weight it was told with. */
double curve_cache_hits(const struct curve_caches *caches, uint32_t column);

/* The events; each concerns all columns that are in use. The caller sets used_msec of the key to
 * `now_msec` after the event. */

/* The key is read. A cache that holds it counts `weight` hits. With `fills` a cache that lacks it
 * takes it in. */
void curve_caches_read(struct curve_caches *caches, uint32_t key, int64_t now_msec, double weight,
                       bool fills);
/* The key is written: a cache that lacks it takes it in, unless it is full and may evict nothing.
 */
void curve_caches_write(struct curve_caches *caches, uint32_t key, int64_t now_msec);
/* The key is deleted, or has expired. */
void curve_caches_remove(struct curve_caches *caches, uint32_t key);
void curve_caches_resize(struct curve_caches *caches, uint32_t key, int64_t bytes);
void curve_caches_set_deadline(struct curve_caches *caches, uint32_t key, int64_t deadline_msec);
#endif
