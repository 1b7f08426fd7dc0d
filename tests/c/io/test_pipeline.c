/* SPDX-License-Identifier: BSD-3-Clause
 * The pipeline: everything in order whoever does it, pieces and blocks of any size, sinks and
 * encoders that fail, files that are full or take parts only; nothing is left behind.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "io/pipeline.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/checksum.h"
#include "base/faults.h"
#include "base/memory.h"
#include "base/seed.h"
#include "base/stream.h"
#include "io/file_stream.h"

#define PIECES_MAX 30000

/* A piece stands for `times` copies of its number, or for a failure. */
struct piece {
    uint32_t number, times, error;
    uint32_t bytes; /* of the whole piece, which is longer than this struct */
};

static struct piece pieces[PIECES_MAX];
static size_t piece_count;
static atomic_int encoded;

static void encode_piece(const struct piece *piece, struct sink *out) {
    atomic_fetch_add(&encoded, 1);
    if (piece->error) sink_fail(out, (int)piece->error);
    if (piece->times > 20000) { /* as a text that is larger than any window */
        size_t bytes = piece->times * sizeof(piece->number);
        uint32_t *large = malloc(bytes);
        assert_non_null(large);
        for (uint32_t i = 0; i < piece->times; i++) large[i] = piece->number;
        sink_write(out, large, bytes);
        free(large);
        return;
    }
    for (uint32_t i = 0; i < piece->times; i++)
        sink_write(out, &piece->number, sizeof(piece->number));
}

/* Called with a sink that has failed, too: then there is nothing to be done. */
static void encode(struct slice block, struct sink *out) {
    for (size_t at = 0; at < block.length && !sink_error(out);) {
        struct piece piece;
        memcpy(&piece, block.bytes + at, sizeof(piece));
        assert_int_equal((uintptr_t)(block.bytes + at) % 8, 0);
        encode_piece(&piece, out);
        at += (piece.bytes + 7) & ~(size_t)7;
    }
    assert_true(block.length <= PIPELINE_BLOCK_BYTES);
}

/* Mostly small ones, some that fill a block, some that become more than a window. */
static void draw_pieces(size_t count) {
    piece_count = count;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = sizeof(struct piece) + (size_t)random_below(random_below(50) ? 100 : 60000);
        uint64_t times = random_below(random_below(200) ? 40 : random_below(4) ? 4000 : 300000);
        pieces[i] = (struct piece){(uint32_t)i, (uint32_t)times, 0, (uint32_t)bytes};
    }
    pieces[0].bytes = PIPELINE_BLOCK_BYTES;
}

static size_t guessed_too_low = 1; /* a piece becomes so many times what was guessed of it */

static void give_pieces(struct pipeline *p) {
    for (size_t i = 0; i < piece_count; i++) {
        char *room = pipeline_room(p, pieces[i].bytes);
        memset(room, 0xee, pieces[i].bytes);
        memcpy(room, &pieces[i], sizeof(pieces[i]));
        size_t bytes = pieces[i].times * sizeof(uint32_t);
        pipeline_give(p, pieces[i].bytes, bytes / guessed_too_low);
    }
}

static size_t bytes_of_pieces(void) {
    size_t bytes = 0;
    for (size_t i = 0; i < piece_count; i++) bytes += pieces[i].times * sizeof(uint32_t);
    return bytes;
}

static void assert_all_there(const char *bytes, size_t length) {
    assert_int_equal(length, bytes_of_pieces());
    for (size_t i = 0, at = 0; i < piece_count; i++) {
        for (uint32_t n = 0; n < pieces[i].times; n++, at += sizeof(uint32_t)) {
            uint32_t number;
            memcpy(&number, bytes + at, sizeof(number));
            if (number != i) fail_msg("%u instead of %zu at %zu", number, i, at);
        }
    }
}

static size_t used(void) { return memory_used(MEMORY_OTHER); }

static void run(unsigned threads) {
    struct buffer bytes;
    struct buffer_sink out;
    size_t before = used();
    buffer_init(&bytes, MEMORY_OTHER);
    buffer_sink_init(&out, &bytes);
    sink_checksum_begin(&out.sink, checksum_crc64, 0);
    struct pipeline *p = pipeline_create(&out.sink, encode, threads);
    give_pieces(p);
    assert_true(pipeline_end(p));
    assert_true(sink_flush(&out.sink));
    assert_all_there(bytes.bytes, bytes.length);
    assert_int_equal(sink_checksum(&out.sink), checksum_crc64(0, bytes.bytes, bytes.length));
    buffer_free(&bytes);
    assert_int_equal(used(), before);
}

static void test_all_in_order(void **state) {
    for (unsigned round = 0; round < 24; round++) {
        draw_pieces(1 + (size_t)random_below(round % 3 ? 4000 : 20));
        run(round % 5);
    }
}

/* Blocks become some windows each, in small writes: whoever encodes one has the sink until it has
 * written the last of them, which is not full. */
static void test_more_than_a_window(void **state) {
    guessed_too_low = 64;
    piece_count = 600;
    for (unsigned threads = 0; threads < 5; threads++) {
        for (uint32_t i = 0; i < piece_count; i++) {
            uint32_t bytes = (uint32_t)sizeof(struct piece) + (uint32_t)random_below(2000);
            pieces[i] = (struct piece){i, 1000 + (uint32_t)random_below(5000), 0, bytes};
        }
        run(threads);
    }
    guessed_too_low = 1;
}

static unsigned threads_now(void) {
    unsigned threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) threads += task->d_name[0] != '.';
    closedir(tasks);
    return threads;
}

static void test_what_is_small_starts_no_thread(void **state) {
    struct buffer bytes;
    struct buffer_sink out;
    unsigned before = threads_now();
    buffer_init(&bytes, MEMORY_OTHER);
    buffer_sink_init(&out, &bytes);
    struct pipeline *p = pipeline_create(&out.sink, encode, 3);
    assert_true(pipeline_end(p)); /* nothing at all */
    piece_count = 100;
    for (uint32_t i = 0; i < piece_count; i++)
        pieces[i] = (struct piece){i, 5, 0, sizeof(struct piece)};
    p = pipeline_create(&out.sink, encode, 3);
    give_pieces(p);
    assert_int_equal(threads_now(), before);
    assert_true(pipeline_end(p));
    assert_true(sink_flush(&out.sink));
    assert_all_there(bytes.bytes, bytes.length);
    buffer_free(&bytes);
}

/* ---- Failures ---- */

struct failing_sink {
    struct sink sink;
    char window[1000];
    size_t left; /* bytes that it takes before it fails */
};

static bool fail_drain(struct sink *s, const void *more, size_t length) {
    struct failing_sink *f = (struct failing_sink *)s;
    size_t bytes = sink_window(s).length + length;
    sink_set_window(s, f->window, sizeof(f->window));
    errno = ENOSPC;
    if (bytes > f->left) return false;
    f->left -= bytes;
    return true;
}

static const struct sink_type failing_type = {.drain = fail_drain};

static void test_sink_that_fails(void **state) {
    draw_pieces(6000);
    for (unsigned round = 0; round < 30; round++) {
        struct failing_sink f = {.left = (size_t)random_below(bytes_of_pieces())};
        if (round < 2) f.left = 0;
        size_t before = used();
        sink_init(&f.sink, &failing_type, f.window, sizeof(f.window));
        atomic_store(&encoded, 0);
        struct pipeline *p = pipeline_create(&f.sink, encode, round % 4);
        give_pieces(p);
        assert_false(pipeline_end(p) && sink_flush(&f.sink));
        assert_int_equal(sink_error(&f.sink), ENOSPC);
        /* What comes after the failure is not worked on. */
        if (round < 2) assert_true((size_t)atomic_load(&encoded) < piece_count);
        assert_int_equal(used(), before);
    }
}

static void test_sink_that_had_failed(void **state) {
    struct failing_sink f = {.left = 0};
    draw_pieces(1000);
    sink_init(&f.sink, &failing_type, f.window, sizeof(f.window));
    sink_fail(&f.sink, EIO);
    atomic_store(&encoded, 0);
    struct pipeline *p = pipeline_create(&f.sink, encode, 2);
    assert_true(pipeline_failed(p));
    give_pieces(p);
    assert_false(pipeline_end(p));
    assert_int_equal(sink_error(&f.sink), EIO);
    assert_int_equal(atomic_load(&encoded), 0);
}

static void test_encoder_that_fails(void **state) {
    for (unsigned round = 0; round < 12; round++) {
        struct buffer bytes;
        struct buffer_sink out;
        draw_pieces(2000);
        pieces[random_below(piece_count)].error = EFBIG;
        size_t before = used();
        buffer_init(&bytes, MEMORY_OTHER);
        buffer_sink_init(&out, &bytes);
        struct pipeline *p = pipeline_create(&out.sink, encode, round % 4);
        give_pieces(p);
        assert_false(pipeline_end(p));
        assert_int_equal(sink_error(&out.sink), EFBIG);
        buffer_free(&bytes);
        assert_int_equal(used(), before);
    }
}

/* ---- Files ---- */

static char path[] = "/tmp/test_pipeline.XXXXXX";
static int file;

/* What came of the pieces in the file. */
static bool write_to_file(unsigned threads, uint64_t *sum) {
    struct file_sink to;
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    file_sink_open(&to, file, -1);
    file_sink_set_sync(&to, 1 << 20, true);
    sink_checksum_begin(&to.sink, checksum_crc64, 0);
    struct pipeline *p = pipeline_create(&to.sink, encode, threads);
    give_pieces(p);
    bool good = pipeline_end(p) && sink_flush(&to.sink);
    *sum = sink_checksum(&to.sink);
    if (!good) assert_int_not_equal(sink_error(&to.sink), 0);
    file_sink_close(&to);
    return good;
}

static void assert_file_whole(uint64_t sum) {
    size_t length = bytes_of_pieces();
    char *bytes = malloc(length + 1);
    assert_non_null(bytes);
    assert_int_equal(pread(file, bytes, length + 1, 0), length);
    assert_int_equal(checksum_crc64(0, bytes, length), sum);
    assert_all_there(bytes, length);
    free(bytes);
}

static void test_file_in_parts(void **state) {
    uint64_t sum;
    draw_pieces(3000);
    for (unsigned threads = 0; threads < 3; threads++) {
        faults_cut(random_u64() | 1, 30000, 20);
        assert_true(write_to_file(threads, &sum));
        faults_clear();
        assert_file_whole(sum);
    }
}

/* Some call fails, and all after it. */
static void test_file_that_fails(void **state) {
    uint64_t sum, calls[FAULT_CALLS];
    draw_pieces(3000);
    faults_clear();
    assert_true(write_to_file(0, &sum));
    for (int i = 0; i < FAULT_CALLS; i++) calls[i] = faults_count((enum fault_call)i);
    for (unsigned round = 0; round < 20; round++) {
        size_t before = used();
        enum fault_call call = round % 5 == 4 && calls[FAULT_FSYNC] ? FAULT_FSYNC : FAULT_WRITE;
        faults_fail(call, round % 2 ? ENOSPC : EIO, (unsigned)random_below(calls[call]), UINT_MAX,
                    NULL);
        bool good = write_to_file(round % 3, &sum);
        faults_clear();
        assert_false(good);
        assert_int_equal(used(), before);
    }
    assert_true(write_to_file(1, &sum));
    assert_file_whole(sum);
}

/* A child that was forked while this process had threads may start its own. */
static void save_in_child(void) {
    uint64_t sum;
    if (!write_to_file(2, &sum)) _exit(1);
    assert_file_whole(sum);
    _exit(0);
}

static void *idle(void *argument) {
    while (!atomic_load((atomic_int *)argument)) usleep(1000);
    return NULL;
}

static void test_in_a_child(void **state) {
#ifdef __SANITIZE_THREAD__
    skip(); /* it knows no threads of such a child */
#endif
    char out[4096];
    pthread_t thread;
    atomic_int ends = 0;
    draw_pieces(3000);
    assert_int_equal(pthread_create(&thread, NULL, idle, &ends), 0);
    int status = run_in_child(save_in_child, out, sizeof(out));
    atomic_store(&ends, 1);
    pthread_join(thread, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int open_file(void **state) {
    seed_from_environment();
    file = mkstemp(path);
    return file < 0;
}

static int close_file(void **state) {
    close(file);
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_in_order),
        cmocka_unit_test(test_more_than_a_window),
        cmocka_unit_test(test_what_is_small_starts_no_thread),
        cmocka_unit_test(test_sink_that_fails),
        cmocka_unit_test(test_sink_that_had_failed),
        cmocka_unit_test(test_encoder_that_fails),
        cmocka_unit_test(test_file_in_parts),
        cmocka_unit_test(test_file_that_fails),
        cmocka_unit_test(test_in_a_child),
    };
    return cmocka_run_group_tests(tests, open_file, close_file);
}
