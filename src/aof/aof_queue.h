/* SPDX-License-Identifier: BSD-3-Clause
 * The log's bytes in memory: appended at one end, written to files from there on, and let go when
 * nobody needs them any more.
 *
 * The bytes are a stream; each has a position, which counts from the beginning of the process. They
 * stand in blocks of AOF_BLOCK_BYTES, so that nothing is moved when the queue grows, and nothing
 * large is allocated but for a command that is itself larger. While all is written at once, one
 * block is used over and over.
 *
 * One thread appends and lets go. Others may read a range (aof_queue_range) meanwhile: what is
 * committed does not change, and a range is followed to its end only.
 */
#ifndef EVENKEEL_AOF_AOF_QUEUE_H
#define EVENKEEL_AOF_AOF_QUEUE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define AOF_BLOCK_BYTES 65536

struct aof_block {
    struct aof_block *next;
    uint64_t start; /* the position of bytes[0] */
    size_t used, capacity;
    char bytes[];
};

struct aof_queue {
    struct aof_block *first, *last; /* never NULL */
    const struct aof_block *hint;   /* where the last range began; NULL = nowhere */
    uint64_t end;                   /* the position behind the last byte */
};

/* Bytes of one position up to another. Valid until they are let go. */
struct aof_range {
    const struct aof_block *block, *last; /* the first one, and where it ends */
    size_t offset, length;
};

void aof_queue_open(struct aof_queue *q);
void aof_queue_close(struct aof_queue *q);

char *aof_queue_reserve_slow(struct aof_queue *q, size_t bytes);
/* Room for so many bytes in a row. */
static inline char *aof_queue_reserve(struct aof_queue *q, size_t bytes) {
    struct aof_block *last = q->last;
    if (__builtin_expect(last->capacity - last->used < bytes, 0))
        return aof_queue_reserve_slow(q, bytes);
    return last->bytes + last->used;
}
/* Up to `end` of what was reserved last is appended. */
static inline void aof_queue_commit(struct aof_queue *q, const char *end) {
    size_t used = (size_t)(end - q->last->bytes);
    q->end += used - q->last->used;
    q->last->used = used;
}

/* From `from`, which is not let go, to `to`. O(1) where it begins in the block in which the one
 * before began or ended; else O(blocks). */
struct aof_range aof_queue_range(struct aof_queue *q, uint64_t from, uint64_t to);
/* Lets go what is before `below`, of which nobody may have a range. O(blocks that go). */
void aof_queue_release(struct aof_queue *q, uint64_t below);

/* Writes a range to a file; false with errno set where that failed after `*written` bytes. From any
 * thread. */
MUST_USE bool aof_range_write(int fd, struct aof_range range, size_t *written);
#endif
