/* SPDX-License-Identifier: BSD-3-Clause
 * A pipeline: one thread gives pieces of work, several threads encode them in blocks, and the
 * output comes to a sink in the order in which the pieces were given.
 *
 *   giver --pieces--> blocks --encode--> bytes --in order--> sink (with its checksum)
 *
 * No thread has a part of its own: each does what is next, writing before encoding. The giver too,
 * where all blocks are taken, so that it is never idle, and so that all works, if slower, where no
 * further thread can be had. Threads are started once a second block is needed: what is small
 * costs none.
 *
 * Bounds: blocks and bytes of a block. What one block encodes to may be of any size: what its
 * window does not hold goes to the sink at once, when the blocks before it are out.
 *
 * Errors are the sink's: once it has failed, or an encoder has failed its own sink, nothing is
 * written any more, pieces are taken and dropped, and pipeline_end tells. Encoders are still
 * called, with a sink that has failed: for pieces that own something.
 */
#ifndef EVENKEEL_IO_PIPELINE_H
#define EVENKEEL_IO_PIPELINE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/string.h"

struct pipeline;
struct sink;

/* The largest piece. */
#define PIPELINE_BLOCK_BYTES ((size_t)65536)
#define PIPELINE_THREADS_MAX 16

/* Encodes a block, pieces as they were given, each on a multiple of 8 bytes. In any thread, several
 * blocks at once; what it reads besides must not change until pipeline_end. */
typedef void pipeline_encode(struct slice block, struct sink *out);

/* Everything goes to `out`, which nobody else may use until pipeline_end. `threads` more than the
 * giver's are to work on it. */
MUST_USE struct pipeline *pipeline_create(struct sink *out, pipeline_encode *encode,
                                          unsigned threads);
/* Room for a piece of up to `bytes`, on a multiple of 8. May work on other blocks, or wait. */
MUST_USE void *pipeline_room(struct pipeline *p, size_t bytes);
/* Gives the piece that was written to pipeline_room's result, `bytes` long; it will encode to about
 * `weight` bytes. */
void pipeline_give(struct pipeline *p, size_t bytes, size_t weight);
/* Whether the pipeline has failed: a hint for the giver. */
bool pipeline_failed(const struct pipeline *p);
/* Waits until all that was given has come to the sink, ends the threads and frees the pipeline.
 * Returns false if it failed: sink_error(out) says why. */
MUST_USE bool pipeline_end(struct pipeline *p);
#endif
