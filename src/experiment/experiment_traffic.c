/* SPDX-License-Identifier: BSD-3-Clause
 * Requests as redis-benchmark has them (benchmark/benchmark_request.h), drawn anew for each batch.
 */
#include "experiment/experiment_traffic.h"

#include "base/memory.h"
#include "benchmark/benchmark_request.h"
#include "benchmark/benchmark_tests.h"
#include "experiment/experiment_options.h"
#include "load/load_pace.h"

#define REQUESTS_MAX 32
#define BATCH_BYTES_MAX ((size_t)256 * 1024 * 1024)

/* What a thread has of its own. */
struct own_traffic {
    char *batches[REQUESTS_MAX]; /* of each request, as many copies as a batch has */
    uint64_t chance;
    struct load_pace pace;
    unsigned turn; /* the next request */
};

struct experiment_traffic {
    struct benchmark_request requests[REQUESTS_MAX];
    unsigned count, threads;
    uint64_t keyspace;
    struct own_traffic own[];
};

static int64_t next_traffic_due(void *context, unsigned thread) {
    struct experiment_traffic *t = context;
    return load_pace_next(&t->own[thread].pace);
}

static bool next_traffic_batch(void *context, unsigned thread, unsigned most,
                               struct load_batch *batch) {
    struct experiment_traffic *t = context;
    struct own_traffic *own = &t->own[thread];
    unsigned turn = own->turn++ % t->count;
    const struct benchmark_request *request = &t->requests[turn];
    if (request->place_count)
        benchmark_request_draw(request, own->batches[turn], most, t->keyspace, &own->chance);
    *batch = (struct load_batch){.bytes = {own->batches[turn], most * request->bytes.length},
                                 .replies = most};
    return true;
}

struct load_source experiment_traffic_source(struct experiment_traffic *traffic) {
    return (struct load_source){next_traffic_due, next_traffic_batch, traffic};
}

static bool refuse_traffic(char *reason, size_t reason_size, const char *why) {
    snprintf(reason, reason_size, "%s", why);
    return false;
}

/* Takes the command of the user's, or the tests. */
static bool make_requests(struct experiment_traffic *t, const struct experiment_options *o,
                          char *reason, size_t reason_size) {
    bool draws = o->keyspace >= 0;
    if (o->command_count) {
        struct slice *words = memory_alloc((size_t)o->command_count * sizeof(*words), MEMORY_OTHER);
        for (int i = 0; i < o->command_count; i++) words[i] = slice_of(o->command[i]);
        bool good = benchmark_request_of_words(&t->requests[t->count++], words,
                                               (size_t)o->command_count, draws);
        memory_free(words, MEMORY_OTHER);
        return good || refuse_traffic(reason, reason_size,
                                      "too many " BENCHMARK_RANDOM_WORD " in the command");
    }
    size_t length;
    const char *unknown = benchmark_tests_unknown(o->tests, &length);
    if (unknown) {
        snprintf(reason, reason_size, "-t: no test is called \"%.*s\"",
                 length > 100 ? 100 : (int)length, unknown);
        return false;
    }
    for (size_t test = 0; test < benchmark_test_count() && t->count < REQUESTS_MAX; test++)
        if (benchmark_test_is_chosen(test, o->tests))
            benchmark_test_request(test, (size_t)o->value_bytes, draws, false,
                                   &t->requests[t->count++]);
    return t->count || refuse_traffic(reason, reason_size, "-t names no test");
}

struct experiment_traffic *experiment_traffic_create(const struct experiment_options *o,
                                                     uint64_t seed, char *reason,
                                                     size_t reason_size) {
    unsigned threads = (unsigned)o->threads, pipeline = (unsigned)o->pipeline;
    struct experiment_traffic *t =
        memory_zalloc(sizeof(*t) + threads * sizeof(t->own[0]), MEMORY_OTHER);
    t->threads = threads;
    t->keyspace = o->keyspace > 0 ? (uint64_t)o->keyspace : 0;
    bool good = make_requests(t, o, reason, reason_size);
    for (unsigned i = 0; good && i < threads; i++) {
        struct own_traffic *own = &t->own[i];
        own->chance = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        own->pace = load_pace_of((double)o->rate / pipeline, i, threads);
        for (unsigned r = 0; good && r < t->count; r++) {
            size_t bytes = t->requests[r].bytes.length * pipeline;
            good = bytes <= BATCH_BYTES_MAX ||
                   refuse_traffic(reason, reason_size, "a batch is too large: -P or -d");
            if (!good) break;
            own->batches[r] = memory_alloc(bytes, MEMORY_OTHER);
            benchmark_request_repeat(&t->requests[r], own->batches[r], pipeline);
        }
    }
    if (good) return t;
    experiment_traffic_free(t);
    return NULL;
}

void experiment_traffic_free(struct experiment_traffic *t) {
    if (!t) return;
    for (unsigned i = 0; i < t->threads; i++)
        for (unsigned r = 0; r < t->count; r++) memory_free(t->own[i].batches[r], MEMORY_OTHER);
    for (unsigned r = 0; r < t->count; r++) benchmark_request_free(&t->requests[r]);
    memory_free(t, MEMORY_OTHER);
}
