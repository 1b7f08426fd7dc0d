/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of the keyspace share: a clock that stands, keys by number, and counters read
 * through the metric rows.
 */
#ifndef EVENKEEL_TESTS_STORE_KEYS_H
#define EVENKEEL_TESTS_STORE_KEYS_H
#include "base/clock.h"
#include "base/seed.h"
#include "ds/table.h"
#include "option/option.h"
#include "store/both_forms.h"
#include "store/key_map.h"
#include "store/keyspace.h"
#include "store/lazyfree.h"
#include "store/told.h"

#define START_MSEC INT64_C(1750000000000)

static size_t keys_dataset_before;

static inline void clock_set_msec(int64_t msec) {
    clock_use_fixed(msec * 1000, (msec - START_MSEC + 1) * 1000000);
    clock_refresh();
}

static inline int keys_open(void) {
    seed_from_environment();
    keyspace_register();
    keyspace_partition(keys_by_slot);
    keyspace_open();
    keys_dataset_before = memory_used(MEMORY_DATASET);
    return 0;
}

/* Before each test: the clock at its start. After it: databases empty, no byte left. */
static inline int keys_begin(void **state) {
    clock_set_msec(START_MSEC);
    return 0;
}

/* What the main thread frees in slices. */
static inline void keys_free_slices(void) {
    while (lazyfree_step()) continue;
}

static inline int keys_nothing_left(void **state) {
    for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
    keys_free_slices();
    assert_int_equal(memory_used(MEMORY_DATASET), keys_dataset_before);
    return 0;
}

struct key_text {
    char bytes[400];
    size_t length;
};

/* In a partitioned keyspace the keys are of so many slots, so that each slot's table grows and
 * shrinks. */
#define KEYS_SLOTS 5

/* "key:17", by slot "{2}key:17"; every eighth is longer than a short key may be. */
static inline struct slice key_of(struct key_text *text, unsigned number) {
    int tag = 0;
    if (keys_by_slot) tag = snprintf(text->bytes, sizeof(text->bytes), "{%u}", number % KEYS_SLOTS);
    text->length = (size_t)(tag + snprintf(text->bytes + tag, sizeof(text->bytes) - (size_t)tag,
                                           "key:%u", number));
    if (number % 8 == 0) {
        memset(text->bytes + text->length, '.', 300);
        text->length += 300;
    }
    return (struct slice){text->bytes, text->length};
}

static inline uint64_t key_hash(struct slice key) { return key_hash_of(key); }

/* What key_map_stats says of a database's tables. */
static inline struct table_stats keys_stats(const struct keyspace *ks) {
    struct table_stats stats;
    key_map_stats(keyspace_map(ks), &stats);
    return stats;
}

static inline struct entry *key_store(struct keyspace *ks, unsigned number, struct slice text,
                                      int64_t deadline) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    struct string_value v = string_value_of_text(text);
    struct entry *existing = told_find(ks, key, key_hash(key));
    return told_store(ks, key, key_hash(key), existing, &v, deadline);
}

static inline struct entry *key_find(struct keyspace *ks, unsigned number) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    return told_find(ks, key, key_hash(key));
}
#endif
