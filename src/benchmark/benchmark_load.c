/* SPDX-License-Identifier: BSD-3-Clause
 * A run: threads, each with an epoll, connections and latencies of its own.
 *
 *     all threads connect | barrier | the clock starts | batches | all is answered | results added
 *
 * Invariants
 *  1. `busy` is the number of connections that wait for replies or for a connection anew; the
 *     thread ends when it is 0 and nothing is left to send.
 *  2. Every request that was taken is answered before the run ends, so that no figure has a cut
 *     tail.
 *  3. Shared between threads are only what `struct run` has: counters, and the first failure.
 *  4. A batch counts when its start, sent or due, is not within the warm-up.
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
/* Connecting at once in a thread: less than any usual backlog. */
#define CONNECTING_MAX 64
/* A thread looks so often whether another has failed. */
#define TICK_MSEC 250
/* Between two looks at whether the threads have ended, and so many looks to a call of `watch`. */
#define WATCH_NSEC 25000000
#define WATCH_STEPS 10
#define NSEC_A_SECOND INT64_C(1000000000)
#define DESCRIPTORS_BESIDE 64
/* What is sent again and again, of all connections. */
#define BATCHES_BYTES_MAX ((size_t)4 * 1024 * 1024 * 1024)

struct run {
    const struct benchmark_load *load;
    struct slice shared_batch; /* a whole batch where nothing in it changes; else empty */
    _Atomic uint64_t taken;    /* requests that count, sent or to be sent at once */
    atomic_bool stops;
    atomic_uint running;       /* threads */
    _Atomic int64_t told_nsec; /* start_nsec for who watches; 0 = not started */
    unsigned threads;          /* that there are */
    pthread_mutex_t begin;     /* held until there are all of them, and the barrier */
    pthread_barrier_t barrier;
    pthread_mutex_t mutex; /* of the reason */
    char *reason;
    int64_t start_nsec, end_nsec; /* of what counts; end: INT64_MAX where requests are counted */
};

struct worker {
    struct run *run;
    pthread_t thread;
    int epoll;
    struct benchmark_client *clients, **idle;
    unsigned count, idle_count, busy, opened;
    bool over; /* nothing is left to be sent */
    uint64_t chance;
    double due_nsec, interval_nsec; /* open loop: of the next batch, between two */
    int64_t last_reply_nsec;
    char *buffer;
    struct benchmark_latency *latency;
    _Atomic uint64_t done, latency_sum_nsec; /* copies for who watches */
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

/* Requests of the next batch, which starts at `start`; 0 where the run is over. */
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

/* Sends batches that are due, as long as there are connections for them. */
static void send_due(struct worker *w, int64_t now) {
    while (!w->over && w->idle_count && w->due_nsec <= (double)now) {
        int64_t due = (int64_t)w->due_nsec;
        unsigned requests = take_requests(w, due);
        w->over = !requests;
        if (w->over || !send_batch(w, w->idle[--w->idle_count], requests, due)) return;
        w->due_nsec += w->interval_nsec;
    }
}

/* The connection is free. */
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
    /* Then it is not counted in `busy`, and what comes is a push. */
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

/* Until the next batch is due, or the next look at what other threads do. */
static int64_t wait_nsec(const struct worker *w) {
    int64_t most = TICK_MSEC * INT64_C(1000000);
    if (!w->run->load->rate || w->over || !w->idle_count) return most;
    double left = w->due_nsec - (double)clock_monotonic_nsec();
    return left < 0 ? 0 : left < (double)most ? (int64_t)left : most;
}

static int wait_events(struct worker *w, struct epoll_event *events) {
    int timeout_msec = TICK_MSEC;
    if (w->run->load->rate) { /* epoll_wait knows milliseconds only */
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

/* Until all are connected and greeted. */
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

/* By one thread, while the others wait. */
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
    /* Due times are as fine as the system's timers. */
    if (run->load->rate) (void)prctl(PR_SET_TIMERSLACK, 1);
    run_load(w);
    atomic_fetch_sub(&run->running, 1);
    return NULL;
}

static size_t batch_bytes(const struct benchmark_load *load) {
    return load->pipeline * load->request->bytes.length;
}

/* NULL where there is no room for it; the run is over then. */
static char *create_batch(struct run *run) {
    const struct benchmark_load *load = run->load;
    char reason[BENCHMARK_REASON_CHARS];
    size_t batches = load->request->place_count ? load->clients : 1;
    /* Before any is filled: a system that lends memory would end us, or others, later. */
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
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* else a connection says that there are too many */
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

/* Sleeps until the threads have ended, in steps: their results have times of their own. */
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

/* Where the system refuses one the run is over, and the barrier is for those that there are. */
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
    /* Nothing is sent, so whatever comes is the end of a connection, or a push. */
    watch_idle(&worker);
    free_worker(&worker);
    free_run(&run);
}
