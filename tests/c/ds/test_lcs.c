/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of ds/lcs against a table of numbers, with 6.2's rule for the way back.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "ds/lcs.h"

#include "base/faults.h"
#include "base/seed.h"

#define ROUNDS 2000
#define LENGTH_MAX 200

static uint16_t table[LENGTH_MAX + 1][LENGTH_MAX + 1];

static void model_fill(struct slice a, struct slice b) {
    for (size_t i = 1; i <= a.length; i++) {
        for (size_t j = 1; j <= b.length; j++) {
            uint16_t up = table[i - 1][j], left = table[i][j - 1];
            if (a.bytes[i - 1] == b.bytes[j - 1])
                table[i][j] = (uint16_t)(table[i - 1][j - 1] + 1);
            else
                table[i][j] = up > left ? up : left;
        }
    }
}

/* Walks the table back to the end of the next range, then over it. */
static bool model_previous(struct slice a, struct slice b, size_t *i, size_t *j,
                           struct lcs_range *range) {
    while (*i && *j && a.bytes[*i - 1] != b.bytes[*j - 1]) {
        if (table[*i - 1][*j] > table[*i][*j - 1])
            --*i;
        else
            --*j;
    }
    range->length = 0;
    for (; *i && *j && a.bytes[*i - 1] == b.bytes[*j - 1]; --*i, --*j) range->length++;
    range->a_start = *i;
    range->b_start = *j;
    return range->length > 0;
}

static struct slice random_text(char *bytes, size_t letters) {
    size_t length = random_below(LENGTH_MAX + 1);
    for (size_t i = 0; i < length; i++) bytes[i] = (char)random_below(letters);
    return (struct slice){bytes, length};
}

static void test_against_the_table(void **state) {
    char a_bytes[LENGTH_MAX], b_bytes[LENGTH_MAX];
    for (int round = 0; round < ROUNDS; round++) {
        size_t letters = 1 + random_below(random_below(2) ? 4 : 256);
        struct slice a = random_text(a_bytes, letters), b = random_text(b_bytes, letters);
        model_fill(a, b);

        struct lcs *lcs = lcs_create(a, b, false);
        assert_int_equal(lcs_length(lcs), table[a.length][b.length]);
        lcs_free(lcs);

        lcs = lcs_create(a, b, true);
        size_t length = lcs_length(lcs), sum = 0, i = a.length, j = b.length;
        assert_int_equal(length, table[a.length][b.length]);
        struct lcs_range found, expected;
        while (model_previous(a, b, &i, &j, &expected)) {
            assert_true(lcs_previous(lcs, &found));
            assert_int_equal(found.a_start, expected.a_start);
            assert_int_equal(found.b_start, expected.b_start);
            assert_int_equal(found.length, expected.length);
            sum += found.length;
        }
        assert_false(lcs_previous(lcs, &found));
        assert_false(lcs_previous(lcs, &found));
        assert_int_equal(sum, length);
        lcs_free(lcs);
    }
}

static void test_all_memory_comes_back(void **state) {
    size_t before = memory_used(MEMORY_OTHER);
    const struct slice texts[] = {SLICE(""), SLICE("a"), SLICE("ohmytext"), SLICE("mynewtext")};
    for (size_t i = 0; i < 16; i++) lcs_free(lcs_create(texts[i / 4], texts[i % 4], i % 3));
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

/* The lengths alone decide: the bytes are not looked at. */
/* Whichever of its blocks there is no memory for: no result, and nothing is left. */
static void test_without_memory(void **state) {
    size_t before = memory_used(MEMORY_OTHER);
    unsigned after = 0;
    for (bool done = false; !done; after++) {
        faults_refuse_memory(after, 1);
        struct lcs *lcs = lcs_create(SLICE("ohmytext"), SLICE("mynewtext"), after % 2);
        done = faults_memory_refused == 0;
        faults_memory_clear();
        assert_int_equal(lcs != NULL, done);
        if (lcs) lcs_free(lcs);
        assert_int_equal(memory_used(MEMORY_OTHER), before);
    }
    assert_int_equal(after, 4); /* two rows' blocks and the matches' */
}

static void test_too_large(void **state) {
    char text[] = "x";
    struct slice huge = {text, SIZE_MAX / 2}, large = {text, UINT32_MAX};
    size_t before = memory_used(MEMORY_OTHER);
    assert_null(lcs_create(huge, huge, false));
    assert_null(lcs_create(large, large, true));
    assert_null(lcs_create((struct slice){text, LCS_CELLS_MAX / 64 + 1}, SLICE("y"), true));
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_the_table),
        cmocka_unit_test(test_all_memory_comes_back),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
