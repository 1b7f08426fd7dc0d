/* SPDX-License-Identifier: BSD-3-Clause
 * The headers of a checked build: compiled in here, so that every build tests them. */
#ifndef MEMORY_CHECKED
#define MEMORY_CHECKED 1
#endif
#include "base/memory.c"

#include <signal.h>

#include "seed.h"

#define MAGIC_MESSAGE "header->magic == magic"
#define CLASS_MESSAGE "header->class == "
#define BYTES_MESSAGE "header->bytes == "

static void test_counts_are_those_without_headers(void **state) {
    size_t before = memory_used(MEMORY_CLIENTS);
    for (size_t size = 0; size < 70000; size = size * 2 + 3) {
        char *block = memory_alloc(size, MEMORY_CLIENTS);
        assert_int_equal((uintptr_t)block % 16, 0);
        assert_int_equal(memory_used(MEMORY_CLIENTS) - before, memory_good_size(size));
        assert_int_equal(memory_usable_size(block), memory_good_size(size));
        memset(block, 0xff, memory_good_size(size));
        block = memory_realloc(block, size + 500, MEMORY_CLIENTS);
        assert_int_equal(memory_used(MEMORY_CLIENTS) - before, memory_good_size(size + 500));
        memory_free_sized(block, size + 500, MEMORY_CLIENTS);
        block = memory_alloc_aligned(64, size, MEMORY_CLIENTS);
        assert_int_equal((uintptr_t)block % 64, 0);
        assert_true(memory_usable_size(block) >= size);
        assert_int_equal(memory_used(MEMORY_CLIENTS) - before, memory_usable_size(block));
        memory_free_aligned(block, 64, size, MEMORY_CLIENTS);
        assert_int_equal(memory_used(MEMORY_CLIENTS), before);
    }
}

static void free_as_other_class(void) {
    memory_free(memory_alloc(100, MEMORY_DATASET), MEMORY_CLIENTS);
}

static void free_sized_as_other_class(void) {
    memory_free_sized(memory_alloc(100, MEMORY_DATASET), 100, MEMORY_CLIENTS);
}

static void free_as_other_size(void) {
    memory_free_sized(memory_alloc(100, MEMORY_DATASET), 200, MEMORY_DATASET);
}

static void realloc_as_other_class(void) {
    void *block = memory_realloc(memory_alloc(100, MEMORY_DATASET), 1000, MEMORY_CLIENTS);
    printf("%p\n", block);
}

static void move_from_other_class(void) {
    void *block = memory_alloc(100, MEMORY_DATASET);
    memory_move(block, memory_good_size(100), MEMORY_CLIENTS, MEMORY_OTHER);
}

static void move_other_size(void) {
    void *block = memory_alloc(100, MEMORY_DATASET);
    memory_move(block, 100, MEMORY_DATASET, MEMORY_OTHER);
}

static void free_under_old_class(void) {
    void *block = memory_alloc(100, MEMORY_DATASET);
    memory_move(block, memory_good_size(100), MEMORY_DATASET, MEMORY_OTHER);
    memory_free(block, MEMORY_DATASET);
}

static void free_aligned_as_plain(void) {
    memory_free(memory_alloc_aligned(64, 100, MEMORY_DATASET), MEMORY_DATASET);
}

static void free_plain_as_aligned(void) {
    memory_free_aligned(memory_alloc(100, MEMORY_DATASET), 64, 100, MEMORY_DATASET);
}

static void free_inner_address(void) {
    char *block = memory_zalloc(100, MEMORY_DATASET);
    memory_free(block + 32, MEMORY_DATASET);
}

static void write_before_block(void) {
    char *block = memory_alloc(100, MEMORY_DATASET);
    memset(block - 16, 0, 16);
    memory_free(block, MEMORY_DATASET);
}

static void test_misuse_aborts(void **state) {
    assert_aborts(free_as_other_class, CLASS_MESSAGE);
    assert_aborts(free_sized_as_other_class, CLASS_MESSAGE);
    assert_aborts(free_as_other_size, BYTES_MESSAGE);
    assert_aborts(realloc_as_other_class, CLASS_MESSAGE);
    assert_aborts(move_from_other_class, CLASS_MESSAGE);
    assert_aborts(move_other_size, BYTES_MESSAGE);
    assert_aborts(free_under_old_class, CLASS_MESSAGE);
    assert_aborts(free_aligned_as_plain, MAGIC_MESSAGE);
    assert_aborts(free_plain_as_aligned, MAGIC_MESSAGE);
    assert_aborts(free_inner_address, MAGIC_MESSAGE);
    assert_aborts(write_before_block, MAGIC_MESSAGE);
}

static void free_twice(void) {
    void *volatile block = memory_alloc(100, MEMORY_DATASET);
    memory_free(block, MEMORY_DATASET);
    memory_free(block, MEMORY_DATASET);
}

/* By our assertion, or before it by the sanitizer. */
static void test_double_free_ends_the_process(void **state) {
    char out[65536];
    assert_int_not_equal(run_in_child(free_twice, out, sizeof(out)), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_those_without_headers),
        cmocka_unit_test(test_misuse_aborts),
        cmocka_unit_test(test_double_free_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
