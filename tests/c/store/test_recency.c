/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of store/recency: the clock of idle time, the counter of frequency, its decay, and that a
 * frozen or unchanged entry is not written to.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "store/recency.h"

#include "store/keys.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)

static void set(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    assert_true(option_set(option_find(slice_of(name)), &word, 1, OPTION_FROM_CONFIG_SET, reason,
                           sizeof(reason)));
}

static int begin(void **state) {
    recency_use_frequency(false);
    recency_freeze(false);
    set("lfu-log-factor", "10");
    set("lfu-decay-time", "1");
    return keys_begin(state);
}

static void test_idle_time(void **state) {
    struct entry *e = key_store(keyspace_at(0), 1, SLICE("v"), ENTRY_NO_DEADLINE);
    assert_int_equal(recency_idle_seconds(e), 0);
    clock_set_msec(START_MSEC + 999);
    assert_int_equal(recency_idle_seconds(e), 0);
    clock_set_msec(START_MSEC + 70 * SECOND);
    assert_int_equal(recency_idle_seconds(e), 70);
    recency_note(e);
    assert_int_equal(recency_idle_seconds(e), 0);
    /* The clock has 24 bits: it wraps after 194 days. */
    clock_set_msec(START_MSEC + (INT64_C(0xffffff) + 50) * SECOND);
    assert_int_equal(recency_idle_seconds(e), 0xffffff + 50 - 70);
}

static void test_frequency_grows_by_its_logarithm(void **state) {
    recency_use_frequency(true);
    struct entry *e = key_store(keyspace_at(0), 1, SLICE("v"), ENTRY_NO_DEADLINE);
    assert_int_equal(recency_frequency(e), 5);
    recency_note(e);
    assert_int_equal(recency_frequency(e), 6); /* the first step is certain */
    for (int i = 0; i < 1000; i++) recency_note(e);
    assert_in_range(recency_frequency(e), 12, 26);
    for (int i = 0; i < 100000; i++) recency_note(e);
    assert_in_range(recency_frequency(e), 110, 190);
    set("lfu-log-factor", "0");
    for (int i = 0; i < 300; i++) recency_note(e);
    assert_int_equal(recency_frequency(e), 255);
}

static void test_frequency_decays(void **state) {
    recency_use_frequency(true);
    struct entry *e = key_store(keyspace_at(0), 1, SLICE("v"), ENTRY_NO_DEADLINE);
    set("lfu-log-factor", "0");
    for (int i = 0; i < 10; i++) recency_note(e);
    assert_int_equal(recency_frequency(e), 15);
    clock_set_msec(START_MSEC + 4 * MINUTE);
    assert_int_equal(recency_frequency(e), 11);
    set("lfu-decay-time", "2");
    assert_int_equal(recency_frequency(e), 13);
    set("lfu-decay-time", "0");
    assert_int_equal(recency_frequency(e), 15);
    set("lfu-decay-time", "1");
    recency_note(e);
    assert_int_equal(recency_frequency(e), 12);
    clock_set_msec(START_MSEC + 1000 * MINUTE);
    assert_int_equal(recency_frequency(e), 0);
}

/* A new value under a key keeps what is known of its use; a new key begins anew. */
static void test_successor(void **state) {
    recency_use_frequency(true);
    set("lfu-log-factor", "0");
    struct keyspace *ks = keyspace_at(0);
    struct entry *e = key_store(ks, 1, SLICE("v"), ENTRY_NO_DEADLINE);
    for (int i = 0; i < 10; i++) recency_note(e);
    char text[900];
    memset(text, 'x', sizeof(text));
    e = key_store(ks, 1, (struct slice){text, sizeof(text)}, ENTRY_NO_DEADLINE);
    assert_int_equal(recency_frequency(e), 16);
    e = key_store(ks, 1, (struct slice){text, 1}, START_MSEC + 1000000);
    assert_int_equal(recency_frequency(e), 17);
    assert_int_equal(recency_frequency(key_store(ks, 2, SLICE("v"), ENTRY_NO_DEADLINE)), 5);
}

static void test_frozen(void **state) {
    struct entry *e = key_store(keyspace_at(0), 1, SLICE("v"), ENTRY_NO_DEADLINE);
    clock_set_msec(START_MSEC + 5 * SECOND);
    recency_freeze(true);
    recency_note(e);
    assert_int_equal(recency_idle_seconds(e), 5);
    recency_freeze(false);
    recency_note(e);
    assert_int_equal(recency_idle_seconds(e), 0);
}

static int open_all(void **state) {
    int result = keys_open();
    recency_register();
    return result;
}

int main(void) {
    int by_slot = keys_in_both_forms();
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, keys_nothing_left)
    const struct CMUnitTest tests[] = {
        TEST(test_idle_time),        TEST(test_frequency_grows_by_its_logarithm),
        TEST(test_frequency_decays), TEST(test_successor),
        TEST(test_frozen),
    };
#undef TEST
    return by_slot + cmocka_run_group_tests(tests, open_all, NULL);
}
