/* SPDX-License-Identifier: BSD-3-Clause
 * Allocation and its accounting, in the build's own mode (test_memory_checked has the headers). */
#include "base/memory.h"

#include <pthread.h>
#include <signal.h>

#include "seed.h"

#ifndef EVENKEEL_SANITIZER
#include <jemalloc/jemalloc.h>
#endif

#define FAR_TOO_MUCH ((size_t)PTRDIFF_MAX + 1)

/* Classes as folders above register them. */
static enum memory_class scripts_like = MEMORY_OTHER, log_like = MEMORY_OTHER, apart = MEMORY_OTHER;

static size_t used_before[MEMORY_CLASSES];

static void note_used(void) {
    for (unsigned i = 0; i < MEMORY_CLASSES; i++) used_before[i] = memory_used(i);
}

/* Since note_used only `class` has grown, by `bytes`. */
static void assert_grown(enum memory_class class, size_t bytes) {
    size_t total = 0;
    for (unsigned i = 0; i < MEMORY_CLASSES; i++) {
        assert_int_equal(memory_used(i), used_before[i] + (i == class ? bytes : 0));
        total += i == apart || i == MEMORY_LEAVING ? 0 : memory_used(i);
    }
    assert_int_equal(memory_used_total(), total);
}

static void test_good_size(void **state) {
    assert_int_equal(memory_good_size(0), 16);
    for (size_t size = 1; size <= 65536; size++) {
        size_t good = memory_good_size(size);
        assert_true(good >= size && good % 16 == 0);
        assert_int_equal(memory_good_size(good), good);
#ifndef EVENKEEL_SANITIZER
        assert_int_equal(good, size < 16 ? 16 : nallocx(size, 0));
#endif
    }
    assert_int_equal(memory_good_size(FAR_TOO_MUCH), FAR_TOO_MUCH);
}

static void test_alignment_and_room(void **state) {
    for (size_t size = 0; size < 2000; size++) {
        char *block = memory_alloc(size, MEMORY_OTHER);
        assert_int_equal((uintptr_t)block % 16, 0);
        assert_int_equal(memory_usable_size(block), memory_good_size(size));
        memset(block, 0xa5, memory_good_size(size)); /* all of it may be used */
        memory_free_sized(block, memory_good_size(size), MEMORY_OTHER);
    }
}

static void test_nothing_takes_nothing(void **state) {
    assert_int_equal(memory_usable_size(NULL), 0);
}

/* Each class has a number of its own, once; which sums a class is part of is as registered. */
static void test_registered_classes(void **state) {
    enum memory_class again = log_like;
    assert_true(scripts_like >= MEMORY_CLASS_NEXT && scripts_like < MEMORY_COUNTED_END);
    assert_true(log_like >= MEMORY_CLASS_NEXT && log_like < MEMORY_COUNTED_END);
    assert_int_not_equal(scripts_like, log_like);
    assert_true(apart >= MEMORY_COUNTED_END && apart < MEMORY_LEAVING);
    memory_class_register(&again, MEMORY_UNCOUNTED);
    assert_int_equal(again, log_like);

    const struct {
        enum memory_class class;
        bool counted, uncounted;
    } cases[] = {{MEMORY_DATASET, true, false}, {scripts_like, true, false},
                 {MEMORY_SAVES, true, true},    {log_like, true, true},
                 {apart, false, false},         {MEMORY_LEAVING, false, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t total = memory_used_total(), uncounted = memory_used_uncounted();
        void *block = memory_alloc(1024, cases[i].class);
        assert_int_equal(memory_used_total() - total, cases[i].counted ? 1024 : 0);
        assert_int_equal(memory_used_uncounted() - uncounted, cases[i].uncounted ? 1024 : 0);
        memory_free(block, cases[i].class);
    }
}

static void test_each_class_is_exact(void **state) {
    static const size_t sizes[] = {0, 1, 16, 17, 100, 129, 1000, 4097, 70000, 3000000};
    note_used();
    for (unsigned which = 0; which < MEMORY_CLASSES; which++) {
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            size_t good = memory_good_size(sizes[i]);
            void *block = memory_alloc(sizes[i], which);
            assert_grown(which, good);
            memory_free(block, which);
            assert_grown(which, 0);
            block = memory_zalloc(sizes[i], which);
            assert_grown(which, good);
            memory_free_sized(block, sizes[i], which);
            assert_grown(which, 0);
            block = memory_try_alloc(sizes[i], which);
            assert_grown(which, good);
            memory_free(block, which);
        }
        char *copy = memory_strdup("a text of more than sixteen bytes", which);
        assert_string_equal(copy, "a text of more than sixteen bytes");
        assert_grown(which, memory_good_size(34));
        memory_free(copy, which);
        assert_grown(which, 0);
    }
    memory_free(NULL, MEMORY_OTHER);
    memory_free_sized(NULL, 10, MEMORY_OTHER);
    memory_free_aligned(NULL, 64, 10, MEMORY_OTHER);
    assert_grown(MEMORY_OTHER, 0);
}

static void test_zalloc_clears(void **state) {
    for (size_t size = 1; size < 300000; size = size * 3 + 1) {
        char *block = memory_alloc(size, MEMORY_OTHER);
        memset(block, 0xff, memory_good_size(size));
        memory_free(block, MEMORY_OTHER);
        block = memory_zalloc(size, MEMORY_OTHER);
        for (size_t i = 0; i < memory_good_size(size); i++) assert_int_equal(block[i], 0);
        memory_free(block, MEMORY_OTHER);
    }
}

static void test_aligned(void **state) {
    note_used();
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        for (size_t size = 0; size < 20000; size = size * 2 + 1) {
            char *block = memory_alloc_aligned(alignment, size, MEMORY_POOLS);
            assert_int_equal((uintptr_t)block % alignment, 0);
            assert_int_equal((uintptr_t)block % 16, 0);
            assert_true(memory_usable_size(block) >= size);
            assert_grown(MEMORY_POOLS, memory_usable_size(block));
            memset(block, 1, size);
            memory_free_aligned(block, alignment, size, MEMORY_POOLS);
            assert_grown(MEMORY_POOLS, 0);
        }
    }
}

static bool refuse_large(size_t size) { return size >= 1000; }

/* A test may refuse what may fail, and nothing else. */
static void test_refusal(void **state) {
    note_used();
    char *block = memory_alloc(10, log_like);
    memcpy(block, "123456789", 10);
    memory_set_refusal(refuse_large);
    assert_null(memory_try_alloc(1000, log_like));
    assert_null(memory_try_realloc(block, 1000, log_like));
    assert_string_equal(block, "123456789");
    assert_grown(log_like, memory_good_size(10));
    block = memory_realloc(block, 1000, log_like);
    block = memory_try_realloc(block, 999, log_like);
    assert_string_equal(block, "123456789");
    memory_set_refusal(NULL);
    block = memory_try_realloc(block, 1000, log_like);
    assert_non_null(block);
    memory_free(block, log_like);
    assert_grown(log_like, 0);
}

static void test_resizing(void **state) {
    note_used();
    char *block = memory_realloc(NULL, 10, log_like);
    memcpy(block, "123456789", 10);
    static const size_t sizes[] = {16, 5000, 40, 2000000, 3000000, 10};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        block = memory_realloc(block, sizes[i], log_like);
        assert_string_equal(block, "123456789");
        assert_grown(log_like, memory_good_size(sizes[i]));
    }
    char *same = memory_realloc(block, 16, log_like); /* of the same good size */
    assert_ptr_equal(same, block);
    assert_null(memory_try_realloc(block, FAR_TOO_MUCH, log_like));
    assert_string_equal(block, "123456789");
    block = memory_try_realloc(block, 100, log_like);
    assert_grown(log_like, memory_good_size(100));
    memory_free(block, log_like);
    assert_grown(log_like, 0);
}

static void test_move(void **state) {
    note_used();
    void *block = memory_alloc(100, MEMORY_CLIENTS);
    memory_move(block, memory_good_size(100), MEMORY_CLIENTS, MEMORY_DATASET);
    assert_grown(MEMORY_DATASET, memory_good_size(100));
    memory_free(block, MEMORY_DATASET);
    memory_move(NULL, 5000, MEMORY_OTHER, scripts_like);
    assert_int_equal(memory_used(scripts_like), used_before[scripts_like] + 5000);
    memory_move(NULL, (size_t)-5000, MEMORY_OTHER, scripts_like);
    assert_grown(MEMORY_DATASET, 0);
}

#define MODEL_SLOTS 300

struct slot {
    unsigned char *block;
    size_t size;
    unsigned class;
    unsigned char fill;
};

static void check_fill(const struct slot *slot, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (slot->block[i] != slot->fill) fail_msg("byte %zu of %zu has changed", i, slot->size);
    }
}

static size_t random_size(void) { return random_below((uint64_t)1 << random_below(18)); }

static void random_step(struct slot *slot, size_t *expected) {
    if (slot->block == NULL) {
        slot->size = random_size();
        slot->class = (unsigned)random_below(MEMORY_CLASSES);
        slot->block = memory_alloc(slot->size, slot->class);
        expected[slot->class] += memory_good_size(slot->size);
    } else {
        expected[slot->class] -= memory_good_size(slot->size);
        size_t size = random_size();
        switch (random_below(4)) {
        case 0:
            check_fill(slot, slot->size);
            memory_free(slot->block, slot->class);
            slot->block = NULL;
            return;
        case 1:
            check_fill(slot, slot->size);
            memory_free_sized(slot->block, slot->size, slot->class);
            slot->block = NULL;
            return;
        case 2:
            slot->block = memory_realloc(slot->block, size, slot->class);
            check_fill(slot, size < slot->size ? size : slot->size);
            slot->size = size;
            break;
        default: {
            unsigned to = (unsigned)random_below(MEMORY_CLASSES);
            memory_move(slot->block, memory_good_size(slot->size), slot->class, to);
            check_fill(slot, slot->size);
            slot->class = to;
        }
        }
        expected[slot->class] += memory_good_size(slot->size);
    }
    slot->fill = (unsigned char)random_u64();
    memset(slot->block, slot->fill, slot->size);
}

static void test_against_model(void **state) {
    struct slot slots[MODEL_SLOTS] = {0};
    size_t expected[MEMORY_CLASSES];
    seed_from_environment();
    for (unsigned i = 0; i < MEMORY_CLASSES; i++) expected[i] = memory_used(i);
    for (int step = 0; step < 30000; step++) {
        random_step(&slots[random_below(MODEL_SLOTS)], expected);
        for (unsigned i = 0; i < MEMORY_CLASSES; i++) {
            assert_int_equal(memory_used(i), expected[i]);
        }
    }
    for (int i = 0; i < MODEL_SLOTS; i++) memory_free(slots[i].block, slots[i].class);
}

static pthread_barrier_t meeting;
static void *handed_over[2];

static void *publishing_thread(void *which) {
    size_t index = (size_t)(uintptr_t)which;
    size_t before = memory_used(MEMORY_DATASET);
    handed_over[index] = memory_alloc(1000 + 1000 * index, MEMORY_DATASET);
    void *own = memory_alloc(50000, log_like);
    /* A thread sees its own work at once. */
    bool sees_own = memory_used(MEMORY_DATASET) - before == memory_good_size(1000 + 1000 * index);
    pthread_barrier_wait(&meeting); /* 1: allocated, not published */
    pthread_barrier_wait(&meeting); /* 2: the main thread has looked */
    memory_free(own, log_like);
    memory_publish();
    pthread_barrier_wait(&meeting); /* 3: published */
    return sees_own ? NULL : "sees not its own";
}

static void test_threads_publish(void **state) {
    pthread_t threads[2];
    memory_publish();
    note_used();
    memory_largest_reset();
    pthread_barrier_init(&meeting, NULL, 3);
    for (uintptr_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, publishing_thread, (void *)i), 0);
    }
    pthread_barrier_wait(&meeting);
    assert_grown(MEMORY_DATASET, 0);
    assert_int_equal(memory_largest_alloc(log_like), 0);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    for (int i = 0; i < 2; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        assert_null(complaint);
    }
    pthread_barrier_destroy(&meeting);
    assert_grown(MEMORY_DATASET, memory_good_size(1000) + memory_good_size(2000));
    assert_int_equal(memory_largest_alloc(log_like), memory_good_size(50000));
    assert_int_equal(memory_largest_free(log_like), memory_good_size(50000));
    assert_int_equal(memory_largest_alloc(MEMORY_DATASET), memory_good_size(2000));
    memory_free(handed_over[0], MEMORY_DATASET); /* own count below zero, the sum right */
    memory_free(handed_over[1], MEMORY_DATASET);
    assert_grown(MEMORY_DATASET, 0);
    memory_publish();
    assert_grown(MEMORY_DATASET, 0);
}

static void *churning_thread(void *ignored) {
    for (int i = 0; i < 5000; i++) {
        void *block = memory_alloc((size_t)i, MEMORY_CLIENTS);
        memory_free(block, MEMORY_CLIENTS);
        if (i % 10 == 0) memory_publish();
    }
    memory_publish();
    return NULL;
}

/* Mostly for the thread sanitizer: readers and publishers at once. */
static void test_threads_at_once(void **state) {
    pthread_t threads[3];
    note_used();
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, churning_thread, NULL);
    for (int i = 0; i < 5000; i++) {
        assert_true(memory_used(MEMORY_CLIENTS) < 3 * 8192 + used_before[MEMORY_CLIENTS]);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert_grown(MEMORY_CLIENTS, 0);
}

static size_t hook_allocated, hook_freed;

static void on_allocated(size_t bytes) { hook_allocated += bytes; }

static void on_freed(size_t bytes) { hook_freed += bytes; }

static void test_hook(void **state) {
    const struct memory_hook hook = {on_allocated, on_freed};
    const struct memory_hook empty = {NULL, NULL};
    memory_set_hook(&hook);
    void *block = memory_alloc(100, MEMORY_OTHER);
    assert_int_equal(hook_allocated, memory_good_size(100));
    assert_int_equal(hook_freed, 0);
    block = memory_realloc(block, 1000, MEMORY_OTHER);
    assert_int_equal(hook_allocated, memory_good_size(100) + memory_good_size(1000));
    assert_int_equal(hook_freed, memory_good_size(100));
    memory_set_hook(&empty);
    memory_free(block, MEMORY_OTHER);
    memory_set_hook(NULL);
    memory_free(memory_alloc(100, MEMORY_OTHER), MEMORY_OTHER);
    assert_int_equal(hook_freed, memory_good_size(100));
}

static void test_largest(void **state) {
    memory_largest_reset();
    assert_int_equal(memory_largest_alloc(MEMORY_DATASET), 0);
    void *small = memory_alloc(100, MEMORY_DATASET);
    void *large = memory_alloc(9000, MEMORY_DATASET);
    assert_int_equal(memory_largest_alloc(MEMORY_DATASET), memory_good_size(9000));
    assert_int_equal(memory_largest_alloc(log_like), 0);
    memory_free(small, MEMORY_DATASET);
    assert_int_equal(memory_largest_free(MEMORY_DATASET), memory_good_size(100));
    memory_publish();
    assert_int_equal(memory_largest_alloc(MEMORY_DATASET), memory_good_size(9000));
    memory_free(large, MEMORY_DATASET);
    assert_int_equal(memory_largest_free(MEMORY_DATASET), memory_good_size(9000));
    memory_largest_reset();
    assert_int_equal(memory_largest_alloc(MEMORY_DATASET), 0);
    assert_int_equal(memory_largest_free(MEMORY_DATASET), 0);
}

static void print_oom(size_t size) {
    printf("handler: %zu\n", size);
    fflush(stdout);
}

static void alloc_far_too_much(void) {
    void *block = memory_alloc(FAR_TOO_MUCH, MEMORY_OTHER);
    printf("%p\n", block);
}

static void alloc_with_handler(void) {
    memory_set_oom_handler(print_oom);
    alloc_far_too_much();
}

static void zalloc_far_too_much(void) {
    void *block = memory_zalloc(FAR_TOO_MUCH, MEMORY_OTHER);
    printf("%p\n", block);
}

static void realloc_far_too_much(void) {
    void *block = memory_realloc(memory_alloc(1, MEMORY_OTHER), FAR_TOO_MUCH, MEMORY_OTHER);
    printf("%p\n", block);
}

static void align_far_too_much(void) {
    void *block = memory_alloc_aligned(64, FAR_TOO_MUCH, MEMORY_OTHER);
    printf("%p\n", block);
}

static void test_out_of_memory(void **state) {
    note_used();
    assert_null(memory_try_alloc(FAR_TOO_MUCH, MEMORY_OTHER));
    assert_null(memory_try_alloc(SIZE_MAX, MEMORY_OTHER));
    assert_null(memory_try_realloc(NULL, SIZE_MAX, MEMORY_OTHER));
    assert_grown(MEMORY_OTHER, 0);
    const char *text = "Out Of Memory allocating 9223372036854775808 bytes!";
    assert_aborts(alloc_far_too_much, text);
    assert_aborts(zalloc_far_too_much, text);
    assert_aborts(realloc_far_too_much, text);
    assert_aborts(align_far_too_much, text);
    assert_aborts(alloc_with_handler, "handler: 9223372036854775808");
}

static void test_system(void **state) {
    struct memory_allocator_stats stats;
    memory_allocator_stats(&stats);
#ifdef EVENKEEL_SANITIZER
    assert_string_equal(memory_allocator_name(), "libc");
    assert_int_equal(stats.allocated + stats.active + stats.resident, 0);
#else
    assert_memory_equal(memory_allocator_name(), "jemalloc-5.", 11);
    assert_true(stats.allocated > 0 && stats.active >= stats.allocated);
    assert_true(stats.resident >= stats.active);
#endif
    size_t before = memory_rss();
    assert_true(before > 100000);
    size_t size = (size_t)32 << 20;
    char *block = memory_alloc(size, MEMORY_OTHER);
    memset(block, 1, size);
    assert_true(memory_rss() > before + size / 2);
    memory_free(block, MEMORY_OTHER);
}

static void test_background_purge(void **state) {
#ifdef EVENKEEL_SANITIZER
    assert_false(memory_set_background_purge(true));
#else
    for (int on = 1; on >= 0; on--) {
        bool running = !on;
        size_t size = sizeof(running);
        assert_true(memory_set_background_purge(on));
        assert_int_equal(mallctl("background_thread", &running, &size, NULL, 0), 0);
        assert_int_equal(running, on);
    }
#endif
}

int main(void) {
    memory_class_register(&scripts_like, MEMORY_COUNTED);
    memory_class_register(&log_like, MEMORY_UNCOUNTED);
    memory_class_register(&apart, MEMORY_APART);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_size),
        cmocka_unit_test(test_alignment_and_room),
        cmocka_unit_test(test_nothing_takes_nothing),
        cmocka_unit_test(test_registered_classes),
        cmocka_unit_test(test_each_class_is_exact),
        cmocka_unit_test(test_zalloc_clears),
        cmocka_unit_test(test_aligned),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_resizing),
        cmocka_unit_test(test_move),
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_threads_publish),
        cmocka_unit_test(test_threads_at_once),
        cmocka_unit_test(test_hook),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_system),
        cmocka_unit_test(test_background_purge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
