/* SPDX-License-Identifier: BSD-3-Clause
 * The log's bytes in memory, against a plain copy of them.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "aof/aof_queue.h"

#include <fcntl.h>
#include <pthread.h>

#include "base/memory.h"
#include "base/seed.h"

#define TEXT_BYTES ((size_t)8 << 20)

static struct aof_queue queue;
static char *text, *got;
static int fd;

static void append(size_t length) {
    char *out = aof_queue_reserve(&queue, length + random_below(100));
    for (size_t i = 0; i < length; i++) text[queue.end + i] = out[i] = (char)random_u64();
    aof_queue_commit(&queue, out + length);
}

static void assert_range(uint64_t from, uint64_t to) {
    struct aof_range range = aof_queue_range(&queue, from, to);
    size_t written;
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_true(aof_range_write(fd, range, &written));
    assert_int_equal(written, to - from);
    assert_int_equal(pread(fd, got, to - from, 0), (ssize_t)(to - from));
    if (to > from) assert_memory_equal(got, text + from, to - from);
}

static int begin(void **state) {
    char path[] = "/tmp/evenkeel-queue-XXXXXX";
    fd = mkstemp(path);
    unlink(path);
    text = memory_alloc(TEXT_BYTES, MEMORY_OTHER);
    got = memory_alloc(TEXT_BYTES, MEMORY_OTHER);
    aof_queue_open(&queue);
    return fd < 0;
}

static int end(void **state) {
    aof_queue_close(&queue);
    memory_free(text, MEMORY_OTHER);
    memory_free(got, MEMORY_OTHER);
    close(fd);
    assert_int_equal(memory_used(aof_memory), 0);
    return 0;
}

/* One block is used over and over while all is let go at once; a large one is not kept. */
static void test_one_block(void **state) {
    size_t before = memory_used(aof_memory);
    for (int i = 0; i < 1000; i++) {
        append(3000);
        assert_range(queue.end - 3000, queue.end);
        aof_queue_release(&queue, queue.end);
    }
    assert_int_equal(memory_used(aof_memory), before);
    append(1000000);
    assert_range(queue.end - 1000000, queue.end);
    assert_true(memory_used(aof_memory) > before + 900000);
    aof_queue_release(&queue, queue.end);
    assert_true(memory_used(aof_memory) < before + AOF_BLOCK_BYTES + 4096);
}

/* More than one call of the system takes. */
static void test_many_blocks(void **state) {
    for (int i = 0; i < 130; i++) append(AOF_BLOCK_BYTES - 8192);
    assert_range(0, queue.end);
    assert_range(5, queue.end - 5);
}

static void test_random(void **state) {
    uint64_t below = queue.end;
    while (queue.end < TEXT_BYTES - 300000) {
        append(random_below(random_below(50) ? 2000 : 200000));
        uint64_t span = queue.end - below;
        uint64_t from = below + (span ? random_below(span + 1) : 0);
        assert_range(from, from + random_below(queue.end - from + 1));
        if (random_below(5)) continue;
        below += random_below(span + 1);
        if (!random_below(4)) below = queue.end;
        aof_queue_release(&queue, below);
    }
}

/* A thread follows a range while more is appended: for a sanitizer of threads. */
static void *follow(void *argument) {
    const struct aof_range *range = argument;
    size_t written;
    for (int i = 0; i < 50; i++) {
        if (lseek(fd, 0, SEEK_SET) != 0 || !aof_range_write(fd, *range, &written)) abort();
    }
    return NULL;
}

static void test_thread(void **state) {
    pthread_t thread;
    append(150000);
    append(10);
    struct aof_range range = aof_queue_range(&queue, queue.end - 150010, queue.end);
    assert_int_equal(pthread_create(&thread, NULL, follow, &range), 0);
    for (int i = 0; i < 200; i++) append(1 + random_below(3000));
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_block, begin, end),
        cmocka_unit_test_setup_teardown(test_many_blocks, begin, end),
        cmocka_unit_test_setup_teardown(test_random, begin, end),
        cmocka_unit_test_setup_teardown(test_thread, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
