/* SPDX-License-Identifier: BSD-3-Clause
 * The caches.
 *
 * The places of one key in all caches stand side by side, because each event concerns one key and
 * all caches.
 *
 * Invariants
 *  1. place(key, column) is 0 exactly while the cache lacks the key.
 *  2. `list` of a cache holds the keys that it may evict, and place() is the index in it plus 1. A
 *     key that it may not evict (no deadline, under a volatile policy; any, under noeviction) has
 *     the place FIXED.
 *  3. `used` is the sum of the bytes of the keys that the cache holds.
 */
#include "replay/curve_cache.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"

#define FIXED UINT32_MAX
#define POOL_MAX 16 /* as in 6.2 */
/* The frequency counter: its first value, lfu-log-factor and lfu-decay-time by default. */
#define FREQUENCY_FIRST 5
#define FREQUENCY_MOST 255
#define FREQUENCY_FACTOR 10
#define FREQUENCY_DECAY_MSEC 60000
#define RECENCY_MSEC 1000 /* the servers note accesses by the second */
#define LIST_FIRST 64

struct candidate {
    uint32_t key;
    int64_t score; /* the highest is evicted first */
};

struct cache {
    bool is_used;
    enum curve_policy policy;
    double capacity, hits;
    int64_t used;
    uint32_t *list;
    uint32_t count, room;
    struct candidate pool[POOL_MAX]; /* in rising order of score */
    unsigned pool_count;
};

struct curve_caches {
    uint32_t keys_max, columns;
    unsigned samples;
    uint64_t chance;
    int64_t now_msec;
    struct curve_key *keys;
    uint32_t *places;     /* [key * columns + column] */
    uint8_t *frequencies; /* likewise: the counters */
    struct cache caches[];
};

/* xorshift64* (Vigna 2014) */
static uint32_t draw_below(struct curve_caches *all, uint32_t range) {
    all->chance ^= all->chance >> 12;
    all->chance ^= all->chance << 25;
    all->chance ^= all->chance >> 27;
    return (uint32_t)(((all->chance * UINT64_C(2685821657736338717) >> 32) * range) >> 32);
}

static uint32_t *place_of(struct curve_caches *all, uint32_t key, uint32_t column) {
    return &all->places[(size_t)key * all->columns + column];
}

static uint8_t *frequency_of(struct curve_caches *all, uint32_t key, uint32_t column) {
    return &all->frequencies[(size_t)key * all->columns + column];
}

static bool is_by_frequency(enum curve_policy policy) {
    return policy == CURVE_ALLKEYS_LFU || policy == CURVE_VOLATILE_LFU;
}

static bool may_evict(const struct curve_caches *all, enum curve_policy policy, uint32_t key) {
    if (policy == CURVE_NOEVICTION) return false;
    return policy <= CURVE_ALLKEYS_RANDOM || all->keys[key].deadline_msec;
}

/* --- begin and end ---------------------------------------------------------------------------- */

struct curve_caches *curve_caches_create(uint32_t keys_max, uint32_t columns, unsigned samples) {
    struct curve_caches *all =
        memory_zalloc(sizeof(*all) + columns * sizeof(all->caches[0]), MEMORY_OTHER);
    size_t cells = (size_t)keys_max * columns;
    *all = (struct curve_caches){
        .keys_max = keys_max, .columns = columns, .samples = samples, .chance = 1};
    all->keys = memory_zalloc(keys_max * sizeof(*all->keys), MEMORY_OTHER);
    all->places = memory_zalloc(cells * sizeof(*all->places), MEMORY_OTHER);
    all->frequencies = memory_zalloc(cells, MEMORY_OTHER);
    return all;
}

void curve_caches_free(struct curve_caches *all) {
    for (uint32_t i = 0; i < all->columns; i++) memory_free(all->caches[i].list, MEMORY_OTHER);
    memory_free(all->keys, MEMORY_OTHER);
    memory_free(all->places, MEMORY_OTHER);
    memory_free(all->frequencies, MEMORY_OTHER);
    memory_free(all, MEMORY_OTHER);
}

struct curve_key *curve_caches_key(struct curve_caches *all, uint32_t key) {
    ASSERT(key < all->keys_max);
    return &all->keys[key];
}

void curve_cache_begin(struct curve_caches *all, uint32_t column, enum curve_policy policy) {
    ASSERT(column < all->columns && !all->caches[column].is_used);
    all->caches[column] =
        (struct cache){.is_used = true, .policy = policy, .capacity = (double)INFINITY};
}

void curve_cache_copy(struct curve_caches *all, uint32_t column, uint32_t from, double capacity) {
    struct cache *to = &all->caches[column];
    ASSERT(column < all->columns && !to->is_used && all->caches[from].is_used);
    *to = all->caches[from];
    to->capacity = capacity;
    to->list = memory_alloc((to->room + 1) * sizeof(*to->list), MEMORY_OTHER);
    if (to->count) memcpy(to->list, all->caches[from].list, to->count * sizeof(*to->list));
    for (uint32_t key = 0; key < all->keys_max; key++) {
        *place_of(all, key, column) = *place_of(all, key, from);
        *frequency_of(all, key, column) = *frequency_of(all, key, from);
    }
}

void curve_cache_end(struct curve_caches *all, uint32_t column) {
    memory_free(all->caches[column].list, MEMORY_OTHER);
    all->caches[column] = (struct cache){0};
    for (uint32_t key = 0; key < all->keys_max; key++) *place_of(all, key, column) = 0;
}

void curve_cache_set_capacity(struct curve_caches *all, uint32_t column, double capacity) {
    all->caches[column].capacity = capacity;
}

int64_t curve_cache_used(const struct curve_caches *all, uint32_t column) {
    return all->caches[column].used;
}

double curve_cache_hits(const struct curve_caches *all, uint32_t column) {
    return all->caches[column].hits;
}

/* --- what a cache holds ----------------------------------------------------------------------- */

static void list_key(struct curve_caches *all, uint32_t column, uint32_t key) {
    struct cache *c = &all->caches[column];
    if (!may_evict(all, c->policy, key)) {
        *place_of(all, key, column) = FIXED;
        return;
    }
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : LIST_FIRST;
        c->list = memory_realloc(c->list, c->room * sizeof(*c->list), MEMORY_OTHER);
    }
    c->list[c->count++] = key;
    *place_of(all, key, column) = c->count;
}

static void unlist_key(struct curve_caches *all, uint32_t column, uint32_t key) {
    struct cache *c = &all->caches[column];
    uint32_t *place = place_of(all, key, column);
    if (*place != FIXED) {
        uint32_t last = c->list[--c->count];
        c->list[*place - 1] = last;
        *place_of(all, last, column) = *place;
    }
    *place = 0;
}

static void drop_key(struct curve_caches *all, uint32_t column, uint32_t key) {
    unlist_key(all, column, key);
    all->caches[column].used -= all->keys[key].bytes;
}

/* --- eviction --------------------------------------------------------------------------------- */

static unsigned frequency_now(struct curve_caches *all, uint32_t column, uint32_t key) {
    unsigned counter = *frequency_of(all, key, column);
    int64_t idle_msec = all->now_msec - all->keys[key].used_msec;
    int64_t decay = idle_msec > 0 ? idle_msec / FREQUENCY_DECAY_MSEC : 0;
    return decay >= counter ? 0 : counter - (unsigned)decay;
}

static int64_t score_of(struct curve_caches *all, uint32_t column, uint32_t key) {
    enum curve_policy policy = all->caches[column].policy;
    if (is_by_frequency(policy)) return FREQUENCY_MOST - frequency_now(all, column, key);
    if (policy == CURVE_VOLATILE_TTL) return INT64_MAX - all->keys[key].deadline_msec;
    return all->now_msec / RECENCY_MSEC - all->keys[key].used_msec / RECENCY_MSEC;
}

static void leave_pool(struct cache *c, unsigned index) {
    c->pool_count--;
    memmove(c->pool + index, c->pool + index + 1, (c->pool_count - index) * sizeof(c->pool[0]));
}

static void offer_to_pool(struct curve_caches *all, uint32_t column, uint32_t key) {
    struct cache *c = &all->caches[column];
    int64_t score = score_of(all, column, key);
    if (c->pool_count == POOL_MAX && score <= c->pool[0].score) return;
    for (unsigned i = 0; i < c->pool_count; i++)
        if (c->pool[i].key == key) leave_pool(c, i);
    if (c->pool_count == POOL_MAX) leave_pool(c, 0);
    unsigned at = c->pool_count++;
    for (; at > 0 && c->pool[at - 1].score > score; at--) c->pool[at] = c->pool[at - 1];
    c->pool[at] = (struct candidate){key, score};
}

/* Takes the best key of the pool that is still in the cache, with a score that has not fallen. */
static bool take_from_pool(struct curve_caches *all, uint32_t column, uint32_t *victim) {
    struct cache *c = &all->caches[column];
    while (c->pool_count) {
        struct candidate best = c->pool[--c->pool_count];
        uint32_t place = *place_of(all, best.key, column);
        if (!place || place == FIXED || score_of(all, column, best.key) < best.score) continue;
        *victim = best.key;
        return true;
    }
    return false;
}

/* False where the cache may evict nothing. */
static bool evict_from(struct curve_caches *all, uint32_t column) {
    struct cache *c = &all->caches[column];
    uint32_t victim;
    if (!c->count) return false;
    bool by_chance = c->policy == CURVE_ALLKEYS_RANDOM || c->policy == CURVE_VOLATILE_RANDOM;
    bool found = false;
    /* The second round finds an empty pool, and so a victim. */
    for (unsigned round = 0; round < 2 && !found && !by_chance; round++) {
        for (unsigned i = 0; i < all->samples; i++)
            offer_to_pool(all, column, c->list[draw_below(all, c->count)]);
        found = take_from_pool(all, column, &victim);
    }
    if (!found) victim = c->list[draw_below(all, c->count)];
    drop_key(all, column, victim);
    return true;
}

/* Evicts down to the capacity. False where that is not possible. */
static inline bool make_room(struct curve_caches *all, uint32_t column) {
    struct cache *c = &all->caches[column];
    while ((double)c->used > c->capacity)
        if (!evict_from(all, column)) return false;
    return true;
}

/* --- events ----------------------------------------------------------------------------------- */

static void note_use(struct curve_caches *all, uint32_t column, uint32_t key) {
    if (!is_by_frequency(all->caches[column].policy)) return;
    unsigned counter = frequency_now(all, column, key);
    unsigned above = counter > FREQUENCY_FIRST ? counter - FREQUENCY_FIRST : 0;
    if (counter < FREQUENCY_MOST && !draw_below(all, above * FREQUENCY_FACTOR + 1)) counter++;
    *frequency_of(all, key, column) = (uint8_t)counter;
}

static void take_in(struct curve_caches *all, uint32_t column, uint32_t key) {
    list_key(all, column, key);
    *frequency_of(all, key, column) = FREQUENCY_FIRST;
    all->caches[column].used += all->keys[key].bytes;
}

void curve_caches_read(struct curve_caches *all, uint32_t key, int64_t now_msec, double weight,
                       bool fills) {
    all->now_msec = now_msec;
    for (uint32_t column = 0; column < all->columns; column++) {
        if (!all->caches[column].is_used) continue;
        bool has_room = make_room(all, column);
        if (*place_of(all, key, column)) {
            all->caches[column].hits += weight;
            note_use(all, column, key);
        } else if (fills && has_room) {
            take_in(all, column, key);
        }
    }
}

void curve_caches_write(struct curve_caches *all, uint32_t key, int64_t now_msec) {
    all->now_msec = now_msec;
    for (uint32_t column = 0; column < all->columns; column++) {
        if (!all->caches[column].is_used) continue;
        bool has_room = make_room(all, column);
        if (*place_of(all, key, column)) {
            note_use(all, column, key);
        } else if (has_room) {
            take_in(all, column, key);
        }
    }
}

void curve_caches_remove(struct curve_caches *all, uint32_t key) {
    for (uint32_t column = 0; column < all->columns; column++)
        if (*place_of(all, key, column)) drop_key(all, column, key);
}

void curve_caches_resize(struct curve_caches *all, uint32_t key, int64_t bytes) {
    int64_t more = bytes - all->keys[key].bytes;
    all->keys[key].bytes = bytes;
    if (!more) return;
    for (uint32_t column = 0; column < all->columns; column++)
        if (*place_of(all, key, column)) all->caches[column].used += more;
}

void curve_caches_set_deadline(struct curve_caches *all, uint32_t key, int64_t deadline_msec) {
    bool changes = !all->keys[key].deadline_msec != !deadline_msec;
    all->keys[key].deadline_msec = deadline_msec;
    if (!changes) return;
    for (uint32_t column = 0; column < all->columns; column++) {
        if (!*place_of(all, key, column)) continue;
        unlist_key(all, column, key);
        list_key(all, column, key);
    }
}
