/* SPDX-License-Identifier: BSD-3-Clause
 * Forked children: how they end, what they tell, what they may, while other threads run.
 */
#include "io/child.h"

#include "base/faults.h"
#include "base/seed.h"

#include <poll.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/background.h"
#include "io/loop.h"
#include "io/signals.h"
#include "metric/metric.h"

static const struct child_kind snapshot_kind = {.beside = false};
static const struct child_kind rewrite_kind = {.beside = false};
static const struct child_kind other_kind = {.beside = false};
static const struct child_kind beside_kind = {.beside = true};

static struct loop *loop;
static struct child_end ended;
static unsigned ended_count;
static int before_count, gone_count;
static int told[2]; /* a pipe: what a child wants the test to know */

static void note_end(const struct child_end *end, void *argument) {
    assert_ptr_equal(argument, &ended);
    ended = *end;
    ended_count++;
    assert_true((unsigned)gone_count >= ended_count); /* observers are told before */
}

static void note_before(const struct child_kind *kind) { before_count++; }
static void note_gone(const struct child_kind *kind) {
    gone_count++;
    assert_true(gone_count <= before_count);
}
static const char *title_told = "";
static void note_in_child(const struct child_job *job) { title_told = job->title; }

static const struct child_observer counting = {note_before, note_in_child, note_gone};
static const struct child_observer silent = {NULL, NULL, NULL};
static const struct child_observer *const observers[] = {&counting, &silent, NULL};

static struct child_job job_of(const struct child_kind *kind) {
    return (struct child_job){.kind = kind,
                              .title = "a-child",
                              .label = "Test",
                              .keys_total = 1000,
                              .ended = note_end,
                              .argument = &ended};
}

static pid_t start(const struct child_kind *kind, int (*run)(void *)) {
    struct child_job job = job_of(kind);
    pid_t pid = child_start(&job, run, NULL);
    assert_true(pid > 0);
    return pid;
}

/* Turns the loop until so many have ended; a bound against a test that hangs. */
static void turn_until_ended(unsigned count) {
    for (int i = 0; i < 3000 && ended_count < count; i++) loop_turn(loop, 10);
    assert_int_equal(ended_count, count);
}

static int begin(void **state) {
    faults_clear();
    ended_count = 0;
    before_count = gone_count = 0;
    memset(&ended, 0, sizeof(ended));
    loop = loop_create();
    child_open(loop, observers);
    return pipe(told);
}

static int end(void **state) {
    assert_false(child_lives());
    assert_int_equal(before_count, gone_count);
    child_open(NULL, NULL);
    loop_free(loop);
    close(told[0]);
    return close(told[1]);
}

/* ---- What children do ---- */

static int run_well(void *unused) { return 0; }
static int run_badly(void *unused) { return 1; }
static int run_for_ever(void *unused) {
    while (true) pause();
    return 1;
}

/* ---- Programs ---- */

static void test_programs(void **state) {
    char *good[] = {"/bin/sh", "-c", "exit 7", NULL};
    char *missing[] = {"/nonexistent/program", NULL};
    char *lasting[] = {"/bin/sh", "-c", "while :; do sleep 1; done", NULL};
    pid_t pid = child_execute(&beside_kind, good, note_end, &ended);
    assert_true(pid > 0);
    assert_false(child_lives()); /* of the exclusive kinds none */
    turn_until_ended(1);
    assert_int_equal(ended.pid, pid);
    assert_int_equal(ended.exit_code, 7);
    assert_true(child_execute(&beside_kind, missing, note_end, &ended) > 0);
    turn_until_ended(2);
    assert_int_equal(ended.exit_code, CHILD_EXIT_NO_PROGRAM);
    pid = child_execute(&beside_kind, lasting, note_end, &ended);
    assert_true(pid > 0);
    child_kill_pid(pid + 1); /* not ours */
    child_kill_pid(pid);
    turn_until_ended(3);
    assert_int_equal(ended.signal, SIGKILL);
    assert_false(ended.good);
}

/* ---- How they end ---- */

static void test_ends_well(void **state) {
    pid_t pid = start(&snapshot_kind, run_well);
    assert_true(child_lives());
    assert_int_equal(child_pid(), pid);
    assert_ptr_equal(child_kind(), &snapshot_kind);
    assert_int_equal(before_count, 1);
    turn_until_ended(1);
    assert_true(ended.good);
    assert_false(ended.on_purpose);
    assert_ptr_equal(ended.kind, &snapshot_kind);
    assert_int_equal(ended.pid, pid);
    assert_int_equal(ended.exit_code, 0);
    assert_int_equal(ended.signal, 0);
    assert_true(ended.cow_bytes > 0);
    assert_int_equal(child_pid(), 0);
    assert_null(child_kind());
}

static void test_ends_badly(void **state) {
    start(&rewrite_kind, run_badly);
    turn_until_ended(1);
    assert_false(ended.good);
    assert_false(ended.on_purpose);
    assert_int_equal(ended.exit_code, 1);
}

static void test_killed_by_others(void **state) {
    kill(start(&snapshot_kind, run_for_ever), SIGKILL);
    turn_until_ended(1);
    assert_false(ended.good);
    assert_false(ended.on_purpose);
    assert_int_equal(ended.signal, SIGKILL);
}

static int say_ready(void *unused) {
    if (write(told[1], "r", 1) != 1) return 1;
    return run_for_ever(NULL);
}

static void wait_until_ready(void) {
    char c;
    assert_int_equal(read(told[0], &c, 1), 1);
}

static void test_killed_on_purpose(void **state) {
    start(&snapshot_kind, say_ready);
    wait_until_ready();
    child_kill(&rewrite_kind); /* another kind */
    child_kill(&snapshot_kind);
    turn_until_ended(1);
    assert_false(ended.good);
    assert_true(ended.on_purpose);
    assert_int_equal(ended.exit_code, SIGNALS_CHILD_EXIT);
    /* At once, before it has a handler: the same. */
    start(&snapshot_kind, say_ready);
    child_kill(&snapshot_kind);
    turn_until_ended(2);
    assert_true(ended.on_purpose);
    /* By an operator. */
    kill(start(&snapshot_kind, run_for_ever), SIGUSR1);
    turn_until_ended(3);
    assert_true(ended.on_purpose);
}

static void test_killed_and_waited_for(void **state) {
    start(&rewrite_kind, say_ready);
    wait_until_ready();
    child_kill_and_wait(&snapshot_kind);
    assert_int_equal(ended_count, 0);
    child_kill_and_wait(&rewrite_kind);
    assert_int_equal(ended_count, 1);
    assert_true(ended.on_purpose);
    loop_turn(loop, 0);
    assert_int_equal(ended_count, 1);
}

static int run_deaf(void *unused) {
    signal(SIGUSR1, SIG_IGN);
    return say_ready(NULL);
}

static void test_deaf_child(void **state) {
    start(&other_kind, run_deaf);
    wait_until_ready();
    child_kill_and_wait(&other_kind);
    assert_int_equal(ended.signal, SIGKILL);
    assert_true(ended.on_purpose);
}

/* The terminal's and the supervisor's signals go to the whole group: they are the parent's. */
static void test_ignores_the_parents_signals(void **state) {
    pid_t pid = start(&snapshot_kind, say_ready);
    wait_until_ready();
    kill(pid, SIGINT);
    kill(pid, SIGTERM);
    kill(pid, SIGHUP);
    child_kill(&snapshot_kind);
    turn_until_ended(1);
    assert_int_equal(ended.exit_code, SIGNALS_CHILD_EXIT);
}

static int close_everything(void *unused) {
    for (int fd = 3; fd < 200; fd++)
        if (fd != told[1]) close(fd);
    return say_ready(NULL);
}

/* A pipe that ends early says nothing of the child's end. */
static void test_pipe_closes_early(void **state) {
    pid_t pid = start(&snapshot_kind, close_everything);
    wait_until_ready();
    for (int i = 0; i < 20; i++) loop_turn(loop, 5);
    assert_int_equal(ended_count, 0);
    assert_int_equal(child_pid(), pid);
    child_kill(&snapshot_kind);
    turn_until_ended(1);
}

/* Whoever started us ignores SIGCHLD: then children would vanish unseen. */
static void test_inherited_disposition(void **state) {
    signal(SIGCHLD, SIG_IGN);
    child_open(loop, observers);
    start(&snapshot_kind, run_badly);
    turn_until_ended(1);
    assert_int_equal(ended.exit_code, 1);
}

static void test_end_that_was_lost(void **state) {
    pid_t pid = start(&snapshot_kind, run_well);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    turn_until_ended(1);
    assert_false(ended.good);
    assert_int_equal(ended.exit_code, -1);
}

/* ---- One at a time ---- */

static void test_exclusive(void **state) {
    struct child_job job = job_of(&rewrite_kind);
    start(&snapshot_kind, run_for_ever);
    errno = 0;
    assert_int_equal(child_start(&job, run_well, NULL), -1);
    assert_int_equal(errno, EBUSY);
    assert_int_equal(before_count, 1);
    /* The debugger's live beside it. */
    start(&beside_kind, run_for_ever);
    start(&beside_kind, run_for_ever);
    assert_ptr_equal(child_kind(), &snapshot_kind);
    child_kill(&beside_kind);
    turn_until_ended(2);
    assert_ptr_equal(ended.kind, &beside_kind);
    assert_true(child_lives());
    assert_int_equal(before_count, 3);
    assert_int_equal(gone_count, 2);
    child_kill_and_wait(&snapshot_kind);
}

static unsigned chain;
static void start_next(const struct child_end *end, void *argument) {
    struct child_job job = job_of(&snapshot_kind);
    note_end(end, argument);
    assert_false(child_lives());
    if (++chain == 3) return;
    job.ended = start_next;
    assert_true(child_start(&job, run_well, NULL) > 0);
}

static void test_next_from_the_end_of_one(void **state) {
    struct child_job job = job_of(&snapshot_kind);
    job.ended = start_next;
    chain = 0;
    assert_true(child_start(&job, run_well, NULL) > 0);
    turn_until_ended(3);
}

static void test_fork_fails(void **state) {
    struct child_job job = job_of(&snapshot_kind);
    faults_fail(FAULT_FORK, ENOMEM, 0, 1, NULL);
    errno = 0;
    assert_int_equal(child_start(&job, run_well, NULL), -1);
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(before_count, 1);
    assert_int_equal(gone_count, 1);
    assert_false(child_lives());
    assert_int_equal(ended_count, 0);
    start(&snapshot_kind, run_well);
    turn_until_ended(1);
}

/* epoll takes neither the process nor the pipe: a timer finds the end. */
static void test_without_watchers(void **state) {
    faults_fail(FAULT_EPOLL_CTL, ENOSPC, 0, 2, NULL);
    start(&snapshot_kind, run_well);
    turn_until_ended(1);
    assert_true(ended.good);
    assert_true(ended.cow_bytes > 0);
}

/* ---- Within a command ---- */

static struct loop_timer nesting;
static int64_t nest(struct loop_timer *timer) {
    start(&snapshot_kind, run_well);
    for (int i = 0; i < 50; i++) loop_turn(loop, 5);
    assert_int_equal(ended_count, 0);
    assert_true(child_lives());
    return LOOP_TIMER_END;
}

static void test_not_reaped_in_a_nested_turn(void **state) {
    memset(&nesting, 0, sizeof(nesting));
    nesting.callback = nest;
    loop_timer_start(loop, &nesting, 0);
    loop_turn(loop, 10);
    turn_until_ended(1);
    assert_true(ended.good);
}

/* ---- What it tells ---- */

static int report_keys(void *unused) {
    int64_t second = INT64_C(1000000000), begun = clock_monotonic_nsec();
    child_note_keys(CHILD_REPORT_KEYS); /* too early */
    clock_use_fixed(0, begun + 2 * second);
    child_note_keys(CHILD_REPORT_KEYS / 2); /* the clock is not looked at */
    child_note_keys(0);
    child_note_keys(500);
    clock_use_fixed(0, begun + 3 * second);
    child_note_keys(CHILD_REPORT_KEYS * 3);
    return say_ready(NULL);
}

static void assert_info(const char *section, const char *text) {
    struct buffer out = {.class = MEMORY_OTHER};
    metric_print(slice_of(section), &out);
    if (!strstr(out.bytes, text)) fail_msg("no \"%s\" in %s", text, out.bytes);
    buffer_free(&out);
}

static void assert_progress(uint64_t keys_done, uint64_t keys_total, double share) {
    uint64_t done, total;
    double is = child_progress(&done, &total);
    assert_int_equal(done, keys_done);
    assert_int_equal(total, keys_total);
    assert_true(is > share - 0.0001 && is < share + 0.0001);
}

static void test_reports(void **state) {
    assert_progress(0, 0, 0);
    start(&snapshot_kind, report_keys);
    wait_until_ready();
    for (int i = 0; i < 5; i++) loop_turn(loop, 5);
    assert_progress(3072, 1000, 3.072);
    child_kill_and_wait(&snapshot_kind);
    assert_true(ended.cow_bytes > 0);
    assert_info("Persistence", "current_cow_size:0\r\ncurrent_cow_peak:0\r\n");
}

static void test_counts_forks(void **state) {
    metric_reset_all();
    assert_info("Stats", "latest_fork_usec:0\r\ntotal_forks:0\r\n");
    start(&snapshot_kind, run_well);
    turn_until_ended(1);
    assert_info("Stats", "total_forks:1\r\n");
}

static int report_progress(void *unused) {
    child_note_progress(0.25);
    return say_ready(NULL);
}

static void test_reports_progress(void **state) {
    start(&other_kind, report_progress);
    wait_until_ready();
    for (int i = 0; i < 5; i++) loop_turn(loop, 5);
    assert_progress(0, 1000, 0.25);
    child_kill_and_wait(&other_kind);
}

/* Far more than the pipe holds, to a parent that does not read: the child does not wait. */
static int report_without_end(void *unused) {
    for (int i = 0; i < 5000; i++) child_note_progress(i / 5000.0);
    return say_ready(NULL);
}

static void test_parent_that_does_not_read(void **state) {
    start(&other_kind, report_without_end);
    wait_until_ready();
    for (int i = 0; i < 5; i++) loop_turn(loop, 5);
    assert_info("Persistence", "current_cow_size");
    child_kill_and_wait(&other_kind);
}

/* A child whose parent is gone writes for nobody: it ends. */
static int orphan(void *unused) {
    while (true) child_note_progress(0);
    return 1;
}

static void test_parent_that_is_gone(void **state) {
    int ends[2];
    char c;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t parent = fork();
    if (parent == 0) {
        struct child_job job = job_of(&snapshot_kind);
        close(ends[0]);
        _exit(child_start(&job, orphan, NULL) > 0 ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    /* All that hold the other end are gone. */
    assert_int_equal(read(ends[0], &c, 1), 0);
    close(ends[0]);
}

static int held_end; /* of a pipe; the child that lives on lets go of it */

static int live_on(void *unused) {
    close(held_end);
    return run_for_ever(NULL);
}

/* A child ends with its parent, though another of the parent's children, which began later, lives
 * on. */
static void test_parent_that_is_gone_with_a_second_child(void **state) {
    int ends[2];
    char c;
    pid_t second;
    assert_int_equal(pipe(ends), 0);
    held_end = ends[1];
    fflush(NULL);
    pid_t parent = fork();
    if (parent == 0) {
        struct child_job job = job_of(&snapshot_kind), other = job_of(&beside_kind);
        close(ends[0]);
        bool begun = child_start(&job, orphan, NULL) > 0;
        second = child_start(&other, live_on, NULL);
        if (write(told[1], &second, sizeof(second)) != (ssize_t)sizeof(second)) begun = false;
        _exit(begun && second > 0 ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(told[0], &second, sizeof(second)), sizeof(second));
    assert_true(second > 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    bool ended_too = poll(&end, 1, 30000) == 1;
    kill(second, SIGKILL);
    assert_true(ended_too);
    assert_int_equal(read(ends[0], &c, 1), 0);
    close(ends[0]);
}

/* ---- In the child ---- */

static atomic_bool busy;
static atomic_uint jobs_done;

/* Takes the locks that a child may want, again and again. */
static void take_locks(void *unused) {
    while (busy) {
        void *block = memory_alloc(1 + jobs_done % 5000, MEMORY_OTHER);
        memory_free(block, MEMORY_OTHER);
        log_debug("busy");
        jobs_done++;
    }
}

static struct background_kind own_jobs = {.name = "test"};

static void note_job(void *unused) { jobs_done++; }

static int use_everything(void *unused) {
    if (strcmp(title_told, "a-child") != 0 || !child_here() || child_lives()) return 2;
    unsigned before = jobs_done;
    background_submit(&own_jobs, note_job, NULL);
    background_submit(&background_free, note_job, NULL);
    if (jobs_done != before + 2) return 3;
    background_drain(&background_free);
    if (background_pending(&own_jobs) + background_pending(&background_free)) return 4;
    for (int i = 0; i < 200; i++) {
        void *block = memory_alloc(100 + (size_t)i * 100, MEMORY_OTHER);
        memory_free(block, MEMORY_OTHER);
        log_debug("child");
    }
    return 0;
}

static void test_child_takes_no_lock_of_a_thread(void **state) {
    assert_true(log_set_file("/dev/null"));
    log_set_syslog(true, "evenkeel-test", 8);
    log_set_level(LOG_LEVEL_DEBUG);
    busy = true;
    background_submit(&own_jobs, take_locks, NULL);
    background_submit(&background_free, take_locks, NULL);
    for (unsigned i = 1; i <= 20; i++) {
        start(&snapshot_kind, use_everything);
        turn_until_ended(i);
        assert_int_equal(ended.signal, 0);
        assert_int_equal(ended.exit_code, 0);
    }
    busy = false;
    background_stop();
    log_set_level(LOG_LEVEL_NOTICE);
    log_set_syslog(false, "", 0);
    assert_true(log_set_file(NULL));
    assert_false(child_here());
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_ends_well),
        TEST(test_ends_badly),
        TEST(test_killed_by_others),
        TEST(test_killed_on_purpose),
        TEST(test_killed_and_waited_for),
        TEST(test_deaf_child),
        TEST(test_ignores_the_parents_signals),
        TEST(test_pipe_closes_early),
        TEST(test_inherited_disposition),
        TEST(test_end_that_was_lost),
        TEST(test_exclusive),
        TEST(test_next_from_the_end_of_one),
        TEST(test_fork_fails),
        TEST(test_without_watchers),
        TEST(test_not_reaped_in_a_nested_turn),
        TEST(test_reports),
        TEST(test_counts_forks),
        TEST(test_reports_progress),
        TEST(test_parent_that_does_not_read),
        TEST(test_parent_that_is_gone),
        TEST(test_parent_that_is_gone_with_a_second_child),
        TEST(test_child_takes_no_lock_of_a_thread),
        TEST(test_programs),
    };
    signal(SIGPIPE, SIG_IGN);
    child_register();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    metric_forget_all();
    return failed;
}
