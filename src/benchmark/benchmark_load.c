/* SPDX-License-Identifier: BSD-3-Clause
 * A run: threads, each with its own epoll, connections and latencies.
 *
 *     all threads connect | barrier | the clock starts | batches | all is answered | results added
 *
 * Invariants
 *  1. `busy` is the number of a thread's connections that wait for replies or are being opened
 *     anew. The thread ends when `busy` is 0 and nothing is left to send.
 *  2. Every request that was taken (take_requests) is answered before a successful run ends, so
 *     that the slowest replies are not missing from the latencies.
 *  3. Threads share only the fields of `struct run`: counters, and the first failure.
 *  4. A batch counts when its start is not within the warm-up. The start is the time of sending
 *     (closed loop) or the due time (open loop).
 */
#include "benchmark/benchmark_load.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/system.h"

#define EVENTS_MAX 256
/* A thread's connections that are being opened at the same time: fewer than any usual listen
 * backlog. */
#define CONNECTING_MAX 64
/* The interval at which a thread checks whether another thread has failed. */
#define TICK_MSEC 250
/* The main thread checks every WATCH_NSEC whether the threads have ended, and calls `watch` at
 * every WATCH_STEPS-th check. */
#define WATCH_NSEC 25000000
#define WATCH_STEPS 10
#define NSEC_A_SECOND INT64_C(1000000000)
#define DESCRIPTORS_BESIDE 64
/* The sum of all connections' batches in memory. */
#define BATCHES_BYTES_MAX ((size_t)4 * 1024 * 1024 * 1024)

struct run {
    const struct benchmark_load *load;
    struct slice shared_batch; /* a whole batch where it has no random numbers; else empty */
    _Atomic uint64_t taken;    /* requests that count and that threads took to send */
    atomic_bool stops;
    atomic_uint running;       /* threads that have not ended */
    _Atomic int64_t told_nsec; /* start_nsec for tell_progress; 0 = not started */
    unsigned threads;          /* threads that were created */
    pthread_mutex_t begin;     /* held until all threads and the barrier are created */
    pthread_barrier_t barrier;
    pthread_mutex_t mutex; /* guards `reason` */
    char *reason;
    int64_t start_nsec, end_nsec; /* of the measured time; end: INT64_MAX without a duration */
};

struct worker {
    struct run *run;
    pthread_t thread;
    int epoll;
    struct benchmark_client *clients, **idle;
    unsigned count, idle_count, busy, opened;
    bool over; /* nothing is left to send */
    uint64_t chance;
    double due_nsec, interval_nsec; /* open loop: the next batch's due time, time between two */
    int64_t last_reply_nsec;
    char *buffer;
    struct benchmark_latency *latency;
    _Atomic uint64_t done, latency_sum_nsec; /* copies for tell_progress */
};

static void give_up(struct run *run, const char *reason) {
    pthread_mutex_lock(&run->mutex);
    if (!atomic_exchange(&run->stops, true)) {
        snprintf(run->reason, BENCHMARK_REASON_CHARS, "%s", reason);
    }
    pthread_mutex_unlock(&run->mutex);
}

static bool is_stopped(const struct worker *w) {
    return atomic_load_explicit(&w->run->stops, memory_order_relaxed);
}

/* --- what is sent ----------------------------------------------------------------------------- */

/* Takes the next batch, which starts at `start`, and returns its number of requests; 0 where
 * nothing is left to send. */
static unsigned take_requests(struct worker *w, int64_t start) {
    struct run *run = w->run;
    unsigned pipeline = run->load->pipeline;
    if (start < run->start_nsec) return pipeline;
    if (run->load->duration_nsec) return start < run->end_nsec ? pipeline : 0;
    uint64_t all = run->load->requests;
    uint64_t taken = atomic_fetch_add_explicit(&run->taken, pipeline, memory_order_relaxed);
    if (taken >= all) return 0;
    return all - taken < pipeline ? (unsigned)(all - taken) : pipeline;
}

static bool send_batch(struct worker *w, struct benchmark_client *c, unsigned requests,
                       int64_t start) {
    const struct run *run = w->run;
    const struct benchmark_request *request = run->load->request;
    const char *bytes = run->shared_batch.bytes;
    char reason[BENCHMARK_REASON_CHARS];
    if (c->batch) {
        benchmark_request_draw(request, c->batch, requests, run->load->keyspace, &w->chance);
        bytes = c->batch;
    }
    struct slice batch = {bytes, requests * request->bytes.length};
    w->busy++;
    if (benchmark_client_send(c, w->epoll, batch, requests, start, reason)) return true;
    give_up(w->run, reason);
    return false;
}

/* Open loop: sends the batches that are due while idle connections are left. */
static void send_due(struct worker *w, int64_t now) {
    while (!w->over && w->idle_count && w->due_nsec <= (double)now) {
        int64_t due = (int64_t)w->due_nsec;
        unsigned requests = take_requests(w, due);
        w->over = !requests;
        if (w->over || !send_batch(w, w->idle[--w->idle_count], requests, due)) return;
        w->due_nsec += w->interval_nsec;
    }
}

/* The connection has nothing to wait for: sends its next batch (closed loop) or makes the
 * connection idle (open loop). */
static void go_on(struct worker *w, struct benchmark_client *c, int64_t now) {
    if (w->run->load->rate) {
        w->idle[w->idle_count++] = c;
        return;
    }
    unsigned requests = take_requests(w, now);
    if (requests) send_batch(w, c, requests, now);
    w->over |= !requests;
}

/* --- what comes back -------------------------------------------------------------------------- */

static bool connect_client(struct worker *w, struct benchmark_client *c) {
    char reason[BENCHMARK_REASON_CHARS];
    if (benchmark_client_connect(c, &w->run->load->target, w->epoll, reason)) return true;
    give_up(w->run, reason);
    return false;
}

static void count_replies(struct worker *w, const struct benchmark_client *c, unsigned answered,
                          int64_t now) {
    if (c->start_nsec < w->run->start_nsec) return;
    benchmark_latency_note(w->latency, now - c->start_nsec, answered);
    w->last_reply_nsec = now;
    atomic_store_explicit(&w->done, w->latency->count, memory_order_relaxed);
    atomic_store_explicit(&w->latency_sum_nsec, w->latency->sum_nsec, memory_order_relaxed);
}

static void serve_client(struct worker *w, struct benchmark_client *c, uint32_t events) {
    char reason[BENCHMARK_REASON_CHARS];
    unsigned answered;
    /* An idle connection is not counted in `busy`, and only pushes arrive on it. */
    bool was_idle = c->state == CLIENT_READY;
    if (c->state == CLIENT_CLOSED) return;
    if (!benchmark_client_advance(c, &w->run->load->target, w->epoll, events, w->buffer, &answered,
                                  reason)) {
        give_up(w->run, reason);
        return;
    }
    if (was_idle || (!answered && c->state != CLIENT_READY)) return;
    int64_t now = clock_monotonic_nsec();
    if (answered) count_replies(w, c, answered, now);
    if (c->state != CLIENT_READY) return;
    if (answered && w->run->load->reconnects && !w->over) {
        benchmark_client_close(c);
        connect_client(w, c);
        return;
    }
    w->busy--;
    go_on(w, c, now);
}

/* The time until the next batch is due or the thread checks the other threads, whichever is first.
 */
static int64_t wait_nsec(const struct worker *w) {
    int64_t most = TICK_MSEC * INT64_C(1000000);
    if (!w->run->load->rate || w->over || !w->idle_count) return most;
    double left = w->due_nsec - (double)clock_monotonic_nsec();
    return left < 0 ? 0 : left < (double)most ? (int64_t)left : most;
}

static int wait_events(struct worker *w, struct epoll_event *events) {
    int timeout_msec = TICK_MSEC;
    if (w->run->load->rate) { /* ppoll, because epoll_wait waits whole ms */
        int64_t nsec = wait_nsec(w);
        struct timespec timeout = {nsec / NSEC_A_SECOND, nsec % NSEC_A_SECOND};
        struct pollfd ready = {.fd = w->epoll, .events = POLLIN};
        if (nsec && ppoll(&ready, 1, &timeout, NULL) <= 0) return 0;
        timeout_msec = 0;
    }
    int count = system_epoll_wait(w->epoll, events, EVENTS_MAX, timeout_msec);
    if (count < 0 && errno != EINTR) give_up(w->run, "epoll_wait fails");
    return count < 0 ? 0 : count;
}

static void run_load(struct worker *w) {
    struct epoll_event events[EVENTS_MAX];
    int64_t now = clock_monotonic_nsec();
    for (unsigned i = 0; i < w->count && !is_stopped(w); i++) go_on(w, &w->clients[i], now);
    while (!is_stopped(w)) {
        if (w->run->load->rate) send_due(w, clock_monotonic_nsec());
        if (!w->busy && w->over) return;
        int count = wait_events(w, events);
        for (int i = 0; i < count && !is_stopped(w); i++) {
            serve_client(w, events[i].data.ptr, events[i].events);
        }
    }
}

/* --- a thread --------------------------------------------------------------------------------- */

/* Opens the thread's connections and returns when all are connected and greeted, or the run failed.
 */
static void open_clients(struct worker *w) {
    struct epoll_event events[EVENTS_MAX];
    char reason[BENCHMARK_REASON_CHARS];
    unsigned begun = 0, ready = 0, answered;
    while (ready < w->count && !is_stopped(w)) {
        while (begun < w->count && begun - ready < CONNECTING_MAX) {
            if (!connect_client(w, &w->clients[begun++])) return;
        }
        int count = system_epoll_wait(w->epoll, events, EVENTS_MAX, TICK_MSEC);
        for (int i = 0; i < count; i++) {
            struct benchmark_client *c = events[i].data.ptr;
            bool was_ready = c->state == CLIENT_READY;
            if (!benchmark_client_advance(c, &w->run->load->target, w->epoll, events[i].events,
                                          w->buffer, &answered, reason)) {
                give_up(w->run, reason);
                return;
            }
            ready += !was_ready && c->state == CLIENT_READY;
        }
    }
}

/* Sets the run's times. One thread calls this while the others wait at the barrier. */
static void start_clock(struct run *run) {
    const struct benchmark_load *load = run->load;
    run->start_nsec = clock_monotonic_nsec() + load->warmup_nsec;
    atomic_store(&run->told_nsec, run->start_nsec);
    run->end_nsec = load->duration_nsec ? run->start_nsec + load->duration_nsec : INT64_MAX;
}

static void *run_worker(void *context) {
    struct worker *w = context;
    struct run *run = w->run;
    pthread_mutex_lock(&run->begin);
    pthread_mutex_unlock(&run->begin);
    open_clients(w);
    if (pthread_barrier_wait(&run->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) start_clock(run);
    pthread_barrier_wait(&run->barrier);
    w->due_nsec += (double)(run->start_nsec - run->load->warmup_nsec);
    w->last_reply_nsec = run->start_nsec;
    /* The least timer slack, because the kernel's default delays each due time by 50 us. */
    if (run->load->rate) (void)prctl(PR_SET_TIMERSLACK, 1);
    run_load(w);
    atomic_fetch_sub(&run->running, 1);
    return NULL;
}

static size_t batch_bytes(const struct benchmark_load *load) {
    return load->pipeline * load->request->bytes.length;
}

/* A batch filled with copies of the request. NULL where memory has no room for it; the run has
 * failed then. */
static char *create_batch(struct run *run) {
    const struct benchmark_load *load = run->load;
    char reason[BENCHMARK_REASON_CHARS];
    size_t batches = load->request->place_count ? load->clients : 1;
    /* All batches are checked before the first is filled, because a system that overcommits memory
     * would grant them and then kill this process or another one. */
    bool fits = batch_bytes(load) <= BATCHES_BYTES_MAX / batches;
    char *batch = fits ? memory_try_alloc(batch_bytes(load), MEMORY_OTHER) : NULL;
    if (batch) {
        benchmark_request_repeat(load->request, batch, load->pipeline);
    } else {
        snprintf(reason, sizeof(reason),
                 "no room for %zu batches of %zu bytes: -P or -d is too large", batches,
                 batch_bytes(load));
        give_up(run, reason);
    }
    return batch;
}

static bool set_up_worker(struct worker *w, struct run *run, unsigned index) {
    const struct benchmark_load *load = run->load;
    w->run = run;
    w->count = load->clients / load->threads + (index < load->clients % load->threads);
    w->clients = memory_zalloc((w->count + 1) * sizeof(*w->clients), MEMORY_OTHER);
    w->idle = memory_zalloc((w->count + 1) * sizeof(struct benchmark_client *), MEMORY_OTHER);
    w->buffer = memory_alloc(BENCHMARK_READ_BYTES, MEMORY_OTHER);
    w->latency = memory_zalloc(sizeof(*w->latency), MEMORY_OTHER);
    w->chance = (load->seed + index) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    if (load->rate) {
        double between = (double)load->pipeline * 1e9 / (double)load->rate;
        w->interval_nsec = between * load->threads;
        w->due_nsec = between * index;
    }
    for (unsigned i = 0; i < w->count && load->request->place_count && !is_stopped(w); i++) {
        w->clients[i].batch = create_batch(run);
    }
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    return w->epoll >= 0;
}

static void free_worker(struct worker *w) {
    for (unsigned i = 0; i < w->count; i++) {
        benchmark_client_close(&w->clients[i]);
        memory_free(w->clients[i].batch, MEMORY_OTHER);
    }
    if (w->epoll >= 0) system_close(w->epoll);
    memory_free(w->clients, MEMORY_OTHER);
    memory_free(w->idle, MEMORY_OTHER);
    memory_free(w->buffer, MEMORY_OTHER);
    memory_free(w->latency, MEMORY_OTHER);
}

/* --- a run ------------------------------------------------------------------------------------ */

static void raise_descriptor_limit(unsigned clients) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)clients + DESCRIPTORS_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* where it fails, connecting reports the limit */
}

static void tell_progress(const struct run *run, struct worker *workers,
                          void (*watch)(const struct benchmark_progress *progress)) {
    struct benchmark_progress progress = {0};
    for (unsigned i = 0; i < run->load->threads; i++) {
        progress.requests += atomic_load_explicit(&workers[i].done, memory_order_relaxed);
        progress.latency_sum_nsec +=
            atomic_load_explicit(&workers[i].latency_sum_nsec, memory_order_relaxed);
    }
    int64_t start = atomic_load(&run->told_nsec), now = clock_monotonic_nsec();
    if (start && now > start) progress.seconds = (double)(now - start) / 1e9;
    watch(&progress);
}

/* Sleeps in steps until the threads have ended. The steps do not blur the result, because each
 * thread notes its own times. */
static void await_workers(const struct run *run, struct worker *workers,
                          void (*watch)(const struct benchmark_progress *progress)) {
    const struct timespec step = {0, WATCH_NSEC};
    for (unsigned steps = 1; watch && atomic_load(&run->running); steps++) {
        (void)ppoll(NULL, 0, &step, NULL);
        if (steps % WATCH_STEPS == 0 && atomic_load(&run->running))
            tell_progress(run, workers, watch);
    }
    for (unsigned i = 0; i < run->threads; i++) pthread_join(workers[i].thread, NULL);
}

static void collect_results(const struct run *run, struct worker *workers,
                            struct benchmark_result *result) {
    int64_t last = run->start_nsec;
    for (unsigned i = 0; i < run->load->threads; i++) {
        benchmark_latency_add(&result->latency, workers[i].latency);
        if (workers[i].last_reply_nsec > last) last = workers[i].last_reply_nsec;
    }
    result->requests = result->latency.count;
    result->seconds = (double)(last - run->start_nsec) / 1e9;
}

static void init_run(struct run *run, const struct benchmark_load *load, char *reason) {
    *run = (struct run){.load = load, .running = load->threads, .reason = reason};
    pthread_mutex_init(&run->mutex, NULL);
    pthread_mutex_init(&run->begin, NULL);
    if (load->request->place_count) return;
    char *batch = create_batch(run);
    if (batch) run->shared_batch = (struct slice){batch, batch_bytes(load)};
}

static void free_run(struct run *run) {
    pthread_mutex_destroy(&run->mutex);
    pthread_mutex_destroy(&run->begin);
    if (run->threads) pthread_barrier_destroy(&run->barrier);
    memory_free((char *)run->shared_batch.bytes, MEMORY_OTHER);
}

/* Where the system refuses a thread, the run has failed, and the barrier waits only for the threads
 * that were created. */
static void create_threads(struct run *run, struct worker *workers) {
    pthread_mutex_lock(&run->begin);
    int error = 0;
    while (run->threads < run->load->threads && !error) {
        struct worker *worker = &workers[run->threads];
        error = pthread_create(&worker->thread, NULL, run_worker, worker);
        if (!error) run->threads++;
    }
    if (error) {
        char reason[BENCHMARK_REASON_CHARS];
        snprintf(reason, sizeof(reason), "cannot create thread %u of %u: %s", run->threads + 1,
                 run->load->threads, strerror(error));
        give_up(run, reason);
        atomic_fetch_sub(&run->running, run->load->threads - run->threads);
    }
    if (run->threads) pthread_barrier_init(&run->barrier, NULL, run->threads);
    pthread_mutex_unlock(&run->begin);
}

bool benchmark_load_run(const struct benchmark_load *load, struct benchmark_result *result,
                        void (*watch)(const struct benchmark_progress *progress)) {
    struct run run;
    *result = (struct benchmark_result){0};
    raise_descriptor_limit(load->clients);
    init_run(&run, load, result->reason);
    struct worker *workers = memory_zalloc(load->threads * sizeof(*workers), MEMORY_OTHER);
    for (unsigned i = 0; i < load->threads; i++) {
        if (!set_up_worker(&workers[i], &run, i)) give_up(&run, "epoll: none to be had");
    }
    create_threads(&run, workers);
    await_workers(&run, workers, watch);
    collect_results(&run, workers, result);
    for (unsigned i = 0; i < load->threads; i++) free_worker(&workers[i]);
    memory_free(workers, MEMORY_OTHER);
    free_run(&run);
    return !atomic_load(&run.stops);
}

static void watch_idle(struct worker *w) {
    struct epoll_event events[EVENTS_MAX];
    char reason[BENCHMARK_REASON_CHARS];
    unsigned answered;
    while (!is_stopped(w)) {
        int count = system_epoll_wait(w->epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < count && !is_stopped(w); i++) {
            if (!benchmark_client_advance(events[i].data.ptr, &w->run->load->target, w->epoll,
                                          events[i].events, w->buffer, &answered, reason)) {
                give_up(w->run, reason);
            }
        }
    }
}

void benchmark_load_idle(const struct benchmark_load *load, struct benchmark_result *result,
                         void (*opened)(unsigned clients)) {
    struct run run;
    struct benchmark_load one_thread = *load;
    one_thread.threads = 1;
    raise_descriptor_limit(load->clients);
    init_run(&run, &one_thread, result->reason);
    struct worker worker = {0};
    if (!set_up_worker(&worker, &run, 0)) give_up(&run, "epoll: none to be had");
    open_clients(&worker);
    if (!is_stopped(&worker)) opened(worker.count);
    /* Nothing is sent, so only pushes and the end of a connection can arrive. */
    watch_idle(&worker);
    free_worker(&worker);
    free_run(&run);
}
