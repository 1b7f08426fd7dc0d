/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of who holds expiry, and of calls that are shown what is due.
 *
 * A database has DUE keys whose deadline has passed, and one that stays.
 */
#include "metric/metric.h"
#include "store/evict.h"
#include "store/expire.h"
#include "store/keys.h"
#include "store/lazyfree.h"
#include "store/recency.h"

#define DUE 300u
#define STAYS 1000u
#define NOW (START_MSEC + 10000)

static struct keyspace_holder pause_holds, primary_says = {.elsewhere = true}, loading_holds,
                                           other_says = {.elsewhere = true};
static struct keyspace_holder *const holders[] = {&pause_holds, &primary_says, &loading_holds,
                                                  &other_says};
#define HOLDERS (sizeof(holders) / sizeof(holders[0]))

static int told_expired, told_written;

static void changed(const struct key *key, enum keyspace_cause cause) {
    if (cause == KEYSPACE_EXPIRED) told_expired++;
    if (cause == KEYSPACE_WRITTEN) told_written++;
}

static const struct keyspace_observer observer = {.changed = changed};
static const struct keyspace_observer *const observers[] = {&observer, NULL};

static struct keyspace *ks;

static int begin(void **state) {
    keys_begin(state);
    ks = keyspace_at(0);
    for (unsigned i = 0; i < DUE; i++) key_store(ks, i, SLICE("old"), START_MSEC + 1 + i);
    key_store(ks, STAYS, SLICE("v"), ENTRY_NO_DEADLINE);
    clock_set_msec(NOW);
    told_expired = told_written = 0;
    return 0;
}

static int end(void **state) {
    for (size_t i = 0; i < HOLDERS; i++) keyspace_hold_expiry(holders[i], false);
    keyspace_show_due(false);
    keyspace_check(ks);
    return keys_nothing_left(state);
}

static void count_one(struct entry *e, void *context) { (*(unsigned *)context)++; }

static unsigned scanned(void) {
    unsigned seen = 0;
    uint64_t cursor = 0;
    do {
        cursor = keyspace_scan(ks, cursor, SIZE_MAX, count_one, &seen);
    } while (cursor);
    return seen;
}

static unsigned walked(void) {
    unsigned seen = 0;
    keyspace_each(ks, count_one, &seen);
    return seen;
}

static enum keyspace_presence presence(unsigned number) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    return keyspace_presence(&(struct key){ks, key, key_hash(key)});
}

static bool delete_key(unsigned number) {
    struct key_text name;
    struct slice key = key_of(&name, number);
    return told_delete(ks, key, key_hash(key));
}

/* By no way at all does one go. */
static void assert_none_goes(void) {
    bool more;
    assert_false(keyspace_may_expire());
    assert_false(expire_slice());
    assert_int_equal(keyspace_expire_due(ks, NOW, 10, &more), 0);
    assert_false(more);
    for (int i = 0; i < 20; i++)
        assert_false(keyspace_expire_if_due(ks, keyspace_random_volatile(ks)));
    assert_int_equal(keyspace_count(ks), DUE + 1);
    assert_int_equal(keyspace_count_volatile(ks), DUE);
    assert_int_equal(told_expired, 0);
}

static void assert_hidden(void) {
    for (unsigned i = 0; i < DUE; i++) {
        assert_null(key_find(ks, i));
        assert_int_equal(presence(i), KEYSPACE_HIDDEN);
    }
    assert_non_null(key_find(ks, STAYS));
    for (int i = 0; i < 20; i++) assert_ptr_equal(keyspace_random(ks), key_find(ks, STAYS));
    assert_int_equal(scanned(), 1);
    assert_int_equal(walked(), 1);
    assert_false(delete_key(7));
    assert_none_goes();
}

static void assert_shown(void) {
    unsigned due_drawn = 0;
    for (unsigned i = 0; i < DUE; i++) {
        assert_non_null(key_find(ks, i));
        assert_int_equal(presence(i), KEYSPACE_PRESENT);
    }
    for (int i = 0; i < 50; i++) due_drawn += keyspace_random(ks) != key_find(ks, STAYS);
    assert_true(due_drawn > 0);
    assert_int_equal(scanned(), DUE + 1);
    assert_int_equal(walked(), DUE + 1);
    assert_none_goes();
}

static void assert_all_go(void) {
    assert_true(keyspace_may_expire());
    while (expire_slice()) continue;
    assert_int_equal(keyspace_count(ks), 1);
    assert_int_equal(told_expired, DUE);
}

/* ---- holders ---- */

static void test_each_holds(void **state) {
    for (size_t i = 0; i < HOLDERS; i++) {
        keyspace_hold_expiry(holders[i], true);
        assert_hidden();
        assert_int_equal(keyspace_expiry_is_elsewhere(), holders[i]->elsewhere);
        keyspace_hold_expiry(holders[i], false);
        assert_false(keyspace_expiry_is_elsewhere());
        assert_true(keyspace_may_expire());
    }
    assert_all_go();
}

static void test_released_by_one_of_two(void **state) {
    for (size_t i = 0; i < HOLDERS; i++) {
        struct keyspace_holder *one = holders[i], *other = holders[(i + 1) % HOLDERS];
        keyspace_hold_expiry(one, true);
        keyspace_hold_expiry(other, true);
        keyspace_hold_expiry(one, true); /* no count: it holds, or not */
        keyspace_hold_expiry(one, false);
        assert_hidden();
        keyspace_hold_expiry(one, false);
        assert_hidden();
        keyspace_hold_expiry(other, false);
    }
    assert_all_go();
}

/* A new entry takes the place of what is hidden, whoever holds. */
static void test_replaced_while_held(void **state) {
    for (unsigned i = 0; i < HOLDERS; i++) {
        keyspace_hold_expiry(holders[i], true);
        key_store(ks, i, SLICE("new"), ENTRY_NO_DEADLINE);
        assert_int_equal(presence(i), KEYSPACE_PRESENT);
        assert_int_equal(told_expired, i + 1);
        keyspace_hold_expiry(holders[i], false);
    }
    assert_int_equal(keyspace_count(ks), DUE + 1);
    while (expire_slice()) continue;
    assert_int_equal(keyspace_count(ks), HOLDERS + 1);
    assert_int_equal(told_expired, DUE);
}

/* Room is made of keys that are due, too, as an eviction and not as an expiry. */
static void evict_all(void) {
    size_t bytes;
    unsigned gone = 0;
    while (evict_one(false, &bytes)) gone++;
    assert_int_equal(gone, DUE + 1);
    assert_int_equal(keyspace_count(ks), 0);
    assert_int_equal(told_expired, 0);
}

static void test_evicted_while_held(void **state) {
    keyspace_hold_expiry(&primary_says, true);
    evict_all();
}

static void test_evicted_while_shown(void **state) {
    keyspace_show_due(true);
    evict_all();
}

/* ---- shown ---- */

static void test_shown(void **state) {
    assert_false(keyspace_show_due(true));
    assert_shown();
    assert_true(keyspace_show_due(true)); /* a call within the call */
    assert_true(keyspace_show_due(true));
    assert_shown();
    assert_true(keyspace_show_due(false));
    assert_all_go();
}

/* As a replica runs its primary's commands, between clients' that see what is due as gone. */
static void test_shown_while_held(void **state) {
    keyspace_hold_expiry(&primary_says, true);
    for (int i = 0; i < 2; i++) {
        assert_hidden();
        bool before = keyspace_show_due(true);
        assert_shown();
        keyspace_show_due(before);
    }
    assert_hidden();
    keyspace_hold_expiry(&primary_says, false);
    assert_all_go();
}

/* Its commands change due keys where they stand, and delete them as keys that are there. */
static void test_changed_while_shown(void **state) {
    keyspace_hold_expiry(&primary_says, true);
    keyspace_show_due(true);
    int64_t deadline = entry_deadline(key_find(ks, 3));
    struct entry *e = key_store(ks, 3, SLICE("a value that is longer"), KEYSPACE_KEEP_DEADLINE);
    assert_int_equal(entry_deadline(e), deadline);
    assert_int_equal(told_written, 1);
    assert_true(delete_key(4));
    assert_false(delete_key(4));
    assert_int_equal(told_written, 2);
    assert_int_equal(told_expired, 0);
    assert_int_equal(keyspace_count(ks), DUE);
    keyspace_show_due(false);
    assert_null(key_find(ks, 3));
    keyspace_check(ks);
}

/* ---- the suite ---- */

static int open_all(void **state) {
    keys_open();
    lazyfree_register();
    recency_register();
    evict_register();
    expire_register();
    char reason[OPTION_REASON_BYTES];
    struct slice word = SLICE("allkeys-random");
    assert_true(option_set(option_find(SLICE("maxmemory-policy")), &word, 1, OPTION_FROM_CONFIG_SET,
                           reason, sizeof(reason)));
    expire_open(NULL);
    keyspace_set_observers(observers);
    keyspace_add_interest(KEYSPACE_REMOVALS, 1);
    keyspace_add_interest(KEYSPACE_WRITES, 1);
    return 0;
}

int main(void) {
    int by_slot = keys_in_both_forms();
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_each_holds),          TEST(test_released_by_one_of_two),
        TEST(test_replaced_while_held), TEST(test_evicted_while_held),
        TEST(test_evicted_while_shown), TEST(test_shown),
        TEST(test_shown_while_held),    TEST(test_changed_while_shown),
    };
    return by_slot + cmocka_run_group_tests(tests, open_all, NULL);
}
