/* SPDX-License-Identifier: BSD-3-Clause
 * The cache of scripts: digests, and memory that is counted and goes.
 */
#include "script/cache.h"

#include "base/memory.h"
#include "base/relocation.h"
#include "base/seed.h"
#include "defrag/defrag.h"

#define MANY 3000

static void test_digests(void **state) {
    static const struct {
        struct slice text;
        const char *sha;
    } rows[] = {
        {{"", 0}, "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {{"abc", 3}, "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {{"return 1", 8}, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char sha[CACHE_SHA_CHARS];
        cache_sha(rows[i].text, sha);
        assert_memory_equal(sha, rows[i].sha, CACHE_SHA_CHARS);
    }
}

static void text_of(int number, char text[static 32]) { snprintf(text, 32, "return %d", number); }

static void test_what_was_added_is_found_until_all_goes(void **state) {
    char text[32], sha[CACHE_SHA_CHARS];
    cache_free(cache_take_all()); /* nothing is there */
    for (int i = 0; i < MANY; i++) {
        text_of(i, text);
        cache_sha(slice_of(text), sha);
        assert_null(cache_find(sha));
        assert_non_null(cache_add(sha, slice_of(text), i));
    }
    assert_true(memory_used(cache_memory) > MANY * sizeof(struct cached_script));
    for (int i = 0; i < MANY; i++) {
        text_of(i, text);
        cache_sha(slice_of(text), sha);
        const struct cached_script *s = cache_find(sha);
        assert_non_null(s);
        assert_int_equal(s->function, i);
        assert_int_equal(s->told, 0);
        assert_int_equal(s->length, strlen(text));
        assert_memory_equal(s->text, text, s->length);
        assert_memory_equal(s->sha, sha, CACHE_SHA_CHARS);
    }
    cache_free(cache_take_all());
    assert_null(cache_find(sha));
    assert_int_equal(memory_used(cache_memory), 0);
    /* Nor does another one bring back what was found last. */
    char other[CACHE_SHA_CHARS];
    cache_sha(SLICE("return"), other);
    assert_non_null(cache_add(other, SLICE("return"), 1));
    assert_null(cache_find(sha));
    assert_non_null(cache_find(other));
    cache_free(cache_take_all());
}

static void test_a_script_may_be_empty(void **state) {
    char sha[CACHE_SHA_CHARS];
    cache_sha(SLICE(""), sha);
    assert_int_equal(cache_add(sha, (struct slice){NULL, 0}, 1)->length, 0);
    assert_non_null(cache_find(sha));
    cache_free(cache_take_all());
}

static bool all_are_chosen(const void *block) { return true; }

/* Goes on from `cursor`, with a budget that ends in the midst of the scripts. */
static uint64_t move_some(uint64_t cursor, uint64_t *moved) {
    struct relocation r = {.budget = 100};
    cursor = cache_relocate_some(cursor, &r);
    *moved += r.moved;
    return cursor;
}

/* All scripts move, the one that was found last among them, while others are added; a flush in the
 * midst ends the walk. */
static void test_scripts_move(void **state) {
    char text[32], sha[CACHE_SHA_CHARS];
    uint64_t cursor = 0, moved = 0;
    int count = 0;
    relocation_set_chooser(all_are_chosen, 0);
    assert_int_equal(move_some(0, &moved), 0); /* nothing is there */
    assert_int_equal(moved, 0);
    for (; count < MANY; count++) {
        text_of(count, text);
        cache_sha(slice_of(text), sha);
        cache_add(sha, slice_of(text), count);
    }
    size_t used = memory_used(cache_memory);
    do {
        assert_non_null(cache_find(sha));
        cursor = move_some(cursor, &moved);
    } while (cursor != 0);
    assert_true(moved >= MANY);
    assert_int_equal(memory_used(cache_memory), used);
    for (int i = 0; i < count; i++) {
        text_of(i, text);
        cache_sha(slice_of(text), sha);
        assert_int_equal(cache_find(sha)->function, i);
    }
    cursor = move_some(0, &moved);
    assert_int_not_equal(cursor, 0);
    cache_free(cache_take_all());
    assert_int_equal(move_some(cursor, &moved), 0);
    assert_int_equal(memory_used(cache_memory), 0);
    relocation_set_chooser(NULL, 0);
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests),
        cmocka_unit_test(test_what_was_added_is_found_until_all_goes),
        cmocka_unit_test(test_scripts_move),
        cmocka_unit_test(test_a_script_may_be_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
