/* SPDX-License-Identifier: BSD-3-Clause
 * I/O threads: every job is done once, elsewhere, begun in order; who waits is told; nobody is busy
 * while nothing is given; a forked child does its jobs itself.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "io/threads.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/seed.h"
#include "metric/attribution.h"
#include "option/option.h"

#define JOBS 2000
#define THREADS 3

struct work {
    struct threads_job job; /* first */
    unsigned turns;         /* how long it takes */
    unsigned sum;
    unsigned begun; /* as which one */
    atomic_int done;
    atomic_bool may_end;
};

static struct work works[JOBS];
static atomic_int working, elsewhere, misnamed;
static atomic_uint begun;
static pthread_t giver;

static void note_where(void) {
    char name[16] = "";
    if (!pthread_equal(pthread_self(), giver)) atomic_fetch_add(&elsewhere, 1);
    pthread_getname_np(pthread_self(), name, sizeof(name));
    if (strncmp(name, "io_thd_", 7) != 0) atomic_fetch_add(&misnamed, 1);
}

static void do_work(struct threads_job *job) {
    struct work *w = (struct work *)job;
    atomic_fetch_add(&working, 1);
    w->begun = atomic_fetch_add(&begun, 1);
    note_where();
    for (unsigned i = 0; i < w->turns; i++) w->sum = w->sum * 31 + i;
    atomic_fetch_add(&w->done, 1);
    atomic_fetch_sub(&working, 1);
}

static void draw_works(void) {
    for (size_t i = 0; i < JOBS; i++) {
        uint64_t turns = random_below(random_below(20) ? 300 : 30000);
        works[i] = (struct work){.job.work = do_work, .turns = (unsigned)turns};
    }
    giver = pthread_self();
    atomic_store(&elsewhere, 0);
    atomic_store(&misnamed, 0);
    atomic_store(&begun, 0);
}

static void assert_done(size_t first, size_t end) {
    for (size_t i = first; i < end; i++) assert_int_equal(atomic_load(&works[i].done), 1);
}

static void start(unsigned threads) {
    char line[64];
    struct buffer error = {.class = MEMORY_OTHER};
    snprintf(line, sizeof(line), "io-threads %u\n", threads + 1);
    assert_true(option_load_text(slice_of(line), OPTION_FROM_FILE, &error));
    assert_true(threads_start());
    assert_int_equal(threads_count(), threads);
}

static void run(unsigned threads) {
    size_t given = 0, seen = 0;
    start(threads);
    draw_works();
    while (seen < JOBS) {
        uint64_t choice = random_below(40);
        if (choice == 0) {
            threads_rest();
            assert_int_equal(atomic_load(&working), 0);
            assert_done(seen, given);
        } else if (choice == 1 && given > seen) {
            seen += 1 + random_below(given - seen); /* the newest first, as who wants all does */
            for (size_t i = seen; i--;) threads_wait(&works[i].job);
            assert_done(0, seen);
        } else if (given < JOBS && choice < 30) {
            threads_give(&works[given++].job);
        } else if (given > seen) {
            threads_wait(&works[seen].job);
            assert_int_equal(atomic_load(&works[seen++].done), 1);
        }
    }
    threads_rest();
    assert_int_equal(atomic_load(&elsewhere), JOBS);
    assert_int_equal(atomic_load(&misnamed), 0);
    if (threads == 1)
        for (unsigned i = 0; i < JOBS; i++) assert_int_equal(works[i].begun, i);
    threads_stop();
    assert_int_equal(threads_count(), 0);
}

static void test_all_are_done(void **state) {
    for (unsigned threads = 1; threads <= THREADS; threads++) run(threads);
}

static void wait_to_end(struct threads_job *job) {
    struct work *w = (struct work *)job;
    while (!atomic_load(&w->may_end)) usleep(100);
    do_work(job);
}

/* One that takes long keeps nobody from the others, nor from waiting for them. */
static void test_none_waits_for_another(void **state) {
    start(2);
    draw_works();
    works[0].job.work = wait_to_end;
    for (size_t i = 0; i < 100; i++) threads_give(&works[i].job);
    for (size_t i = 1; i < 100; i++) threads_wait(&works[i].job);
    assert_done(1, 100);
    assert_int_equal(atomic_load(&works[0].done), 0);
    atomic_store(&works[0].may_end, true);
    threads_wait(&works[0].job);
    assert_done(0, 1);
    threads_stop();
}

static int64_t cpu_usec(clockid_t clock) {
    struct timespec now;
    assert_int_equal(clock_gettime(clock, &now), 0);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void sleep_a_while(struct threads_job *job) {
    usleep(200000);
    do_work(job);
}

/* While nothing is given, and while the giver waits for what takes long, no processor's time goes
 * by: what it takes to fall asleep and to wake is far below what anybody who spins would take. */
static void test_nobody_is_busy(void **state) {
    start(THREADS);
    draw_works();
    threads_give(&works[0].job);
    threads_wait(&works[0].job);
    int64_t before = cpu_usec(CLOCK_PROCESS_CPUTIME_ID);
    usleep(200000);
    assert_true(cpu_usec(CLOCK_PROCESS_CPUTIME_ID) - before < 50000);
    works[1].job.work = sleep_a_while;
    before = cpu_usec(CLOCK_PROCESS_CPUTIME_ID);
    threads_give(&works[1].job);
    threads_wait(&works[1].job);
    assert_true(cpu_usec(CLOCK_PROCESS_CPUTIME_ID) - before < 50000);
    threads_stop();
}

/* The giver's wait is not time in which it was kept from its processor. On a busy machine it is
 * kept from it as well, so one of many tries is enough. */
static bool waits_idly(void) {
    works[0].job.work = sleep_a_while;
    attribution_reset();
    int64_t begin_nsec = clock_monotonic_nsec();
    attribution_start(begin_nsec, clock_thread_cpu_nsec());
    threads_give(&works[0].job);
    threads_wait(&works[0].job);
    int64_t end_nsec = clock_monotonic_nsec();
    attribution_turn_end(end_nsec, clock_thread_cpu_nsec());
    return (int64_t)attribution_sums().off_cpu_nsec < end_nsec - begin_nsec - 150000000;
}

static void test_waiting_is_idle(void **state) {
    start(1);
    draw_works();
    int tries = 0;
    while (tries < 50 && !waits_idly()) tries++;
    assert_int_not_equal(tries, 50);
    threads_stop();
}

/* In a child there is nobody else. */
static void act_in_child(void) {
    threads_in_child();
    for (size_t i = 0; i < 10; i++) {
        threads_give(&works[i].job);
        threads_wait(&works[i].job);
    }
    threads_rest();
    assert_done(0, 10);
    assert_int_equal(atomic_load(&elsewhere), 0);
    assert_int_equal(threads_count(), 0);
    threads_stop();
    _exit(7);
}

static void test_forked_child(void **state) {
    char out[64];
    start(2);
    draw_works();
    threads_rest();
    int status = run_in_child(act_in_child, out, sizeof(out));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    threads_stop();
}

static void test_none(void **state) {
    start(0);
    draw_works();
    threads_rest();
    threads_give(&works[0].job);
    threads_wait(&works[0].job);
    assert_done(0, 1);
    assert_int_equal(atomic_load(&elsewhere), 0);
    assert_false(threads_do_reads());
    threads_stop();
}

int main(void) {
    seed_from_environment();
    threads_register();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_done),   cmocka_unit_test(test_none_waits_for_another),
        cmocka_unit_test(test_nobody_is_busy), cmocka_unit_test(test_waiting_is_idle),
        cmocka_unit_test(test_forked_child),   cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
