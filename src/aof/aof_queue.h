/* SPDX-License-Identifier: BSD-3-Clause
 * The log's bytes in memory: appended at one end, then written to files, and freed when no file
 * needs them any more.
 *
 * The bytes are a stream; each has a position, which counts from the beginning of the process. They
 * stand in blocks of AOF_BLOCK_BYTES, so that no byte is moved when the queue grows, and nothing
 * larger is allocated except for a command that is itself larger. While everything is written at
 * once, one block is used again and again.
 *
 * One thread appends and frees. Other threads may read a range (aof_queue_range) meanwhile, because
 * committed bytes do not change, and a range's reader does not look beyond its end.
 */
#ifndef EVENKEEL_AOF_AOF_QUEUE_H
#define EVENKEEL_AOF_AOF_QUEUE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/memory.h"

/* The class of the log's queue and of its writers' jobs. aof_register registers it. */
extern enum memory_class aof_memory;

#define AOF_BLOCK_BYTES 65536

struct aof_block {
    struct aof_block *next;
    uint64_t start; /* the position of bytes[0] */
    size_t used, capacity;
    char bytes[];
};

struct aof_queue {
    struct aof_block *first, *last; /* never NULL */
    const struct aof_block *hint;   /* the block in which the last range began; NULL = none */
    uint64_t end;                   /* the position behind the last byte */
};

/* The bytes from one position up to another. Valid until they are released. */
struct aof_range {
    const struct aof_block *block, *last; /* the first block, and the one in which it ends */
    size_t offset, length;
};

void aof_queue_open(struct aof_queue *q);
void aof_queue_close(struct aof_queue *q);

char *aof_queue_reserve_slow(struct aof_queue *q, size_t bytes);
/* Room for so many contiguous bytes; aof_queue_commit appends what is used of it. */
static inline char *aof_queue_reserve(struct aof_queue *q, size_t bytes) {
    struct aof_block *last = q->last;
    if (__builtin_expect(last->capacity - last->used < bytes, 0))
        return aof_queue_reserve_slow(q, bytes);
    return last->bytes + last->used;
}
/* Appends what was reserved last, up to `end`. */
static inline void aof_queue_commit(struct aof_queue *q, const char *end) {
    size_t used = (size_t)(end - q->last->bytes);
    q->end += used - q->last->used;
    q->last->used = used;
}

/* The range from `from`, which is not released yet, to `to`. O(1) where it begins in the block in
 * which the previous range began, or in the next one; else O(blocks). */
struct aof_range aof_queue_range(struct aof_queue *q, uint64_t from, uint64_t to);
/* Frees the blocks before `below`, of which no thread may have a range. O(freed blocks). */
void aof_queue_release(struct aof_queue *q, uint64_t below);

/* Writes a range to a file. Returns false with errno set where that failed after `*written` bytes.
 * Any thread. */
MUST_USE bool aof_range_write(int fd, struct aof_range range, size_t *written);
#endif
