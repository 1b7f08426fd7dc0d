/* SPDX-License-Identifier: BSD-3-Clause
 * Jobs in a ring.
 *
 *   given  -->  begun by whoever is free  -->  done  -->  taken back by the giver
 *
 * `given`, `begun` and `taken` count jobs; job n is in place n modulo the number of places. Jobs
 * are begun in the order in which they were given, and may be done in any order.
 *
 * Invariants, under the lock:
 *  1. taken <= begun <= given <= taken + places.
 *  2. `working` of the jobs [taken, begun) are not done; each has a thread, which waits for no
 *     other.
 *  3. The giver waits only if no job is left to begin, so there is no deadlock.
 */
#include "io/crew.h"

#include <pthread.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/panic.h"
#include "io/affinity.h"
#include "io/child.h"
#include "io/signals.h"

/* Each thread, and the giver, has one place for the job that it works on and one for a job that
 * waits. */
#define PLACES_PER_THREAD 2

struct place {
    void *job;
    bool done;
};

struct crew {
    crew_work *work;
    unsigned threads_wanted, threads_running;
    pthread_t threads[CREW_THREADS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t given_more, done_more; /* the threads wait for one, the giver for the other */
    uint64_t given, begun, taken;
    size_t working;
    bool ending;
    size_t places_count;
    struct place places[];
};

static void crew_lock(struct crew *c) { ASSERT(pthread_mutex_lock(&c->lock) == 0); }
static void crew_unlock(struct crew *c) { ASSERT(pthread_mutex_unlock(&c->lock) == 0); }

static struct place *place_of(struct crew *c, uint64_t number) {
    return &c->places[number % c->places_count];
}

/* Runs the next job. The caller holds the lock, which is released while the job runs. Returns false
 * if no job is left to begin. */
static bool do_next(struct crew *c) {
    if (c->begun == c->given) return false;
    struct place *place = place_of(c, c->begun++);
    c->working++;
    crew_unlock(c);
    c->work(place->job);
    memory_publish(); /* so that memory counts are right before the crew ends */
    crew_lock(c);
    place->done = true;
    c->working--;
    pthread_cond_signal(&c->done_more);
    return true;
}

static void *crew_thread_main(void *argument) {
    struct crew *c = argument;
    signals_thread_start();
    if (!child_here()) affinity_apply(&affinity_background); /* a child's keep its processors */
    crew_lock(c);
    while (!c->ending) {
        if (!do_next(c)) ASSERT(pthread_cond_wait(&c->given_more, &c->lock) == 0);
    }
    crew_unlock(c);
    signals_thread_end();
    return NULL;
}

/* If the system refuses threads, the giver does the jobs itself. */
static void crew_start_threads(struct crew *c) {
#ifdef __SANITIZE_THREAD__
    /* Which takes no threads of a child whose parent had some. */
    if (child_here()) return;
#endif
    while (c->threads_running < c->threads_wanted) {
        pthread_t *thread = &c->threads[c->threads_running];
        if (pthread_create(thread, NULL, crew_thread_main, c) != 0) {
            c->threads_wanted = c->threads_running;
            return;
        }
        pthread_setname_np(*thread, "crew");
        c->threads_running++;
    }
}

struct crew *crew_create(crew_work *work, unsigned threads) {
    if (threads > CREW_THREADS_MAX) threads = CREW_THREADS_MAX;
    size_t places = PLACES_PER_THREAD * ((size_t)threads + 1);
    struct crew *c = memory_zalloc(sizeof(*c) + places * sizeof(c->places[0]), MEMORY_OTHER);
    c->work = work;
    c->threads_wanted = threads;
    c->places_count = places;
    ASSERT(pthread_mutex_init(&c->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&c->given_more, NULL) == 0);
    ASSERT(pthread_cond_init(&c->done_more, NULL) == 0);
    return c;
}

size_t crew_room(const struct crew *c) { return c->places_count; }

/* Takes no lock, because only the giver writes both counters. */
size_t crew_given(const struct crew *c) { return (size_t)(c->given - c->taken); }

void crew_give(struct crew *c, void *job) {
    ASSERT_COMPARE(crew_given(c), <, c->places_count);
    if (crew_given(c) > 0) crew_start_threads(c);
    crew_lock(c);
    *place_of(c, c->given) = (struct place){job, false};
    c->given++;
    pthread_cond_signal(&c->given_more);
    crew_unlock(c);
}

void *crew_take(struct crew *c) {
    if (crew_given(c) == 0) return NULL;
    struct place *oldest = place_of(c, c->taken);
    crew_lock(c);
    while (!oldest->done) {
        if (!do_next(c)) ASSERT(pthread_cond_wait(&c->done_more, &c->lock) == 0);
    }
    c->taken++;
    crew_unlock(c);
    return oldest->job;
}

void crew_rest(struct crew *c) {
    crew_lock(c);
    while (c->begun < c->given || c->working > 0) {
        if (!do_next(c)) ASSERT(pthread_cond_wait(&c->done_more, &c->lock) == 0);
    }
    crew_unlock(c);
}

void crew_free(struct crew *c) {
    ASSERT(crew_given(c) == 0);
    crew_lock(c);
    c->ending = true;
    pthread_cond_broadcast(&c->given_more);
    crew_unlock(c);
    for (unsigned i = 0; i < c->threads_running; i++)
        ASSERT(pthread_join(c->threads[i], NULL) == 0);
    pthread_cond_destroy(&c->done_more);
    pthread_cond_destroy(&c->given_more);
    pthread_mutex_destroy(&c->lock);
    memory_free(c, MEMORY_OTHER);
}
