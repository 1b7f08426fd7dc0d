/* SPDX-License-Identifier: BSD-3-Clause
 * Slots: their keys counted, listed and dropped.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "store/slot_drop.h"

#include "ds/table.h"
#include "store/frontier.h"
#include "store/keys.h"
#include "value/types.h"

#define OTHER 1u /* the number of a key of another slot, which is not dropped */

static struct keyspace_holder holder;
static size_t heard;
static struct keyspace *ks;

static void drop_heard(const struct key *key, enum keyspace_cause cause) {
    assert_int_equal(key->hash, key_hash_of(key->name));
    heard += cause == KEYSPACE_DROPPED;
}
static const struct keyspace_observer observer = {.changed = drop_heard};
static const struct keyspace_observer *const observers[] = {&observer, NULL};

static unsigned slot_of_number(unsigned number) {
    struct key_text name;
    return key_slot_of(key_of(&name, number));
}

/* Keys 0, KEYS_SLOTS, 2 * KEYS_SLOTS ...: all of one slot, with a key of another slot. */
static unsigned fill(unsigned keys, int64_t deadline) {
    for (unsigned i = 0; i < keys; i++) key_store(ks, i * KEYS_SLOTS, SLICE("value"), deadline);
    key_store(ks, OTHER, SLICE("value"), ENTRY_NO_DEADLINE);
    heard = 0;
    return slot_of_number(0);
}

static void count_visit(struct entry *e, void *context) { ++*(size_t *)context; }

static size_t count_listed(unsigned slot, size_t wanted) {
    size_t visited = 0, said = keyspace_slot_each(ks, slot, wanted, count_visit, &visited);
    assert_int_equal(visited, said);
    return visited;
}

static size_t count_scanned(void) {
    size_t seen = 0;
    uint64_t cursor = 0;
    do {
        cursor = keyspace_scan(ks, cursor, 10, count_visit, &seen);
    } while (cursor);
    return seen;
}

static void test_counts_and_lists(void **state) {
    unsigned slot = fill(300, ENTRY_NO_DEADLINE);
    assert_int_equal(keyspace_slot_count(ks, slot), 300);
    assert_int_equal(keyspace_slot_count(ks, slot_of_number(OTHER)), 1);
    assert_int_equal(keyspace_slot_count(ks, (slot + 1) % KEY_SLOTS), 0);
    assert_int_equal(count_listed(slot, 0), 0);
    assert_int_equal(count_listed(slot, 1), 1);
    assert_int_equal(count_listed(slot, 299), 299);
    assert_int_equal(count_listed(slot, SIZE_MAX), 300);
    assert_int_equal(count_listed((slot + 1) % KEY_SLOTS, 10), 0);
    told_flush(ks);
    assert_int_equal(keyspace_slot_count(ks, slot), 0);
    assert_int_equal(count_listed(slot, 10), 0);
}

/* Due keys are not listed; those that are met are deleted. */
static void test_due_keys_are_not_listed(void **state) {
    unsigned slot = fill(40, START_MSEC + 1);
    for (unsigned i = 100; i < 110; i++)
        key_store(ks, i * KEYS_SLOTS, SLICE("value"), ENTRY_NO_DEADLINE);
    clock_set_msec(START_MSEC + 1);
    assert_int_equal(keyspace_slot_count(ks, slot), 50);
    keyspace_hold_expiry(&holder, true);
    assert_int_equal(count_listed(slot, 20), 10);
    assert_int_equal(keyspace_slot_count(ks, slot), 50);
    keyspace_hold_expiry(&holder, false);
    assert_int_equal(count_listed(slot, 20), 10);
    assert_int_equal(count_listed(slot, 20), 10);
    assert_int_equal(keyspace_slot_count(ks, slot), 10);
}

/* Listing costs what it returns although the keys in front are gone, as they are while a slot is
 * moved key by key. */
static void test_listing_a_slot_that_empties(void **state) {
    enum { COUNT = 30000 };
    unsigned slot = fill(COUNT, ENTRY_NO_DEADLINE);
    size_t left = COUNT;
    for (; left > 0; left--) {
        struct entry *first = NULL;
        struct key_text name;
        if (left % 1000 == 0) keyspace_check(ks);
        assert_int_equal(count_listed(slot, 10), left < 10 ? left : 10);
        first = key_find(ks, (unsigned)(COUNT - left) * KEYS_SLOTS);
        assert_non_null(first);
        struct slice key = key_of(&name, (unsigned)(COUNT - left) * KEYS_SLOTS);
        assert_true(told_delete(ks, key, key_hash(key)));
        heard = 0;
    }
    assert_int_equal(keyspace_slot_count(ks, slot), 0);
}

static void test_drop(void **state) {
    enum { COUNT = 20000 };
    unsigned slot = fill(COUNT, START_MSEC + 100000);
    slot_drop((slot + 1) % KEY_SLOTS); /* empty */
    assert_false(slot_is_dropping((slot + 1) % KEY_SLOTS));
    assert_false(slot_drop_step());
    slot_drop(slot);
    slot_drop(slot);
    assert_true(slot_is_dropping(slot));
    /* Gone at once for all who count, list or draw. */
    assert_int_equal(keyspace_count(ks), 1);
    assert_int_equal(keyspace_slot_count(ks, slot), 0);
    assert_int_equal(count_listed(slot, 10), 0);
    assert_int_equal(count_scanned(), 1);
    size_t seen = 0;
    keyspace_each(ks, count_visit, &seen);
    assert_int_equal(seen, 1);
    for (int i = 0; i < 100; i++) assert_ptr_equal(keyspace_random(ks), key_find(ks, OTHER));
    keyspace_check(ks);
    while (slot_drop_step()) keyspace_check(ks);
    assert_int_equal(heard, COUNT);
    assert_false(slot_is_dropping(slot));
    assert_int_equal(keyspace_count_volatile(ks), 0);
    keyspace_check(ks);
    /* The slot is as new. */
    key_store(ks, 0, SLICE("value"), ENTRY_NO_DEADLINE);
    assert_int_equal(keyspace_slot_count(ks, slot), 1);
    assert_int_equal(keyspace_count(ks), 2);
    keyspace_check(ks);
}

/* A slice ends when its time is over, which here passes with each look at the clock. */
static void test_drop_in_slices(void **state) {
    unsigned slot = fill(5000, ENTRY_NO_DEADLINE);
    size_t slices = 0, before = 0;
    slot_drop(slot);
    clock_use_system();
    for (bool more = true; more; slices++) {
        more = slot_drop_step();
        assert_true(heard > before);
        before = heard;
    }
    clock_set_msec(START_MSEC);
    assert_int_equal(heard, 5000);
    print_message("dropped in %zu slices\n", slices);
}

/* Nothing is removed while expiry is held, and it goes on afterwards; nor where the data is gone.
 */
static void test_drop_rests(void **state) {
    unsigned slot = fill(100, ENTRY_NO_DEADLINE);
    slot_drop(slot);
    keyspace_hold_expiry(&holder, true);
    assert_false(slot_drop_step());
    assert_int_equal(heard, 0);
    assert_true(slot_is_dropping(slot));
    keyspace_hold_expiry(&holder, false);
    while (slot_drop_step()) continue;
    assert_int_equal(heard, 100);

    fill(100, ENTRY_NO_DEADLINE);
    slot_drop(slot);
    told_flush(ks);
    assert_false(slot_is_dropping(slot));
    fill(50, ENTRY_NO_DEADLINE);
    assert_false(slot_drop_step());
    assert_int_equal(keyspace_slot_count(ks, slot), 50);
}

/* What is left when this node becomes a replica stays, with what comes into the slot then. */
static void test_drop_cancelled(void **state) {
    slot_drop_cancel();
    unsigned slot = fill(5000, ENTRY_NO_DEADLINE), second = slot_of_number(OTHER);
    slot_drop(slot);
    slot_drop(second);
    clock_use_system();
    assert_true(slot_drop_step());
    clock_set_msec(START_MSEC);
    size_t left = 5001 - heard;
    assert_int_equal(keyspace_count(ks), 0);
    slot_drop_cancel();
    assert_false(slot_is_dropping(slot) || slot_is_dropping(second));
    assert_int_equal(keyspace_count(ks), left);
    assert_int_equal(keyspace_slot_count(ks, slot) + keyspace_slot_count(ks, second), left);
    assert_int_equal(count_scanned(), left);
    keyspace_check(ks);
    key_store(ks, 0, SLICE("new"), ENTRY_NO_DEADLINE);
    assert_false(slot_drop_step());
    assert_int_equal(heard, 5001 - left);
    slot_drop(slot);
    while (slot_drop_step()) continue;
    assert_int_equal(keyspace_slot_count(ks, slot), 0);
    keyspace_check(ks);
}

/* Contents that are set aside and come back go on being dropped; what is loaded meanwhile stays. */
static void test_drop_set_aside(void **state) {
    unsigned slot = fill(100, ENTRY_NO_DEADLINE);
    slot_drop(slot);
    struct keyspace_aside *aside = keyspace_set_aside();
    assert_false(slot_is_dropping(slot));
    fill(10, ENTRY_NO_DEADLINE);
    assert_false(slot_drop_step());
    assert_int_equal(keyspace_slot_count(ks, slot), 10);
    told_flush(ks);
    keyspace_take_back(aside);
    assert_true(slot_is_dropping(slot));
    while (slot_drop_step()) continue;
    assert_int_equal(heard, 100);
    assert_int_equal(keyspace_count(ks), 1);
}

/* A save that is under way saves the keys that are dropped, each once. */
static size_t emitted;
static bool emit_count(int database, const struct entry *e, size_t budget, void *context) {
    emitted++;
    return true;
}

static void test_drop_during_a_save(void **state) {
    unsigned slot = fill(2000, ENTRY_NO_DEADLINE);
    for (int before = 0; before < 2; before++) {
        emitted = 0;
        while (!frontier_clean(1000)) continue;
        fill(2000, ENTRY_NO_DEADLINE);
        frontier_begin(emit_count, NULL);
        for (int i = 0; i < 3; i++) assert_false(frontier_step(100, 1000));
        slot_drop(slot);
        while (before && slot_drop_step()) continue;
        while (!frontier_step(100, 1000)) continue;
        while (slot_drop_step()) continue;
        assert_int_equal(emitted, 2001);
    }
}

static int drop_begin(void **state) {
    keys_begin(state);
    ks = keyspace_at(0);
    return 0;
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, drop_begin, keys_nothing_left)
    keys_by_slot = true;
    value_register();
    keys_open();
    keyspace_set_observers(observers);
    keyspace_add_interest(KEYSPACE_REMOVALS, 1);
    const struct CMUnitTest tests[] = {
        TEST(test_counts_and_lists),
        TEST(test_due_keys_are_not_listed),
        TEST(test_listing_a_slot_that_empties),
        TEST(test_drop),
        TEST(test_drop_in_slices),
        TEST(test_drop_rests),
        TEST(test_drop_cancelled),
        TEST(test_drop_set_aside),
        TEST(test_drop_during_a_save),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
