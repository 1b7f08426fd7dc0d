/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of store/expire: what is due goes, in slices, and nothing else does; switched off, only
 * lookups expire; paused, nothing does.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "store/expire.h"

#include <unistd.h>

#include "io/loop.h"
#include "metric/metric.h"
#include "store/keys.h"

#define MANY 100000

static struct keyspace_holder holder;

static void store_many(struct keyspace *ks, unsigned count, int64_t first, int64_t spread) {
    for (unsigned i = 0; i < count; i++)
        key_store(ks, i, SLICE("v"), first + (int64_t)random_below((uint64_t)spread));
}

/* The clock stands, so a slice's time never ends: all that is due goes in one. */
static void test_all_databases_in_a_slice(void **state) {
    for (int i = 0; i < keyspace_databases(); i++) {
        store_many(keyspace_at(i), 100, START_MSEC + 1, 1000);
        store_many(keyspace_at(i), 10, START_MSEC + 5000, 1000);
        key_store(keyspace_at(i), 1000, SLICE("v"), ENTRY_NO_DEADLINE);
    }
    assert_false(expire_slice());
    clock_set_msec(START_MSEC + 1500);
    assert_false(expire_slice());
    for (int i = 0; i < keyspace_databases(); i++) {
        assert_int_equal(keyspace_count(keyspace_at(i)), 11);
        assert_int_equal(keyspace_count_volatile(keyspace_at(i)), 10);
        keyspace_check(keyspace_at(i));
    }
    clock_set_msec(START_MSEC + 7000);
    assert_false(expire_slice());
    for (int i = 0; i < keyspace_databases(); i++)
        assert_int_equal(keyspace_count(keyspace_at(i)), 1);
}

/* A deadline that comes nearer, by whatever way, is met in time. */
static void test_deadline_comes_nearer(void **state) {
    struct keyspace *ks = keyspace_at(3);
    struct key_text name;
    for (unsigned way = 0; way < 4; way++) {
        struct entry *e = key_store(ks, way, SLICE("v"), START_MSEC + 1000000);
        struct slice key = key_of(&name, way);
        uint64_t hash = key_hash(key);
        clock_set_msec(START_MSEC + 10 * way);
        assert_false(expire_slice());
        int64_t deadline = START_MSEC + 10 * way + 5;
        if (way == 0) key_store(ks, way, SLICE("w"), deadline);      /* in place */
        if (way == 1) key_store(ks, way, SLICE("longer"), deadline); /* elsewhere */
        if (way == 2) told_deadline(ks, e, hash, deadline);
        if (way == 3) {
            told_deadline(ks, e, hash, deadline);
            keyspace_swap(ks, keyspace_at(7));
            ks = keyspace_at(7);
        }
        clock_set_msec(deadline);
        assert_false(expire_slice());
        assert_int_equal(keyspace_count(ks), 0);
        keyspace_check(ks);
    }
}

/* With every move of the clock exactly the keys that are due by then are gone. */
static void test_exactly_what_is_due(void **state) {
    struct keyspace *ks = keyspace_at(0);
    int64_t deadlines[500];
    for (unsigned i = 0; i < 500; i++) {
        deadlines[i] = START_MSEC + 1 + (int64_t)(random_u64() >> (64 - 1 - random_below(30)));
        key_store(ks, i, SLICE("v"), deadlines[i]);
    }
    int64_t now = START_MSEC;
    while (keyspace_count(ks)) {
        now += 1 + (int64_t)(random_u64() >> (64 - 1 - random_below(28)));
        clock_set_msec(now);
        assert_false(expire_slice());
        size_t live = 0;
        for (unsigned i = 0; i < 500; i++) live += deadlines[i] > now;
        assert_int_equal(keyspace_count(ks), live);
        assert_int_equal(keyspace_due(ks, now), 0);
        keyspace_check(ks);
    }
}

static void test_off(void **state) {
    struct keyspace *ks = keyspace_at(0);
    store_many(ks, 100, START_MSEC + 1, 100);
    clock_set_msec(START_MSEC + 10000);
    expire_set_active(false);
    assert_false(expire_slice());
    assert_int_equal(keyspace_count(ks), 100);
    assert_int_equal(keyspace_due(ks, START_MSEC + 10000), 100);
    /* Hidden all the same, and deleted by who looks. */
    assert_null(key_find(ks, 7));
    assert_int_equal(keyspace_count(ks), 99);
    expire_set_active(true);
    assert_false(expire_slice());
    assert_int_equal(keyspace_count(ks), 0);
}

static void count_one(struct entry *e, void *context) { (*(int *)context)++; }

/* Paused, due keys are seen by nobody and stay, but for those that get a new value. */
static void test_paused(void **state) {
    struct keyspace *ks = keyspace_at(0);
    int seen = 0;
    bool more;
    store_many(ks, 100, START_MSEC + 1, 100);
    key_store(ks, 200, SLICE("v"), ENTRY_NO_DEADLINE);
    clock_set_msec(START_MSEC + 10000);
    keyspace_hold_expiry(&holder, true);
    assert_false(expire_slice());
    assert_int_equal(keyspace_expire_due(ks, START_MSEC + 10000, 10, &more), 0);
    assert_false(more);
    for (unsigned i = 0; i < 100; i++) assert_null(key_find(ks, i));
    assert_ptr_equal(keyspace_random(ks), key_find(ks, 200));
    uint64_t cursor = 0;
    do {
        cursor = keyspace_scan(ks, cursor, SIZE_MAX, count_one, &seen);
    } while (cursor);
    assert_int_equal(seen, 1);
    assert_int_equal(keyspace_count(ks), 101);
    for (unsigned i = 0; i < 50; i++) key_store(ks, i, SLICE("new"), ENTRY_NO_DEADLINE);
    assert_int_equal(keyspace_count(ks), 101);
    assert_int_equal(keyspace_count_volatile(ks), 50);
    keyspace_check(ks);
    keyspace_hold_expiry(&holder, false);
    assert_false(expire_slice());
    assert_int_equal(keyspace_count(ks), 51);
    for (unsigned i = 0; i < 50; i++) assert_non_null(key_find(ks, i));
}

/* expire_due stops at its number and says that there is more; what is left is still hidden. */
static void test_keys_max(void **state) {
    struct keyspace *ks = keyspace_at(0);
    bool more;
    assert_int_equal(keyspace_expire_due(ks, START_MSEC, 10, &more), 0);
    assert_false(more);
    store_many(ks, 100, START_MSEC - 50, 50);
    store_many(keyspace_at(1), 10, START_MSEC - 50, 50);
    size_t left = 100, done;
    while (left > 0) {
        done = keyspace_expire_due(ks, START_MSEC, 7, &more);
        assert_true(done <= 7 && done <= left);
        assert_true(more || done == left);
        left -= done;
        assert_int_equal(keyspace_count(ks), left);
    }
    assert_int_equal(keyspace_expire_due(ks, START_MSEC, 7, &more), 0);
    assert_false(more);
    assert_int_equal(keyspace_count(keyspace_at(1)), 10);
}

/* By the real clock a slice ends long before a hundred thousand keys are gone, and says so. */
static void test_slices_end_in_time(void **state) {
    store_many(keyspace_at(2), MANY, START_MSEC + 1, 3600000);
    for (unsigned i = 0; i < 100; i++)
        key_store(keyspace_at(2), MANY + i, SLICE("v"), INT64_MAX - 1);
    clock_use_system();
    clock_refresh();
    assert_true(clock_cached_msec() > START_MSEC + 3600000);
    assert_true(expire_slice());
    assert_true(keyspace_count(keyspace_at(2)) > 100);
    size_t slices = 1;
    while (expire_slice()) assert_true(++slices <= 2 * MANY);
    assert_int_equal(keyspace_count(keyspace_at(2)), 100);
    struct buffer out = {.class = MEMORY_OTHER};
    metric_print(SLICE("stats"), &out);
    assert_non_null(strstr(out.bytes, "expired_time_cap_reached_count:"));
    assert_null(strstr(out.bytes, "expired_time_cap_reached_count:0\r"));
    assert_non_null(strstr(out.bytes, "expired_stale_perc:0.00\r"));
    buffer_free(&out);
}

/* The clock goes back: nothing that was not due is lost, and what is due by it goes again. */
static void test_clock_goes_back(void **state) {
    struct keyspace *ks = keyspace_at(0);
    store_many(ks, 50, START_MSEC + 10000, 1000);
    clock_set_msec(START_MSEC + 5000);
    assert_false(expire_slice());
    clock_set_msec(START_MSEC - 3600000);
    assert_false(expire_slice());
    assert_int_equal(keyspace_count(ks), 50);
    key_store(ks, 100, SLICE("v"), START_MSEC - 3600000 + 10);
    clock_set_msec(START_MSEC - 3600000 + 20);
    for (int i = 0; i < 10; i++) expire_slice();
    assert_int_equal(keyspace_count(ks), 50);
    clock_set_msec(START_MSEC + 20000);
    assert_false(expire_slice());
    assert_int_equal(keyspace_count(ks), 0);
}

/* ---- the knobs ---- */

static void set_option(const char *name, const char *value) {
    char reason[OPTION_REASON_BYTES];
    struct slice word = {value, strlen(value)};
    const struct option_row *row = option_find((struct slice){name, strlen(name)});
    assert_non_null(row);
    assert_true(option_set(row, &word, 1, OPTION_FROM_CONFIG_SET, reason, sizeof(reason)));
}

static long long stat_of(const char *field) {
    struct buffer out = {.class = MEMORY_OTHER};
    char wanted[64];
    (void)snprintf(wanted, sizeof(wanted), "\n%s:", field);
    metric_print(SLICE("stats"), &out);
    buffer_append_char(&out, '\0');
    const char *found = strstr(out.bytes, wanted);
    assert_non_null(found);
    long long value = strtoll(found + strlen(wanted), NULL, 10);
    buffer_free(&out);
    return value;
}

/* Live keys beside the due ones are not looked at, and the lag is the time that passed. */
static void test_deadline_examines_due_only(void **state) {
    struct keyspace *ks = keyspace_at(0);
    metric_reset_all();
    store_many(ks, 2000, START_MSEC + 1000000, 1000);
    for (unsigned i = 0; i < 500; i++) key_store(ks, 5000 + i, SLICE("v"), START_MSEC + 10);
    clock_set_msec(START_MSEC + 30);
    assert_int_equal(stat_of("expire_due_backlog"), 500);
    assert_false(expire_slice());
    assert_int_equal(stat_of("expire_examined_total"), 500);
    assert_int_equal(stat_of("expire_due_backlog"), 0);
    assert_int_equal(stat_of("expire_lag_usec_max"), 20000);
    assert_int_equal(stat_of("expire_lag_usec_p50"), 20000);
    metric_reset_all();
    assert_int_equal(stat_of("expire_lag_usec_max"), 0);
}

/* Among many live keys a sample finds few dead ones and the cycle ends: the pathology. The same
 * index, and nothing rebuilt, gives them all at once. */
static void test_sampling_leaves_dead_keys(void **state) {
    struct keyspace *ks = keyspace_at(0);
    store_many(ks, 20000, START_MSEC + 1000000, 1000);
    for (unsigned i = 0; i < 200; i++) key_store(ks, 30000 + i, SLICE("v"), START_MSEC + 10);
    clock_set_msec(START_MSEC + 20);
    metric_reset_all();
    set_option("active-expire-algorithm", "sampling");
    for (int i = 0; i < 10; i++) {
        assert_false(expire_slice());
        expire_cron(10);
    }
    long long looked = stat_of("expire_examined_total");
    assert_true(looked >= 200 && looked < 2000);
    assert_true(keyspace_count(ks) > 20100);
    set_option("active-expire-sample-size", "1000");
    metric_reset_all();
    expire_cron(10);
    assert_true(stat_of("expire_examined_total") >= 1000);
    set_option("active-expire-sample-size", "20");
    set_option("active-expire-algorithm", "deadline");
    assert_false(expire_slice());
    assert_int_equal(keyspace_count(ks), 20000);
    keyspace_check(ks);
}

/* Where most are dead the cycle goes on until what is left is less than effort tolerates. */
static void test_sampling_goes_on_while_many_are_dead(void **state) {
    struct keyspace *ks = keyspace_at(0);
    store_many(ks, 2000, START_MSEC + 1000000, 1000);
    for (unsigned i = 0; i < 8000; i++) key_store(ks, 30000 + i, SLICE("v"), START_MSEC + 10);
    clock_set_msec(START_MSEC + 20);
    set_option("active-expire-algorithm", "sampling");
    expire_cron(10);
    assert_true(keyspace_count(ks) < 6000);
    assert_true(keyspace_count(ks) >= 2000);
    set_option("active-expire-algorithm", "deadline");
}

/* A free takes a microsecond, so a slice of 100 us is over after 100 keys or so. */
static void pass_time(size_t bytes) { clock_advance_usec(1); }

/* While other work waits, expiry's share of the time is effort's where little is due, and more
 * where much is. Each turn has 100 us of work that is only said to have been. The backlog is
 * counted now and then, so each call has a later moment. */
static double share_of_busy_time(const char *effort, unsigned due, unsigned live,
                                 int64_t now_msec) {
    static const struct memory_hook passing = {.freed = pass_time};
    struct keyspace *ks = keyspace_at(0);
    clock_set_msec(START_MSEC);
    set_option("active-expire-effort", effort);
    store_many(ks, due, START_MSEC + 1, 10);
    for (unsigned i = 0; i < live; i++) key_store(ks, 1000000 + i, SLICE("v"), INT64_MAX - 1);
    clock_use_fixed(now_msec * 1000, INT64_C(1000000000000000));
    clock_refresh();
    memory_set_hook(&passing);
    int turns = 0;
    int64_t spent = 0;
    for (bool more = true; more; turns++) {
        int64_t begin = clock_monotonic_nsec();
        more = expire_step(100000);
        spent += clock_monotonic_nsec() - begin;
    }
    memory_set_hook(NULL);
    assert_int_equal(keyspace_count(ks), live);
    told_flush(ks);
    set_option("active-expire-effort", "1");
    return (double)spent / (double)(spent + turns * 100000);
}

static void test_effort_binds_while_work_waits(void **state) {
    double low = share_of_busy_time("1", MANY, 0, START_MSEC + 1000);
    assert_true(low > 0.5 && low < 0.85);
    low = share_of_busy_time("1", MANY / 10, 4 * MANY, START_MSEC + 2000);
    double high = share_of_busy_time("10", MANY / 10, 4 * MANY, START_MSEC + 3000);
    assert_true(low < high);
}

static const struct {
    const char *size;
    size_t keys, least, most;
} sample_cases[] = {{"1000", 1000, 1000, 1000},
                    {"10", 10, 80, 100},
                    {"64", 64, 128, 128},
                    {"10000", 10000, 10000, 10000},
                    {"1", 1, 80, 100}};

/* The clock is read after so many keys, neither sooner nor later; turned, it binds at once. */
static void test_sample_size_under_deadline(void **state) {
    static const struct memory_hook passing = {.freed = pass_time};
    struct keyspace *ks = keyspace_at(0);
    store_many(ks, MANY, START_MSEC + 1, 1);
    clock_set_msec(START_MSEC + 10);
    for (size_t i = 0; i < sizeof(sample_cases) / sizeof(sample_cases[0]); i++) {
        set_option("active-expire-sample-size", sample_cases[i].size);
        size_t before = keyspace_count(ks);
        memory_set_hook(&passing);
        assert_true(expire_step(0));
        memory_set_hook(NULL);
        size_t gone = before - keyspace_count(ks);
        assert_int_equal(gone % sample_cases[i].keys, 0);
        assert_in_range(gone, sample_cases[i].least, sample_cases[i].most);
    }
    set_option("active-expire-sample-size", "20");
}

/* Slices and cycles that time cuts are counted, and those that end for lack of keys are not. */
static void test_cut_ones_are_counted(void **state) {
    static const struct memory_hook passing = {.freed = pass_time};
    for (int sampling = 0; sampling < 2; sampling++) {
        struct keyspace *ks = keyspace_at(0);
        clock_set_msec(START_MSEC);
        set_option("active-expire-algorithm", sampling ? "sampling" : "deadline");
        store_many(ks, MANY, START_MSEC + 1, 1);
        clock_set_msec(START_MSEC + 10);
        metric_reset_all();
        memory_set_hook(&passing);
        long long cut = 0;
        while (keyspace_count(ks) > 0) {
            if (sampling)
                expire_cron(10);
            else
                expire_step(0);
            if (keyspace_count(ks) > 0) /* time may be up with the last key, too */
                assert_int_equal(stat_of("expired_time_cap_reached_count"), ++cut);
        }
        memory_set_hook(NULL);
        cut = stat_of("expired_time_cap_reached_count");
        key_store(ks, 1, SLICE("v"), START_MSEC + 1);
        sampling ? expire_cron(10) : (void)expire_step(0);
        assert_int_equal(stat_of("expired_time_cap_reached_count"), cut);
        assert_true(cut >= 3);
    }
    set_option("active-expire-algorithm", "deadline");
}

/* A cycle that time has cut goes on before the loop sleeps, though few of all that was looked at
 * before were due; one that was whole does not. */
static void test_cut_cycle_goes_on(void **state) {
    static const struct memory_hook passing = {.freed = pass_time};
    struct keyspace *ks = keyspace_at(0);
    set_option("active-expire-algorithm", "sampling");
    key_store(ks, MANY, SLICE("v"), START_MSEC + 1000000);
    for (int i = 0; i < 200; i++) expire_cron(10);
    metric_reset_all();
    clock_advance_usec(10000);
    assert_false(expire_slice());
    assert_int_equal(stat_of("expire_examined_total"), 0);
    store_many(ks, MANY, START_MSEC + 1, 1);
    clock_set_msec(START_MSEC + 100);
    memory_set_hook(&passing);
    expire_cron(10);
    size_t left = keyspace_count(ks);
    assert_in_range(left, 1, MANY - 1000);
    clock_advance_usec(10000);
    assert_false(expire_slice());
    assert_in_range(keyspace_count(ks), 1, left - 100);
    memory_set_hook(NULL);
    while (keyspace_count(ks) > 1) expire_cron(10);
    expire_cron(10);
    set_option("active-expire-algorithm", "deadline");
}

/* ---- the loop's time ---- */

static struct loop *loop;

static void take_byte(struct loop_watcher *watcher, unsigned ready) {
    char byte;
    assert_int_equal(read(watcher->fd, &byte, 1), 1);
}

/* What the loop has served since the last slice is the time that expiry shares with it: a turn of
 * 100 us each, beside which a slice takes its part and no more. */
static void test_share_of_the_loops_time(void **state) {
    enum { DUE = 20000, LIVE = 4 * MANY, TURNS = 200, WORK_USEC = 100 };
    static const struct memory_hook passing = {.freed = pass_time};
    struct keyspace *ks = keyspace_at(0);
    struct loop_watcher watcher = {.callback = take_byte};
    int ends[2];
    int64_t spent_usec = 0, turns = 0;
    assert_int_equal(pipe(ends), 0);
    watcher.fd = ends[0];
    assert_true(loop_watch(loop, &watcher, LOOP_READABLE));
    store_many(ks, DUE, START_MSEC + 1, 1);
    for (unsigned i = 0; i < LIVE; i++) key_store(ks, DUE + i, SLICE("v"), INT64_MAX - 1);
    /* The monotonic clock is far from its start, as it always is. */
    clock_use_fixed((START_MSEC + 10) * 1000, INT64_C(1000000000000000));
    clock_refresh();
    for (int turn = 0; turn < TURNS; turn++) {
        assert_int_equal(write(ends[1], "", 1), 1);
        loop_turn(loop, 0);
        clock_advance_usec(WORK_USEC);
        int64_t begin_usec = clock_monotonic_usec();
        memory_set_hook(&passing);
        expire_slice();
        memory_set_hook(NULL);
        if (turn < TURNS / 4) continue; /* what earlier tests have earned */
        spent_usec += clock_monotonic_usec() - begin_usec;
        turns++;
    }
    assert_true(loop_watch(loop, &watcher, 0));
    close(ends[0]);
    close(ends[1]);
    assert_true(keyspace_count(ks) > LIVE);
    double share = (double)spent_usec / (double)(spent_usec + turns * WORK_USEC);
    if (share < 0.2 || share > 0.6) fail_msg("%.2f of the time", share);
}

static const struct {
    const char *databases;
    long long visits;
} visit_cases[] = {{"4", 4}, {"1", 1}, {"16", 16}, {"10000", 16}, {"3", 3}};

/* Under sampling each cycle visits so many databases and the next one those after them. */
static void test_databases_per_cycle_under_sampling(void **state) {
    for (int i = 0; i < keyspace_databases(); i++)
        key_store(keyspace_at(i), 1, SLICE("v"), START_MSEC + 1000000);
    set_option("active-expire-algorithm", "sampling");
    for (size_t i = 0; i < sizeof(visit_cases) / sizeof(visit_cases[0]); i++) {
        set_option("active-expire-dbs-per-cycle", visit_cases[i].databases);
        for (int cycle = 0; cycle < 5; cycle++) {
            metric_reset_all();
            expire_cron(10);
            assert_int_equal(stat_of("expire_examined_total"), visit_cases[i].visits);
        }
    }
    /* All have their turn: 16 cycles of one find what is due in any. */
    set_option("active-expire-dbs-per-cycle", "1");
    clock_set_msec(START_MSEC + 2000000);
    for (int i = 0; i < keyspace_databases(); i++) expire_cron(10);
    for (int i = 0; i < keyspace_databases(); i++)
        assert_int_equal(keyspace_count(keyspace_at(i)), 0);
    set_option("active-expire-dbs-per-cycle", "16");
    set_option("active-expire-algorithm", "deadline");
}

/* With one key a visit and one database a cycle, the one whose key is due first is first. */
static void test_databases_in_the_order_of_time(void **state) {
    set_option("active-expire-dbs-per-cycle", "1");
    for (int i = 0; i < keyspace_databases(); i++)
        store_many(keyspace_at(i), 200, START_MSEC + 1000 - i, 1);
    clock_use_fixed((START_MSEC + 2000) * 1000, 1);
    clock_refresh();
    assert_false(expire_slice());
    for (int i = 0; i < keyspace_databases(); i++)
        assert_int_equal(keyspace_count(keyspace_at(i)), 0);
    set_option("active-expire-dbs-per-cycle", "16");
}

/* Keys that must stay ask for no further slice, whatever the work. */
static void test_nothing_spins(void **state) {
    struct keyspace *ks = keyspace_at(0);
    store_many(ks, 100, START_MSEC + 1000, 10);
    clock_set_msec(START_MSEC + 5000);
    keyspace_hold_expiry(&holder, true);
    assert_false(expire_slice());
    keyspace_hold_expiry(&holder, false);
    expire_set_active(false);
    assert_false(expire_slice());
    expire_set_active(true);
    /* A deadline before the index's own time, seen by a clock that has gone back further. */
    assert_false(expire_slice());
    key_store(ks, 200, SLICE("v"), START_MSEC + 100);
    key_store(ks, 201, SLICE("v"), START_MSEC + 6000);
    clock_set_msec(START_MSEC);
    for (int i = 0; i < 10; i++) assert_false(expire_slice());
    assert_true(keyspace_count(ks) >= 1);
    clock_set_msec(START_MSEC + 7000);
    assert_false(expire_slice());
    assert_int_equal(keyspace_count(ks), 0);
}

static int begin(void **state) {
    int failed = keys_open();
    expire_register();
    loop = loop_create();
    expire_open(loop);
    return failed;
}

static int begin_active(void **state) {
    expire_set_active(true);
    return keys_begin(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin_active, keys_nothing_left)

int main(void) {
    int by_slot = keys_in_both_forms();
    const struct CMUnitTest tests[] = {
        TEST(test_all_databases_in_a_slice),
        TEST(test_deadline_comes_nearer),
        TEST(test_exactly_what_is_due),
        TEST(test_off),
        TEST(test_paused),
        TEST(test_keys_max),
        TEST(test_slices_end_in_time),
        TEST(test_clock_goes_back),
        TEST(test_deadline_examines_due_only),
        TEST(test_sampling_leaves_dead_keys),
        TEST(test_sampling_goes_on_while_many_are_dead),
        TEST(test_effort_binds_while_work_waits),
        TEST(test_sample_size_under_deadline),
        TEST(test_cut_ones_are_counted),
        TEST(test_cut_cycle_goes_on),
        TEST(test_share_of_the_loops_time),
        TEST(test_databases_per_cycle_under_sampling),
        TEST(test_databases_in_the_order_of_time),
        TEST(test_nothing_spins),
    };
    return by_slot + cmocka_run_group_tests(tests, begin, NULL);
}
