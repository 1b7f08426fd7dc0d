/* SPDX-License-Identifier: BSD-3-Clause
 * The log's bytes in memory. aof_queue.h has the idea.
 *
 * Invariants
 *  1. The blocks' bytes follow each other without a gap: each starts where the one before it ends,
 *     and the last one ends at `end`.
 *  2. There is always a block, and only the last one is appended to.
 *  3. `used` and `next` of a block that is not the last one never change. So a thread that has a
 *     range reads no member that another thread writes: it follows `next` only while bytes of its
 *     range are still to come, and these were committed before it got the range.
 */
#include "aof/aof_queue.h"

#include <limits.h>
#include <sys/uio.h>

#include "base/memory.h"
#include "base/panic.h"
#include "io/file.h"

enum memory_class aof_memory = MEMORY_OTHER;

/* How many pieces one call writes. */
#define PIECES_MAX 64

static struct aof_block *block_new(uint64_t start, size_t at_least) {
    size_t wanted = sizeof(struct aof_block) + at_least;
    size_t bytes = memory_good_size(wanted > AOF_BLOCK_BYTES ? wanted : AOF_BLOCK_BYTES);
    struct aof_block *block = memory_alloc(bytes, aof_memory);
    block->next = NULL;
    block->start = start;
    block->used = 0;
    block->capacity = bytes - sizeof(*block);
    return block;
}

static void block_free(struct aof_block *block) {
    memory_free_sized(block, sizeof(*block) + block->capacity, aof_memory);
}

void aof_queue_open(struct aof_queue *q) {
    q->end = 0;
    q->first = q->last = block_new(0, 0);
    q->hint = NULL;
}

void aof_queue_close(struct aof_queue *q) {
    while (q->first) {
        struct aof_block *block = q->first;
        q->first = block->next;
        block_free(block);
    }
    q->last = NULL;
}

char *aof_queue_reserve_slow(struct aof_queue *q, size_t bytes) {
    struct aof_block *block = block_new(q->end, bytes);
    q->last->next = block;
    q->last = block;
    return block->bytes;
}

static bool is_within(const struct aof_block *block, uint64_t position) {
    return position <= block->start + block->used;
}

struct aof_range aof_queue_range(struct aof_queue *q, uint64_t from, uint64_t to) {
    const struct aof_block *block = q->hint && from >= q->hint->start ? q->hint : q->first;
    ASSERT(from >= block->start && to >= from && to <= q->end);
    while (from >= block->start + block->used && block->next) block = block->next;
    q->hint = block;
    struct aof_range range = {block, block, (size_t)(from - block->start), (size_t)(to - from)};
    while (!is_within(range.last, to)) {
        range.last = range.last->next;
        ASSERT_SLOW(range.last); /* `to` is not behind the end */
    }
    return range;
}

void aof_queue_release(struct aof_queue *q, uint64_t below) {
    while (q->first != q->last && q->first->start + q->first->used <= below) {
        struct aof_block *block = q->first;
        q->first = block->next;
        if (q->hint == block) q->hint = NULL;
        block_free(block);
    }
    struct aof_block *last = q->last;
    if (q->first != last || last->start + last->used > below) return;
    if (last->capacity > AOF_BLOCK_BYTES) { /* the block was made for one large command */
        q->first = q->last = block_new(q->end, 0);
        q->hint = NULL;
        block_free(last);
        return;
    }
    last->start = q->end;
    last->used = 0;
}

bool aof_range_write(int fd, struct aof_range range, size_t *written) {
    *written = 0;
    while (range.length) {
        struct iovec pieces[PIECES_MAX];
        int count = 0;
        while (range.length && count < PIECES_MAX) {
            const struct aof_block *block = range.block;
            size_t length = block == range.last ? range.length : block->used - range.offset;
            pieces[count++] = (struct iovec){(char *)block->bytes + range.offset, length};
            range.length -= length;
            range.offset = 0;
            if (range.length) range.block = block->next;
        }
        size_t moved;
        bool whole = file_write_pieces(fd, pieces, count, &moved);
        *written += moved;
        if (!whole) return false;
    }
    return true;
}
