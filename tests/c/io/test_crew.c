/* SPDX-License-Identifier: BSD-3-Clause
 * The crew: every job is done once and comes back in order, whoever does it; at rest nobody works;
 * nothing is left behind.
 *
 * SEED=n runs the same random choices again; each run prints its seed.
 */
#include "io/crew.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/seed.h"

#define JOBS 3000

struct job {
    atomic_int done;
    unsigned turns; /* how long it takes */
    unsigned sum;
};

static struct job jobs[JOBS];
static atomic_int working, elsewhere;
static pthread_t giver;

static void work(void *argument) {
    struct job *job = argument;
    atomic_fetch_add(&working, 1);
    if (!pthread_equal(pthread_self(), giver)) atomic_fetch_add(&elsewhere, 1);
    for (unsigned i = 0; i < job->turns; i++) job->sum = job->sum * 31 + i;
    atomic_fetch_add(&job->done, 1);
    atomic_fetch_sub(&working, 1);
}

static void draw_jobs(void) {
    for (size_t i = 0; i < JOBS; i++) {
        uint64_t turns = random_below(random_below(20) ? 300 : 30000);
        jobs[i] = (struct job){.turns = (unsigned)turns};
    }
    giver = pthread_self();
    atomic_store(&elsewhere, 0);
}

/* Takes the next that is to come back. */
static size_t take(struct crew *c, size_t taken) {
    struct job *job = crew_take(c);
    assert_ptr_equal(job, &jobs[taken]);
    assert_int_equal(atomic_load(&job->done), 1);
    return taken + 1;
}

static void run(unsigned threads) {
    size_t before = memory_used(MEMORY_OTHER), given = 0, taken = 0;
    struct crew *c = crew_create(work, threads);
    assert_true(crew_room(c) > threads);
    draw_jobs();
    while (taken < JOBS) {
        assert_int_equal(crew_given(c), given - taken);
        uint64_t choice = random_below(40);
        if (choice == 0) {
            crew_rest(c);
            assert_int_equal(atomic_load(&working), 0);
            for (size_t i = taken; i < given; i++) assert_int_equal(atomic_load(&jobs[i].done), 1);
        } else if (given < JOBS && crew_given(c) < crew_room(c) && choice < 30) {
            crew_give(c, &jobs[given++]);
        } else if (given > taken) {
            taken = take(c, taken);
        }
    }
    assert_null(crew_take(c));
    crew_free(c);
    assert_int_equal(memory_used(MEMORY_OTHER), before);
}

static void test_all_come_back_in_order(void **state) {
    for (unsigned threads = 0; threads < 5; threads++) run(threads);
}

/* While one is stuck all others are done, as far as there is room. */
static atomic_int stuck;
static void wait_if_first(void *argument) {
    struct job *job = argument;
    while (job == &jobs[0] && atomic_load(&stuck)) continue;
    work(job);
}

static void *let_go_when_done(void *argument) {
    size_t count = *(size_t *)argument;
    for (size_t i = 1; i < count; i++)
        while (!atomic_load(&jobs[i].done)) sched_yield();
    atomic_store(&stuck, 0);
    return NULL;
}

static void test_none_waits_for_another(void **state) {
    pthread_t other;
    struct crew *c = crew_create(wait_if_first, 3);
    size_t count = crew_room(c);
    draw_jobs();
    atomic_store(&stuck, 1);
    assert_int_equal(pthread_create(&other, NULL, let_go_when_done, &count), 0);
    for (size_t i = 0; i < count; i++) crew_give(c, &jobs[i]);
    for (size_t taken = 0; taken < count;) taken = take(c, taken);
    assert_int_equal(pthread_join(other, NULL), 0);
    crew_free(c);
}

/* One job is done where it was given: no thread is started for it. */
static void test_one_job_needs_no_thread(void **state) {
    struct crew *c = crew_create(work, 4);
    draw_jobs();
    for (size_t taken = 0; taken < 100;) {
        crew_give(c, &jobs[taken]);
        taken = take(c, taken);
    }
    assert_int_equal(atomic_load(&elsewhere), 0);
    crew_free(c);
}

static void test_nothing_given(void **state) {
    struct crew *c = crew_create(work, 2);
    crew_rest(c);
    assert_null(crew_take(c));
    crew_free(c);
}

int main(void) {
    seed_from_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_come_back_in_order),
        cmocka_unit_test(test_none_waits_for_another),
        cmocka_unit_test(test_one_job_needs_no_thread),
        cmocka_unit_test(test_nothing_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
