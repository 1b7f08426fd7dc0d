/* SPDX-License-Identifier: BSD-3-Clause
 * Blocks in a ring; each thread that is free encodes or writes one.
 *
 *   given to   -->  taken by one  -->  encoded, in its  -->  written, by whoever
 *   the ring        to encode it       window                comes when it is next
 *
 * `given`, `taken` and `written` count blocks; block n is in slot n modulo the number of slots.
 * Under the lock, a thread does the first of these that is possible:
 *  1. If the next block to be written is encoded and no thread writes, it writes that block.
 *  2. If a block has been given and not taken, it encodes that block.
 *  3. It waits.
 * A thread whose block fills its window before it is encoded waits for the block's turn to be
 * written, and writes the blocks before it meanwhile. It keeps the turn until its block is encoded.
 *
 * Invariants, under the lock:
 *  1. written <= taken <= given <= written + slots.
 *  2. `writes` is set exactly while one thread uses the sink; that thread alone raises `written`.
 *  3. Blocks are taken in order. So the next block to be written is encoded, or is being encoded by
 *     a thread that waits for no other: there is no deadlock.
 *  4. A slot's block and window belong to the giver until the block is given, to the thread that
 *     has taken it until it is encoded, and to the thread that writes it afterwards.
 */
#include "io/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/stream.h"
#include "io/affinity.h"
#include "io/child.h"
#include "io/signals.h"

/* A block is handed over when it holds this much work: some hundred microseconds, beside which the
 * cost of the handing over is small. */
#define BLOCK_WEIGHT ((size_t)131072)
/* The encoded form of a block is kept in a window of this size until it is written; the factor is
 * room for a guess that was too low. */
#define WINDOW_BYTES (2 * BLOCK_WEIGHT)
/* Each thread, and the giver, has one slot for the block that it works on and one for a block that
 * waits. */
#define SLOTS_PER_THREAD 2
#define PIECE_ALIGNMENT ((size_t)8)

struct slot {
    struct sink sink; /* first: slot_drain() finds the slot by it */
    struct pipeline *pipeline;
    char *block, *window; /* NULL until they are needed */
    size_t bytes, weight;
    uint64_t number; /* of the block, while it is encoded */
    bool encoded;
    bool has_turn; /* its thread uses the pipeline's sink */
};

struct pipeline {
    struct sink *out;
    pipeline_encode *encode;
    unsigned threads_wanted, threads_running;
    pthread_t threads[PIPELINE_THREADS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t given, taken, written;
    bool writes, ending;
    atomic_int error; /* errno of the first failure, 0 = none */
    size_t slots_count;
    struct slot slots[];
};

static void pipeline_lock(struct pipeline *p) { ASSERT(pthread_mutex_lock(&p->lock) == 0); }
static void pipeline_unlock(struct pipeline *p) { ASSERT(pthread_mutex_unlock(&p->lock) == 0); }
static void wait_for_change(struct pipeline *p) {
    ASSERT(pthread_cond_wait(&p->changed, &p->lock) == 0);
}
static void tell_change(struct pipeline *p) { pthread_cond_broadcast(&p->changed); }

static struct slot *slot_of(struct pipeline *p, uint64_t number) {
    return &p->slots[number % p->slots_count];
}

static void pipeline_note_error(struct pipeline *p, int error) {
    int none = 0;
    if (error) atomic_compare_exchange_strong(&p->error, &none, error);
}

bool pipeline_failed(const struct pipeline *p) { return atomic_load(&p->error) != 0; }

/* ---- Writing ---- */

/* Writes to the pipeline's sink; called only by the thread that has the turn. */
static void write_out(struct pipeline *p, const void *bytes, size_t length) {
    sink_write(p->out, bytes, length);
    pipeline_note_error(p, sink_error(p->out));
}

static bool can_write(struct pipeline *p) {
    return !p->writes && p->written < p->taken && slot_of(p, p->written)->encoded;
}

/* Ends the turn: the block has been written. */
static void end_turn(struct pipeline *p, struct slot *s) {
    s->encoded = s->has_turn = false;
    p->writes = false;
    p->written++;
    tell_change(p);
}

static void write_next(struct pipeline *p) {
    struct slot *s = slot_of(p, p->written);
    struct slice window = sink_window(&s->sink);
    p->writes = true;
    pipeline_unlock(p);
    if (!pipeline_failed(p)) write_out(p, window.bytes, window.length);
    pipeline_lock(p);
    end_turn(p, s);
}

/* Waits until the slot's block is the next to be written. */
static void wait_for_turn(struct slot *s) {
    struct pipeline *p = s->pipeline;
    pipeline_lock(p);
    while (p->written != s->number || p->writes) {
        if (can_write(p))
            write_next(p);
        else
            wait_for_change(p);
    }
    p->writes = s->has_turn = true;
    pipeline_unlock(p);
}

/* Called when the window is full, or a text is larger than the window. */
static bool slot_drain(struct sink *sink, const void *more, size_t length) {
    struct slot *s = (struct slot *)sink;
    struct slice window = sink_window(sink);
    if (!s->has_turn && !pipeline_failed(s->pipeline)) wait_for_turn(s);
    if (!pipeline_failed(s->pipeline)) {
        write_out(s->pipeline, window.bytes, window.length);
        write_out(s->pipeline, more, length);
    }
    sink_set_window(sink, s->window, WINDOW_BYTES);
    errno = atomic_load(&s->pipeline->error);
    return errno == 0;
}

static const struct sink_type slot_sink = {.drain = slot_drain};

/* ---- Encoding ---- */

static void encode_next(struct pipeline *p) {
    struct slot *s = slot_of(p, p->taken);
    s->number = p->taken++;
    pipeline_unlock(p);
    if (!s->window) s->window = memory_alloc(WINDOW_BYTES, MEMORY_OTHER);
    sink_init(&s->sink, &slot_sink, s->window, WINDOW_BYTES);
    if (pipeline_failed(p)) sink_fail(&s->sink, atomic_load(&p->error));
    p->encode((struct slice){s->block, s->bytes}, &s->sink);
    pipeline_note_error(p, sink_error(&s->sink));
    if (s->has_turn && !pipeline_failed(p)) {
        struct slice rest = sink_window(&s->sink);
        write_out(p, rest.bytes, rest.length);
    }
    pipeline_lock(p);
    s->encoded = true;
    if (s->has_turn)
        end_turn(p, s);
    else
        tell_change(p);
}

/* Writes or encodes one block. The caller holds the lock, which is released meanwhile. Returns
 * false if there is nothing to do. */
static bool pipeline_work(struct pipeline *p) {
    if (can_write(p))
        write_next(p);
    else if (p->taken < p->given)
        encode_next(p);
    else
        return false;
    return true;
}

static void *pipeline_thread_main(void *argument) {
    struct pipeline *p = argument;
    signals_thread_start();
    if (!child_here()) affinity_apply(&affinity_background); /* a child's keep its processors */
    pipeline_lock(p);
    while (!p->ending) {
        if (pipeline_work(p)) continue;
        wait_for_change(p);
    }
    pipeline_unlock(p);
    memory_publish();
    signals_thread_end();
    return NULL;
}

/* If the system refuses threads, the threads that wait for a block do the work. */
static void pipeline_start_threads(struct pipeline *p) {
#ifdef __SANITIZE_THREAD__
    /* Which takes no threads of a child whose parent had some. */
    if (child_here()) return;
#endif
    while (p->threads_running < p->threads_wanted) {
        pthread_t *thread = &p->threads[p->threads_running];
        if (pthread_create(thread, NULL, pipeline_thread_main, p) != 0) {
            p->threads_wanted = p->threads_running;
            return;
        }
        pthread_setname_np(*thread, "pipeline");
        p->threads_running++;
    }
}

/* ---- The giver ---- */

struct pipeline *pipeline_create(struct sink *out, pipeline_encode *encode, unsigned threads) {
    if (threads > PIPELINE_THREADS_MAX) threads = PIPELINE_THREADS_MAX;
    size_t slots = SLOTS_PER_THREAD * ((size_t)threads + 1);
    struct pipeline *p = memory_zalloc(sizeof(*p) + slots * sizeof(p->slots[0]), MEMORY_OTHER);
    p->out = out;
    p->encode = encode;
    p->threads_wanted = threads;
    p->slots_count = slots;
    pipeline_note_error(p, sink_error(out));
    ASSERT(pthread_mutex_init(&p->lock, NULL) == 0);
    ASSERT(pthread_cond_init(&p->changed, NULL) == 0);
    for (size_t i = 0; i < slots; i++) p->slots[i].pipeline = p;
    return p;
}

/* Hands the block that the giver fills on to the threads. */
static void hand_on(struct pipeline *p) {
    pipeline_lock(p);
    p->given++;
    tell_change(p);
    pipeline_unlock(p);
}

static void await_free_slot(struct pipeline *p) {
    pipeline_lock(p);
    while (p->given - p->written == p->slots_count)
        if (!pipeline_work(p)) wait_for_change(p);
    pipeline_unlock(p);
    struct slot *s = slot_of(p, p->given);
    s->bytes = s->weight = 0;
    if (!s->block) s->block = memory_alloc(PIPELINE_BLOCK_BYTES, MEMORY_OTHER);
}

void *pipeline_room(struct pipeline *p, size_t bytes) {
    struct slot *s = slot_of(p, p->given);
    ASSERT_COMPARE(bytes, <=, PIPELINE_BLOCK_BYTES);
    if (!s->block) {
        await_free_slot(p);
    } else if (s->weight >= BLOCK_WEIGHT || bytes > PIPELINE_BLOCK_BYTES - s->bytes) {
        hand_on(p);
        pipeline_start_threads(p);
        await_free_slot(p);
    }
    s = slot_of(p, p->given);
    return s->block + s->bytes;
}

void pipeline_give(struct pipeline *p, size_t bytes, size_t weight) {
    struct slot *s = slot_of(p, p->given);
    s->bytes += (bytes + PIECE_ALIGNMENT - 1) & ~(PIECE_ALIGNMENT - 1);
    s->weight += weight;
}

static void stop_threads(struct pipeline *p) {
    pipeline_lock(p);
    p->ending = true;
    tell_change(p);
    pipeline_unlock(p);
    for (unsigned i = 0; i < p->threads_running; i++)
        ASSERT(pthread_join(p->threads[i], NULL) == 0);
}

bool pipeline_end(struct pipeline *p) {
    pipeline_lock(p);
    if (slot_of(p, p->given)->bytes) p->given++;
    tell_change(p);
    while (p->written < p->given)
        if (!pipeline_work(p)) wait_for_change(p);
    pipeline_unlock(p);
    stop_threads(p);
    int error = atomic_load(&p->error);
    if (error) sink_fail(p->out, error);
    for (size_t i = 0; i < p->slots_count; i++) {
        memory_free(p->slots[i].block, MEMORY_OTHER);
        memory_free(p->slots[i].window, MEMORY_OTHER);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    memory_free(p, MEMORY_OTHER);
    return error == 0;
}
