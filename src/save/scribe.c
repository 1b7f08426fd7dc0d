/* SPDX-License-Identifier: BSD-3-Clause
 * Writing the blocks that a walk hands over. scribe.h has the idea.
 *
 *   first block: files are opened; more blocks; write_end: tail, sync, close, result
 *
 * A text in parts is joined here, because it is compressed as a whole.
 *
 * Invariants
 *  1. Members below `thread` are touched only by the scribe's jobs, which run one at a time.
 *  2. `ended` is set last: then no job is left, and the memory belongs to the main thread.
 *  3. Once `given_up` is set the scribe waits only within system calls: no longer for a
 *     non-blocking pipe to take bytes.
 *  4. The encoder writes to `out`: with one job its file's sink, else the fork, a sink that writes
 *     its window to each file that has not failed. The fork fails when all files have.
 */
#include "save/scribe.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/affinity.h"
#include "io/background.h"
#include "io/file.h"
#include "io/file_stream.h"
#include "io/pipeline.h"
#include "rdb/piece.h"
#include "rdb/rdb_format.h"
#include "rdb/rdb_save.h"

struct background_kind scribe_jobs = {.name = "save"};

#define FORK_WINDOW_BYTES 65536

/* For tests that delay each key: how often the delay asks whether the save is given up. */
#define DELAY_STEP_USEC 1000

/* Where one job writes. */
struct writer {
    const struct scribe *scribe;
    struct saver_job job;
    atomic_bool left;
    bool good; /* once `ended` */

    /* thread */
    int fd;    /* -1: it is not open */
    int error; /* errno of this writer's first failure */
    struct file_sink file;
};

struct scribe {
    struct scribe_plan plan;
    struct writer writers[SAVER_JOBS_MAX];
    unsigned writer_count;
    atomic_size_t waiting;
    _Atomic uint64_t keys;
    atomic_bool given_up, failed, ended;

    /* thread */
    bool opened;
    int error; /* errno of the first failure that ends the save for all */
    struct sink fork;
    char *fork_window;
    struct sink *out;
    struct pipeline *pipeline;
    struct buffer parts;
};

struct scribe *scribe_create(const struct scribe_plan *plan) {
    struct scribe *s = memory_zalloc(sizeof(*s), MEMORY_SAVES);
    s->plan = *plan;
    buffer_init(&s->parts, MEMORY_SAVES);
    scribe_join(s, &plan->job);
    return s;
}

void scribe_join(struct scribe *s, const struct saver_job *job) {
    ASSERT(s->writer_count < SAVER_JOBS_MAX && job->format == s->plan.job.format);
    struct writer *w = &s->writers[s->writer_count++];
    w->scribe = s;
    w->job = *job;
    w->fd = -1;
}

struct scribe_block *scribe_block_create(void) {
    struct scribe_block *b = memory_alloc(sizeof(*b), MEMORY_SAVES);
    b->used = 0;
    return b;
}

void scribe_block_free(struct scribe_block *b) { memory_free_sized(b, sizeof(*b), MEMORY_SAVES); }

/* ---- on its thread ---- */

static bool is_given_up(const struct scribe *s) { return atomic_load(&s->given_up); }

static void scribe_fail(struct scribe *s, int error) {
    if (!s->error) s->error = error;
    atomic_store(&s->failed, true);
}

static bool writes_commands(const struct scribe *s) { return s->plan.job.format == SAVER_COMMANDS; }

#define WRITER_FOR_EACH(w, s) \
    for (struct writer *w = (s)->writers; w < (s)->writers + (s)->writer_count; w++)

static void writer_fail(struct writer *w, int error) {
    if (!w->error) w->error = error;
}

static void writer_write(struct writer *w, struct slice bytes) {
    if (atomic_load(&w->left)) writer_fail(w, ECANCELED);
    if (w->error) return;
    sink_write(&w->file.sink, bytes.bytes, bytes.length);
    if (sink_error(&w->file.sink)) writer_fail(w, sink_error(&w->file.sink));
}

/* Writes to each writer that has not failed. False where all have failed, with the errno of the
 * last. */
static bool fork_drain(struct sink *sink, const void *more, size_t length) {
    struct scribe *s = (struct scribe *)((char *)sink - offsetof(struct scribe, fork));
    int error = 0;
    bool any = false;
    WRITER_FOR_EACH(w, s) {
        writer_write(w, sink_window(sink));
        if (length) writer_write(w, (struct slice){more, length});
        if (w->error) error = w->error;
        any = any || !w->error;
    }
    sink_set_window(sink, s->fork_window, FORK_WINDOW_BYTES);
    if (!any) errno = error;
    return any;
}

static const struct sink_type fork_type = {.drain = fork_drain};

static void open_out(struct scribe *s) {
    s->out = &s->writers[0].file.sink;
    if (s->writer_count == 1) return;
    s->fork_window = memory_alloc(FORK_WINDOW_BYTES, MEMORY_SAVES);
    sink_init(&s->fork, &fork_type, s->fork_window, FORK_WINDOW_BYTES);
    s->out = &s->fork;
}

/* Whether to stop waiting; asked while a pipe takes no bytes. */
static bool is_unwanted(const void *context) {
    const struct writer *w = context;
    return is_given_up(w->scribe) || atomic_load(&w->left);
}

static bool writer_open(struct writer *w, int id) {
    w->fd = w->job.open(w->job.argument, id);
    if (w->fd < 0) {
        writer_fail(w, errno);
        return false;
    }
    file_sink_open(&w->file, w->fd, -1);
    file_sink_set_sync(&w->file, w->job.sync_every_bytes, true);
    file_sink_set_given_up(&w->file, is_unwanted, w);
    return true;
}

static void scribe_begin(struct scribe *s) {
    struct slice head = buffer_slice(&s->plan.head);
    bool any = false;
    s->opened = true;
    WRITER_FOR_EACH(w, s)
    if (writer_open(w, s->plan.id)) any = true;
    if (!any) {
        scribe_fail(s, s->writers[0].error);
        return;
    }
    open_out(s);
    if (!writes_commands(s)) rdb_save_begin(s->out);
    sink_write(s->out, head.bytes, head.length);
    s->pipeline =
        pipeline_create(s->out, writes_commands(s) ? piece_encode_commands : piece_encode_snapshot,
                        s->plan.threads);
}

/* For tests: delays as rdb_delay does, but ends when the save is given up. */
static void scribe_delay(const struct scribe *s, uint64_t key) {
    int64_t usec = s->plan.key_delay_usec;
    if (usec < 0) {
        rdb_delay(usec, key);
        return;
    }
    for (; usec > 0 && !is_given_up(s); usec -= DELAY_STEP_USEC) {
        int64_t step = usec < DELAY_STEP_USEC ? usec : DELAY_STEP_USEC;
        nanosleep(&(struct timespec){.tv_nsec = step * 1000}, NULL);
    }
}

static void pass_on(struct scribe *s, const struct piece *piece) {
    size_t bytes = piece_span(piece);
    memcpy(pipeline_room(s->pipeline, bytes), piece, bytes);
    pipeline_give(s->pipeline, bytes, piece->bytes + PIECE_KEY_WEIGHT);
}

/* Passes on a text whose parts have all come. */
static void pass_on_whole(struct scribe *s, unsigned how) {
    struct slice whole = buffer_slice(&s->parts); /* its memory is freed with the piece */
    struct piece *piece = pipeline_room(s->pipeline, sizeof(*piece) + sizeof(whole));
    *piece = (struct piece){.kind = PIECE_OWNED, .how = (uint8_t)how, .bytes = sizeof(whole)};
    memcpy(piece->body, &whole, sizeof(whole));
    pipeline_give(s->pipeline, sizeof(*piece) + sizeof(whole), whole.length);
    buffer_init(&s->parts, MEMORY_SAVES);
}

static void take_piece(struct scribe *s, const struct piece *piece) {
    if (piece->kind != PIECE_PART) {
        pass_on(s, piece);
    } else {
        buffer_append(&s->parts, piece->body, piece->bytes);
        if (piece->ends) pass_on_whole(s, piece->how);
    }
    if (!piece->begins) return;
    uint64_t key = atomic_load_explicit(&s->keys, memory_order_relaxed) + 1;
    atomic_store_explicit(&s->keys, key, memory_order_relaxed);
    if (__builtin_expect(s->plan.key_delay_usec != 0, 0)) scribe_delay(s, key);
}

static void write_block(void *argument) {
    struct scribe_block *b = argument;
    struct scribe *s = b->scribe;
    if (!s->opened && !is_given_up(s)) scribe_begin(s);
    for (size_t at = 0; at < b->used && !s->error && !is_given_up(s);) {
        const struct piece *piece = (const struct piece *)(const void *)(b->bytes + at);
        take_piece(s, piece);
        at += piece_span(piece);
        if (pipeline_failed(s->pipeline)) atomic_store(&s->failed, true);
    }
    scribe_block_free(b);
    atomic_fetch_sub(&s->waiting, sizeof(*b));
}

/* Writes what follows the last key. */
static void scribe_write_tail(struct scribe *s) {
    struct sink *out = s->out;
    struct slice tail = buffer_slice(&s->plan.tail);
    sink_write(out, tail.bytes, tail.length);
    if (!(writes_commands(s) ? sink_flush(out) : rdb_save_end(out)))
        scribe_fail(s, sink_error(out));
}

static void end_pipeline(struct scribe *s) {
    if (!s->pipeline) return;
    if (!pipeline_end(s->pipeline)) scribe_fail(s, sink_error(s->out));
    if (is_given_up(s)) scribe_fail(s, ECANCELED);
    if (!s->error) scribe_write_tail(s);
    memory_free(s->fork_window, MEMORY_SAVES);
}

/* Syncs the file before its `close` renames it. So the slow work is done before this last check of
 * `given_up`, and no file of deleted data appears late. A pipe cannot be synced (EINVAL). */
static void writer_settle(struct scribe *s, struct writer *w) {
    if (s->error) writer_fail(w, s->error);
    if (!w->error && !sink_flush(&w->file.sink)) writer_fail(w, sink_error(&w->file.sink));
    file_sink_close(&w->file);
    if (w->error) return;
    if (!file_sync(w->fd) && errno != EINVAL) writer_fail(w, errno);
    if (is_given_up(s) || atomic_load(&w->left)) writer_fail(w, ECANCELED);
}

static void write_end(void *argument) {
    struct scribe *s = argument;
    void (*wake)(void) = s->plan.wake;
    if (!s->opened && !is_given_up(s)) scribe_begin(s);
    end_pipeline(s);
    WRITER_FOR_EACH(w, s) {
        if (w->fd < 0) continue;
        writer_settle(s, w);
        w->good = w->job.close(w->job.argument, w->fd, w->error);
    }
    atomic_store(&s->ended, true);
    wake();
}

/* ---- the main thread ---- */

void scribe_take(struct scribe *s, struct scribe_block *b) {
    b->scribe = s;
    atomic_fetch_add(&s->waiting, sizeof(*b));
    background_submit(&scribe_jobs, write_block, b);
}

void scribe_end(struct scribe *s, bool whole) {
    if (!whole) atomic_store(&s->given_up, true);
    background_submit(&scribe_jobs, write_end, s);
}

void scribe_leave(struct scribe *s, const void *argument) {
    WRITER_FOR_EACH(w, s)
    if (w->job.argument == argument) atomic_store(&w->left, true);
}

void scribe_give_up(struct scribe *s) { atomic_store(&s->given_up, true); }

size_t scribe_waiting(const struct scribe *s) { return atomic_load(&s->waiting); }
uint64_t scribe_keys(const struct scribe *s) {
    return atomic_load_explicit(&s->keys, memory_order_relaxed);
}
bool scribe_has_failed(const struct scribe *s) { return atomic_load(&s->failed); }

bool scribe_has_ended(const struct scribe *s, bool *good) {
    if (!atomic_load(&s->ended)) return false;
    for (unsigned i = 0; i < s->writer_count; i++) good[i] = s->writers[i].good;
    return true;
}

void scribe_free(struct scribe *s) {
    ASSERT(atomic_load(&s->ended));
    buffer_free(&s->plan.head);
    buffer_free(&s->plan.tail);
    buffer_free(&s->parts);
    memory_free_sized(s, sizeof(*s), MEMORY_SAVES);
}
