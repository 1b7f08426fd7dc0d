/* SPDX-License-Identifier: BSD-3-Clause
 * Writing what a walk hands over. scribe.h has the idea.
 *
 *   opened by the first job; blocks; ended by the last, which says how it went
 *
 * A text in parts is put together here, for it is compressed as a whole.
 *
 * Invariants
 *  1. What stands below `thread` is touched by jobs alone, which run one at a time.
 *  2. `ended` is set last of all: then no job is left, and the memory is the main thread's.
 *  3. Once `given_up` is set nothing waits any more but for the system.
 */
#include "persist/scribe.h"

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
#include "persist/piece.h"
#include "persist/rdb_format.h"
#include "persist/rdb_save.h"

/* For tests, who delay each key: so often it is asked whether all is given up. */
#define DELAY_STEP_USEC 1000

struct scribe {
    struct scribe_plan plan;
    atomic_size_t waiting;
    _Atomic uint64_t keys;
    atomic_bool given_up, failed, ended;
    bool good; /* once `ended` */

    /* thread */
    int fd;
    bool opened;
    int error; /* errno of the first failure */
    struct file_sink file;
    struct pipeline *pipeline;
    struct buffer parts;
};

struct scribe *scribe_create(const struct scribe_plan *plan) {
    struct scribe *s = memory_zalloc(sizeof(*s), MEMORY_SAVES);
    s->plan = *plan;
    s->fd = -1;
    buffer_init(&s->parts, MEMORY_SAVES);
    return s;
}

struct scribe_block *scribe_block_create(void) {
    struct scribe_block *b = memory_alloc(sizeof(*b), MEMORY_SAVES);
    b->used = 0;
    return b;
}

void scribe_block_free(struct scribe_block *b) { memory_free_sized(b, sizeof(*b), MEMORY_SAVES); }

/* ---- on its thread ---- */

static bool is_given_up(const struct scribe *s) { return atomic_load(&s->given_up); }

static void fail(struct scribe *s, int error) {
    if (!s->error) s->error = error;
    atomic_store(&s->failed, true);
}

static bool writes_commands(const struct scribe *s) { return s->plan.job.format == SAVER_COMMANDS; }

static void begin(struct scribe *s) {
    struct slice head = buffer_slice(&s->plan.head);
    s->opened = true;
    s->fd = s->plan.job.open(s->plan.job.argument, s->plan.id);
    if (s->fd < 0) {
        fail(s, errno);
        return;
    }
    file_sink_open(&s->file, s->fd, -1);
    file_sink_set_sync(&s->file, s->plan.job.sync_every_bytes, true);
    if (!writes_commands(s)) rdb_save_begin(&s->file.sink);
    sink_write(&s->file.sink, head.bytes, head.length);
    s->pipeline = pipeline_create(
        &s->file.sink, writes_commands(s) ? piece_encode_commands : piece_encode_snapshot,
        s->plan.threads);
}

/* For tests: as rdb_delay, but it ends where all is given up. */
static void delay(const struct scribe *s, uint64_t key) {
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

/* The text's parts have all come. */
static void pass_on_whole(struct scribe *s, unsigned how) {
    struct slice whole = buffer_slice(&s->parts); /* whose memory goes with the piece */
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
    if (__builtin_expect(s->plan.key_delay_usec != 0, 0)) delay(s, key);
}

static void write_block(void *argument) {
    struct scribe_block *b = argument;
    struct scribe *s = b->scribe;
    if (!s->opened && !is_given_up(s)) begin(s);
    for (size_t at = 0; at < b->used && !s->error && !is_given_up(s);) {
        const struct piece *piece = (const struct piece *)(const void *)(b->bytes + at);
        take_piece(s, piece);
        at += piece_span(piece);
        if (pipeline_failed(s->pipeline)) atomic_store(&s->failed, true);
    }
    scribe_block_free(b);
    atomic_fetch_sub(&s->waiting, sizeof(*b));
}

/* What stands behind all keys. */
static void finish(struct scribe *s) {
    struct sink *out = &s->file.sink;
    struct slice tail = buffer_slice(&s->plan.tail);
    sink_write(out, tail.bytes, tail.length);
    if (!(writes_commands(s) ? sink_flush(out) : rdb_save_end(out))) fail(s, sink_error(out));
}

static void end_pipeline(struct scribe *s) {
    if (!s->pipeline) return;
    if (!pipeline_end(s->pipeline)) fail(s, sink_error(&s->file.sink));
    if (is_given_up(s)) fail(s, ECANCELED);
    if (!s->error) finish(s);
    file_sink_close(&s->file);
}

/* On disk before its owner gives it its name: so what takes long is over when it is asked for the
 * last time whether all is given up, and no file of data that is gone comes late. What is no file
 * has no disk (EINVAL). */
static void settle(struct scribe *s) {
    if (s->error || s->fd < 0) return;
    if (!file_sync(s->fd) && errno != EINVAL) fail(s, errno);
    if (is_given_up(s)) fail(s, ECANCELED);
}

static void write_end(void *argument) {
    struct scribe *s = argument;
    void (*wake)(void) = s->plan.wake;
    if (!s->opened && !is_given_up(s)) begin(s);
    end_pipeline(s);
    settle(s);
    if (s->opened && s->fd >= 0) s->good = s->plan.job.close(s->plan.job.argument, s->fd, s->error);
    atomic_store(&s->ended, true);
    wake();
}

/* ---- the main thread ---- */

void scribe_take(struct scribe *s, struct scribe_block *b) {
    b->scribe = s;
    atomic_fetch_add(&s->waiting, sizeof(*b));
    background_submit(BACKGROUND_SAVE, write_block, b);
}

void scribe_end(struct scribe *s, bool whole) {
    if (!whole) atomic_store(&s->given_up, true);
    background_submit(BACKGROUND_SAVE, write_end, s);
}

void scribe_give_up(struct scribe *s) { atomic_store(&s->given_up, true); }

size_t scribe_waiting(const struct scribe *s) { return atomic_load(&s->waiting); }
uint64_t scribe_keys(const struct scribe *s) {
    return atomic_load_explicit(&s->keys, memory_order_relaxed);
}
bool scribe_has_failed(const struct scribe *s) { return atomic_load(&s->failed); }

bool scribe_has_ended(const struct scribe *s, bool *good) {
    if (!atomic_load(&s->ended)) return false;
    *good = s->good;
    return true;
}

void scribe_free(struct scribe *s) {
    ASSERT(atomic_load(&s->ended));
    buffer_free(&s->plan.head);
    buffer_free(&s->plan.tail);
    buffer_free(&s->parts);
    memory_free_sized(s, sizeof(*s), MEMORY_SAVES);
}
