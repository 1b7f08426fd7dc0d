/* SPDX-License-Identifier: BSD-3-Clause
 * A load_run in a thread of its own, and tallies that its threads fill.
 *
 * Invariants
 *  1. A request belongs to the block in which it is due, whenever it is sent or answered. So a
 *     stall counts in the block that it began in, and the answers that it holds up are waited for.
 *  2. Each thread of the load has a tally with a lock, which the tool's thread takes a few times a
 *     second.
 *  3. The source of a server that is not chosen goes on: its batches are left out.
 */
#include "experiment/experiment_load.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/signals.h"
#include "load/load_run.h"
#include "tools/tool_connection.h"
#include "tools/tool_greeting.h"

#define TICK_NSEC 10000000
/* A batch that is answered never stops the load for longer than this at its end. */
#define DRAIN_NSEC 1000000000
#define START_MSEC 10000
#define POLL_MSEC 5
/* A batch's word is the number of its requests, and the number of its helpers times this, which is
 * above the requests of any batch. */
#define HELPER ((uintptr_t)1 << 16)

/* Requests of an interval or of a block. */
struct counted {
    struct load_latency latency;
    uint64_t answered, errors, late, batches;
};

/* One thread's part. Times are nanoseconds since the load began. */
struct tally {
    pthread_mutex_t mutex;
    struct counted interval, block;
    int64_t block_begin_nsec, block_end_nsec;
    int64_t due_nsec[EXPERIMENT_ARMS_MAX]; /* of the next batch for each server */
    uint64_t expected, done;               /* batches that are due in the block; answered */
};

/* A server's stream. */
struct lane {
    struct experiment_load *load;
    struct load_source source;
    struct load_target target;
    struct tool_greeting greeting;
    unsigned index;
};

struct experiment_load {
    struct experiment_load_settings settings;
    struct lane lanes[EXPERIMENT_ARMS_MAX];
    struct load_stream streams[EXPERIMENT_ARMS_MAX];
    struct load load;
    struct load_result result;
    pthread_t thread;
    atomic_bool stop, ended;
    atomic_uint chosen;
    _Atomic int64_t began_nsec; /* monotonic; 0 = not yet */
    int64_t interval_nsec;      /* monotonic: the last interval's end */
    double block_s;
    char reason[TOOL_REASON_CHARS];
    struct tally tallies[];
};

/* --- the load's threads ----------------------------------------------------------------------- */

static bool is_in_block(const struct tally *t, int64_t due_nsec) {
    return due_nsec >= t->block_begin_nsec && due_nsec < t->block_end_nsec;
}

static int64_t next_lane_due(void *context, unsigned thread) {
    struct lane *lane = context;
    struct tally *t = &lane->load->tallies[thread];
    int64_t due_nsec = lane->source.due(lane->source.context, thread);
    pthread_mutex_lock(&t->mutex);
    t->due_nsec[lane->index] = due_nsec;
    if (atomic_load(&lane->load->chosen) == lane->index && is_in_block(t, due_nsec)) t->expected++;
    pthread_mutex_unlock(&t->mutex);
    return due_nsec;
}

static bool next_lane_batch(void *context, unsigned thread, unsigned most,
                            struct load_batch *batch) {
    struct lane *lane = context;
    bool more = lane->source.next(lane->source.context, thread, most, batch);
    if (atomic_load(&lane->load->chosen) != lane->index) batch->replies = 0;
    batch->about = batch->replies | (uintptr_t)lane->load->settings.helpers * HELPER;
    return more;
}

/* `helpers` of the requests are not counted, unless they fail. */
static void count_answer(struct counted *c, const struct load_answer *answer, unsigned helpers,
                         bool ends_batch) {
    bool failed = answer->outcome == LOAD_ERROR || answer->outcome == LOAD_OOM ||
                  answer->outcome == LOAD_LOST;
    int64_t nsec = answer->answered_nsec - answer->due_nsec;
    if (failed) {
        c->errors += answer->count;
    } else if (answer->count > helpers) {
        c->answered += answer->count - helpers;
        load_latency_note(&c->latency, nsec, answer->count - helpers);
    }
    if (!ends_batch) return;
    c->batches++;
    c->late += answer->late_nsec > LOAD_LATE_NSEC;
}

static void take_lane_answer(void *context, unsigned thread, const struct load_answer *answer) {
    struct lane *lane = context;
    struct tally *t = &lane->load->tallies[thread];
    uintptr_t about = answer->about, helpers = about / HELPER;
    bool ends_batch = answer->first + answer->count >= about % HELPER;
    helpers = helpers > answer->first ? helpers - answer->first : 0;
    if (answer->outcome == LOAD_UNANSWERED) return;
    pthread_mutex_lock(&t->mutex);
    count_answer(&t->interval, answer, (unsigned)helpers, ends_batch);
    if (is_in_block(t, answer->due_nsec)) {
        count_answer(&t->block, answer, (unsigned)helpers, ends_batch);
        t->done += ends_batch;
    }
    pthread_mutex_unlock(&t->mutex);
}

static void note_load_time(void *context, int64_t now_nsec) {
    struct experiment_load *load = context;
    if (!atomic_load(&load->began_nsec))
        atomic_store(&load->began_nsec, clock_monotonic_nsec() - now_nsec);
}

static void *run_whole_load(void *context) {
    struct experiment_load *load = context;
    signals_thread_start();
    if (!load_run(&load->load, &load->result))
        snprintf(load->reason, sizeof(load->reason), "%s", load->result.reason);
    atomic_store(&load->ended, true);
    signals_thread_end();
    return NULL;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static void init_lane(struct experiment_load *load, unsigned index) {
    struct lane *lane = &load->lanes[index];
    const struct tool_connection *server = load->settings.servers[index];
    tool_greeting_init(&lane->greeting, server, load->settings.resp3);
    lane->load = load;
    lane->index = index;
    lane->source = load->settings.sources[index];
    lane->target = (struct load_target){.address = tool_connection_address(server),
                                        .greeting = buffer_slice(&lane->greeting.bytes),
                                        .greeting_replies = lane->greeting.count};
    load->streams[index] = (struct load_stream){.targets = &lane->target,
                                                .target_count = 1,
                                                .source = {next_lane_due, next_lane_batch, lane},
                                                .sink = {take_lane_answer, NULL, lane},
                                                .connections = load->settings.connections,
                                                .pipeline = load->settings.pipeline,
                                                .tolerates = true};
}

static void free_load(struct experiment_load *load) {
    for (unsigned i = 0; i < load->settings.server_count; i++)
        tool_greeting_free(&load->lanes[i].greeting);
    for (unsigned i = 0; i < load->settings.threads; i++)
        pthread_mutex_destroy(&load->tallies[i].mutex);
    memory_free(load, MEMORY_OTHER);
}

struct experiment_load *experiment_load_start(const struct experiment_load_settings *s,
                                              char reason[TOOL_REASON_CHARS]) {
    struct experiment_load *load =
        memory_zalloc(sizeof(*load) + s->threads * sizeof(load->tallies[0]), MEMORY_OTHER);
    load->settings = *s;
    for (unsigned i = 0; i < s->threads; i++) pthread_mutex_init(&load->tallies[i].mutex, NULL);
    for (unsigned i = 0; i < s->server_count; i++) init_lane(load, i);
    load->load = (struct load){.streams = load->streams,
                               .stream_count = s->server_count,
                               .threads = s->threads,
                               .drain_nsec = DRAIN_NSEC,
                               .stop = &load->stop,
                               .tick = note_load_time,
                               .tick_nsec = TICK_NSEC,
                               .context = load};
    int error = pthread_create(&load->thread, NULL, run_whole_load, load);
    if (error) {
        snprintf(reason, TOOL_REASON_CHARS, "no thread for the load: %s", strerror(error));
        free_load(load);
        return NULL;
    }
    int64_t until = clock_monotonic_msec() + START_MSEC;
    while (!atomic_load(&load->began_nsec) && !atomic_load(&load->ended) &&
           clock_monotonic_msec() < until)
        (void)poll(NULL, 0, POLL_MSEC);
    if (atomic_load(&load->began_nsec)) {
        load->interval_nsec = clock_monotonic_nsec();
        return load;
    }
    const char *failure = experiment_load_failure(load);
    snprintf(reason, TOOL_REASON_CHARS, "%.400s",
             failure ? failure : "the load's connections do not open");
    experiment_load_stop(load);
    return NULL;
}

void experiment_load_stop(struct experiment_load *load) {
    if (!load) return;
    atomic_store(&load->stop, true);
    pthread_join(load->thread, NULL);
    free_load(load);
}

const char *experiment_load_failure(const struct experiment_load *load) {
    if (!atomic_load(&load->ended)) return NULL;
    /* Requests that options ask for never end. */
    return *load->reason ? load->reason : "its requests have ended: the trace file has changed";
}

void experiment_load_choose(struct experiment_load *load, unsigned server) {
    atomic_store(&load->chosen, server);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void fill_load_values(const struct counted *c, double seconds, double *values) {
    for (unsigned i = 0; i < EXPERIMENT_LOAD_FIGURES; i++) values[i] = NAN;
    values[EXPERIMENT_REQUESTS] = (double)c->answered / seconds;
    values[EXPERIMENT_ERRORS] = (double)c->errors / seconds;
    if (c->batches) values[EXPERIMENT_LATE] = 100.0 * (double)c->late / (double)c->batches;
    if (!c->answered) return;
    values[EXPERIMENT_P50] = (double)load_latency_usec_at(&c->latency, 0.5);
    values[EXPERIMENT_P99] = (double)load_latency_usec_at(&c->latency, 0.99);
    values[EXPERIMENT_P999] = (double)load_latency_usec_at(&c->latency, 0.999);
    values[EXPERIMENT_MAX] = (double)c->latency.most_usec;
}

static void add_counted(struct counted *to, const struct counted *from) {
    load_latency_add(&to->latency, &from->latency);
    to->answered += from->answered;
    to->errors += from->errors;
    to->late += from->late;
    to->batches += from->batches;
}

void experiment_load_take_interval(struct experiment_load *load, double *values) {
    struct counted *sum = memory_zalloc(sizeof(*sum), MEMORY_OTHER);
    int64_t now_nsec = clock_monotonic_nsec();
    for (unsigned i = 0; i < load->settings.threads; i++) {
        struct tally *t = &load->tallies[i];
        pthread_mutex_lock(&t->mutex);
        add_counted(sum, &t->interval);
        memset(&t->interval, 0, sizeof(t->interval));
        pthread_mutex_unlock(&t->mutex);
    }
    fill_load_values(sum, (double)(now_nsec - load->interval_nsec) / 1e9, values);
    load->interval_nsec = now_nsec;
    memory_free(sum, MEMORY_OTHER);
}

void experiment_load_begin_block(struct experiment_load *load, double seconds) {
    int64_t begin_nsec = clock_monotonic_nsec() - atomic_load(&load->began_nsec);
    unsigned chosen = atomic_load(&load->chosen);
    load->block_s = seconds;
    for (unsigned i = 0; i < load->settings.threads; i++) {
        struct tally *t = &load->tallies[i];
        pthread_mutex_lock(&t->mutex);
        memset(&t->block, 0, sizeof(t->block));
        t->block_begin_nsec = begin_nsec;
        t->block_end_nsec = begin_nsec + (int64_t)(seconds * 1e9);
        t->expected = is_in_block(t, t->due_nsec[chosen]);
        t->done = 0;
        pthread_mutex_unlock(&t->mutex);
    }
}

bool experiment_load_block_is_over(struct experiment_load *load) {
    unsigned chosen = atomic_load(&load->chosen);
    bool over = true;
    for (unsigned i = 0; i < load->settings.threads; i++) {
        struct tally *t = &load->tallies[i];
        pthread_mutex_lock(&t->mutex);
        if (t->due_nsec[chosen] < t->block_end_nsec || t->done < t->expected) over = false;
        pthread_mutex_unlock(&t->mutex);
    }
    return over;
}

void experiment_load_take_block(struct experiment_load *load, double *values) {
    struct counted *sum = memory_zalloc(sizeof(*sum), MEMORY_OTHER);
    for (unsigned i = 0; i < load->settings.threads; i++) {
        struct tally *t = &load->tallies[i];
        pthread_mutex_lock(&t->mutex);
        add_counted(sum, &t->block);
        pthread_mutex_unlock(&t->mutex);
    }
    fill_load_values(sum, load->block_s, values);
    memory_free(sum, MEMORY_OTHER);
}
