/* SPDX-License-Identifier: BSD-3-Clause
 * A queue and a thread for each kind of background job. A kind gets one of the workers, for good,
 * when its first job is submitted.
 *
 * Invariants of a worker, under its lock:
 *  1. `submitted` - `finished` jobs are in the queue or running. A job is finished only when its
 *     node is freed and the thread's memory counts are published, so that the caller of
 *     background_drain sees what was freed.
 *  2. Jobs finish in the order of submission. A drain therefore waits until `finished` reaches the
 *     value that `submitted` had when the drain began.
 *  3. Without a thread (`running` false) the queue is empty.
 *
 * A forked child never starts a thread; a job runs in the thread that submits it. The child makes
 * the locks anew, because a thread of the parent may have held them at the fork. Where that thread
 * was just giving a kind its worker, that worker is the kind's, or nobody's.
 * background_pending reads both counters without the lock.
 *
 * Ownership: a node of the queue belongs to the worker, the argument to the job.
 */
#include "io/background.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/panic.h"
#include "io/affinity.h"
#include "io/signals.h"

struct job {
    struct job *next;
    void (*function)(void *argument);
    void *argument;
};

struct background_worker {
    char thread_name[16]; /* as the system wants it */
    pthread_mutex_t lock;
    pthread_cond_t work; /* the worker waits for a job, or for its end */
    pthread_cond_t done; /* drains wait until a job is finished */
    pthread_t thread;
    bool running, stopping;
    struct job *first, *last; /* the queue; `last` counts only while `first` is not NULL */
    atomic_size_t submitted, finished;
};

struct background_kind background_close = {.name = "close"}, background_free = {.name = "free"};

static struct background_worker workers[BACKGROUND_KINDS_MAX] = {
    [0 ... BACKGROUND_KINDS_MAX - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                        .work = PTHREAD_COND_INITIALIZER,
                                        .done = PTHREAD_COND_INITIALIZER}};
static pthread_mutex_t giving = PTHREAD_MUTEX_INITIALIZER; /* held to give a kind its worker */
static unsigned given;                                     /* so many workers are some kind's */

static bool forked;

static void worker_lock(struct background_worker *worker) {
    ASSERT(pthread_mutex_lock(&worker->lock) == 0);
}
static void worker_unlock(struct background_worker *worker) {
    ASSERT(pthread_mutex_unlock(&worker->lock) == 0);
}

static struct background_worker *give_worker(struct background_kind *kind) {
    ASSERT(pthread_mutex_lock(&giving) == 0);
    struct background_worker *worker = atomic_load(&kind->worker);
    if (!worker) {
        ASSERT(given < BACKGROUND_KINDS_MAX);
        worker = &workers[given++];
        snprintf(worker->thread_name, sizeof(worker->thread_name), "bg-%s", kind->name);
        atomic_store(&kind->worker, worker);
    }
    ASSERT(pthread_mutex_unlock(&giving) == 0);
    return worker;
}

static struct background_worker *worker_of(struct background_kind *kind) {
    struct background_worker *worker = atomic_load(&kind->worker);
    return worker ? worker : give_worker(kind);
}

/* Runs one job with the lock released. */
static void run_job(struct background_worker *worker, struct job *job) {
    worker_unlock(worker);
    job->function(job->argument);
    memory_free(job, MEMORY_OTHER);
    memory_publish();
    worker_lock(worker);
    atomic_fetch_add(&worker->finished, 1);
    pthread_cond_broadcast(&worker->done);
}

static void *worker_main(void *argument) {
    struct background_worker *worker = argument;
    signals_thread_start();
    affinity_apply(&affinity_background);
    worker_lock(worker);
    for (;;) {
        while (worker->first == NULL && !worker->stopping) {
            pthread_cond_wait(&worker->work, &worker->lock);
        }
        struct job *job = worker->first;
        if (job == NULL) break;
        worker->first = job->next;
        run_job(worker, job);
    }
    worker_unlock(worker);
    signals_thread_end();
    return NULL;
}

/* Starts the worker's thread if it does not run. The caller holds the lock. Returns 0, or the errno
 * of the failure. */
static int worker_start(struct background_worker *worker) {
    if (worker->running) return 0;
    if (forked) return EAGAIN;
    int error = pthread_create(&worker->thread, NULL, worker_main, worker);
    if (error != 0) return error;
    worker->running = true;
    pthread_setname_np(worker->thread, worker->thread_name);
    return 0;
}

bool background_start(struct background_kind *kind) {
    struct background_worker *worker = worker_of(kind);
    worker_lock(worker);
    int error = worker_start(worker);
    worker_unlock(worker);
    if (error != 0) errno = error;
    return error == 0;
}

static void worker_enqueue(struct background_worker *worker, struct job *job) {
    if (worker->first == NULL) {
        worker->first = job;
        pthread_cond_signal(&worker->work);
    } else {
        worker->last->next = job;
    }
    worker->last = job;
    atomic_fetch_add(&worker->submitted, 1);
}

void background_submit(struct background_kind *kind, void (*function)(void *argument),
                       void *argument) {
    struct background_worker *worker = worker_of(kind);
    struct job *job = memory_alloc(sizeof(*job), MEMORY_OTHER);
    *job = (struct job){.function = function, .argument = argument};
    worker_lock(worker);
    bool started = worker_start(worker) == 0;
    if (started) worker_enqueue(worker, job);
    worker_unlock(worker);
    if (started) return;
    memory_free(job, MEMORY_OTHER);
    function(argument);
}

/* `finished` is read first, because jobs finish meanwhile: read second, it could be ahead of
 * `submitted`. */
size_t background_pending(const struct background_kind *kind) {
    const struct background_worker *worker = atomic_load(&kind->worker);
    if (!worker) return 0;
    size_t finished = atomic_load(&worker->finished);
    return atomic_load(&worker->submitted) - finished;
}

void background_drain(struct background_kind *kind) {
    struct background_worker *worker = atomic_load(&kind->worker);
    if (!worker) return;
    worker_lock(worker);
    size_t goal = atomic_load(&worker->submitted);
    while (atomic_load(&worker->finished) < goal) {
        pthread_cond_wait(&worker->done, &worker->lock);
    }
    worker_unlock(worker);
}

static void worker_stop(struct background_worker *worker) {
    worker_lock(worker);
    bool running = worker->running;
    worker->stopping = true;
    pthread_cond_signal(&worker->work);
    worker_unlock(worker);
    if (!running) return;
    ASSERT(pthread_join(worker->thread, NULL) == 0);
    worker->running = false;
}

void background_stop(void) {
    for (unsigned i = 0; i < BACKGROUND_KINDS_MAX; i++) {
        worker_stop(&workers[i]);
        workers[i].stopping = false;
    }
}

/* The parent's queue is not freed in the child, because freeing it would copy its pages. */
void background_in_child(void) {
    forked = true;
    pthread_mutex_init(&giving, NULL);
    for (unsigned i = 0; i < BACKGROUND_KINDS_MAX; i++) {
        struct background_worker *worker = &workers[i];
        pthread_mutex_init(&worker->lock, NULL);
        pthread_cond_init(&worker->work, NULL);
        pthread_cond_init(&worker->done, NULL);
        worker->running = worker->stopping = false;
        worker->first = worker->last = NULL;
        atomic_store(&worker->finished, atomic_load(&worker->submitted));
    }
}
