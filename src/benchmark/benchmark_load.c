/* SPDX-License-Identifier: BSD-3-Clause
 * The source of a run's batches.
 *
 * A request without random numbers is repeated once, in a batch that all connections send. One with
 * random numbers has a batch for each thread, and new numbers are drawn into it each time.
 */
#include "benchmark/benchmark_load.h"

#include "base/memory.h"
#include "benchmark/benchmark_server.h"
#include "load/load_pace.h"

/* The sum of all connections' batches in memory, because the load keeps what a socket does not
 * take. */
#define BATCHES_BYTES_MAX ((size_t)4 * 1024 * 1024 * 1024)

struct thread_traffic {
    char *batch; /* NULL where all threads share one */
    uint64_t chance;
    struct load_pace pace;
    struct benchmark_slot_lists lists; /* cluster */
};

struct traffic {
    const struct benchmark_load *load;
    char *shared; /* a whole batch where it has no random numbers; else NULL */
    struct thread_traffic *threads;
};

static int64_t next_due(void *context, unsigned thread) {
    struct traffic *t = context;
    return load_pace_next(&t->threads[thread].pace);
}

/* Writes hash tags to the requests of a batch for a node: one for each request, so that its keys
 * are in one slot. */
static void write_tags(struct traffic *t, struct thread_traffic *own, unsigned node,
                       unsigned requests) {
    const struct benchmark_request *request = t->load->request;
    char *bytes = own->batch;
    for (unsigned i = 0; i < requests; i++, bytes += request->bytes.length) {
        char tag[BENCHMARK_TAG_CHARS];
        benchmark_slots_draw(t->load->slots, &own->lists, node,
                             benchmark_request_chance(&own->chance), tag);
        for (size_t place = 0; place < request->tag_count; place++)
            memcpy(bytes + request->tags[place], tag, BENCHMARK_TAG_CHARS);
    }
}

/* A redirection does not end the load: the map of slots follows it. */
static bool forgive_redirection(void *context, const char *error) {
    struct traffic *t = context;
    return benchmark_slots_take_error(t->load->slots, error);
}

static bool next_batch(void *context, unsigned thread, unsigned most, struct load_batch *batch) {
    struct traffic *t = context;
    const struct benchmark_request *request = t->load->request;
    char *bytes = t->shared;
    if (!bytes) {
        struct thread_traffic *own = &t->threads[thread];
        bytes = own->batch;
        benchmark_request_draw(request, bytes, most, t->load->keyspace, &own->chance);
        if (request->tag_count) write_tags(t, own, batch->target, most);
    }
    batch->bytes = (struct slice){bytes, most * request->bytes.length};
    batch->stays = t->shared != NULL;
    batch->replies = most;
    return true;
}

/* Whether each batch of the request has other bytes. */
static bool is_changing(const struct benchmark_request *request) {
    return request->place_count || request->tag_count;
}

/* A batch filled with copies of the request. NULL with a reason where memory has no room for those
 * of all connections. */
static char *create_batch(const struct benchmark_load *load, char *reason) {
    size_t bytes = load->pipeline * load->request->bytes.length;
    size_t batches = is_changing(load->request) ? load->clients : 1;
    /* All batches are checked before the first is filled, because a system that overcommits memory
     * would grant them and then kill this process or another one. */
    bool fits = bytes <= BATCHES_BYTES_MAX / batches;
    char *batch = fits ? memory_try_alloc(bytes, MEMORY_OTHER) : NULL;
    if (batch) {
        benchmark_request_repeat(load->request, batch, load->pipeline);
    } else {
        snprintf(reason, LOAD_REASON_CHARS,
                 "no room for %zu batches of %zu bytes: -P or -d is too large", batches, bytes);
    }
    return batch;
}

/* Frees what init_traffic has made, also where it has failed. */
static void free_traffic(struct traffic *t) {
    for (unsigned i = 0; i < t->load->threads; i++) {
        memory_free(t->threads[i].batch, MEMORY_OTHER);
        benchmark_slot_lists_free(&t->threads[i].lists);
    }
    memory_free(t->threads, MEMORY_OTHER);
    memory_free(t->shared, MEMORY_OTHER);
}

static bool init_traffic(struct traffic *t, const struct benchmark_load *load, char *reason) {
    bool draws = is_changing(load->request), good = true;
    *t = (struct traffic){.load = load};
    t->threads = memory_zalloc(load->threads * sizeof(*t->threads), MEMORY_OTHER);
    if (!draws) good = (t->shared = create_batch(load, reason)) != NULL;
    for (unsigned i = 0; i < load->threads && good; i++) {
        struct thread_traffic *own = &t->threads[i];
        own->chance = (load->seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        if (draws) good = (own->batch = create_batch(load, reason)) != NULL;
        if (load->rate)
            own->pace = load_pace_of((double)load->rate / (double)load->pipeline, i, load->threads);
    }
    return good;
}

void benchmark_load_aim(struct benchmark_load *load, const struct benchmark_server *server) {
    load->targets = server->node_count ? server->targets : &server->target;
    load->target_count = server->node_count ? server->node_count : 1;
    load->slots = server->slots;
}

bool benchmark_load_run(const struct benchmark_load *load, struct load_result *result,
                        void (*watch)(void *unused, const struct load_progress *progress)) {
    struct traffic traffic;
    const struct load_stream stream = {
        .targets = load->targets,
        .target_count = load->target_count,
        .source = {load->rate ? next_due : NULL, next_batch, &traffic},
        .connections = load->clients,
        .pipeline = load->pipeline,
        .requests = load->duration_nsec ? 0 : load->requests,
        .reconnects = load->reconnects,
        .forgives = load->slots ? forgive_redirection : NULL,
    };
    const struct load whole = {.streams = &stream,
                               .stream_count = 1,
                               .threads = load->threads,
                               .duration_nsec = load->duration_nsec,
                               .warmup_nsec = load->warmup_nsec,
                               .watch = watch};
    bool good = init_traffic(&traffic, load, result->reason) && load_run(&whole, result);
    free_traffic(&traffic);
    return good;
}

/* No request is ever due, but the stream has no end either. */
static int64_t idle_due(void *unused, unsigned thread) { return LOAD_NEVER - 1; }

static bool idle_batch(void *unused, unsigned thread, unsigned most, struct load_batch *batch) {
    return false;
}

void benchmark_load_idle(const struct benchmark_load *load, struct load_result *result,
                         void (*watch)(void *unused, const struct load_progress *progress)) {
    const struct load_stream stream = {.targets = load->targets,
                                       .target_count = load->target_count,
                                       .source = {idle_due, idle_batch, NULL},
                                       .connections = load->clients,
                                       .pipeline = 1};
    const struct load whole = {.streams = &stream, .stream_count = 1, .threads = 1, .watch = watch};
    bool unused = load_run(&whole, result); /* never true: nothing ends the load well */
    (void)unused;
}
