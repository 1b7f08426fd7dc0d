/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of replay/curve_model and curve_cache: hits that can be counted by hand, policies, time to
 * live, sizes, and traces of more keys than are simulated.
 */
#include "replay/curve_model.h"

#include <math.h>

#include "base/seed.h"
#include "replay/made_record.h"

static struct curve_model *model;
static struct curve_result result;
static int64_t now_msec;

static void begin(uint32_t keys_max, bool evicts, const int64_t *sizes, unsigned count) {
    const struct curve_settings settings = {.sample = 1,
                                            .keys_max = keys_max,
                                            .samples = 10,
                                            .server_evicts = evicts,
                                            .sizes = sizes,
                                            .size_count = count};
    model = curve_model_create(&settings);
    now_msec = 1000000;
}

/* A request, a second after the one before. */
static void after(int64_t msec, const char *line) {
    now_msec += msec;
    struct trace_file_record record = made_record(now_msec, line);
    curve_model_take(model, &record);
}

static void finish(void) {
    curve_model_finish(model, &result);
    curve_model_free(model);
}

/* Hits of the policy at the point, as a count. */
static int hits(unsigned point, enum curve_policy policy) {
    return (int)lround(result.points[point].hit_share[policy] * result.reads);
}

static int exact_hits(unsigned point) {
    return (int)lround(result.points[point].exact_lru_share * result.reads);
}

static void test_recency(void **state) {
    const int64_t sizes[] = {250, 450};
    begin(CURVE_KEYS_LEAST, true, sizes, 2);
    after(1000, "set {a} <52>"); /* about 101 bytes, and 100 from its next request on */
    after(1000, "get {a:100}");
    after(1000, "get {b:100}"); /* the first of a key that was there: does not count */
    after(1000, "get {c:100}");
    after(1000, "get {d:100}");
    after(1000, "get {a:100}"); /* distance 400 */
    after(1000, "get {d:100}"); /* 200 */
    after(1000, "get {x}");     /* was never there */
    finish();
    assert_int_equal(result.point_count, 3);
    assert_int_equal(lround(result.reads), 4 + 0);
    assert_int_equal(lround(result.first_reads), 3);
    assert_int_equal(exact_hits(0), 2);
    assert_int_equal(exact_hits(1), 3);
    assert_int_equal(exact_hits(2), 3);
    for (unsigned p = 0; p < CURVE_POLICIES; p++)
        assert_int_equal(hits(2, (enum curve_policy)p), 3);
    assert_int_equal(hits(0, CURVE_ALLKEYS_LRU), 2);
    assert_int_equal(hits(1, CURVE_ALLKEYS_LRU), 3);
    assert_int_equal(hits(0, CURVE_NOEVICTION), 2); /* a stays, d does not come in */
    assert_int_equal(result.traced_hits, 6);
    assert_int_equal(result.traced_misses, 1);
}

static void test_frequency_beats_recency_under_a_scan(void **state) {
    const int64_t sizes[] = {1000};
    char line[64];
    begin(CURVE_KEYS_LEAST, true, sizes, 1);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 5; i++) {
            snprintf(line, sizeof(line), "get {often%d:100}", i);
            after(100, line);
        }
        for (int i = 0; i < 20; i++) {
            snprintf(line, sizeof(line), "get {scan%d:100}", (round * 20 + i) % 200);
            after(100, line);
        }
    }
    finish();
    assert_true(hits(0, CURVE_ALLKEYS_LFU) > 2 * hits(0, CURVE_ALLKEYS_LRU));
    assert_true(hits(0, CURVE_ALLKEYS_LFU) > 120);
    assert_true(exact_hits(0) < 20);
}

static void test_time_to_live(void **state) {
    begin(CURVE_KEYS_LEAST, true, NULL, 0);
    after(0, "set {a} <50> px 1000");
    after(500, "get {a:100:500}"); /* a hit */
    after(600, "get {a}");         /* expired */
    after(0, "set {b} <50>");
    after(0, "expire {b:100} 2");
    after(1000, "get {b:100:1000}"); /* a hit */
    after(0, "persist {b:100:1000}");
    after(9000, "get {b:100}"); /* a hit */
    after(0, "del {b:100}");
    after(0, "get {b}");
    after(0, "set {c} <50> ex 1");
    after(0, "set {c:100:1000} <50>");
    after(5000, "get {c:100}"); /* a hit: SET has ended the time to live */
    after(0, "expire {c:100} 0");
    after(0, "get {c}");
    finish();
    assert_int_equal(lround(result.reads), 7);
    for (unsigned p = 0; p < CURVE_POLICIES; p++)
        assert_int_equal(hits(result.point_count - 1, (enum curve_policy)p), 4);
    assert_int_equal(exact_hits(result.point_count - 1), 4);
}

static void test_volatile_policies_evict_keys_with_a_deadline(void **state) {
    const int64_t sizes[] = {350};
    begin(CURVE_KEYS_LEAST, true, sizes, 1);
    after(1000, "get {stays:100}");
    after(1000, "get {later:100:9000000}");
    after(1000, "get {soon:100:5000000}");
    after(1000, "get {new:100:9000000}"); /* 400 bytes */
    after(1000, "get {stays:100}");       /* evicts one before */
    after(1000, "get {new:100:9000000}");
    after(1000, "get {later:100:9000000}");
    finish();
    assert_int_equal(hits(0, CURVE_VOLATILE_TTL), 3); /* soon went */
    assert_int_equal(hits(0, CURVE_VOLATILE_LRU), 2); /* later went */
    assert_int_equal(hits(0, CURVE_ALLKEYS_LRU) <= 1, 1);
    assert_int_equal(hits(0, CURVE_NOEVICTION), 3); /* over by one key, and then full */
}

static void test_what_a_trace_says_of_missing_keys(void **state) {
    for (int evicts = 0; evicts < 2; evicts++) {
        begin(CURVE_KEYS_LEAST, evicts, NULL, 0);
        after(0, "set {a} <50>");
        after(0, "get {a}"); /* evicted by the traced server, or gone in a way that was not seen */
        after(0, "rpush {l} <5>");
        after(0, "lpop {l:60}");
        after(0, "llen {l}"); /* the last element was taken */
        finish();
        assert_int_equal(lround(result.reads), 2);
        assert_int_equal(hits(result.point_count - 1, CURVE_ALLKEYS_LRU), evicts);
    }
}

static void test_the_ladder_follows_the_growth(void **state) {
    char line[64];
    begin(4096, true, NULL, 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4000; i++) {
            snprintf(line, sizeof(line), "get {k%d:%d}", i, 1000);
            after(1, line);
        }
    }
    finish();
    assert_int_equal(result.point_count, CURVE_LADDER_SIZES + 1);
    assert_int_equal(lround(result.peak_bytes), 4000000);
    double largest = result.points[CURVE_LADDER_SIZES - 1].bytes;
    assert_true(largest < 4000000 && largest * 1.5 > 4000000);
    for (unsigned i = 1; i < CURVE_LADDER_SIZES; i++)
        assert_true(fabs(result.points[i].bytes / result.points[i - 1].bytes - sqrt(2)) < 1e-6);
    /* Keys in turn: an LRU cache that is too small by little has none of them. */
    assert_int_equal(exact_hits(CURVE_LADDER_SIZES - 1), 0);
    assert_int_equal(exact_hits(CURVE_LADDER_SIZES), 4000);
    assert_int_equal(hits(CURVE_LADDER_SIZES, CURVE_ALLKEYS_RANDOM), 4000);
}

/* Draws keys of which low numbers are frequent. */
static void draw_requests(unsigned requests, int64_t step_msec) {
    char line[64];
    for (unsigned i = 0; i < requests; i++) {
        unsigned key = (unsigned)(exp(random_double() * log(20000)));
        snprintf(line, sizeof(line), "get {k%u:%u}", key, 100 + key % 50);
        after(step_msec, line);
    }
}

static void test_fewer_keys_give_the_same_curves(void **state) {
    const int64_t sizes[] = {100000, 300000, 600000};
    struct curve_result all;
    seed_from_environment();
    uint64_t seed = random_u64();
    random_seed(seed);
    begin(32768, true, sizes, 3);
    draw_requests(150000, 100);
    finish();
    all = result;
    random_seed(seed);
    begin(2048, true, sizes, 3);
    draw_requests(150000, 100);
    finish();
    assert_true(result.kept_share < 0.2 && all.kept_share == 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(fabs(result.points[i].exact_lru_share - all.points[i].exact_lru_share) < 0.08);
        for (unsigned p = 0; p < CURVE_POLICIES; p++)
            assert_true(fabs(result.points[i].hit_share[p] - all.points[i].hit_share[p]) < 0.08);
        /* Redis' approximation is near to exact LRU. */
        assert_true(fabs(all.points[i].exact_lru_share -
                         all.points[i].hit_share[CURVE_ALLKEYS_LRU]) < 0.03);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recency),
        cmocka_unit_test(test_frequency_beats_recency_under_a_scan),
        cmocka_unit_test(test_time_to_live),
        cmocka_unit_test(test_volatile_policies_evict_keys_with_a_deadline),
        cmocka_unit_test(test_what_a_trace_says_of_missing_keys),
        cmocka_unit_test(test_the_ladder_follows_the_growth),
        cmocka_unit_test(test_fewer_keys_give_the_same_curves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
