/* SPDX-License-Identifier: BSD-3-Clause
 * The scribe's end: what is given up at the last moment does not take the place of anything.
 */
#include "save/scribe.h"

#include <pthread.h>
#include <sys/stat.h>

#include "base/faults.h"
#include "base/seed.h"

#include "io/background.h"
#include "io/file.h"
#include "rdb/rdb_save.h"
#include "save/saver.h"
#include "server/whole.h"

/* Head, tail, the mark of the end, the sum. */
#define WHOLE_BYTES (4 + 4 + 1 + 8)

static char path[] = "/tmp/evenkeel-scribe-XXXXXX";
static int closed_error; /* what `close` was told; -1: it was not called */
static bool kept;

/* ---- syncs wait while the gate is shut ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool shut;
static unsigned waiting;

static void at_gate(const struct fault_change *change) {
    if (change->call != FAULT_FSYNC) return;
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_cond_broadcast(&changed);
    while (shut) pthread_cond_wait(&changed, &lock);
    waiting--;
    pthread_mutex_unlock(&lock);
}

static void set_gate(bool to) {
    pthread_mutex_lock(&lock);
    shut = to;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_sync(void) {
    pthread_mutex_lock(&lock);
    while (!waiting) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* ---- a job ---- */

static int open_file(void *argument, int id) {
    return system_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

/* As who replaces a file: it is synced, and then takes its place. */
static bool close_file(void *argument, int fd, int error) {
    closed_error = error;
    if (!error) kept = file_sync(fd);
    system_close(fd);
    return !error && kept;
}

static void ignore(void) {}

static struct scribe *begin_scribe(void) {
    struct scribe_plan plan = {
        .job = {.kind = &saver_snapshot, .open = open_file, .close = close_file}, .wake = ignore};
    buffer_init(&plan.head, MEMORY_SAVES);
    buffer_init(&plan.tail, MEMORY_SAVES);
    buffer_append_c_string(&plan.head, "head");
    buffer_append_c_string(&plan.tail, "tail");
    closed_error = -1;
    kept = false;
    return scribe_create(&plan);
}

static bool end_scribe(struct scribe *s) {
    bool good = false;
    background_drain(&scribe_jobs);
    assert_true(scribe_has_ended(s, &good));
    scribe_free(s);
    return good;
}

static void test_all_is_well(void **state) {
    struct stat status;
    struct scribe *s = begin_scribe();
    scribe_end(s, true);
    assert_true(end_scribe(s));
    assert_int_equal(closed_error, 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, WHOLE_BYTES);
}

/* FLUSHALL, or another primary's data: the old data may not come back by a file that is nearly
 * done, however long its disk takes. */
static void test_given_up_while_syncing(void **state) {
    set_gate(true);
    struct scribe *s = begin_scribe();
    scribe_end(s, true);
    await_sync();
    scribe_give_up(s);
    set_gate(false);
    assert_false(end_scribe(s));
    assert_int_equal(closed_error, ECANCELED);
    assert_false(kept);
}

static void test_sync_fails(void **state) {
    faults_fail(FAULT_FSYNC, EIO, 0, 1, path);
    struct scribe *s = begin_scribe();
    scribe_end(s, true);
    assert_false(end_scribe(s));
    faults_clear();
    assert_int_equal(closed_error, EIO);
    assert_false(kept);
}

/* What cannot be synced, as a pipe, is none the worse for it. */
static void test_no_file(void **state) {
    faults_fail(FAULT_FSYNC, EINVAL, 0, 1, path);
    struct scribe *s = begin_scribe();
    scribe_end(s, true);
    assert_true(end_scribe(s));
    faults_clear();
    assert_int_equal(closed_error, 0);
}

/* ---- a second job ---- */

static char other_path[] = "/tmp/evenkeel-scribe-other-XXXXXX";
static int other_closed_error;

static int open_other(void *argument, int id) {
    return system_open(other_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

static bool close_other(void *argument, int fd, int error) {
    other_closed_error = error;
    system_close(fd);
    return !error;
}

static struct scribe *begin_both(void) {
    struct scribe *s = begin_scribe();
    const struct saver_job job = {
        .kind = &saver_snapshot, .open = open_other, .close = close_other, .argument = other_path};
    scribe_join(s, &job);
    other_closed_error = -1;
    return s;
}

static void end_both(struct scribe *s, bool first, bool second) {
    bool good[SAVER_JOBS_MAX] = {false};
    background_drain(&scribe_jobs);
    assert_true(scribe_has_ended(s, good));
    assert_int_equal(good[0], first);
    assert_int_equal(good[1], second);
    scribe_free(s);
}

static void assert_length(const char *name, off_t length) {
    struct stat status;
    assert_int_equal(stat(name, &status), 0);
    assert_int_equal(status.st_size, length);
}

static void test_two_jobs(void **state) {
    struct scribe *s = begin_both();
    scribe_end(s, true);
    end_both(s, true, true);
    assert_length(path, WHOLE_BYTES);
    assert_length(other_path, WHOLE_BYTES);
}

/* Where one cannot be opened, or written, the other is whole. */
static void test_one_of_two_fails(void **state) {
    static const struct {
        enum fault_call call;
        int error;
    } faults[] = {{FAULT_OPEN, EACCES}, {FAULT_WRITE, ENOSPC}, {FAULT_FSYNC, EIO}};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        for (int which = 0; which < 2; which++) {
            faults_fail(faults[i].call, faults[i].error, 0, 1, which ? other_path : path);
            struct scribe *s = begin_both();
            scribe_end(s, true);
            end_both(s, which == 1, which == 0);
            faults_clear();
            assert_length(which ? path : other_path, WHOLE_BYTES);
            int told = which ? other_closed_error : closed_error;
            assert_int_equal(told, faults[i].call == FAULT_OPEN ? -1 : faults[i].error);
        }
    }
}

static void test_both_fail(void **state) {
    faults_fail(FAULT_WRITE, ENOSPC, 0, 2, "/tmp/evenkeel-scribe");
    struct scribe *s = begin_both();
    scribe_end(s, true);
    end_both(s, false, false);
    faults_clear();
    assert_int_equal(closed_error, ENOSPC);
    assert_int_equal(other_closed_error, ENOSPC);
}

/* Nobody wants the one any more: the other is written to its end. */
static void test_one_of_two_leaves(void **state) {
    struct scribe *s = begin_both();
    scribe_leave(s, other_path);
    scribe_end(s, true);
    end_both(s, true, false);
    assert_int_equal(other_closed_error, ECANCELED);
    assert_length(path, WHOLE_BYTES);
}

static void test_two_given_up(void **state) {
    set_gate(true);
    struct scribe *s = begin_both();
    scribe_end(s, true);
    await_sync();
    scribe_give_up(s);
    set_gate(false);
    end_both(s, false, false);
    assert_int_equal(closed_error, ECANCELED);
    assert_int_equal(other_closed_error, ECANCELED);
}

/* ---- a pipe that nobody reads ---- */

static int pipe_ends[2];

static int open_pipe(void *argument, int id) { return pipe_ends[1]; }

static void fill_pipe(void) {
    static const char bytes[65536];
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
    while (write(pipe_ends[1], bytes, sizeof(bytes)) > 0) continue;
    assert_int_equal(errno, EAGAIN);
}

/* The save of who gives up, or leaves, ends although the peer does not read. */
static void test_pipe_is_not_waited_for(void **state) {
    for (int leaves = 0; leaves < 2; leaves++) {
        fill_pipe();
        struct scribe *s = begin_scribe();
        const struct saver_job job = {.kind = &saver_snapshot,
                                      .open = open_pipe,
                                      .close = close_other,
                                      .argument = pipe_ends};
        scribe_join(s, &job);
        scribe_end(s, true);
        if (leaves)
            scribe_leave(s, pipe_ends);
        else
            scribe_give_up(s);
        end_both(s, leaves, false);
        assert_int_equal(other_closed_error, ECANCELED);
        close(pipe_ends[0]);
    }
}

static int open_all(void **state) {
    int fd = mkstemp(path), other = mkstemp(other_path);
    if (fd < 0 || other < 0) return 1;
    close(fd);
    close(other);
    faults_before_change = at_gate;
    return whole_open();
}

static int close_all(void **state) {
    background_stop();
    return unlink(path) | unlink(other_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_is_well),  cmocka_unit_test(test_given_up_while_syncing),
        cmocka_unit_test(test_sync_fails),   cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_two_jobs),     cmocka_unit_test(test_one_of_two_fails),
        cmocka_unit_test(test_both_fail),    cmocka_unit_test(test_one_of_two_leaves),
        cmocka_unit_test(test_two_given_up), cmocka_unit_test(test_pipe_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
