/* SPDX-License-Identifier: BSD-3-Clause
 * Blocks in sparse slabs are told from others, and moving them frees slabs. */
#include "base/relocation.h"

#include "seed.h"

#define BLOCKS 40000
#define BLOCK_BYTES 160

static char *blocks[BLOCKS];

/* Blocks of one size, of which three in four are freed again. */
static void make_sparse(void) {
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = memory_alloc(BLOCK_BYTES, MEMORY_OTHER);
        memset(blocks[i], i, BLOCK_BYTES);
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (i % 4 == 0) continue;
        memory_free_sized(blocks[i], BLOCK_BYTES, MEMORY_OTHER);
        blocks[i] = NULL;
    }
    memory_allocator_purge();
}

static void free_blocks(void) {
    for (int i = 0; i < BLOCKS; i += 4) {
        for (int at = 0; at < BLOCK_BYTES; at++)
            assert_int_equal((unsigned char)blocks[i][at], i & 0xff);
        memory_free_sized(blocks[i], BLOCK_BYTES, MEMORY_OTHER);
    }
}

static void settle_blocks(struct relocation *r) {
    void *asked[RELOCATION_ASK_MAX];
    for (int i = 0; i < BLOCKS;) {
        int begin = i;
        unsigned count = 0;
        for (; i < BLOCKS && count < RELOCATION_ASK_MAX; i += 4) asked[count++] = blocks[i];
        uint64_t wanted = relocation_ask(r, asked, count);
        for (unsigned k = 0; k < count; k++)
            if (wanted >> k & 1)
                blocks[begin + (int)k * 4] = relocation_move(r, asked[k], MEMORY_OTHER);
    }
}

static bool all_are_chosen(const void *block) { return true; }
static bool none_is_chosen(const void *block) { return false; }

static void test_chooser(void **state) {
    struct relocation r = {.budget = 1000};
    relocation_set_chooser(all_are_chosen, 77);
    assert_true(relocation_is_possible());
    assert_int_equal(relocation_measure(), 77);
    make_sparse();
    size_t used = memory_used(MEMORY_OTHER);
    settle_blocks(&r);
    assert_int_equal(memory_used(MEMORY_OTHER), used);
    assert_int_equal(r.moved, BLOCKS / 4);
    assert_int_equal(r.stayed, 0);
    assert_int_equal(r.budget, 0);
    relocation_set_chooser(none_is_chosen, 0);
    settle_blocks(&r);
    assert_int_equal(r.moved, BLOCKS / 4);
    assert_int_equal(r.stayed, BLOCKS / 4);
    free_blocks();
    relocation_set_chooser(NULL, 0);
}

static void test_nothing(void **state) {
    struct relocation r = {.budget = 10};
    relocation_set_chooser(all_are_chosen, 0);
    assert_false(relocation_wants(&r, NULL));
    assert_null(relocation_settle(&r, NULL, MEMORY_OTHER));
    assert_int_equal(relocation_ask(&r, NULL, 0), 0);
    assert_int_equal(r.budget, 10);
    relocation_set_chooser(NULL, 0);
}

static void test_aligned(void **state) {
    struct relocation r = {.budget = 1000};
    relocation_set_chooser(all_are_chosen, 0);
    for (size_t alignment = 16; alignment <= 4096; alignment *= 2) {
        for (size_t size = 1; size < 9000; size = size * 3 + 1) {
            char *block = memory_alloc_aligned(alignment, size, MEMORY_OTHER);
            size_t used = memory_used(MEMORY_OTHER);
            memset(block, 0x5a, size);
            block = relocation_move_aligned(&r, block, alignment, size, MEMORY_OTHER);
            assert_int_equal((uintptr_t)block % alignment, 0);
            for (size_t i = 0; i < size; i++) assert_int_equal(block[i], 0x5a);
            assert_int_equal(memory_used(MEMORY_OTHER), used);
            memory_free_aligned(block, alignment, size, MEMORY_OTHER);
        }
    }
    relocation_set_chooser(NULL, 0);
}

#ifdef EVENKEEL_SANITIZER

static void test_no_allocator_that_tells(void **state) {
    assert_false(relocation_is_possible());
    assert_int_equal(relocation_measure(), 0);
}

#else

/* Three quarters of the slabs' places are free: nearly all of that memory is given back by moving a
 * block about once, and then nothing is wanted any more. */
static void test_gain(void **state) {
    struct relocation r = {.budget = SIZE_MAX};
    assert_true(relocation_is_possible());
    make_sparse();
    size_t gain = relocation_measure(), wasted = (size_t)BLOCKS / 4 * 3 * BLOCK_BYTES;
    assert_in_range(gain, wasted * 9 / 10, SIZE_MAX);
    settle_blocks(&r);
    assert_in_range(r.moved, BLOCKS / 4 / 2, BLOCKS / 4);
    assert_in_range(relocation_measure(), 0, gain - wasted * 9 / 10);
    r = (struct relocation){.budget = SIZE_MAX};
    settle_blocks(&r);
    assert_in_range(r.moved, 0, BLOCKS / 4 / 10);
    free_blocks();
}

/* A block that is larger than any slab's stays. */
static void test_large_blocks_stay(void **state) {
    struct relocation r = {.budget = SIZE_MAX};
    void *block = memory_alloc(RELOCATION_BYTES_MAX + 1, MEMORY_OTHER);
    (void)relocation_measure();
    assert_false(relocation_wants(&r, block));
    memory_free(block, MEMORY_OTHER);
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chooser),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_aligned),
#ifdef EVENKEEL_SANITIZER
        cmocka_unit_test(test_no_allocator_that_tells),
#else
        cmocka_unit_test(test_gain),    cmocka_unit_test(test_large_blocks_stay),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
