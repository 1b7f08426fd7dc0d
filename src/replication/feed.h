/* SPDX-License-Identifier: BSD-3-Clause
 * A feed: one stream of bytes that several readers follow, each at its own place.
 *
 * Bytes are numbered from the stream's beginning; a reader is such a number. The feed keeps the
 * last `kept` bytes for future readers (the replication backlog), and beyond them whatever its
 * slowest reader still needs. Each byte is stored once, in blocks, however many readers there are:
 * memory grows with the bytes that are kept, not with readers.
 *
 * A block is given up when no reader stands in it or before it, and it is older than the kept
 * bytes. This costs O(1) a block. Many blocks at once (after a reader far behind has left) leave
 * all memory counters at once (MEMORY_LEAVING), and are freed in steps by feed_free_step.
 */
#ifndef EVENKEEL_REPLICATION_FEED_H
#define EVENKEEL_REPLICATION_FEED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"

/* Payload of a block. With its head a block has 16 KiB, the smallest backlog: little is held beyond
 * `kept`, and a reader's write has few pieces. */
#define FEED_BLOCK_BYTES 16368
/* How many blocks a step frees: some 2 MB. */
#define FEED_FREE_STEP_BLOCKS 128

struct feed;
struct feed_block;
struct iovec;

struct feed_reader {
    struct feed *feed;        /* NULL: follows none */
    struct feed_block *block; /* held: the one of `place`, or of the last read */
    int64_t place;            /* the place of the next byte to read */
};

/* An empty stream whose next byte has the number `place`. At least the last `kept` bytes stay. The
 * caller owns the feed; it must have no readers when it is freed. */
MUST_USE struct feed *feed_create(enum memory_class class, int64_t place, size_t kept);
void feed_free(struct feed *feed);

/* Appends bytes; O(length). The caller must wake the readers. */
void feed_append(struct feed *feed, const void *bytes, size_t length);
/* Forgets all bytes and continues at another place (of another history). There must be no
 * readers. */
void feed_restart(struct feed *feed, int64_t place);
void feed_set_kept(struct feed *feed, size_t kept);

/* The number of the next byte to be appended, and that of the first byte that a new reader may ask
 * for. They are equal while nothing was written. */
int64_t feed_end(const struct feed *feed);
int64_t feed_begin(const struct feed *feed);
/* The number of bytes between feed_begin and feed_end: at most `kept`. */
FOR_TESTS size_t feed_kept_bytes(const struct feed *feed);
/* Readers get no byte from `place` on until the limit is raised. INT64_MAX, the initial limit: they
 * get all. */
void feed_set_limit(struct feed *feed, int64_t place);
int64_t feed_limit(const struct feed *feed);

/* Memory of the kept bytes, and of the older blocks that readers still need. */
size_t feed_backlog_memory(const struct feed *feed);
size_t feed_held_memory(const struct feed *feed);

/* Frees some blocks that were given up; true if some are left. */
bool feed_free_step(struct feed *feed);

/* ---- readers ---- */

/* Lets a reader, which follows no feed, follow this one from `place` on; false if that byte is
 * not kept any more, or not written yet. O(1). */
MUST_USE bool feed_follow(struct feed_reader *reader, struct feed *feed, int64_t place);
/* Lets a reader, which follows no feed, follow from the place of another reader, which may be
 * before the kept bytes. O(1). */
void feed_follow_reader(struct feed_reader *reader, const struct feed_reader *other);
/* Ends the following; harmless where the reader follows no feed. */
void feed_leave(struct feed_reader *reader);
/* How many bytes the reader has not taken; 0 where it follows no feed. */
size_t feed_lag(const struct feed_reader *reader);
/* The next bytes for the reader: at most `count_max` pieces, `bytes_max` together. Returns the
 * number of pieces, which are valid until feed_take or feed_leave. */
int feed_pieces(const struct feed_reader *reader, struct iovec *pieces, int count_max,
                size_t bytes_max);
/* Notes that the reader has taken `length` bytes. */
void feed_take(struct feed_reader *reader, size_t length);

/* Checks the invariants; walks all blocks. */
FOR_TESTS void feed_check(const struct feed *feed);
#endif
