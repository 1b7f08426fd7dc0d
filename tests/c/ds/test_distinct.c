/* SPDX-License-Identifier: BSD-3-Clause
 * Whether texts of a listpack differ, against a look at each pair of them.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/distinct.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/seed.h"

#define TEXTS_MAX 2000
#define TEXT_BYTES 40

static char texts[TEXTS_MAX][TEXT_BYTES];

static struct slice text_at(size_t i) { return slice_of(texts[i]); }

/* A short one, a long one, or a number, which stands there as an integer. */
static void draw_text(char text[TEXT_BYTES], uint64_t kinds) {
    uint64_t number = random_below(kinds);
    switch (number % 3) {
    case 0: snprintf(text, TEXT_BYTES, "%d", (int)number); break;
    case 1: snprintf(text, TEXT_BYTES, "f%d", (int)number); break;
    default: snprintf(text, TEXT_BYTES, "a text that is a long one, %d", (int)number); break;
    }
}

static bool stands_before(size_t i) {
    for (size_t k = 0; k < i; k++)
        if (slice_equal(text_at(k), text_at(i))) return true;
    return false;
}

static void compare(size_t count, uint64_t kinds) {
    struct distinct d;
    struct listpack *lp = listpack_create();
    distinct_begin(&d, count);
    for (size_t i = 0; i < count; i++) {
        draw_text(texts[i], kinds);
        listpack_append(&lp, text_at(i));
        assert_int_equal(distinct_add(&d, lp, listpack_last(lp), text_at(i)), !stands_before(i));
    }
    distinct_end(&d);
    listpack_free(lp);
}

static void test_random_texts(void **state) {
    size_t before = memory_used(MEMORY_OTHER);
    for (int round = 0; round < 200; round++)
        compare((size_t)random_below(60), 1 + random_below(3000));
    compare(DISTINCT_FEW, 100000);
    compare(DISTINCT_FEW + 1, 100000);
    compare(TEXTS_MAX, 1000000);
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

/* An integer equals its digits, and what has none in common with any other is nobody's. */
static void test_forms_of_a_text(void **state) {
    struct distinct d;
    struct listpack *lp = listpack_create();
    listpack_append(&lp, SLICE("-12"));
    distinct_begin(&d, 3);
    assert_true(distinct_add(&d, lp, listpack_first(lp), SLICE("-12")));
    assert_false(distinct_add(&d, lp, listpack_first(lp), SLICE("-12")));
    listpack_append(&lp, SLICE(""));
    assert_true(distinct_add(&d, lp, listpack_last(lp), SLICE("")));
    distinct_end(&d);
    listpack_free(lp);
}

int main(void) {
    seed_from_environment();
    distinct_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_forms_of_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
