/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of io/background: order, independence of the kinds, draining, accounting, no threads.
 */
#include "io/background.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/memory.h"
#include "io/loop.h"

#define HANG_GUARD_SECONDS 300 /* no measure: only ends a test that waits for ever */
#define JOBS 10000

/* Kinds as folders above declare them. */
static struct background_kind own_sync = {.name = "own-sync"}, own_close = {.name = "own-close"},
                              never = {.name = "never"};
static struct background_kind *const kinds[] = {&background_close, &background_free, &own_sync,
                                                &own_close};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static sem_t gate, entered;
static int order[JOBS];
static atomic_int done;

static int setup(void **state) {
    atomic_store(&done, 0);
    return sem_init(&gate, 0, 0) == 0 && sem_init(&entered, 0, 0) == 0 ? 0 : -1;
}

static int teardown(void **state) {
    background_stop();
    for (size_t i = 0; i < KINDS; i++) assert_int_equal(background_pending(kinds[i]), 0);
    sem_destroy(&gate);
    sem_destroy(&entered);
    return 0;
}

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) assert_int_equal(errno, EINTR);
}

static void job_wait_at_gate(void *argument) {
    sem_post(&entered);
    wait_for(&gate);
}

static void job_note_order(void *argument) {
    int place = atomic_fetch_add(&done, 1);
    order[place] = (int)(intptr_t)argument;
}

static void job_count(void *argument) { atomic_fetch_add((atomic_int *)argument, 1); }

static void test_jobs_of_a_kind_run_in_order(void **state) {
    for (intptr_t i = 0; i < JOBS; i++) {
        background_submit(&background_free, job_note_order, (void *)i);
    }
    background_drain(&background_free);
    assert_int_equal(atomic_load(&done), JOBS);
    for (int i = 0; i < JOBS; i++) assert_int_equal(order[i], i);
}

static void test_pending_counts_by_kind(void **state) {
    background_submit(&own_sync, job_wait_at_gate, NULL);
    wait_for(&entered);
    assert_int_equal(background_pending(&own_sync), 1); /* running */
    for (int i = 0; i < 3; i++) background_submit(&own_sync, job_count, &done);
    assert_int_equal(background_pending(&own_sync), 4);
    assert_int_equal(background_pending(&background_close), 0);
    assert_int_equal(background_pending(&background_free), 0);
    assert_int_equal(atomic_load(&done), 0);
    sem_post(&gate);
    background_drain(&own_sync);
    assert_int_equal(background_pending(&own_sync), 0);
    assert_int_equal(atomic_load(&done), 3);
}

/* While a job of one kind hangs the others go on. */
static void test_kinds_do_not_wait_for_each_other(void **state) {
    background_submit(&own_sync, job_wait_at_gate, NULL);
    wait_for(&entered);
    background_submit(&background_close, job_count, &done);
    background_submit(&background_free, job_count, &done);
    background_drain(&background_close);
    background_drain(&background_free);
    assert_int_equal(atomic_load(&done), 2);
    assert_int_equal(background_pending(&own_sync), 1);
    sem_post(&gate);
}

static void job_note_name(void *name) { pthread_getname_np(pthread_self(), name, 16); }

/* A kind is known from its first job on; until then it has no thread, and nothing is pending. */
static void test_kinds_of_their_own(void **state) {
    char of_sync[16], of_close[16];
    assert_int_equal(background_pending(&never), 0);
    background_drain(&never);
    assert_null(never.worker);
    background_submit(&own_sync, job_note_name, of_sync);
    background_submit(&own_close, job_note_name, of_close);
    background_drain(&own_sync);
    background_drain(&own_close);
    assert_string_equal(of_sync, "bg-own-sync");
    assert_string_equal(of_close, "bg-own-close");
}

static atomic_bool drained;

/* The queue is never empty until the drain is over. */
static void job_again_until_drained(void *argument) {
    if (atomic_load(&drained)) return;
    background_submit(&background_close, job_again_until_drained, NULL);
}

static void test_drain_does_not_wait_for_later_jobs(void **state) {
    atomic_store(&drained, false);
    background_submit(&background_close, job_again_until_drained, NULL);
    background_drain(&background_close);
    assert_true(background_pending(&background_close) > 0);
    atomic_store(&drained, true);
    background_drain(&background_close);
}

static void test_drain_without_jobs(void **state) {
    background_drain(&background_close);
    assert_true(background_start(&background_close));
    assert_true(background_start(&background_close));
    background_drain(&background_close);
}

static void test_stop_finishes_the_queue(void **state) {
    for (int i = 0; i < 100; i++) background_submit(&background_free, job_count, &done);
    background_stop();
    assert_int_equal(atomic_load(&done), 100);
    background_submit(&background_free, job_count, &done);
    background_drain(&background_free);
    assert_int_equal(atomic_load(&done), 101);
    background_stop();
    background_stop();
}

static void job_free(void *block) { memory_free(block, MEMORY_DATASET); }

static void *blocks[1000];

/* What a job freed is visible to who drained: the sum of the class is back where it was. */
static void test_frees_are_published(void **state) {
    background_drain(&background_free);
    size_t dataset = memory_used(MEMORY_DATASET), other = memory_used(MEMORY_OTHER);
    for (int i = 0; i < 1000; i++) blocks[i] = memory_alloc(500, MEMORY_DATASET);
    assert_true(memory_used(MEMORY_DATASET) >= dataset + 500000);
    for (int i = 0; i < 1000; i++) background_submit(&background_free, job_free, blocks[i]);
    background_drain(&background_free);
    assert_int_equal(memory_used(MEMORY_DATASET), dataset);
    assert_int_equal(memory_used(MEMORY_OTHER), other);
}

static void *submit_many(void *argument) {
    for (int i = 0; i < JOBS; i++) {
        background_submit(kinds[(size_t)i % KINDS], job_count, &done);
    }
    memory_publish();
    return NULL;
}

static void test_many_submitters(void **state) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, NULL), 0);
    }
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < KINDS; i++) background_drain(kinds[i]);
    assert_int_equal(atomic_load(&done), 4 * JOBS);
}

static void job_wake(void *argument) {
    atomic_fetch_add(&done, 1);
    loop_wake(argument);
}

static void test_a_job_wakes_the_loop(void **state) {
    struct loop *loop = loop_create();
    background_submit(&own_sync, job_wake, loop);
    while (atomic_load(&done) == 0) loop_turn(loop, -1);
    background_drain(&own_sync);
    loop_free(loop);
}

static pthread_t job_thread;
static sigset_t job_mask;
static char job_thread_name[16];

static void job_look(void *argument) {
    job_thread = pthread_self();
    pthread_sigmask(SIG_SETMASK, NULL, &job_mask);
}

static void test_a_worker_takes_no_signals(void **state) {
    background_submit(&own_sync, job_look, NULL);
    background_drain(&own_sync);
    assert_false(pthread_equal(job_thread, pthread_self()));
    assert_true(sigismember(&job_mask, SIGTERM));
    assert_false(sigismember(&job_mask, SIGSEGV));
    assert_int_equal(pthread_getname_np(job_thread, job_thread_name, sizeof(job_thread_name)), 0);
    assert_string_equal(job_thread_name, "bg-own-sync");
}

/* In a child whose address space is full, so that no stack for a thread can be had. */
static void test_without_threads_jobs_run_in_the_caller(void **state) {
#ifdef EVENKEEL_SANITIZER
    skip(); /* needs address space of its own */
#else
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit full = {1, 1};
        setrlimit(RLIMIT_AS, &full);
        if (background_start(&background_close) || errno != EAGAIN) _exit(1);
        background_submit(&own_sync, job_look, NULL);
        background_submit(&background_free, job_count, &done);
        background_drain(&background_free);
        if (background_pending(&background_free) != 0 || atomic_load(&done) != 1) _exit(2);
        _exit(pthread_equal(job_thread, pthread_self()) ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
#endif
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_without_threads_jobs_run_in_the_caller),
        TEST(test_jobs_of_a_kind_run_in_order),
        TEST(test_pending_counts_by_kind),
        TEST(test_kinds_do_not_wait_for_each_other),
        TEST(test_kinds_of_their_own),
        TEST(test_drain_does_not_wait_for_later_jobs),
        TEST(test_drain_without_jobs),
        TEST(test_stop_finishes_the_queue),
        TEST(test_frees_are_published),
        TEST(test_many_submitters),
        TEST(test_a_job_wakes_the_loop),
        TEST(test_a_worker_takes_no_signals),
    };
    alarm(HANG_GUARD_SECONDS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
