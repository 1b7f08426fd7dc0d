/* SPDX-License-Identifier: BSD-3-Clause
 * Deadlines by the hundred thousand, and in ten thousand databases: memory, steps and what is left
 * are right whatever order they come in, and whatever the clock does.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "io/background.h"
#include "metric/metric.h"
#include "store/expire.h"
#include "store/keys.h"
#include "store/lazyfree.h"
#include "store/next_due.h"

/* So many cascade through all levels. A sanitized build is some ten times slower. */
#ifdef EVENKEEL_SANITIZER
#define MASS 100000
#else
#define MASS 200000
#endif
#define DAY_MSEC INT64_C(86400000)
#define YEAR_MSEC (366 * DAY_MSEC)
#define YEAR_10000_MSEC INT64_C(253402300800000)
/* Of the index, without the reference within the entry (4). */
#define INDEX_BYTES_PER_KEY 10

/* Any time, also beyond what the monotonic clock could count. */
static void stand_at(int64_t msec) {
    clock_use_fixed(msec * 1000, 1000000);
    clock_refresh();
}

/* The shortest keys, so that many are made fast. */
static struct entry *mass_store(struct keyspace *ks, unsigned number, int64_t deadline) {
    struct string_value value = string_value_of_text(SLICE("v"));
    struct slice key = {(const char *)&number, sizeof(number)};
    return told_store(ks, key, key_hash(key), NULL, &value, deadline);
}

static struct entry *mass_find(struct keyspace *ks, unsigned number) {
    struct slice key = {(const char *)&number, sizeof(number)};
    return told_find(ks, key, key_hash(key));
}

static struct entry *mass_set_deadline(struct keyspace *ks, unsigned number, int64_t deadline) {
    struct slice key = {(const char *)&number, sizeof(number)};
    struct entry *e = mass_find(ks, number);
    assert_non_null(e);
    return told_deadline(ks, e, key_hash(key), deadline);
}

static void set_option(const char *name, enum option_source source, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = slice_of(value);
    const struct option_row *row = option_find(slice_of(name));
    assert_non_null(row);
    assert_true(option_set(row, &word, 1, source, reason, sizeof(reason)));
}

/* Slices until none asks for a further one, each of which must make something better. */
static void expire_all_due(void) {
    size_t slices = 0;
    while (expire_slice()) assert_true(++slices <= 2 * MASS);
}

static void expect_keys(const struct keyspace *ks, size_t keys, size_t volatiles) {
    assert_int_equal(keyspace_count(ks), keys);
    assert_int_equal(keyspace_count_volatile(ks), volatiles);
}

/* ---- one key, many deadlines ---- */

static size_t steps;
static void count_step(size_t bytes) { steps++; }

static void expires_of_one_key(size_t others) {
    static const struct memory_hook counting = {count_step, count_step};
    struct keyspace *ks = keyspace_at(0);
    for (unsigned i = 1; i <= others; i++)
        mass_store(ks, i, START_MSEC + (int64_t)random_below((uint64_t)YEAR_MSEC));
    mass_store(ks, 0, START_MSEC + DAY_MSEC);
    size_t before = keyspace_deadline_bytes(ks), most = 0, dataset = memory_used(MEMORY_DATASET);
    for (int i = 0; i < MASS; i++) {
        int64_t far = (int64_t)(random_u64() >> (64 - 1 - random_below(40)));
        steps = 0;
        memory_set_hook(&counting);
        mass_set_deadline(ks, 0, START_MSEC + 1 + far);
        memory_set_hook(NULL);
        /* Its segment, its neighbour's, a page of numbers: taken and given back. */
        assert_true(steps <= 12);
        if (keyspace_deadline_bytes(ks) > most) most = keyspace_deadline_bytes(ks);
    }
    /* A segment and a page of numbers more at most. */
    assert_true(most <= before + 66000);
    assert_true(memory_used(MEMORY_DATASET) <= dataset + 66000);
    expect_keys(ks, others + 1, others + 1);
    keyspace_check(ks);
    mass_set_deadline(ks, 0, START_MSEC + 1);
    stand_at(START_MSEC + 1);
    expire_all_due();
    assert_null(mass_find(ks, 0));
}

static void test_many_expires_of_one_key(void **state) { expires_of_one_key(0); }

static void test_many_expires_beside_others(void **state) { expires_of_one_key(MASS / 10); }

/* ---- many keys ---- */

enum order { SORTED, REVERSED, RANDOM, ONE_SECOND, ORDERS };

static int64_t deadline_in(enum order order, unsigned i) {
    switch (order) {
    case SORTED: return START_MSEC + 1 + (int64_t)i * 10;
    case REVERSED: return START_MSEC + 1 + (int64_t)(MASS - 1 - i) * 10;
    case RANDOM: return START_MSEC + 1 + (int64_t)random_below(UINT64_C(10) * MASS);
    default: return START_MSEC + 1 + (int64_t)random_below(1000);
    }
}

static int64_t deadlines[MASS];

/* As a load does it: key after key without a slice between. Then a tenth of the time a step. */
static void test_loads_of_any_order(void **state) {
    struct keyspace *ks = keyspace_at(0);
    for (enum order order = SORTED; order < ORDERS; order++) {
        stand_at(START_MSEC);
        for (unsigned i = 0; i < MASS; i++) mass_store(ks, i, deadlines[i] = deadline_in(order, i));
        print_message("order %d: %.2f bytes a key\n", order,
                      (double)keyspace_deadline_bytes(ks) / MASS);
        assert_true(keyspace_deadline_bytes(ks) <= (size_t)MASS * INDEX_BYTES_PER_KEY);
        assert_int_equal(keyspace_volatile_total(), MASS);
        int64_t end = order == ONE_SECOND ? 1000 : INT64_C(10) * MASS;
        for (int part = 1; part <= 10; part++) {
            int64_t now = START_MSEC + end * part / 10;
            size_t live = 0;
            stand_at(now);
            expire_all_due();
            for (unsigned i = 0; i < MASS; i++) live += deadlines[i] > now;
            expect_keys(ks, live, live);
            assert_int_equal(keyspace_due(ks, now), 0);
        }
        keyspace_check(ks);
        assert_int_equal(keyspace_volatile_total(), 0);
    }
}

static void test_persist_of_all(void **state) {
    struct keyspace *ks = keyspace_at(0);
    for (unsigned i = 0; i < MASS; i++) mass_store(ks, i, deadline_in(RANDOM, i));
    size_t full = keyspace_deadline_bytes(ks);
    for (unsigned i = 0; i < MASS; i++) mass_set_deadline(ks, i, ENTRY_NO_DEADLINE);
    expect_keys(ks, MASS, 0);
    /* Its struct, and a page of numbers that is kept. */
    assert_true(keyspace_deadline_bytes(ks) <= 80000 && full > 8 * MASS);
    assert_int_equal(keyspace_volatile_total(), 0);
    stand_at(START_MSEC + 100 * YEAR_MSEC);
    expire_all_due();
    expect_keys(ks, MASS, 0);
    keyspace_check(ks);
}

/* Both ways to empty a database, before and while its keys fall due, and what comes after. */
static void test_flush(void **state) {
    struct keyspace *ks = keyspace_at(0);
    for (int way = 0; way < 4; way++) {
        stand_at(START_MSEC);
        for (unsigned i = 0; i < MASS; i++) mass_store(ks, i, deadline_in(ONE_SECOND, i));
        mass_store(keyspace_at(1), 0, START_MSEC + 500);
        if (way >= 2) {
            bool more;
            stand_at(START_MSEC + 400);
            keyspace_expire_due(ks, START_MSEC + 400, 1000, &more);
        }
        size_t keys = keyspace_count(ks);
        assert_int_equal(way % 2 ? told_flush_lazily(ks) : told_flush(ks), keys);
        expect_keys(ks, 0, 0);
        assert_int_equal(keyspace_volatile_total(), 1);
        for (unsigned i = 0; i < 1000; i++) mass_store(ks, i, START_MSEC + 2000 + i);
        stand_at(START_MSEC + 2500);
        expire_all_due();
        expect_keys(ks, 499, 499);
        expect_keys(keyspace_at(1), 0, 0);
        keyspace_check(ks);
        told_flush(ks);
    }
    background_drain(&background_free);
    assert_int_equal(lazyfree_pending_bytes(), 0);
}

static void test_swap(void **state) {
    struct keyspace *a = keyspace_at(2), *b = keyspace_at(9000);
    for (unsigned i = 0; i < MASS / 2; i++) {
        mass_store(a, i, START_MSEC + 1 + i % 1000);
        mass_store(b, i, START_MSEC + 10001 + i % 1000);
    }
    keyspace_swap(a, b);
    stand_at(START_MSEC + 500);
    expire_all_due();
    expect_keys(a, MASS / 2, MASS / 2);
    expect_keys(b, MASS / 4, MASS / 4);
    keyspace_swap(a, b);
    stand_at(START_MSEC + 5000);
    expire_all_due();
    expect_keys(a, 0, 0);
    expect_keys(b, MASS / 2, MASS / 2);
    /* With an empty one. */
    keyspace_swap(b, keyspace_at(5));
    keyspace_check(b);
    keyspace_check(keyspace_at(5));
    stand_at(START_MSEC + 10500);
    expire_all_due();
    expect_keys(keyspace_at(5), MASS / 4, MASS / 4);
    stand_at(START_MSEC + 20000);
    expire_all_due();
    assert_int_equal(keyspace_volatile_total(), 0);
}

/* ---- hostile times ---- */

static const int64_t far_deadlines[] = {YEAR_10000_MSEC, YEAR_10000_MSEC + 1, INT64_MAX / 1000,
                                        INT64_MAX / 2,   INT64_MAX - 64,      INT64_MAX - 1,
                                        INT64_MAX};
#define FAR (sizeof(far_deadlines) / sizeof(far_deadlines[0]))

static void test_far_deadlines(void **state) {
    struct keyspace *ks = keyspace_at(0);
    for (unsigned i = 0; i < MASS / 10; i++) mass_store(ks, i, far_deadlines[i % FAR]);
    keyspace_check(ks);
    for (int64_t now = START_MSEC; now < YEAR_10000_MSEC; now += 500 * YEAR_MSEC) {
        stand_at(now);
        expire_all_due();
        expect_keys(ks, MASS / 10, MASS / 10);
        assert_int_equal(keyspace_due(ks, now), 0);
    }
    stand_at(YEAR_10000_MSEC);
    expire_all_due();
    size_t gone = (MASS / 10 + FAR - 1) / FAR;
    expect_keys(ks, MASS / 10 - gone, MASS / 10 - gone);
    /* They come nearer and go as any other. */
    stand_at(START_MSEC);
    for (unsigned i = 0; i < MASS / 10; i++)
        if (i % FAR) mass_set_deadline(ks, i, START_MSEC + 1 + i);
    stand_at(START_MSEC + MASS);
    expire_all_due();
    expect_keys(ks, 0, 0);
}

#define JUMP_KEYS 2000
/* The latest clock since the key has its deadline. */
static int64_t most_since[JUMP_KEYS];

/* Jumps of any size either way, with keys that come, go and move between. Nothing goes that was
 * never due by any clock so far, nothing that is due by a clock that stands still stays. */
static void test_clock_jumps(void **state) {
    enum { ROUNDS = MASS / 200 };
    struct keyspace *ks = keyspace_at(0);
    int64_t now = START_MSEC;
    for (int i = 0; i < JUMP_KEYS; i++) deadlines[i] = ENTRY_NO_DEADLINE;
    for (int round = 0; round < ROUNDS; round++) {
        for (int changes = 0; changes < 20; changes++) {
            unsigned i = (unsigned)random_below(JUMP_KEYS);
            int64_t span = (int64_t)(random_u64() >> (64 - 1 - random_below(40)));
            struct entry *e = mass_find(ks, i);
            if (e)
                mass_set_deadline(ks, i, now + 1 + span);
            else
                mass_store(ks, i, now + 1 + span);
            deadlines[i] = now + 1 + span;
            most_since[i] = now;
        }
        int64_t jump = (int64_t)(random_u64() >> (64 - 1 - random_below(38)));
        now += random_below(3) ? jump : -jump;
        if (now < 1) now = START_MSEC;
        stand_at(now);
        expire_all_due();
        for (int i = 0; i < JUMP_KEYS; i++)
            if (most_since[i] < now) most_since[i] = now;
        if (round % 50) continue;
        keyspace_check(ks);
        for (unsigned i = 0; i < JUMP_KEYS; i++) {
            bool there = mass_find(ks, i) != NULL;
            if (deadlines[i] == ENTRY_NO_DEADLINE) continue;
            if (deadlines[i] <= now) assert_false(there);
            if (deadlines[i] > most_since[i]) assert_true(there);
            if (!there) deadlines[i] = ENTRY_NO_DEADLINE;
        }
    }
    stand_at(INT64_MAX / 1000 - 1);
    expire_all_due();
    expect_keys(ks, 0, 0);
}

/* ---- ten thousand databases ---- */

static size_t metric_of(const char *field) {
    struct buffer text = {.class = MEMORY_OTHER};
    metric_print(SLICE("stats"), &text);
    const char *at = strstr(text.bytes, field);
    assert_non_null(at);
    size_t value = strtoul(at + strlen(field) + 1, NULL, 10);
    buffer_free(&text);
    return value;
}

static void expire_over_databases(const char *dbs_per_cycle) {
    int databases = keyspace_databases();
    size_t each = MASS / (size_t)databases;
    set_option("active-expire-dbs-per-cycle", OPTION_FROM_CONFIG_SET, dbs_per_cycle);
    for (int db = 0; db < databases; db++) {
        for (unsigned i = 0; i < each; i++)
            mass_store(keyspace_at(db), i, START_MSEC + 1 + (int64_t)random_below(2000));
        mass_store(keyspace_at(db), MASS, START_MSEC + DAY_MSEC);
    }
    stand_at(START_MSEC + 1000);
    size_t due = 0;
    for (int db = 0; db < databases; db++) due += keyspace_count(keyspace_at(db));
    assert_int_equal(due, each * (size_t)databases + (size_t)databases);
    expire_all_due();
    assert_int_equal(metric_of("expire_due_backlog"), 0);
    stand_at(START_MSEC + 2000);
    expire_all_due();
    for (int db = 0; db < databases; db++) {
        expect_keys(keyspace_at(db), 1, 1);
        told_flush(keyspace_at(db));
    }
    next_due_check();
    stand_at(START_MSEC);
}

static void test_ten_thousand_databases(void **state) {
    expire_over_databases("16");
    expire_over_databases("1");
    expire_over_databases("10000");
}

/* Databases whose only keys came with a deadline in the past of the index, by a clock that went
 * back, look due for ever and keep no other from its turn. */
static void test_databases_that_look_due(void **state) {
    set_option("active-expire-dbs-per-cycle", OPTION_FROM_CONFIG_SET, "4");
    for (int db = 0; db < 100; db++) mass_store(keyspace_at(db), 0, START_MSEC + 5);
    stand_at(START_MSEC + DAY_MSEC);
    expire_all_due();
    for (int db = 0; db < 100; db++) {
        mass_store(keyspace_at(db), 1, START_MSEC + 2 * DAY_MSEC);
        expect_keys(keyspace_at(db), 1, 1);
    }
    stand_at(START_MSEC);
    for (int db = 0; db < 100; db++) {
        mass_store(keyspace_at(db), 2, START_MSEC + 10);
        mass_store(keyspace_at(db), 3, START_MSEC + DAY_MSEC / 2);
    }
    for (int db = 200; db < 300; db++) mass_store(keyspace_at(db), 2, START_MSEC + 20);
    stand_at(START_MSEC + 30);
    expire_all_due();
    for (int db = 0; db < 100; db++) expect_keys(keyspace_at(db), 2, 2);
    for (int db = 200; db < 300; db++) expect_keys(keyspace_at(db), 0, 0);
    /* Nothing asks for a further slice. */
    assert_false(expire_slice());
    set_option("active-expire-dbs-per-cycle", OPTION_FROM_CONFIG_SET, "16");
}

static int begin(void **state) {
    seed_from_environment();
    lazyfree_register();
    expire_register();
    keyspace_register();
    set_option("databases", OPTION_FROM_COMMAND_LINE, "10000");
    keyspace_open();
    expire_open(NULL);
    keys_dataset_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int end(void **state) {
    background_stop();
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, keys_begin, keys_nothing_left)

/* In one form of the keyspace, because both have one index by deadline for a database. */
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_many_expires_of_one_key),
        TEST(test_many_expires_beside_others),
        TEST(test_loads_of_any_order),
        TEST(test_persist_of_all),
        TEST(test_flush),
        TEST(test_swap),
        TEST(test_far_deadlines),
        TEST(test_clock_jumps),
        TEST(test_ten_thousand_databases),
        TEST(test_databases_that_look_due),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
