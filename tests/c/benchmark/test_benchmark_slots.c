/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of benchmark/benchmark_slots: tags, redirections, nodes without slots.
 */
#include "benchmark/benchmark_slots.h"

#include "base/seed.h"

static const char *const names[] = {"h:1", "h:2", "h:3"};
static struct benchmark_slots *map;
static struct benchmark_slot_lists lists;

static unsigned draw_slot(unsigned node, uint64_t chance) {
    char tag[BENCHMARK_TAG_CHARS];
    benchmark_slots_draw(map, &lists, node, chance << 32, tag);
    return key_slot_of((struct slice){tag, BENCHMARK_TAG_CHARS});
}

static void test_tags(void **state) {
    map = benchmark_slots_create(names, 1);
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) benchmark_slots_set(map, slot, 0);
    for (unsigned i = 0; i < KEY_SLOTS; i++) assert_int_equal(draw_slot(0, i), i);
    benchmark_slot_lists_free(&lists);
    benchmark_slots_free(map);
}

static void test_redirections(void **state) {
    map = benchmark_slots_create(names, 3);
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) benchmark_slots_set(map, slot, slot % 2);
    assert_int_equal(draw_slot(0, 0), 0);
    assert_int_equal(draw_slot(1, 1), 3);
    assert_true(benchmark_slots_take_error(map, "MOVED 0 h:3"));
    assert_int_equal(draw_slot(0, 0), 2);
    assert_int_equal(draw_slot(2, 7), 0);
    assert_true(benchmark_slots_take_error(map, "MOVED 2 elsewhere:1"));
    assert_int_equal(draw_slot(0, 0), 4);
    assert_true(benchmark_slots_take_error(map, "ASK 4 h:3"));
    assert_int_equal(draw_slot(0, 0), 4);
    const char *const others[] = {"ERR x",           "MOVED",        "MOVED x h:1",
                                  "MOVED 16384 h:1", "MOVED -1 h:1", "TRYAGAIN"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(benchmark_slots_take_error(map, others[i]));
    benchmark_slot_lists_free(&lists);
    benchmark_slots_free(map);
}

static void test_empty(void **state) {
    map = benchmark_slots_create(names, 2);
    benchmark_slots_set(map, 5, 0);
    assert_int_equal(draw_slot(0, 99), 5);
    assert_int_equal(draw_slot(1, 99), 99);
    benchmark_slot_lists_free(&lists);
    benchmark_slots_free(map);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tags),
                                       cmocka_unit_test(test_redirections),
                                       cmocka_unit_test(test_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
