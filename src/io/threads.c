/* SPDX-License-Identifier: BSD-3-Clause
 * I/O threads. threads.h has the idea.
 *
 * Invariants, under the lock:
 *  1. first..last are the jobs that no thread has begun, in the order in which they were given;
 *     `working` more jobs are running, each in a thread.
 *  2. `asleep` threads wait for `given_more`. A job that is given wakes one of them.
 *  3. The giver waits for one job (`awaited`) or until no job is left (`resting`). It is woken
 *     once, when that has come true, and not for each job that ends before.
 */
#include "io/threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/panic.h"
#include "io/affinity.h"
#include "io/signals.h"
#include "metric/attribution.h"
#include "metric/metric.h"
#include "option/option.h"

#define THREADS_MAX 128
#define THREAD_NAME_CHARS 16 /* the system's limit */

static int64_t threads_option;
static bool do_reads;
static int64_t clients_min;
static uint64_t active;

static pthread_t threads[THREADS_MAX];
static unsigned running;
static bool forked; /* we are a child: the parent's threads are not here */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given_more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done_more = PTHREAD_COND_INITIALIZER;
static struct threads_job *first, *last;
static unsigned asleep, working;
static const struct threads_job *awaited; /* NULL = none */
static bool resting, ending;

static const struct option_row option_rows[] = {
    OPTION_INT(
        "io-threads", &threads_option, "1", 1, THREADS_MAX, 0, "threads", 10,
        "Threads that write to clients' sockets, and read where io-threads-do-reads says so; "
        "commands are run by the main thread, which is one of them. 1: it does all. Over "
        "TLS they encrypt and decrypt, too."),
    OPTION_BOOL("io-threads-do-reads", &do_reads, false, 0, "threads", 20,
                "I/O threads read too, and not only write."),
    OPTION_INT("io-threads-clients-min", &clients_min, "16", 1, INT32_MAX, OPTION_MUTABLE,
               "threads", 25,
               "Clients ready at once below which I/O threads sleep: the main thread serves so few "
               "before another one would have woken up."),
};

static const struct metric_row metric_rows[] = {
    {.section = "Server",
     .place = 240,
     .name = "io_threads_active",
     .measure = METRIC_GAUGE,
     .type = METRIC_UINT64,
     .variable = &active,
     .help =
         "1 where I/O threads had work in the last turn that served clients, else 0: they sleep "
         "while few clients are ready at once."},
};

void threads_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

bool threads_are_wanted(void) { return threads_option > 1; }
unsigned threads_count(void) { return forked ? 0 : running; }
unsigned threads_clients_min(void) { return (unsigned)clients_min; }
bool threads_do_reads(void) { return do_reads && threads_count() > 0; }
void threads_note_active(bool is_active) { active = is_active; }

static void threads_lock(void) { ASSERT(pthread_mutex_lock(&mutex) == 0); }
static void threads_unlock(void) { ASSERT(pthread_mutex_unlock(&mutex) == 0); }
static void threads_wait_for(pthread_cond_t *news) { ASSERT(pthread_cond_wait(news, &mutex) == 0); }

/* ---- a thread ---- */

static struct threads_job *take_first(void) {
    struct threads_job *job = first;
    first = job->next;
    working++;
    return job;
}

static void end_job(struct threads_job *job) {
    working--;
    atomic_store_explicit(&job->done, true, memory_order_release);
    if (awaited == job || (resting && !first && !working)) pthread_cond_signal(&done_more);
}

/* Runs jobs until none is left. The caller holds the lock, which is released while a job runs. */
static void do_jobs(void) {
    while (first) {
        struct threads_job *job = take_first();
        threads_unlock();
        job->work(job);
        memory_publish();
        threads_lock();
        end_job(job);
    }
}

static void *threads_main(void *argument) {
    signals_thread_start();
    affinity_apply(&affinity_server);
    threads_lock();
    for (;;) {
        do_jobs();
        if (ending) break;
        asleep++;
        threads_wait_for(&given_more);
        asleep--;
    }
    threads_unlock();
    signals_thread_end();
    return NULL;
}

bool threads_start(void) {
    char name[THREAD_NAME_CHARS];
    while (running + 1 < (unsigned)threads_option) {
        int error = pthread_create(&threads[running], NULL, threads_main, NULL);
        if (error) {
            log_warning("Fatal: Can't initialize IO thread: %s", strerror(error));
            return false;
        }
        running++;
        snprintf(name, sizeof(name), "io_thd_%u", running);
        pthread_setname_np(threads[running - 1], name);
    }
    return true;
}

void threads_stop(void) {
    if (!running || forked) return;
    threads_lock();
    ending = true;
    pthread_cond_broadcast(&given_more);
    threads_unlock();
    while (running) ASSERT(pthread_join(threads[--running], NULL) == 0);
    ending = false;
}

void threads_in_child(void) {
    forked = true;
    first = NULL;
}

/* ---- the giver ---- */

void threads_give(struct threads_job *job) {
    job->next = NULL;
    atomic_store_explicit(&job->done, false, memory_order_relaxed);
    if (!threads_count()) {
        job->work(job);
        atomic_store_explicit(&job->done, true, memory_order_relaxed);
        return;
    }
    threads_lock();
    if (first)
        last->next = job;
    else
        first = job;
    last = job;
    bool wakes = asleep > 0;
    threads_unlock();
    if (wakes) pthread_cond_signal(&given_more);
}

static bool is_done(struct threads_job *job) {
    return atomic_load_explicit(&job->done, memory_order_acquire);
}

/* The wait counts as waiting, like that for events, and not as off-CPU time, because nothing keeps
 * the thread from its processor. */
static void wait_for_job(struct threads_job *job) {
    int64_t begin_nsec = clock_monotonic_nsec();
    threads_lock();
    awaited = job;
    while (!is_done(job)) threads_wait_for(&done_more);
    awaited = NULL;
    threads_unlock();
    attribution_waited(begin_nsec, clock_monotonic_nsec());
}

void threads_wait(struct threads_job *job) {
    if (!is_done(job)) wait_for_job(job);
}

void threads_rest(void) {
    if (!threads_count()) return;
    threads_lock();
    resting = true;
    while (first || working) threads_wait_for(&done_more);
    resting = false;
    threads_unlock();
}
