/* SPDX-License-Identifier: BSD-3-Clause
 * Eviction: finds the key to evict under each policy, and deletes it.
 *
 * exec/memory_limit decides when, and how much, to evict. evict.c has the two algorithms.
 */
#ifndef EVENKEEL_STORE_EVICT_H
#define EVENKEEL_STORE_EVICT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

enum evict_policy {
    EVICT_VOLATILE_LRU,
    EVICT_VOLATILE_LFU,
    EVICT_VOLATILE_RANDOM,
    EVICT_VOLATILE_TTL,
    EVICT_ALLKEYS_LRU,
    EVICT_ALLKEYS_LFU,
    EVICT_ALLKEYS_RANDOM,
    EVICT_NOTHING /* noeviction */
};

void evict_register(void); /* options and metrics */
enum evict_policy evict_policy(void);
/* Returns true if the policy is by recency or frequency: with such a policy 6.2 shares no
 * integers. */
bool evict_tracks_use(void);
/* Deletes one key of any database; `*bytes` becomes the memory that it took. With `lazily` a large
 * value is freed in the background. Returns false if no key may be evicted under the policy. Looks
 * at a bounded number of keys: maxmemory-samples of each database and round, or EVICT_SWEEP_MAX. */
MUST_USE bool evict_one(bool lazily, size_t *bytes);
/* The most entries that one sweep of `clock` looks at before it evicts the best of them. */
#define EVICT_SWEEP_MAX 16
/* Keys evicted, and entries looked at, since start or CONFIG RESETSTAT. */
FOR_TESTS uint64_t evict_count(void);
FOR_TESTS uint64_t evict_examined(void);
#endif
