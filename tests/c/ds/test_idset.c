/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/idset: a model of flags, and that memory goes back as ids go.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/idset.h"

#include "base/seed.h"

#include "base/memory.h"

#define IDS 3000u

static size_t used_before;

static int setup(void **state) {
    used_before = memory_used(MEMORY_OTHER);
    return 0;
}

static int teardown(void **state) {
    assert_int_equal(memory_used(MEMORY_OTHER), used_before);
    return 0;
}

static void test_one_takes_nothing(void **state) {
    struct idset s = {0};
    assert_false(idset_has(&s, 7));
    assert_false(idset_remove(&s, 7, MEMORY_OTHER));
    assert_true(idset_add(&s, 7, MEMORY_OTHER));
    assert_false(idset_add(&s, 7, MEMORY_OTHER));
    assert_int_equal(memory_used(MEMORY_OTHER), used_before);
    assert_true(idset_is_full(&s));
    assert_true(idset_has(&s, 7));
    assert_false(idset_has(&s, 8));
    idset_check(&s);
    assert_true(idset_remove(&s, 7, MEMORY_OTHER));
    assert_int_equal(s.count, 0);
    idset_check(&s);
}

static void assert_holds(const struct idset *s, const bool *model, uint64_t factor) {
    bool seen[IDS] = {false};
    size_t position = 0, count = 0;
    uint64_t id;
    while ((id = idset_next(s, &position)) != 0) {
        assert_int_equal(id % factor, 0);
        assert_true(model[id / factor] && !seen[id / factor]);
        seen[id / factor] = true;
        count++;
    }
    for (size_t i = 0; i < IDS; i++) {
        assert_int_equal(seen[i], model[i]);
        assert_int_equal(i && idset_has(s, i * factor), model[i]);
    }
    assert_int_equal(count, s->count);
}

/* Ids in order, and ids that differ in high bits only. */
static void test_model(void **state) {
    for (int shift = 0; shift < 64 - 12; shift += 17) {
        struct idset s = {0};
        bool model[IDS] = {false};
        uint64_t factor = UINT64_C(1) << shift;
        for (int round = 0; round < 60; round++) {
            uint64_t range = 1 + random_below(IDS - 1), removes_in_ten = random_below(11);
            for (int i = 0; i < 500; i++) {
                uint64_t id = 1 + random_below(range);
                bool removes = random_below(10) < removes_in_ten, had = model[id];
                if (removes)
                    assert_int_equal(idset_remove(&s, id * factor, MEMORY_OTHER), had);
                else
                    assert_int_equal(idset_add(&s, id * factor, MEMORY_OTHER), !had);
                model[id] = !removes;
            }
            idset_check(&s);
            assert_holds(&s, model, factor);
        }
        idset_free(&s, MEMORY_OTHER);
        assert_int_equal(s.count, 0);
    }
}

static void test_shrinks(void **state) {
    struct idset s = {0};
    for (uint64_t id = 1; id < 100000; id++) idset_add(&s, id, MEMORY_OTHER);
    assert_in_range(memory_used(MEMORY_OTHER) - used_before, 100000 * 8, 100000 * 8 * 4);
    for (uint64_t id = 10; id < 100000; id++) {
        assert_true(idset_remove(&s, id, MEMORY_OTHER));
        if (id % 1000 == 0) idset_check(&s);
    }
    assert_in_range(memory_used(MEMORY_OTHER) - used_before, 1, 1024);
    for (uint64_t id = 1; id < 10; id++) assert_true(idset_remove(&s, id, MEMORY_OTHER));
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_takes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_model, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shrinks, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
