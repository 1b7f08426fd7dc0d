/* SPDX-License-Identifier: BSD-3-Clause
 * The scribe of a save that walks: encodes and writes, on a thread of its own, what is copied.
 *
 *   main thread: blocks of pieces --> scribe: encode, compress, sum --> file or pipe
 *
 * The main thread never waits for it: how far it is behind is a number (scribe_waiting) that the
 * walk looks at. What is encoded may go to several files and pipes: as fast as the slowest of them
 * takes it, and whoever fails or leaves does not end it for the others. Blocks are jobs of
 * io/background, so they are done in the order in which they were handed over; the scribe may have
 * more threads help (io/pipeline).
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

struct scribe;

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
    struct buffer head, tail; /* before and behind all pieces; the scribe's from now on */
    unsigned threads;         /* that help */
    int64_t key_delay_usec;   /* for tests */
    void (*wake)(void);       /* from its thread: it has ended */
};

/* Nothing is opened yet where this returns. */
MUST_USE struct scribe *scribe_create(const struct scribe_plan *plan);
/* The job, of the same format, gets all of it, too. No block was handed over yet, and it is not
 * ended; at most SAVER_JOBS_MAX. */
void scribe_join(struct scribe *s, const struct saver_job *job);
/* Nothing more is written for the job with this argument. The other jobs wait until its write under
 * way returns, which it does at once where its descriptor does not block (O_NONBLOCK). */
void scribe_leave(struct scribe *s, const void *argument);
/* An empty block, the caller's. */
MUST_USE struct scribe_block *scribe_block_create(void);
void scribe_block_free(struct scribe_block *b);
/* The block is the scribe's. */
void scribe_take(struct scribe *s, struct scribe_block *b);
/* No more comes: what was taken is written to its end; or, where it is not `whole`, nothing more is
 * written, and what is there is given up. Once. */
void scribe_end(struct scribe *s, bool whole);
/* After scribe_end: what is not written yet is given up, too. */
void scribe_give_up(struct scribe *s);

/* Bytes of blocks that are not written yet. */
size_t scribe_waiting(const struct scribe *s);
/* Keys that have come to the encoder. */
uint64_t scribe_keys(const struct scribe *s);
/* It has failed already: more need not be handed over, but it must be ended. */
bool scribe_has_failed(const struct scribe *s);
/* After scribe_end: everything is done; whether well, of each job in the order in which they came.
 */
bool scribe_has_ended(const struct scribe *s, bool *good);
/* It has ended. */
void scribe_free(struct scribe *s);
#endif
