/* SPDX-License-Identifier: BSD-3-Clause
 * Sinks and sources over files, pipes and sockets: in parts, interrupted, full, slow, failing.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "io/file_stream.h"

#include <sys/socket.h>

#include "base/checksum.h"
#include "base/faults.h"
#include "base/seed.h"
#include "io/file.h"

#define TEXT_BYTES 1000000
static char *text;
static char path[] = "/tmp/test_file_stream.XXXXXX";
static int file;

static int open_file(void **state) {
    seed_from_environment();
    file = mkstemp(path);
    text = malloc(TEXT_BYTES);
    if (file < 0 || !text) return -1;
    for (size_t i = 0; i < TEXT_BYTES; i += 8) {
        uint64_t word = random_u64();
        memcpy(text + i, &word, 8);
    }
    return 0;
}

static int close_file(void **state) {
    free(text);
    close(file);
    return unlink(path);
}

static int begin(void **state) {
    faults_clear();
    return ftruncate(file, 0) || lseek(file, 0, SEEK_SET) != 0;
}

static int end(void **state) {
    faults_clear();
    return 0;
}

/* A part of some length from here on: mostly short ones. */
static size_t draw_part(size_t left) {
    size_t most = random_below(10) ? 40 : random_below(10) ? 5000 : 300000;
    size_t part = 1 + (size_t)random_below(most);
    return part < left ? part : left;
}

static void write_text(struct sink *s) {
    size_t part;
    for (size_t at = 0; at < TEXT_BYTES; at += part) {
        part = draw_part(TEXT_BYTES - at);
        sink_write(s, text + at, part);
    }
}

static void read_text(struct source *s) {
    size_t part;
    char *bytes = malloc(TEXT_BYTES);
    assert_non_null(bytes);
    for (size_t at = 0; at < TEXT_BYTES; at += part) {
        part = draw_part(TEXT_BYTES - at);
        assert_true(source_read(s, bytes, part));
        assert_memory_equal(bytes, text + at, part);
    }
    free(bytes);
    assert_true(source_at_end(s));
    assert_int_equal(source_offset(s), TEXT_BYTES);
}

static void test_there_and_back(void **state) {
    for (int i = 0; i < 12; i++) {
        struct file_sink to;
        struct file_source from;
        assert_int_equal(ftruncate(file, 0), 0);
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        if (i % 2) faults_cut(random_u64(), 50000, 20);
        file_sink_open(&to, file, -1);
        if (i % 3) file_sink_set_sync(&to, 100000, i % 3 == 2);
        sink_checksum_begin(&to.sink, checksum_crc64, 0);
        write_text(&to.sink);
        assert_true(sink_flush(&to.sink));
        assert_int_equal(sink_checksum(&to.sink), checksum_crc64(0, text, TEXT_BYTES));
        file_sink_close(&to);
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        file_source_open(&from, file, -1);
        assert_int_equal(source_left_max(&from.source), TEXT_BYTES);
        source_checksum_begin(&from.source, checksum_crc64, 0);
        read_text(&from.source);
        assert_int_equal(source_checksum(&from.source), checksum_crc64(0, text, TEXT_BYTES));
        file_source_close(&from);
    }
}

/* From the midst on, and to the end of a file that is appended to. */
static void test_from_where_it_stands(void **state) {
    struct file_sink to;
    struct file_source from;
    char bytes[4];
    assert_true(file_write(file, SLICE("0123456789"), NULL));
    int appending = system_open(path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    file_sink_open(&to, appending, -1);
    assert_int_equal(to.at, 10);
    sink_write(&to.sink, "ab", 2);
    assert_true(sink_flush(&to.sink));
    assert_int_equal(to.at, 12);
    file_sink_close(&to);
    system_close(appending);
    assert_int_equal(lseek(file, 8, SEEK_SET), 8);
    file_source_open(&from, file, -1);
    assert_int_equal(source_left_max(&from.source), 4);
    assert_true(source_read(&from.source, bytes, 4));
    assert_memory_equal(bytes, "89ab", 4);
    assert_false(source_read(&from.source, bytes, 1));
    assert_int_equal(from.source.status, SOURCE_ENDED);
    file_source_close(&from);
}

/* ---- Incremental syncs ---- */

/* What is added behind it is none of this reading's. */
static void test_ends_at_its_length(void **state) {
    struct file_source in;
    char two[2];
    assert_int_equal(write(file, text, 1000), 1000);
    assert_int_equal(lseek(file, 998, SEEK_SET), 998);
    file_source_open(&in, file, -1);
    file_source_end_at_length(&in);
    assert_int_equal(pwrite(file, text, 1000, 1000), 1000);
    assert_true(source_read(&in.source, two, 2));
    assert_memory_equal(two, text + 998, 2);
    assert_true(source_at_end(&in.source));
    file_source_close(&in);
}

static void test_syncs_in_steps(void **state) {
    struct file_sink f;
    file_sink_open(&f, file, -1);
    file_sink_set_sync(&f, 200000, false);
    sink_write(&f.sink, text, TEXT_BYTES);
    assert_true(sink_flush(&f.sink));
    /* Five steps; each but the first waits for the one before. */
    assert_int_equal(faults_count(FAULT_FSYNC), 9);
    assert_int_equal(f.sync_begun, TEXT_BYTES);
    assert_int_equal(f.sync_waited, TEXT_BYTES - 200000);
    file_sink_close(&f);
}

static void test_syncs_without_ranges(void **state) {
    struct file_sink f;
    faults_fail(FAULT_FSYNC, ENOSYS, 0, 1, NULL);
    file_sink_open(&f, file, -1);
    file_sink_set_sync(&f, 200000, true);
    sink_write(&f.sink, text, TEXT_BYTES);
    assert_true(sink_flush(&f.sink));
    assert_int_equal(faults_count(FAULT_FSYNC), 6);
    assert_int_equal(f.sync_waited, TEXT_BYTES);
    file_sink_close(&f);
}

static void test_sync_that_fails(void **state) {
    for (unsigned after = 0; after < 9; after++) {
        struct file_sink f;
        faults_clear();
        faults_fail(FAULT_FSYNC, EIO, after, 1, NULL);
        file_sink_open(&f, file, -1);
        file_sink_set_sync(&f, 200000, false);
        sink_write(&f.sink, text, TEXT_BYTES);
        assert_false(sink_flush(&f.sink));
        assert_int_equal(sink_error(&f.sink), EIO);
        file_sink_close(&f);
    }
}

/* ---- Failures ---- */

static void test_full_disk(void **state) {
    struct file_sink f;
    struct stat about;
    faults_cut(random_u64(), 50000, 20);
    faults_fail(FAULT_WRITE, ENOSPC, 10, UINT_MAX, NULL);
    file_sink_open(&f, file, -1);
    for (int i = 0; i < 100 && !sink_error(&f.sink); i++) sink_write(&f.sink, text, 100000);
    assert_int_equal(sink_error(&f.sink), ENOSPC);
    uint64_t calls = faults_count(FAULT_WRITE);
    write_text(&f.sink);
    assert_false(sink_flush(&f.sink));
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(faults_count(FAULT_WRITE), calls);
    file_sink_close(&f);
    assert_int_equal(fstat(file, &about), 0);
    assert_int_equal(about.st_size, f.at);
}

static void test_read_that_fails(void **state) {
    struct file_source f;
    char bytes[100];
    assert_true(file_write(file, (struct slice){text, TEXT_BYTES}, NULL));
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    faults_fail(FAULT_READ, EIO, 1, 1, NULL);
    file_source_open(&f, file, -1);
    assert_true(source_read(&f.source, bytes, 100));
    assert_false(source_skip(&f.source, 200000));
    assert_int_equal(f.source.status, SOURCE_FAILED);
    assert_string_equal(source_fault(&f.source), strerror(EIO));
    file_source_close(&f);
}

/* ---- Pipes and sockets ---- */

static void test_socket_that_does_not_block(void **state) {
    int ends[2], status;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct file_sink to;
        close(ends[0]);
        faults_cut(77, 3000, 20);
        file_sink_open(&to, ends[1], -1);
        write_text(&to.sink);
        _exit(sink_flush(&to.sink) ? 0 : 1);
    }
    close(ends[1]);
    struct file_source from;
    faults_cut(random_u64(), 3000, 20);
    file_source_open(&from, ends[0], -1);
    assert_true(source_left_max(&from.source) == UINT64_MAX);
    read_text(&from.source);
    file_source_close(&from);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_nobody_reads_or_writes(void **state) {
    int ends[2];
    char byte;
    struct file_sink to;
    struct file_source from;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    file_source_open(&from, ends[0], 20);
    assert_false(source_read(&from.source, &byte, 1));
    assert_int_equal(from.source.status, SOURCE_FAILED);
    assert_int_equal(from.source.error, ETIMEDOUT);
    file_source_close(&from);
    file_sink_open(&to, ends[1], 20);
    for (int i = 0; i < 100 && !sink_error(&to.sink); i++) sink_write(&to.sink, text, TEXT_BYTES);
    assert_int_equal(sink_error(&to.sink), ETIMEDOUT);
    file_sink_close(&to);
    close(ends[0]);
    file_sink_open(&to, ends[1], 20);
    sink_write_byte(&to.sink, 'x');
    assert_false(sink_flush(&to.sink));
    assert_int_equal(sink_error(&to.sink), EPIPE);
    file_sink_close(&to);
    close(ends[1]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_there_and_back),
        TEST(test_from_where_it_stands),
        TEST(test_ends_at_its_length),
        TEST(test_syncs_in_steps),
        TEST(test_syncs_without_ranges),
        TEST(test_sync_that_fails),
        TEST(test_full_disk),
        TEST(test_read_that_fails),
        TEST(test_socket_that_does_not_block),
        TEST(test_nobody_reads_or_writes),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, open_file, close_file);
}
