/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of trace_file/trace_file_writer on a disk that fails: whichever write fails, short writes
 * before it included, the file holds whole blocks, and says how it ended where that still fits.
 */
#include "trace_file/trace_file_writer.h"

#include <unistd.h>

#include "base/faults.h"
#include "base/seed.h"
#include "trace_file/trace_file_reader.h"

#define RECORDS 4000
static char path[64], reason[TRACE_FILE_REASON_CHARS];
static char word[100];
static const struct trace_file_head head = {.sample = 1, .keys = INT64_MAX, .maxmemory = -7};
static const struct trace_file_argument arguments[] = {
    {TRACE_FILE_WORD, {"get", 3}, 0, -1, -1}, {TRACE_FILE_WORD, {word, sizeof(word)}, 0, -1, -1}};

/* Writes RECORDS records, or as many as the disk takes. Returns how many the file has by its
 * writer;
 * `*finished` becomes what trace_file_finish says. -1: the file was not created. */
static int64_t write_records(bool *finished) {
    struct trace_file_end end = {.missing = INT64_MAX};
    struct trace_file_writer *w = trace_file_create(path, true, &head, reason);
    if (!w) return -1;
    for (uint64_t i = 1; i <= RECORDS; i++) {
        const struct trace_file_record record = {
            .id = i, .argument_count = 2, .arguments = arguments};
        if (trace_file_write(w, &record)) continue;
        assert_non_null(strstr(trace_file_write_error(w), strerror(ENOSPC)));
        break;
    }
    *finished = trace_file_finish(w, &end, reason);
    return end.records;
}

static int64_t count_records(enum trace_file_status *status, enum trace_file_ending *ending) {
    struct trace_file_record record;
    int64_t count = 0;
    struct trace_file_reader *r = trace_file_open(path, reason);
    if (!r) return -1;
    while ((*status = trace_file_next(r, &record)) == TRACE_FILE_HAS_RECORD) count++;
    if (*status == TRACE_FILE_IS_WHOLE) *ending = trace_file_end(r)->ending;
    trace_file_close(r);
    return count;
}

static void test_each_write_fails_in_turn(void **state) {
    enum trace_file_status status = TRACE_FILE_IS_BAD;
    enum trace_file_ending ending = TRACE_FILE_ENDED;
    bool finished = false;
    seed_from_environment();
    assert_int_equal(write_records(&finished), RECORDS);
    assert_true(finished);
    for (unsigned times = 1; times < 1000; times += 998) {
        for (unsigned nth = 0;; nth++) {
            faults_clear();
            faults_cut(random_u64(), 40000, 30);
            faults_fail(FAULT_WRITE, ENOSPC, nth, times, NULL);
            finished = false;
            int64_t records = write_records(&finished);
            bool failed = faults_count(FAULT_WRITE) > nth;
            faults_clear();
            if (!failed) break;
            assert_false(finished);
            int64_t count = count_records(&status, &ending);
            assert_true(count == records || (records < 0 && count < 0));
            if (records < 0) continue;
            assert_true(status == TRACE_FILE_IS_WHOLE || status == TRACE_FILE_IS_CUT);
            if (status == TRACE_FILE_IS_WHOLE) assert_int_equal(ending, TRACE_FILE_DISK_FULL);
        }
    }
}

static void test_a_sync_that_fails_is_told(void **state) {
    bool finished = true;
    faults_fail(FAULT_FSYNC, EIO, 0, 1, NULL);
    assert_int_equal(write_records(&finished), RECORDS);
    faults_clear();
    assert_false(finished);
    assert_non_null(strstr(reason, strerror(EIO)));
}

static void test_absurd_figures_are_bounded(void **state) {
    bool finished = false;
    write_records(&finished);
    struct trace_file_record record;
    struct trace_file_reader *r = trace_file_open(path, reason);
    assert_non_null(r);
    assert_int_equal(trace_file_head(r)->keys, TRACE_FILE_NUMBER_MAX);
    assert_int_equal(trace_file_head(r)->maxmemory, -1);
    while (trace_file_next(r, &record) == TRACE_FILE_HAS_RECORD) continue;
    assert_int_equal(trace_file_end(r)->missing, TRACE_FILE_NUMBER_MAX);
    trace_file_close(r);
}

static int make_path(void **state) {
    snprintf(path, sizeof(path), "/tmp/test_trace_file_writer.%d", (int)getpid());
    memset(word, 'w', sizeof(word));
    return 0;
}

static int remove_path(void **state) {
    unlink(path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_write_fails_in_turn),
        cmocka_unit_test(test_a_sync_that_fails_is_told),
        cmocka_unit_test(test_absurd_figures_are_bounded),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
