/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/time_numbers: against a model whose elements change their deadlines and go while
 * their numbers stand there, and its bounds.
 */
#include "ds/time_numbers.h"

#include "base/seed.h"

#define POOL 2000

struct element {
    int64_t deadline;
    bool there;
};

static struct element pool[POOL];

static bool deadline_of(const void *owner, uint32_t number, int64_t *deadline) {
    const struct element *e = &((const struct element *)owner)[number];
    *deadline = e->deadline;
    return e->there;
}

static bool find(struct time_numbers *t, int64_t now, uint32_t *number) {
    for (;;) {
        int budget = 1 + (int)random_below(50);
        if (time_numbers_peek(t, now, deadline_of, pool, &budget, number)) return true;
        if (budget > 0) return false;
    }
}

static void give(struct time_numbers *t, uint32_t number, int64_t deadline) {
    pool[number] = (struct element){deadline, true};
    time_numbers_add(t, deadline, number);
}

static void test_model(void **state) {
    size_t bytes = 0, before = memory_used(MEMORY_DATASET);
    int64_t now = INT64_C(1750000000000);
    struct time_numbers *t = time_numbers_create(now, MEMORY_DATASET, &bytes);
    memset(pool, 0, sizeof(pool));
    for (int round = 0; round < 4000; round++) {
        for (int i = 0; i < 20; i++) {
            uint32_t number = (uint32_t)random_below(POOL);
            if (random_below(3) == 0)
                pool[number].there = false;
            else
                give(t, number, now + (int64_t)(random_u64() >> (24 + random_below(40))) - 3);
        }
        now += (int64_t)random_below(1u << random_below(24));
        uint32_t number;
        while (find(t, now, &number)) {
            assert_true(pool[number].there && pool[number].deadline <= now);
            /* Found again while it is there. */
            uint32_t again;
            assert_true(find(t, now, &again) && again == number);
            pool[number].there = false;
        }
        int64_t earliest = INT64_MAX;
        for (int i = 0; i < POOL; i++)
            if (pool[i].there && pool[i].deadline < earliest) earliest = pool[i].deadline;
        assert_true(earliest > now);
        assert_true(time_numbers_next(t) > now && time_numbers_next(t) <= earliest);
        assert_int_equal(time_numbers_due(t, now), 0);
        assert_int_equal(time_numbers_base(t), now);
        if (round % 100 == 0) time_numbers_check(t);
    }
    assert_int_equal(memory_used(MEMORY_DATASET) - before, bytes);
    size_t steps = 1;
    while (!time_numbers_free_step(t, 1)) steps++;
    assert_true(steps > 1);
    assert_int_equal(bytes, 0);
    assert_int_equal(memory_used(MEMORY_DATASET), before);
}

static int begin(void **state) {
    seed_from_environment();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model)};
    return cmocka_run_group_tests(tests, begin, NULL);
}
