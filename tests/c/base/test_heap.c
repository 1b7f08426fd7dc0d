/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of base/heap: order, removal from anywhere, and the array's size, against a sorted model.
 */
#include "base/heap.h"

#include <limits.h>

#include "seed.h"

#include "base/random.h"

#define MEMBERS 300
#define STEPS 20000

struct member {
    struct heap_item item; /* first */
    int key;
};

static struct heap heap;
static struct member members[MEMBERS];

static int key_of(const struct heap_item *item) {
    return ((const struct member *)(const void *)item)->key;
}

static bool before(const struct heap_item *a, const struct heap_item *b) {
    return key_of(a) < key_of(b);
}

static int setup(void **state) {
    memset(members, 0, sizeof(members));
    heap_init(&heap, before, MEMORY_OTHER);
    return 0;
}

static int teardown(void **state) {
    heap_free(&heap);
    return heap.items != NULL || heap.count != 0;
}

/* The smallest key of the members that are in the heap; INT_MAX where none is. */
static int smallest(void) {
    int key = INT_MAX;
    for (int i = 0; i < MEMBERS; i++)
        if (heap_has(&members[i].item) && members[i].key < key) key = members[i].key;
    return key;
}

static void test_comes_out_in_order(void **state) {
    for (int i = 0; i < MEMBERS; i++) {
        members[i].key = (i * 7919) % MEMBERS;
        heap_insert(&heap, &members[i].item);
    }
    heap_check(&heap);
    for (int i = 0; i < MEMBERS; i++) {
        struct heap_item *first = heap_first(&heap);
        assert_int_equal(key_of(first), i);
        heap_remove(&heap, first);
        assert_false(heap_has(first));
        heap_check(&heap);
    }
    assert_null(heap_first(&heap));
}

static void test_items_come_and_go_at_random(void **state) {
    for (int step = 0; step < STEPS; step++) {
        struct member *m = &members[random_below(MEMBERS)];
        if (heap_has(&m->item)) {
            heap_remove(&heap, &m->item);
        } else {
            m->key = (int)random_below(50);
            heap_insert(&heap, &m->item);
        }
        const struct heap_item *first = heap_first(&heap);
        assert_int_equal(first ? key_of(first) : INT_MAX, smallest());
        if (step % 100 == 0) heap_check(&heap);
    }
    heap_check(&heap);
}

static void test_array_follows_the_count(void **state) {
    for (int i = 0; i < MEMBERS; i++) heap_insert(&heap, &members[i].item);
    size_t most = heap.room;
    while (heap.count > 2) heap_remove(&heap, heap.items[heap.count / 2]);
    assert_true(most >= MEMBERS && heap.room < most / 8);
    heap_check(&heap);
}

static void test_a_freed_heap_holds_none(void **state) {
    for (int i = 0; i < 3; i++) heap_insert(&heap, &members[i].item);
    heap_free(&heap);
    for (int i = 0; i < 3; i++) assert_false(heap_has(&members[i].item));
    heap_insert(&heap, &members[1].item);
    assert_ptr_equal(heap_first(&heap), &members[1].item);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_comes_out_in_order),
        TEST(test_items_come_and_go_at_random),
        TEST(test_array_follows_the_count),
        TEST(test_a_freed_heap_holds_none),
    };
    seed_from_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
