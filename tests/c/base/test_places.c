/* SPDX-License-Identifier: BSD-3-Clause
 * base/places: order, stability and ties against a slow sort; the order of doubles' keys.
 */
#include "base/places.h"

#include <math.h>

#include "base/memory.h"
#include "seed.h"

/* Texts by index, where a tie is broken by them. */
struct model {
    const unsigned char *ties;
};

static int by_ties(const void *context, size_t a, size_t b) {
    const struct model *m = context;
    return (int)m->ties[a] - (int)m->ties[b];
}

static void slow_sort(struct place *p, size_t count, const struct model *m) {
    for (size_t i = 1; i < count; i++) {
        struct place moved = p[i];
        size_t to = i;
        for (; to; to--) {
            const struct place *before = &p[to - 1];
            if (before->key < moved.key) break;
            int order = m ? by_ties(m, before->index, moved.index) : 0;
            if (before->key == moved.key && order <= 0) break;
            p[to] = *before;
        }
        p[to] = moved;
    }
}

static void check(size_t count, uint64_t keys, bool with_ties, int shape) {
    struct place *places = memory_alloc(count * sizeof(*places), MEMORY_OTHER);
    struct place *expected = memory_alloc(count * sizeof(*expected), MEMORY_OTHER);
    unsigned char *ties = memory_alloc(count, MEMORY_OTHER);
    struct model m = {ties};
    for (size_t i = 0; i < count; i++) {
        uint64_t key = shape == 1 ? i / 3 : shape == 2 ? (count - i) / 3 : random_below(keys);
        places[i] = expected[i] = (struct place){key, i};
        ties[i] = (unsigned char)random_below(4);
    }
    slow_sort(expected, count, with_ties ? &m : NULL);
    places_sort(places, count, with_ties ? by_ties : NULL, &m);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(places[i].index, expected[i].index);
        assert_int_equal(places[i].key, expected[i].key);
    }
    memory_free(places, MEMORY_OTHER);
    memory_free(expected, MEMORY_OTHER);
    memory_free(ties, MEMORY_OTHER);
}

static void test_order(void **state) {
    seed_from_environment();
    for (size_t count = 0; count < 130; count++)
        for (int shape = 0; shape < 3; shape++) {
            check(count, 10, false, shape);
            check(count, 10, true, shape);
            check(count, UINT64_MAX, true, shape);
        }
    for (int i = 0; i < 10; i++) check(500 + random_below(1500), 1 + random_below(1000), true, 0);
}

/* Sorting may take no memory class' bytes along: what it allocates is what is freed. */
static void test_memory(void **state) {
    size_t used = memory_used(MEMORY_OTHER);
    check(1000, 100, true, 0);
    check(1, 100, true, 0);
    assert_int_equal(memory_used(MEMORY_OTHER), used);
}

static void test_keys_of_doubles(void **state) {
    static const double ascending[] = {-INFINITY, -1e300, -2,  -1, -0.5,  -1e-310, 0,
                                       1e-310,    1,      1.5, 2,  1e300, INFINITY};
    for (size_t i = 1; i < sizeof(ascending) / sizeof(ascending[0]); i++)
        assert_true(places_key_of_double(ascending[i - 1]) < places_key_of_double(ascending[i]));
    assert_true(places_key_of_double(-0.0) == places_key_of_double(0.0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_keys_of_doubles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
