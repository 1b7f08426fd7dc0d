/* SPDX-License-Identifier: BSD-3-Clause
 * A feed: one stream of bytes that several readers follow, each at its own place.
 *
 * Bytes are numbered from the stream's beginning; a reader is such a number. The feed keeps the
 * last `kept` bytes for who may come (the replication backlog), and beyond them whatever its
 * slowest reader still needs. Bytes stand once, in blocks, however many readers there are: memory
 * grows with what is kept, not with readers.
 *
 * A block goes when no reader stands in it or before it and it is older than what is kept. That is
 * found in O(1) a block; many at once (a reader that was far behind has gone) leave all sums at
 * once (MEMORY_LEAVING) and are freed in steps of feed_free_step.
 */
#ifndef EVENKEEL_REPLICATION_FEED_H
#define EVENKEEL_REPLICATION_FEED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"

/* Payload of one: with its head 16 KiB, the smallest backlog; so what is held beyond `kept` is
 * little, and a write of a reader has few pieces. */
#define FEED_BLOCK_BYTES 16368
/* Freed in a step: some 2 MB. */
#define FEED_FREE_STEP_BLOCKS 128

struct feed;
struct feed_block;
struct iovec;

struct feed_reader {
    struct feed *feed; /* NULL: follows none */
    struct feed_block
        *block;    /* held for it: `place` is in it, or was when it took something last */
    int64_t place; /* of the next byte that it takes */
};

/* An empty stream whose next byte has the number `place`. `kept` bytes stay at least, once they
 * were written. The caller owns it; no reader may be left when it is freed. */
MUST_USE struct feed *feed_create(enum memory_class class, int64_t place, size_t kept);
void feed_free(struct feed *feed);

/* O(length). Readers are not told: who feeds lets them write. */
void feed_append(struct feed *feed, const void *bytes, size_t length);
/* Forgets all, and goes on at another place: another history. There are no readers. */
void feed_restart(struct feed *feed, int64_t place);
void feed_set_kept(struct feed *feed, size_t kept);

/* The number of the next byte to be appended, and of the first that a reader may still ask for.
 * They are the same where nothing was written. */
int64_t feed_end(const struct feed *feed);
int64_t feed_begin(const struct feed *feed);
/* Bytes between them: at most `kept`. */
FOR_TESTS size_t feed_kept_bytes(const struct feed *feed);
/* Readers get nothing from `place` on until this is called with a later one. INT64_MAX: they get
 * all, which holds at first. */
void feed_set_limit(struct feed *feed, int64_t place);
int64_t feed_limit(const struct feed *feed);

/* What the kept bytes take, and what blocks before them take that readers still need. */
size_t feed_backlog_memory(const struct feed *feed);
size_t feed_held_memory(const struct feed *feed);

/* Frees blocks that were given up; true where some are left. */
bool feed_free_step(struct feed *feed);

/* ---- readers ---- */

/* The reader, which follows none, follows from `place` on; false where that is not kept any more,
 * or not written yet. O(1). */
MUST_USE bool feed_follow(struct feed_reader *reader, struct feed *feed, int64_t place);
/* The same from where another reader stands, which may be before what is kept. O(1). */
void feed_follow_reader(struct feed_reader *reader, const struct feed_reader *other);
/* Follows no more; harmless where it follows none. */
void feed_leave(struct feed_reader *reader);
/* What it has not taken, in bytes; 0 where it follows none. */
size_t feed_lag(const struct feed_reader *reader);
/* Memory that is held for it and those before it: 0 while it stands within what is kept. */
FOR_TESTS size_t feed_reader_memory(const struct feed_reader *reader);
/* The next bytes for it: at most `count_max` pieces of `bytes_max` together. Returns how many
 * pieces; they are valid until it takes them, or leaves. */
int feed_pieces(const struct feed_reader *reader, struct iovec *pieces, int count_max,
                size_t bytes_max);
/* It has taken so many of them. */
void feed_take(struct feed_reader *reader, size_t length);

/* Its invariants; walks all blocks. */
FOR_TESTS void feed_check(const struct feed *feed);
#endif
