/* SPDX-License-Identifier: BSD-3-Clause
 * Requests as redis-benchmark has them (benchmark/benchmark_request.h), drawn anew for each batch,
 * or those of a trace as redis-lab replay has them (replay/replay_trace.h), of which one thread
 * sends each in a batch of its own.
 */
#include "experiment/experiment_traffic.h"

#include "base/memory.h"
#include "benchmark/benchmark_request.h"
#include "benchmark/benchmark_tests.h"
#include "experiment/experiment_options.h"
#include "load/load_pace.h"
#include "replay/replay_trace.h"

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
    struct replay_trace trace; /* closed where the requests are from options */
    bool is_trace, selects;
    struct buffer bytes; /* of the trace's request at hand */
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

static int64_t next_traced_due(void *context, unsigned thread) {
    struct experiment_traffic *t = context;
    return replay_trace_due(&t->trace);
}

static bool next_traced_batch(void *context, unsigned thread, unsigned most,
                              struct load_batch *batch) {
    struct experiment_traffic *t = context;
    struct trace_file_record record;
    const struct replay_command *command;
    if (!replay_trace_next(&t->trace, &record, &command)) return false;
    buffer_clear(&t->bytes);
    if (t->selects) replay_select_append(record.database, &t->bytes);
    replay_request_append(&record, command, &t->bytes, &t->own[0].chance);
    *batch = (struct load_batch){.bytes = buffer_slice(&t->bytes),
                                 .replies = 1 + experiment_traffic_helpers(t)};
    return true;
}

struct load_source experiment_traffic_source(struct experiment_traffic *traffic) {
    return traffic->is_trace ? (struct load_source){next_traced_due, next_traced_batch, traffic}
                             : (struct load_source){next_traffic_due, next_traffic_batch, traffic};
}

unsigned experiment_traffic_helpers(const struct experiment_traffic *traffic) {
    return traffic->selects ? 1 : 0;
}

uint64_t experiment_traffic_passes(const struct experiment_traffic *traffic) {
    return traffic->trace.times.passes;
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

static bool open_trace(struct experiment_traffic *t, const struct experiment_options *o,
                       const struct replay_scan *scan, const struct tool_connection *login,
                       char *reason, size_t reason_size) {
    const struct replay_trace_settings settings = {o->trace, scan, o->pace, true};
    char why[TRACE_FILE_REASON_CHARS];
    t->is_trace = true;
    t->selects = replay_trace_selects(scan, login);
    return replay_trace_open(&t->trace, &settings, why) || refuse_traffic(reason, reason_size, why);
}

struct experiment_traffic *experiment_traffic_create(const struct experiment_options *o,
                                                     const struct replay_scan *scan,
                                                     const struct tool_connection *login,
                                                     uint64_t seed, char *reason,
                                                     size_t reason_size) {
    unsigned threads = (unsigned)o->threads, pipeline = (unsigned)o->pipeline;
    struct experiment_traffic *t =
        memory_zalloc(sizeof(*t) + threads * sizeof(t->own[0]), MEMORY_OTHER);
    t->threads = threads;
    t->keyspace = o->keyspace > 0 ? (uint64_t)o->keyspace : 0;
    t->bytes.class = MEMORY_OTHER;
    bool good = o->trace ? open_trace(t, o, scan, login, reason, reason_size)
                         : make_requests(t, o, reason, reason_size);
    for (unsigned i = 0; good && i < threads; i++) {
        struct own_traffic *own = &t->own[i];
        own->chance = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
        if (!t->is_trace) own->pace = load_pace_of((double)o->rate / pipeline, i, threads);
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
    replay_trace_close(&t->trace);
    buffer_free(&t->bytes);
    memory_free(t, MEMORY_OTHER);
}
