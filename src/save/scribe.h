/* SPDX-License-Identifier: BSD-3-Clause
 * The scribe of a save by walk: a thread that encodes and writes what the main thread has copied.
 *
 *   main thread: blocks of pieces --> scribe: encode, compress, sum --> file or pipe
 *
 * The main thread never waits for the scribe; the walk reads how far it is behind (scribe_waiting).
 * The output may go to several files and pipes, as fast as the slowest takes it; a writer that
 * fails or leaves does not end the save for the others. Blocks are jobs of io/background, so they
 * are written in the order in which they were handed over. More threads may help to encode
 * (io/pipeline).
 */
#ifndef EVENKEEL_SAVE_SCRIBE_H
#define EVENKEEL_SAVE_SCRIBE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "save/saver_job.h"

/* A little less than the largest piece of a pipeline, into which whole blocks must fit. */
#define SCRIBE_BLOCK_BYTES 65000

struct background_kind;
struct scribe;

/* The encoding and writing of blocks. */
FOR_TESTS extern struct background_kind scribe_jobs;

/* Pieces (rdb/piece.h), one behind another. Class MEMORY_SAVES. */
struct scribe_block {
    struct scribe_block *next; /* for its owner */
    struct scribe *scribe;
    size_t used;
    _Alignas(8) unsigned char bytes[SCRIBE_BLOCK_BYTES];
};

/* How a scribe is to write. */
struct scribe_plan {
    struct saver_job job;
    int id;
    struct buffer head, tail; /* before and behind all pieces; owned by the scribe */
    unsigned threads;         /* threads that help to encode */
    int64_t key_delay_usec;   /* for tests */
    void (*wake)(void);       /* called from the scribe's thread when it has ended */
};

/* Creates a scribe; the job's `open` is called later, on its thread. */
MUST_USE struct scribe *scribe_create(const struct scribe_plan *plan);
/* Adds a job of the same format, which gets the same bytes. No block may have been handed over yet,
 * nor scribe_end called; at most SAVER_JOBS_MAX. */
void scribe_join(struct scribe *s, const struct saver_job *job);
/* Ends the writing for the job with this argument. The other jobs wait until its present write
 * returns: at once, if its descriptor is non-blocking (O_NONBLOCK). */
void scribe_leave(struct scribe *s, const void *argument);
/* An empty block, owned by the caller. */
MUST_USE struct scribe_block *scribe_block_create(void);
void scribe_block_free(struct scribe_block *b);
/* Hands the block over; the scribe owns it. */
void scribe_take(struct scribe *s, struct scribe_block *b);
/* No more blocks come. Where `whole`, what was handed over is written to its end; otherwise nothing
 * more is written and the save is given up. Call it once. */
void scribe_end(struct scribe *s, bool whole);
/* After scribe_end: gives the save up, so that nothing more is written. */
void scribe_give_up(struct scribe *s);

/* Bytes of blocks that are not written yet. */
size_t scribe_waiting(const struct scribe *s);
/* How many keys have come to the encoder. */
uint64_t scribe_keys(const struct scribe *s);
/* Whether all writing has failed: no more blocks need be handed over, but scribe_end must be
 * called. */
bool scribe_has_failed(const struct scribe *s);
/* After scribe_end: whether everything is done. `good` then says of each job whether it succeeded,
 * in the order in which the jobs came.
 */
bool scribe_has_ended(const struct scribe *s, bool *good);
/* Frees a scribe that has ended. */
void scribe_free(struct scribe *s);
#endif
