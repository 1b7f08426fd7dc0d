/* SPDX-License-Identifier: BSD-3-Clause
 * A load: its threads, their common beginning and end, and the sum of their results.
 */
#include "load/load_run.h"

#include <poll.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/socket.h"
#include "load/load_worker.h"

/* The calling thread looks every WATCH_NSEC whether the threads have ended or are to end, and calls
 * `watch` at every WATCH_STEPS-th look. */
#define WATCH_NSEC 25000000
#define WATCH_STEPS 10

struct running {
    struct load_common common;
    struct load_worker *workers;
    struct load_target **targets; /* of each stream, an array */
    char (*addresses)[SOCKET_ADDRESS_CHARS];
    unsigned threads;      /* that were created */
    atomic_uint left;      /* threads that have not ended */
    pthread_mutex_t begin; /* held until all threads and the barrier are created */
    pthread_barrier_t barrier;
};

/* What a thread is given. */
struct member {
    struct running *run;
    struct load_worker *worker;
};

static void allow_connections(const struct load *load) {
    uint64_t wanted = 2 * (uint64_t)load->threads; /* each thread has an epoll and a schedstat */
    for (unsigned i = 0; i < load->stream_count; i++) wanted += load->streams[i].connections;
    load_connection_allow(wanted);
}

/* --- targets ---------------------------------------------------------------------------------- */

/* Copies the stream's targets, with the addresses of their names. */
static void resolve_targets(struct running *run, unsigned index, unsigned *next) {
    const struct load_stream *stream = &run->common.load->streams[index];
    char why[LOAD_REASON_CHARS / 2], reason[LOAD_REASON_CHARS];
    struct load_target *targets =
        memory_alloc(stream->target_count * sizeof(*targets), MEMORY_OTHER);
    for (unsigned i = 0; i < stream->target_count; i++) {
        char *address = run->addresses[(*next)++];
        targets[i] = stream->targets[i];
        if (targets[i].address.path) continue;
        if (!socket_find_address(targets[i].address.host, address, why, sizeof(why))) {
            snprintf(reason, sizeof(reason), "Could not connect: %s", why);
            load_worker_give_up(&run->common, reason);
        }
        targets[i].address.host = address;
    }
    run->targets[index] = targets;
}

static void init_running(struct running *run, const struct load *load, char *reason) {
    unsigned count = 0, next = 0;
    *run = (struct running){.common = {.load = load, .reason = reason}, .left = load->threads};
    pthread_mutex_init(&run->common.mutex, NULL);
    pthread_mutex_init(&run->begin, NULL);
    for (unsigned i = 0; i < load->stream_count; i++) count += load->streams[i].target_count;
    run->addresses = memory_zalloc((count + 1) * sizeof(*run->addresses), MEMORY_OTHER);
    run->targets =
        memory_zalloc((load->stream_count + 1) * sizeof(struct load_target *), MEMORY_OTHER);
    for (unsigned i = 0; i < load->stream_count; i++) resolve_targets(run, i, &next);
    run->common.targets = (const struct load_target *const *)run->targets;
    run->common.taken =
        memory_zalloc((load->stream_count + 1) * sizeof(*run->common.taken), MEMORY_OTHER);
    run->workers = memory_zalloc(load->threads * sizeof(*run->workers), MEMORY_OTHER);
    for (unsigned i = 0; i < load->threads; i++)
        if (!load_worker_init(&run->workers[i], &run->common, i))
            load_worker_give_up(&run->common, "epoll: none to be had");
}

static void free_running(struct running *run) {
    for (unsigned i = 0; i < run->common.load->threads; i++) load_worker_free(&run->workers[i]);
    for (unsigned i = 0; i < run->common.load->stream_count; i++)
        memory_free(run->targets[i], MEMORY_OTHER);
    pthread_mutex_destroy(&run->common.mutex);
    pthread_mutex_destroy(&run->begin);
    if (run->threads) pthread_barrier_destroy(&run->barrier);
    memory_free(run->workers, MEMORY_OTHER);
    memory_free(run->targets, MEMORY_OTHER);
    memory_free(run->addresses, MEMORY_OTHER);
    memory_free(run->common.taken, MEMORY_OTHER);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Sets the beginning. One thread does so while the others wait at the barrier. */
static void start_clock(struct load_common *common) {
    common->began_nsec = clock_monotonic_nsec();
    atomic_store(&common->told_began_nsec, common->began_nsec);
}

static void *run_member(void *context) {
    struct member member = *(struct member *)context;
    struct running *run = member.run;
    memory_free(context, MEMORY_OTHER);
    pthread_mutex_lock(&run->begin);
    pthread_mutex_unlock(&run->begin);
    load_worker_open(member.worker);
    if (pthread_barrier_wait(&run->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        start_clock(&run->common);
    pthread_barrier_wait(&run->barrier);
    load_worker_run(member.worker);
    atomic_fetch_sub(&run->left, 1);
    return NULL;
}

/* Where the system refuses a thread, the load has failed, and the barrier waits only for the
 * threads that were created. */
static void create_threads(struct running *run) {
    unsigned wanted = run->common.load->threads;
    int error = 0;
    pthread_mutex_lock(&run->begin);
    while (run->threads < wanted && !error) {
        struct member *member = memory_alloc(sizeof(*member), MEMORY_OTHER);
        *member = (struct member){run, &run->workers[run->threads]};
        error = pthread_create(&member->worker->thread, NULL, run_member, member);
        if (!error) run->threads++;
        if (error) memory_free(member, MEMORY_OTHER);
    }
    if (error) {
        char reason[LOAD_REASON_CHARS];
        snprintf(reason, sizeof(reason), "cannot create thread %u of %u: %s", run->threads + 1,
                 wanted, strerror(error));
        load_worker_give_up(&run->common, reason);
        atomic_fetch_sub(&run->left, wanted - run->threads);
    }
    if (run->threads) pthread_barrier_init(&run->barrier, NULL, run->threads);
    pthread_mutex_unlock(&run->begin);
}

static void tell_progress(const struct running *run) {
    const struct load *load = run->common.load;
    struct load_progress progress = {0};
    for (unsigned i = 0; i < load->threads; i++) {
        const struct load_worker *w = &run->workers[i];
        progress.requests += atomic_load_explicit(&w->done, memory_order_relaxed);
        progress.latency_sum_nsec +=
            atomic_load_explicit(&w->latency_sum_nsec, memory_order_relaxed);
        progress.refused += atomic_load_explicit(&w->refused, memory_order_relaxed);
    }
    int64_t began = atomic_load(&run->common.told_began_nsec), now = clock_monotonic_nsec();
    progress.began = began != 0;
    if (began && now > began + load->warmup_nsec)
        progress.seconds = (double)(now - began - load->warmup_nsec) / 1e9;
    load->watch(load->context, &progress);
}

/* Sleeps in steps until the threads have ended. The steps do not blur the result, because each
 * thread notes its own times. */
static void await_threads(struct running *run) {
    const struct load *load = run->common.load;
    const struct timespec step = {0, WATCH_NSEC};
    for (unsigned steps = 1; (load->watch || load->stop) && atomic_load(&run->left); steps++) {
        (void)ppoll(NULL, 0, &step, NULL);
        if (load->stop && atomic_load(load->stop)) atomic_store(&run->common.stops, true);
        if (load->watch && steps % WATCH_STEPS == 0 && atomic_load(&run->left)) tell_progress(run);
    }
    for (unsigned i = 0; i < run->threads; i++) pthread_join(run->workers[i].thread, NULL);
}

/* --- results ---------------------------------------------------------------------------------- */

static void collect_results(const struct running *run, struct load_result *result) {
    const struct load *load = run->common.load;
    int64_t last = load->warmup_nsec;
    for (unsigned i = 0; i < load->threads; i++) {
        const struct load_worker *w = &run->workers[i];
        load_latency_add(&result->latency, w->latency);
        load_late_add(&result->late, &w->late.figures);
        result->errors += w->errors;
        result->lost += w->lost;
        result->refused += atomic_load(&w->refused);
        result->renewed += w->renewed;
        if (w->most_waiting > result->most_waiting) result->most_waiting = w->most_waiting;
        if (w->last_reply_nsec > last) last = w->last_reply_nsec;
        double share = w->end_nsec ? (double)w->cpu_nsec / (double)w->end_nsec : 0;
        if (share > result->cpu_share) result->cpu_share = share;
    }
    result->began_nsec = run->common.began_nsec;
    result->requests = result->latency.count;
    result->seconds = (double)(last - load->warmup_nsec) / 1e9;
}

bool load_run(const struct load *load, struct load_result *result) {
    struct running run;
    *result = (struct load_result){0};
    allow_connections(load);
    init_running(&run, load, result->reason);
    create_threads(&run);
    await_threads(&run);
    collect_results(&run, result);
    bool good = !run.common.failed;
    free_running(&run);
    return good;
}
