/* SPDX-License-Identifier: BSD-3-Clause
 * A queue and a thread for each kind of background job.
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
 * the locks anew, because a thread of the parent may have held them at the fork.
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

struct worker {
    const char *name;
    const char *thread_name; /* at most 15 bytes, as the system wants it */
    pthread_mutex_t lock;
    pthread_cond_t work; /* the worker waits for a job, or for its end */
    pthread_cond_t done; /* drains wait until a job is finished */
    pthread_t thread;
    bool running, stopping;
    struct job *first, *last; /* the queue; `last` counts only while `first` is not NULL */
    atomic_size_t submitted, finished;
};

#define WORKER(label)                                                                   \
    {                                                                                   \
        .name = (label), .thread_name = "bg-" label, .lock = PTHREAD_MUTEX_INITIALIZER, \
        .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER              \
    }

static struct worker workers[BACKGROUND_KINDS] = {
    [BACKGROUND_CLOSE] = WORKER("close"),     [BACKGROUND_SYNC] = WORKER("sync"),
    [BACKGROUND_REWRITE] = WORKER("rewrite"), [BACKGROUND_SAVE] = WORKER("save"),
    [BACKGROUND_FREE] = WORKER("free"),
};

static bool forked;

static void worker_lock(struct worker *worker) { ASSERT(pthread_mutex_lock(&worker->lock) == 0); }
static void worker_unlock(struct worker *worker) {
    ASSERT(pthread_mutex_unlock(&worker->lock) == 0);
}

/* Runs one job with the lock released. */
static void run_job(struct worker *worker, struct job *job) {
    worker_unlock(worker);
    job->function(job->argument);
    memory_free(job, MEMORY_OTHER);
    memory_publish();
    worker_lock(worker);
    atomic_fetch_add(&worker->finished, 1);
    pthread_cond_broadcast(&worker->done);
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    signals_thread_start();
    affinity_apply(AFFINITY_BACKGROUND);
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
static int worker_start(struct worker *worker) {
    if (worker->running) return 0;
    if (forked) return EAGAIN;
    int error = pthread_create(&worker->thread, NULL, worker_main, worker);
    if (error != 0) return error;
    worker->running = true;
    pthread_setname_np(worker->thread, worker->thread_name);
    return 0;
}

bool background_start(void) {
    for (int kind = 0; kind < BACKGROUND_KINDS; kind++) {
        worker_lock(&workers[kind]);
        int error = worker_start(&workers[kind]);
        worker_unlock(&workers[kind]);
        if (error != 0) {
            errno = error;
            return false;
        }
    }
    return true;
}

static void worker_enqueue(struct worker *worker, struct job *job) {
    if (worker->first == NULL) {
        worker->first = job;
        pthread_cond_signal(&worker->work);
    } else {
        worker->last->next = job;
    }
    worker->last = job;
    atomic_fetch_add(&worker->submitted, 1);
}

void background_submit(enum background_kind kind, void (*function)(void *argument),
                       void *argument) {
    struct worker *worker = &workers[kind];
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
size_t background_pending(enum background_kind kind) {
    size_t finished = atomic_load(&workers[kind].finished);
    return atomic_load(&workers[kind].submitted) - finished;
}

void background_drain(enum background_kind kind) {
    struct worker *worker = &workers[kind];
    worker_lock(worker);
    size_t goal = atomic_load(&worker->submitted);
    while (atomic_load(&worker->finished) < goal) {
        pthread_cond_wait(&worker->done, &worker->lock);
    }
    worker_unlock(worker);
}

static void worker_stop(struct worker *worker) {
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
    for (int kind = 0; kind < BACKGROUND_KINDS; kind++) {
        worker_stop(&workers[kind]);
        workers[kind].stopping = false;
    }
}

/* The parent's queue is not freed in the child, because freeing it would copy its pages. */
void background_in_child(void) {
    forked = true;
    for (int kind = 0; kind < BACKGROUND_KINDS; kind++) {
        struct worker *worker = &workers[kind];
        pthread_mutex_init(&worker->lock, NULL);
        pthread_cond_init(&worker->work, NULL);
        pthread_cond_init(&worker->done, NULL);
        worker->running = worker->stopping = false;
        worker->first = worker->last = NULL;
        atomic_store(&worker->finished, atomic_load(&worker->submitted));
    }
}
