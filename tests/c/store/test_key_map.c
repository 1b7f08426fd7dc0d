/* SPDX-License-Identifier: BSD-3-Clause
 * A database's tables in both forms, one table or one for each slot, under random changes.
 *
 * Keys are either spread over all slots or have one of a few tags, so that tables split and merge.
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "store/key_map.h"

#include "base/seed.h"
#include "ds/table.h"
#include "store/both_forms.h"
#include "store/entry.h"

#define KEYS 6000
#define TAGS 4

static struct model {
    struct entry *entry; /* NULL: not in the map */
    bool throughout;     /* in the map since the scan began */
    unsigned seen;
} model[KEYS];
static struct key_map map;
static size_t count, used_before;

struct name {
    char bytes[32];
    struct slice slice;
};

/* Every second key is of one of a few slots. */
static struct key key_of(struct name *name, unsigned number) {
    int length = number % 2 ? snprintf(name->bytes, sizeof(name->bytes), "%u", number)
                            : snprintf(name->bytes, sizeof(name->bytes), "{%u}%u",
                                       number / 2 % TAGS, number);
    name->slice = (struct slice){name->bytes, (size_t)length};
    return (struct key){NULL, name->slice, key_hash_of(name->slice)};
}

static unsigned number_of(const struct entry *e) {
    struct slice key = entry_key(e);
    const char *tag = memchr(key.bytes, '}', key.length);
    unsigned number = 0;
    for (const char *at = tag ? tag + 1 : key.bytes; at < key.bytes + key.length; at++)
        number = number * 10 + (unsigned)(*at - '0');
    return number;
}

static void put(unsigned number) {
    struct name name;
    const struct key key = key_of(&name, number);
    struct string_value v = string_value_of_text(SLICE("v"));
    struct entry *e = entry_create(key.name, &v, ENTRY_NO_DEADLINE, 0);
    key_map_insert(&map, key.hash, e);
    model[number].entry = e;
    count++;
}

static void take(unsigned number) {
    struct name name;
    const struct key key = key_of(&name, number);
    struct entry *e = model[number].entry;
    if (number % 3)
        assert_ptr_equal(key_map_remove(&map, &key), e);
    else
        assert_true(key_map_remove_entry(&map, key.hash, e));
    model[number] = (struct model){0};
    entry_free(e);
    count--;
}

/* Drives the map towards having `percent` of the keys. */
static void change(size_t steps, unsigned percent) {
    for (; steps; steps--) {
        unsigned number = (unsigned)random_below(KEYS);
        bool wanted = random_below(100) < percent;
        if (wanted && !model[number].entry) put(number);
        if (!wanted && model[number].entry) take(number);
    }
}

static void release(void *entry, void *context) {
    ++*(size_t *)context;
    entry_free(entry);
}

static int begin(void **state) {
    memset(model, 0, sizeof(model));
    count = 0;
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int end(void **state) {
    size_t released = 0;
    key_map_check(&map);
    while (!key_map_free_step(&map, 1 + random_below(100), release, &released)) continue;
    assert_int_equal(released, count);
    assert_true(!map.table && !map.slots);
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

static void visit_count(void *entry, void *context) {
    struct model *m = &model[number_of(entry)];
    assert_ptr_equal(m->entry, entry);
    m->seen++;
}

static void forget_seen(void) {
    for (unsigned i = 0; i < KEYS; i++) model[i].seen = 0;
}

static void assert_each_seen_once(void) {
    for (unsigned i = 0; i < KEYS; i++) assert_int_equal(model[i].seen, model[i].entry != NULL);
    forget_seen();
}

static void check_finds(void) {
    struct name name;
    for (unsigned i = 0; i < KEYS; i++) {
        const struct key key = key_of(&name, i);
        const struct table *t = key_map_table(&map, key.hash);
        void *e = t ? table_find(t, key.hash, key.name.bytes, key.name.length) : NULL;
        assert_ptr_equal(e, model[i].entry);
        if (e) assert_int_equal(key_map_hash(e), key.hash);
        if (key_hash_has_slots()) assert_int_equal(key_slot(&key), key_slot_of(key.name));
    }
}

static void test_model(void **state) {
    static const unsigned percents[] = {50, 100, 2, 90, 0, 30};
    for (size_t phase = 0; phase < sizeof(percents) / sizeof(percents[0]); phase++) {
        change(5 * KEYS, percents[phase]);
        struct table_stats stats;
        size_t tables = key_map_stats(&map, &stats), bytes = 0;
        assert_int_equal(stats.elements, count);
        assert_int_equal(key_map_count(&map), count);
        assert_true(key_hash_has_slots() ? tables <= count : tables <= 1);
        for (unsigned i = 0; i < KEYS; i++)
            bytes += model[i].entry ? entry_bytes(model[i].entry) : 0;
        assert_int_equal(memory_used(MEMORY_DATASET) - used_before, bytes + key_map_bytes(&map));
        key_map_check(&map);
        check_finds();
        key_map_each(&map, visit_count, NULL);
        assert_each_seen_once();
        table_pay_owed(1 + random_below(50));
        key_map_check(&map);
    }
}

/* An entry that is there from the first call to the last is visited, whatever comes and goes. */
static void test_scan_keeps_its_promise(void **state) {
    for (int round = 0; round < 12; round++) {
        change(4 * KEYS, round % 2 ? 95 : 5);
        forget_seen();
        for (unsigned i = 0; i < KEYS; i++) model[i].throughout = model[i].entry != NULL;
        uint64_t cursor = 0;
        unsigned slot = 0;
        do {
            cursor = key_map_scan(&map, cursor, 1 + random_below(20), random_below(3), visit_count,
                                  NULL);
            if (!key_hash_has_slots() || !cursor) continue;
            assert_true(cursor % KEY_SLOTS >= slot);
            slot = (unsigned)(cursor % KEY_SLOTS);
            change(random_below(8), round % 2 ? 3 : 97);
        } while (cursor);
        for (unsigned i = 0; i < KEYS; i++) {
            bool there = model[i].throughout && model[i].entry;
            assert_true(!there || model[i].seen);
        }
    }
    /* Any number is a cursor. */
    for (int i = 0; i < 1000; i++)
        (void)key_map_scan(&map, random_u64(), random_below(3), 0, visit_count, NULL);
}

/* A walk visits each entry once, in the order of slots and places, though tables grow and shrink;
 * and it tells what is ahead of it. */
static size_t walked;
static struct key_walk walk;
static void visit_walked(void *entry, void *context) {
    struct model *m = &model[number_of(entry)];
    if (walk.overlaps && !key_walk_is_ahead(&walk, key_map_hash(entry))) return;
    assert_true(key_walk_is_ahead(&walk, key_map_hash(entry)));
    assert_int_equal(m->seen, 0);
    m->seen++;
    walked++;
    if (context && walked % 5 == 0) *(bool *)context = true;
}

static void test_walk(void **state) {
    for (int round = 0; round < 12; round++) {
        bool enough = false;
        walked = 0;
        walk = (struct key_walk){0};
        change(4 * KEYS, round % 2 ? 95 : 5);
        forget_seen();
        for (unsigned i = 0; i < KEYS; i++) model[i].throughout = model[i].entry != NULL;
        while (!walk.done) {
            enough = false;
            key_walk_run(&walk, &map, 1 + random_below(200), round % 3 ? &enough : NULL,
                         visit_walked, round % 3 ? &enough : NULL);
            /* What is new ahead of the walk is met once, too. */
            change(random_below(4), round % 2 ? 3 : 97);
            table_pay_owed(random_below(4));
        }
        for (unsigned i = 0; i < KEYS; i++)
            assert_true(!model[i].throughout || !model[i].entry || model[i].seen == 1);
        assert_false(key_walk_is_ahead(&walk, random_u64()));
    }
}

/* The hand comes to each entry once a round. */
static void test_sweep(void **state) {
    change(4 * KEYS, 40);
    for (int round = 0; round < 2; round++) {
        size_t hand = 0, steps = 0;
        forget_seen();
        do {
            key_map_sweep(&map, &hand, visit_count, NULL);
            steps++;
        } while (hand);
        assert_each_seen_once();
        assert_true(steps <= count);
    }
    size_t lost = SIZE_MAX >> 10;
    key_map_sweep(&map, &lost, visit_count, NULL);
}

/* Keys are equally likely, though half of them are in four slots. */
static void test_random_is_fair(void **state) {
    enum { DRAWN = 64, DRAWS = 64000 };
    for (unsigned i = 0; i < DRAWN; i++) put(i);
    forget_seen();
    for (int i = 0; i < DRAWS; i++) model[number_of(key_map_random(&map, 0))].seen++;
    /* 1,000 draws each, with a deviation of 31: beyond six of them once in 10^7 runs. */
    for (unsigned i = 0; i < DRAWN; i++) assert_in_range(model[i].seen, 800, 1200);
}

/* A sample has distinct entries, as many as are asked for or as there are. */
static void test_sample(void **state) {
    void *entries[KEYS];
    for (unsigned keys = 1; keys < 60; keys++) {
        put(keys);
        forget_seen();
        size_t got = key_map_sample(&map, entries, keys);
        assert_in_range(got, 1, keys);
        if (key_hash_has_slots()) assert_true(got >= keys / 4);
        for (size_t i = 0; i < got; i++) visit_count(entries[i], NULL);
        for (unsigned i = 0; i < KEYS; i++) assert_true(model[i].seen <= 1);
    }
}

static void test_nothing(void **state) {
    size_t hand = 7;
    void *none;
    walk = (struct key_walk){0};
    assert_null(key_map_random(&map, 1));
    assert_int_equal(key_map_sample(&map, &none, 1), 0);
    assert_int_equal(key_map_scan(&map, 0, 10, 1, visit_count, NULL), 0);
    assert_int_equal(key_map_count(&map) + key_map_bytes(&map), 0);
    while (!walk.done) key_walk_run(&walk, &map, 1000, NULL, visit_count, NULL);
    if (!key_hash_has_slots()) return;
    key_map_hide_slot(&map, 3);
    assert_int_equal(key_map_hidden_slot(&map), KEY_SLOTS);
    key_map_sweep(&map, &hand, visit_count, NULL);
    assert_int_equal(hand, 0);
}

/* A slot whose last key goes gives its memory back. */
static void test_emptied_slots_take_nothing(void **state) {
    if (!key_hash_has_slots()) return;
    for (unsigned i = 1; i < KEYS; i += 2) put(i);
    for (unsigned i = 1; i < KEYS; i += 2) take(i);
    size_t blocks = key_map_bytes(&map);
    struct table_stats stats;
    assert_int_equal(key_map_stats(&map, &stats), 0);
    assert_int_equal(stats.buckets, 0);
    assert_true(blocks < (size_t)KEY_SLOTS * (TABLE_BYTES + sizeof(size_t)) + 8192);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    int by_slot = keys_in_both_forms();
    seed_from_environment();
    key_hash_set_slots(keys_by_slot);
    const struct CMUnitTest tests[] = {
        TEST(test_model),          TEST(test_scan_keeps_its_promise),
        TEST(test_walk),           TEST(test_sweep),
        TEST(test_random_is_fair), TEST(test_sample),
        TEST(test_nothing),        TEST(test_emptied_slots_take_nothing),
    };
    return by_slot + cmocka_run_group_tests(tests, NULL, NULL);
}
