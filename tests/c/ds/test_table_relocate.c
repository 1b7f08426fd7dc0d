/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/table_relocate: everything that can move moves while tables of all sizes grow, shrink
 * and owe. A sanitizer catches each pointer to a block that has moved; without one, table_check and
 * lookups find what is wrong.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"

/* Above it a table has more than one page of its directory. */
#define ELEMENTS 3200000
#define TABLES 8

static uint64_t hash_of(uint64_t key) { return hash_bytes((const char *)&key, sizeof(key)); }
static uint64_t element_hash(const void *element) { return hash_of(*(const uint64_t *)element); }
static bool element_matches(const void *element, const void *key, size_t length) {
    return memcmp(element, key, length) == 0;
}
static const struct table_type type = {element_hash, element_matches, MEMORY_DATASET};

static bool all_are_chosen(const void *block) { return true; }

static uint64_t *keys;
static uint64_t visited;

static void put(struct table *t, size_t i) { table_insert(t, hash_of(keys[i]), &keys[i]); }
static void take(struct table *t, size_t i) {
    assert_ptr_equal(table_remove(t, hash_of(keys[i]), &keys[i], sizeof(keys[i])), &keys[i]);
}

/* The elements are not blocks of their own here. */
static void visit_group(struct table *t, const struct table_group *group, struct relocation *r,
                        void *context) {
    visited += group->count;
    for (unsigned i = 0; i < group->count; i++)
        assert_ptr_equal(table_slot_element(group->slots[i]), group->elements[i]);
}

/* Moves all blocks of the table but its struct; returns how many elements were visited. */
static uint64_t move_all(struct table *t) {
    struct relocation r = {.budget = SIZE_MAX};
    uint64_t cursor = 0;
    visited = 0;
    do cursor = table_relocate_some(t, cursor, &r, visit_group, NULL);
    while (cursor != 0);
    return visited;
}

static void check_found(const struct table *t, size_t from, size_t to, size_t step) {
    for (size_t i = from; i < to; i += step)
        assert_ptr_equal(table_find(t, hash_of(keys[i]), &keys[i], sizeof(keys[i])), &keys[i]);
}

/* Every size up to some chunks; the bytes stay. */
static void test_sizes(void **state) {
    static const size_t sizes[] = {0, 1, 5, 6, 7, 40, 300, 5000, 6000, 20000, 100000};
    struct table *t = table_create(&type);
    size_t held = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        while (held < sizes[i]) put(t, held++);
        size_t bytes = table_bytes(t), used = memory_used(MEMORY_DATASET);
        assert_int_equal(move_all(t), held);
        struct relocation r = {.budget = SIZE_MAX};
        t = table_relocate(t, &r);
        assert_int_equal(r.moved, 1);
        table_check(t);
        check_found(t, 0, held, held / 1000 + 1);
        assert_int_equal(table_bytes(t), bytes);
        assert_int_equal(memory_used(MEMORY_DATASET), used);
    }
    while (held > 0) take(t, --held);
    move_all(t);
    table_check(t);
    table_free(t);
}

/* A directory of two pages, each of which moves with the root and with all overflow buckets. */
static void test_pages(void **state) {
    struct table *t = table_create(&type);
    struct relocation r = {.budget = SIZE_MAX};
    (void)table_reserve(t, ELEMENTS, SIZE_MAX);
    for (size_t i = 0; i < ELEMENTS; i += 100) put(t, i);
    uint64_t cursor = table_relocate_some(t, 0, &r, NULL, NULL);
    assert_int_not_equal(cursor, 0);
    assert_int_equal(r.moved, 3);
    check_found(t, 0, ELEMENTS, 100);
    table_free(t);
}

/* Of a table of one chunk the chunk moves, of one of two chunks the directory and the last chunk,
 * as long as that is small. */
static void test_what_moves(void **state) {
    static const struct {
        size_t elements;
        uint64_t moves;
    } cases[] = {{3, 1}, {1000, 1}, {3000, 0}, {5700, 3}, {9000, 2}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct table *t = table_create(&type);
        struct relocation r = {.budget = SIZE_MAX};
        struct table_stats stats;
        while (table_count(t) < cases[i].elements) put(t, table_count(t));
        table_stats(t, &stats);
        uint64_t cursor = 0;
        do cursor = table_relocate_some(t, cursor, &r, NULL, NULL);
        while (cursor != 0);
        assert_int_equal(r.moved, cases[i].moves + stats.overflow_buckets);
        table_free(t);
    }
}

/* Tables that owe are in lists, which follow when their structs move. */
static void test_listed(void **state) {
    struct table *alone = table_create(&type), *many = table_create_many(&type, TABLES);
    struct relocation r = {.budget = SIZE_MAX};
    table_set_resize(TABLE_RESIZE_AVOID);
    for (size_t i = 0; i < 9000; i++) put(i % 9 == TABLES ? alone : table_nth(many, i % 9), i);
    for (size_t i = 0; i < 8900; i++) take(i % 9 == TABLES ? alone : table_nth(many, i % 9), i);
    assert_true(table_owes(alone));
    alone = table_relocate(alone, &r);
    many = table_relocate_many(many, TABLES, &r);
    assert_int_equal(r.moved, 2);
    table_set_resize(TABLE_RESIZE_FREE);
    while (table_any_payable()) table_pay_owed(100);
    assert_false(table_owes(alone));
    for (size_t i = 0; i < TABLES; i++) {
        assert_false(table_owes(table_nth(many, i)));
        move_all(table_nth(many, i));
        table_check(table_nth(many, i));
    }
    table_check(alone);
    table_free(alone);
    table_free_many(many, TABLES);
}

/* Random changes between the steps of a walk: it visits each element that stays. */
static void test_changes(void **state) {
    struct table *t = table_create(&type);
    size_t low = 0, high = 20000;
    struct relocation r = {.budget = SIZE_MAX};
    for (size_t i = 0; i < high; i++) put(t, i);
    for (int round = 0; round < 5; round++) {
        uint64_t cursor = 0;
        size_t high_before = high;
        bool grows = random_below(2);
        visited = 0;
        do {
            cursor = table_relocate_some(t, cursor, &r, visit_group, NULL);
            for (unsigned n = random_below(40); n > 0; n--) {
                if (grows || high - low < 2000)
                    put(t, high++);
                else
                    take(t, low++);
            }
        } while (cursor != 0);
        table_check(t);
        assert_true(low > high_before || visited >= high_before - low);
    }
    check_found(t, low, high, 7);
    table_free(t);
}

static uint64_t seed;

static int setup(void **state) {
    random_seed(seed);
    relocation_set_chooser(all_are_chosen, 0);
    return 0;
}

static int teardown(void **state) {
    relocation_set_chooser(NULL, 0);
    table_set_resize(TABLE_RESIZE_FREE);
    assert_int_equal(memory_used(MEMORY_DATASET), 0);
    return 0;
}

int main(void) {
    const char *text = getenv("SEED");
    if (text == NULL || !number_parse_uint64(text, strlen(text), &seed))
        random_secret(&seed, sizeof(seed));
    print_message("SEED=%llu\n", (unsigned long long)seed);
    keys = memory_alloc(ELEMENTS * sizeof(*keys), MEMORY_OTHER);
    for (size_t i = 0; i < ELEMENTS; i++) keys[i] = i;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_moves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    memory_free(keys, MEMORY_OTHER);
    return failed;
}
