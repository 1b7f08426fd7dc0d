/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/intset: known bytes, widening, a model, foreign bytes.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/intset.h"

#include "base/seed.h"

#include "base/memory.h"

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_DATASET);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_DATASET), used_before);
    return 0;
}

/* The payload of a DUMP of 6.2.16 (SADD s 1 2 300 -7, then 70000). */
static void test_known_bytes(void **state) {
    static const uint8_t narrow[] = {2, 0, 0, 0, 4, 0, 0, 0, 0xf9, 0xff, 1, 0, 2, 0, 0x2c, 1};
    static const uint8_t wider[] = {4, 0, 0, 0, 5, 0, 0,    0, 0xf9, 0xff, 0xff, 0xff, 1, 0,
                                    0, 0, 2, 0, 0, 0, 0x2c, 1, 0,    0,    0x70, 0x11, 1, 0};
    struct intset *s = intset_create();
    assert_true(intset_add(&s, 300));
    assert_true(intset_add(&s, 1));
    assert_true(intset_add(&s, -7));
    assert_true(intset_add(&s, 2));
    assert_false(intset_add(&s, 2));
    assert_int_equal(intset_size(s), sizeof(narrow));
    assert_memory_equal(intset_bytes(s), narrow, sizeof(narrow));
    assert_false(intset_has(s, 70000));
    assert_true(intset_add(&s, 70000));
    assert_int_equal(intset_size(s), sizeof(wider));
    assert_memory_equal(intset_bytes(s), wider, sizeof(wider));
    intset_free(s);
}

static void test_widening(void **state) {
    static const int64_t borders[] = {0,
                                      INT16_MIN,
                                      INT16_MAX,
                                      INT16_MIN - 1,
                                      INT16_MAX + 1,
                                      INT32_MIN,
                                      INT32_MAX,
                                      (int64_t)INT32_MIN - 1,
                                      (int64_t)INT32_MAX + 1,
                                      INT64_MIN,
                                      INT64_MAX};
    enum { BORDERS = sizeof(borders) / sizeof(*borders) };
    for (size_t first = 0; first < BORDERS; first++) {
        struct intset *s = intset_create();
        for (size_t i = 0; i < BORDERS; i++) {
            assert_true(intset_add(&s, borders[(first + i) % BORDERS]));
            intset_check(s);
        }
        for (size_t i = 0; i < BORDERS; i++) assert_true(intset_has(s, borders[i]));
        for (size_t i = 0; i < BORDERS; i++) assert_true(intset_remove(&s, borders[i]));
        assert_int_equal(intset_count(s), 0);
        intset_free(s);
    }
}

#define MODEL_RANGE 600
#define MODEL_STEPS 200000

static void compare(const struct intset *s, const bool *inside, int64_t base) {
    size_t index = 0;
    for (int64_t i = 0; i < MODEL_RANGE; i++) {
        assert_int_equal(intset_has(s, base + i), inside[i]);
        assert_int_equal(intset_count_below(s, base + i), index);
        if (inside[i]) assert_true(intset_at(s, index++) == base + i);
    }
    assert_int_equal(intset_count(s), index);
    if (index) assert_true(inside[intset_random(s) - base]);
    intset_check(s);
}

/* Any of the members at once, none and all among them. */
static void remove_some(struct intset **s, bool *inside, int64_t base) {
    size_t places[MODEL_RANGE], count = 0;
    unsigned percent = (unsigned)random_below(101);
    for (size_t i = 0; i < intset_count(*s); i++) {
        if (random_below(100) >= percent) continue;
        inside[intset_at(*s, i) - base] = false;
        places[count++] = i;
    }
    intset_remove_places(s, places, count);
}

static void test_model(void **state) {
    static const int64_t bases[] = {-300, INT16_MAX - 300, INT32_MIN - (int64_t)300, INT64_MIN,
                                    INT64_MAX - MODEL_RANGE};
    seed_from_environment();
    for (size_t b = 0; b < sizeof(bases) / sizeof(*bases); b++) {
        bool inside[MODEL_RANGE] = {false};
        struct intset *s = intset_create();
        unsigned add_percent = 50;
        for (size_t step = 0; step < MODEL_STEPS / 5; step++) {
            if (step % 2000 == 0) add_percent = 10 + (unsigned)random_below(80);
            size_t pick = random_below(MODEL_RANGE);
            if (random_below(100) < add_percent) {
                assert_int_equal(intset_add(&s, bases[b] + (int64_t)pick), !inside[pick]);
                inside[pick] = true;
            } else {
                assert_int_equal(intset_remove(&s, bases[b] + (int64_t)pick), inside[pick]);
                inside[pick] = false;
            }
            assert_int_equal(intset_memory(s), memory_used(MEMORY_DATASET) - used_before);
            if (step % 250 == 0) remove_some(&s, inside, bases[b]);
            if (step % 250 == 0) compare(s, inside, bases[b]);
        }
        compare(s, inside, bases[b]);
        struct intset *copy = intset_dup(s);
        compare(copy, inside, bases[b]);
        intset_free(copy);
        intset_free(s);
    }
}

static void test_foreign(void **state) {
    static const struct {
        uint8_t bytes[16];
        size_t size;
        bool good;
    } cases[] = {
        {{2}, 8, true},
        {{2}, 7, false},
        {{2}, 9, false},
        {{3}, 8, false},
        {{0}, 8, false},
        {{2, 0, 0, 0, 1, 0, 0, 0, 9, 9}, 10, true},
        {{2, 0, 0, 0, 2, 0, 0, 0, 9, 9}, 10, false},
        {{2, 0, 0, 0, 1, 0, 0, 1, 9, 9}, 10, false},
        {{2, 0, 0, 0, 2, 0, 0, 0, 9, 0, 9, 0}, 12, false}, /* twice */
        {{2, 0, 0, 0, 2, 0, 0, 0, 9, 0, 8, 0}, 12, false}, /* descending */
        {{2, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 1}, 12, true},
        {{2, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0x80}, 12, false}, /* negative */
        {{2, 0, 0, 0, 0, 0, 0, 0x80}, 8, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint8_t *exact = memory_alloc(cases[i].size, MEMORY_OTHER);
        memcpy(exact, cases[i].bytes, cases[i].size);
        assert_int_equal(intset_validate(exact, cases[i].size), cases[i].good);
        memory_free(exact, MEMORY_OTHER);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_known_bytes),
        TEST(test_widening),
        TEST(test_model),
        TEST(test_foreign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
