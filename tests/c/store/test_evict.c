/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of store/evict: each policy, by both algorithms, takes what it should, leaves what it must,
 * and looks at no more entries than it says.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "store/evict.h"

#include "ds/table.h"
#include "io/background.h"
#include "metric/metric.h"
#include "store/keys.h"
#include "store/lazyfree.h"
#include "store/recency.h"

#define KEYS 3000u
#define SECOND INT64_C(1000)

static const char *const policies[] = {"volatile-lru",  "volatile-lfu", "volatile-random",
                                       "volatile-ttl",  "allkeys-lru",  "allkeys-lfu",
                                       "allkeys-random"};
static const char *const algorithms[] = {"sampling", "clock"};
#define POLICIES (sizeof(policies) / sizeof(policies[0]))

static void set(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    assert_true(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
}

static int begin(void **state) {
    keys_begin(state);
    set("maxmemory-policy", "allkeys-lru");
    set("maxmemory-eviction-algorithm", "sampling");
    set("maxmemory-samples", "5");
    metric_reset_all();
    return 0;
}

static void choose(size_t policy, size_t algorithm) {
    set("maxmemory-policy", policies[policy]);
    set("maxmemory-eviction-algorithm", algorithms[algorithm]);
}

static size_t count_all(void) {
    size_t count = 0;
    for (int i = 0; i < keyspace_databases(); i++) count += keyspace_count(keyspace_at(i));
    return count;
}

/* Every other key has a deadline. */
static void store_mixed(int database) {
    for (unsigned i = 0; i < KEYS; i++)
        key_store(keyspace_at(database), i, SLICE("value"),
                  i % 2 ? START_MSEC + 1000000 + i : ENTRY_NO_DEADLINE);
}

/* All that may go goes, in any number of databases; nothing else does; bytes are told. */
static void test_until_nothing_may_go(void **state) {
    for (size_t p = 0; p < POLICIES; p++) {
        for (size_t a = 0; a < 2; a++) {
            bool volatiles = p <= EVICT_VOLATILE_TTL;
            size_t bytes, told = 0;
            choose(p, a);
            store_mixed(0);
            store_mixed(7);
            size_t before = memory_used(MEMORY_DATASET), taken = 0;
            size_t entries =
                keyspace_entry_bytes(keyspace_at(0)) + keyspace_entry_bytes(keyspace_at(7));
            for (; evict_one(false, &bytes); taken++) told += bytes;
            assert_int_equal(taken, volatiles ? KEYS : 2 * KEYS);
            assert_int_equal(count_all(), volatiles ? KEYS : 0);
            entries -= keyspace_entry_bytes(keyspace_at(0)) + keyspace_entry_bytes(keyspace_at(7));
            assert_int_equal(told, entries);
            assert_true(memory_used(MEMORY_DATASET) <= before - told);
            for (int i = 0; i < 8; i++) keyspace_check(keyspace_at(i));
            for (unsigned i = 0; volatiles && i < KEYS; i += 2)
                assert_non_null(key_find(keyspace_at(7), i));
            for (int i = 0; i < 8; i++) told_flush(keyspace_at(i));
        }
    }
    set("maxmemory-policy", "noeviction");
    store_mixed(0);
    size_t bytes;
    assert_false(evict_one(false, &bytes));
    assert_int_equal(keyspace_count(keyspace_at(0)), KEYS);
}

/* Keys that were used last, or often, or have long to live, are nearly all there when a third of
 * all is gone. */
static unsigned survivors(unsigned from, unsigned to) {
    unsigned count = 0;
    for (unsigned i = from; i < to; i++) count += key_find(keyspace_at(0), i) != NULL;
    return count;
}

static void prepare(size_t policy) {
    struct keyspace *ks = keyspace_at(0);
    bool ttl = policy == EVICT_VOLATILE_TTL;
    for (unsigned i = 0; i < KEYS; i++) {
        int64_t life = ttl ? (i < KEYS / 2 ? 1000 : 1000000) : 1000000;
        key_store(ks, i, SLICE("value"), START_MSEC + life * SECOND);
    }
    clock_set_msec(START_MSEC + 500 * SECOND);
    for (int times = 0; times < 20; times++)
        for (unsigned i = KEYS / 2; !ttl && i < KEYS; i++) keyspace_note_access(key_find(ks, i));
}

static void test_the_right_ones_go(void **state) {
    static const size_t chosen[] = {EVICT_VOLATILE_LRU, EVICT_VOLATILE_LFU, EVICT_VOLATILE_TTL,
                                    EVICT_ALLKEYS_LRU, EVICT_ALLKEYS_LFU};
    for (size_t c = 0; c < sizeof(chosen) / sizeof(chosen[0]); c++) {
        for (size_t a = 0; a < 2; a++) {
            size_t bytes;
            clock_set_msec(START_MSEC);
            choose(chosen[c], a);
            prepare(chosen[c]);
            for (unsigned i = 0; i < KEYS / 3; i++) assert_true(evict_one(false, &bytes));
            unsigned good = survivors(KEYS / 2, KEYS);
            if (good < KEYS / 2 * 93 / 100)
                fail_msg("%s, %s: %u of %u are left", policies[chosen[c]], algorithms[a], good,
                         KEYS / 2);
            told_flush(keyspace_at(0));
        }
    }
}

static void delete_key(unsigned number) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    assert_true(told_delete(keyspace_at(0), key, key_hash(key)));
}

/* Keys whose idle times are of one octave, in any order of storing: `by_age[0]` is the oldest. */
static void store_by_age(unsigned *by_age, unsigned count) {
    for (unsigned i = 0; i < count; i++) by_age[i] = i;
    for (unsigned i = count; i > 1; i--) {
        unsigned other = (unsigned)random_below(i), kept = by_age[i - 1];
        by_age[i - 1] = by_age[other];
        by_age[other] = kept;
    }
    for (unsigned i = 0; i < count; i++) {
        clock_set_msec(START_MSEC + i * 10 * SECOND);
        key_store(keyspace_at(0), by_age[i], SLICE("value"), START_MSEC + 10000000 + i);
    }
    clock_set_msec(START_MSEC + 1000 * SECOND);
}

/* All are drawn, so the oldest goes, then the next: the octave alone would not tell them apart. */
static void test_order_within_an_octave(void **state) {
    enum { COUNT = 40 }; /* idle for 610 to 1000 seconds */
    unsigned by_age[COUNT];
    size_t bytes;
    set("maxmemory-samples", "1000");
    for (int round = 0; round < 20; round++) {
        store_by_age(by_age, COUNT);
        for (unsigned i = 0; i < COUNT; i++) {
            assert_true(evict_one(false, &bytes));
            assert_null(key_find(keyspace_at(0), by_age[i]));
            assert_int_equal(keyspace_count(keyspace_at(0)), COUNT - 1 - i);
        }
    }
}

/* The pool keeps the best sixteen ever drawn, to the last of them: where all others are gone, that
 * one goes next, and none that is drawn beside it. */
static void test_last_of_the_pool(void **state) {
    enum { COUNT = 40, POOL = 16 };
    unsigned by_age[COUNT];
    size_t bytes;
    for (int round = 0; round < 50; round++) {
        store_by_age(by_age, COUNT);
        set("maxmemory-policy", "allkeys-random"); /* empties the pool */
        set("maxmemory-policy", "allkeys-lru");
        set("maxmemory-samples", "1000");
        /* All are drawn twice, so those that it has come again. */
        for (unsigned i = 0; i < 2; i++) {
            assert_true(evict_one(false, &bytes));
            assert_null(key_find(keyspace_at(0), by_age[i]));
        }
        set("maxmemory-samples", "1");
        for (unsigned i = 2; i < POOL; i++) delete_key(by_age[i]);
        uint64_t examined = evict_examined();
        assert_true(evict_one(false, &bytes));
        assert_null(key_find(keyspace_at(0), by_age[POOL]));
        assert_int_equal(evict_examined(), examined + 1);
        assert_int_equal(keyspace_count(keyspace_at(0)), COUNT - POOL - 1);
        /* That was the last: what is drawn now goes, whichever it is. */
        assert_true(evict_one(false, &bytes));
        assert_int_equal(evict_examined(), examined + 2);
        told_flush(keyspace_at(0));
    }
}

/* By chance each key is as likely: of two halves as many go, within six standard deviations. */
static void test_random(void **state) {
    size_t bytes;
    for (size_t p = 0; p < 2; p++) {
        choose(p ? EVICT_ALLKEYS_RANDOM : EVICT_VOLATILE_RANDOM, 0);
        prepare(EVICT_VOLATILE_RANDOM);
        for (unsigned i = 0; i < KEYS / 2; i++) assert_true(evict_one(false, &bytes));
        assert_in_range(survivors(0, KEYS / 2), KEYS / 4 - 90, KEYS / 4 + 90);
        told_flush(keyspace_at(0));
    }
}

static void test_samples_are_looked_at(void **state) {
    size_t bytes;
    set("maxmemory-samples", "7");
    store_mixed(0);
    store_mixed(3);
    for (int i = 0; i < 100; i++) assert_true(evict_one(false, &bytes));
    /* Of each database; more only where all in the pool were gone. */
    assert_int_equal(evict_examined(), 100 * 2 * 7);
    set("maxmemory-samples", "1000");
    assert_true(evict_one(false, &bytes));
    assert_int_equal(evict_examined(), 100 * 2 * 7 + 2000);
}

static void test_clock_looks_at_few(void **state) {
    size_t bytes;
    choose(EVICT_ALLKEYS_LRU, 1);
    for (unsigned i = 0; i < 50000; i++) {
        if (i % 10 == 0) clock_set_msec(START_MSEC + i / 10 * SECOND);
        key_store(keyspace_at(0), i, SLICE("v"), ENTRY_NO_DEADLINE);
        if (i < KEYS) continue;
        if (random_below(4) == 0) {
            struct entry *e = key_find(keyspace_at(0), i - (unsigned)random_below(KEYS));
            if (e) keyspace_note_access(e);
        }
        uint64_t before = evict_examined();
        assert_true(evict_one(false, &bytes));
        assert_in_range(evict_examined() - before, 1, EVICT_SWEEP_MAX);
    }
    assert_in_range(evict_examined(), 47000, 5 * 47001);
    keyspace_check(keyspace_at(0));
}

/* A table that was much larger once: the hand does not pass over all that is empty. */
static void test_clock_in_a_sparse_table(void **state) {
    size_t bytes;
    choose(EVICT_ALLKEYS_LRU, 1);
    set("resize-hashtables", "no");
    for (unsigned i = 0; i < 50000; i++)
        key_store(keyspace_at(0), i, SLICE("v"), ENTRY_NO_DEADLINE);
    struct key_text name;
    for (unsigned i = 3; i < 50000; i++) {
        struct slice key = key_of(&name, i);
        told_delete(keyspace_at(0), key, key_hash(key));
    }
    for (int i = 0; i < 3; i++) assert_true(evict_one(false, &bytes));
    assert_false(evict_one(false, &bytes));
    set("resize-hashtables", "yes");
}

/* What stands in the pool goes away, moves, or comes again, by all ways there are. */
static void test_pool_holds_no_ghosts(void **state) {
    size_t bytes;
    for (unsigned round = 0; round < 300; round++) {
        for (unsigned i = 0; i < 40; i++)
            key_store(keyspace_at(round % 2), i, SLICE("value"),
                      random_below(2) ? START_MSEC + 1000000 : ENTRY_NO_DEADLINE);
        clock_set_msec(START_MSEC + round * SECOND);
        assert_true(evict_one(false, &bytes));
        switch (random_below(5)) {
        case 0: told_flush(keyspace_at((int)random_below(2))); break;
        case 1: told_flush_lazily(keyspace_at((int)random_below(2))); break;
        case 2: keyspace_swap(keyspace_at(0), keyspace_at(1)); break;
        case 3: choose(random_below(POLICIES), random_below(2)); break;
        default:
            for (unsigned i = 0; i < 40; i++) {
                struct key_text name;
                struct slice key = key_of(&name, i);
                if (random_below(2)) told_delete(keyspace_at(0), key, key_hash(key));
            }
        }
        size_t before = count_all();
        if (evict_one(false, &bytes)) assert_int_equal(count_all(), before - 1);
    }
    keyspace_check(keyspace_at(0));
    keyspace_check(keyspace_at(1));
}

static int nothing_left(void **state) {
    for (int i = 0; i < keyspace_databases(); i++) told_flush(keyspace_at(i));
    background_drain(&background_free);
    return keys_nothing_left(state);
}

static int open_all(void **state) {
    int result = keys_open();
    lazyfree_register();
    recency_register();
    evict_register();
    assert_true(background_start(&background_free));
    return result;
}

static int close_all(void **state) {
    background_stop();
    return 0;
}

int main(void) {
    int by_slot = keys_in_both_forms();
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_until_nothing_may_go),
        TEST(test_the_right_ones_go),
        TEST(test_order_within_an_octave),
        TEST(test_last_of_the_pool),
        TEST(test_random),
        TEST(test_samples_are_looked_at),
        TEST(test_clock_looks_at_few),
        TEST(test_clock_in_a_sparse_table),
        TEST(test_pool_holds_no_ghosts),
    };
#undef TEST
    return by_slot + cmocka_run_group_tests(tests, open_all, close_all);
}
