/* SPDX-License-Identifier: BSD-3-Clause
 * A feed of shared blocks. feed.h has the idea.
 *
 *     blocks, by number:   first ...... kept_first ...... first + count - 1
 *                          |  held for  |  kept           |  being filled
 *                          |  readers   |                 |
 *
 * Invariants
 *  1. All blocks but the last are full, so the block of a place is found by a division.
 *  2. Each reader holds one block: that of its place, or an earlier one if it has not read since
 *     that block was filled. No block from there on is given up.
 *  3. The first block has kept bytes, or is held by a reader, or is the last one.
 *  4. The directory is a ring; it has a power of two of slots.
 */
#include "replication/feed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/panic.h"

struct feed_block {
    struct feed_block *next; /* list of given-up blocks */
    uint32_t readers;
    char bytes[FEED_BLOCK_BYTES];
};

/* Slots of the first directory: enough for a backlog of the default size and its readers. */
#define SLOTS_MIN 128

struct feed {
    enum memory_class class;
    size_t kept;
    int64_t origin; /* the place of the first byte of block 0 */
    int64_t end;
    int64_t limit;
    struct feed_block **slots; /* block n stands in slot n % slot_count */
    size_t slot_count;
    uint64_t first, count;       /* numbers of blocks */
    struct feed_block *given_up; /* given up, not freed yet */
};

static struct feed_block **slot_of(const struct feed *feed, uint64_t number) {
    return &feed->slots[number & (feed->slot_count - 1)];
}

static int64_t place_of(const struct feed *feed, uint64_t number) {
    return feed->origin + (int64_t)(number * FEED_BLOCK_BYTES);
}

static uint64_t number_of(const struct feed *feed, int64_t place) {
    return (uint64_t)(place - feed->origin) / FEED_BLOCK_BYTES;
}

/* The number of the place's block, or of the last block where the place stands at its end. */
static uint64_t number_to_hold(const struct feed *feed, int64_t place) {
    uint64_t number = number_of(feed, place);
    return number < feed->first + feed->count ? number : feed->first + feed->count - 1;
}

int64_t feed_end(const struct feed *feed) { return feed->end; }

int64_t feed_begin(const struct feed *feed) {
    if (!feed->count) return feed->end;
    int64_t oldest = place_of(feed, feed->first);
    return (uint64_t)(feed->end - oldest) > feed->kept ? feed->end - (int64_t)feed->kept : oldest;
}

size_t feed_kept_bytes(const struct feed *feed) { return (size_t)(feed->end - feed_begin(feed)); }

void feed_set_limit(struct feed *feed, int64_t place) { feed->limit = place; }
int64_t feed_limit(const struct feed *feed) { return feed->limit; }

/* The number of blocks before the first kept byte's. */
static uint64_t held_count(const struct feed *feed) {
    return feed->count ? number_to_hold(feed, feed_begin(feed)) - feed->first : 0;
}

size_t feed_held_memory(const struct feed *feed) {
    return held_count(feed) * memory_good_size(sizeof(struct feed_block));
}

size_t feed_backlog_memory(const struct feed *feed) {
    size_t directory = memory_usable_size(feed->slots);
    return (feed->count - held_count(feed)) * memory_good_size(sizeof(struct feed_block)) +
           directory + memory_good_size(sizeof(*feed));
}

/* ---- blocks ---- */

static void widen_directory(struct feed *feed) {
    size_t count = feed->slot_count ? 2 * feed->slot_count : SLOTS_MIN;
    struct feed_block **wider = memory_zalloc(count * sizeof(*wider), feed->class);
    for (uint64_t n = feed->first; n < feed->first + feed->count; n++)
        wider[n & (count - 1)] = *slot_of(feed, n);
    memory_free(feed->slots, feed->class);
    feed->slots = wider;
    feed->slot_count = count;
}

static void add_block(struct feed *feed) {
    if (feed->count == feed->slot_count) widen_directory(feed);
    struct feed_block *block = memory_alloc(sizeof(*block), feed->class);
    block->next = NULL;
    block->readers = 0;
    *slot_of(feed, feed->first + feed->count++) = block;
}

static void give_up_first(struct feed *feed) {
    struct feed_block *block = *slot_of(feed, feed->first);
    memory_move(block, memory_good_size(sizeof(*block)), feed->class, MEMORY_LEAVING);
    block->next = feed->given_up;
    feed->given_up = block;
    feed->first++;
    feed->count--;
}

/* Restores invariant 3. Amortised O(1): each block is given up once. */
static void feed_trim(struct feed *feed) {
    while (feed->count > 1 && !(*slot_of(feed, feed->first))->readers &&
           (uint64_t)(feed->end - place_of(feed, feed->first + 1)) >= feed->kept)
        give_up_first(feed);
}

bool feed_free_step(struct feed *feed) {
    for (int i = 0; i < FEED_FREE_STEP_BLOCKS && feed->given_up; i++) {
        struct feed_block *block = feed->given_up;
        feed->given_up = block->next;
        memory_free_sized(block, sizeof(*block), MEMORY_LEAVING);
    }
    return feed->given_up != NULL;
}

/* ---- the stream ---- */

struct feed *feed_create(enum memory_class class, int64_t place, size_t kept) {
    struct feed *feed = memory_zalloc(sizeof(*feed), class);
    feed->class = class;
    feed->kept = kept;
    feed->origin = feed->end = place;
    feed->limit = INT64_MAX;
    return feed;
}

void feed_restart(struct feed *feed, int64_t place) {
    while (feed->count) {
        ASSERT(!(*slot_of(feed, feed->first))->readers);
        give_up_first(feed);
    }
    feed->origin = feed->end = place;
    feed->first = 0;
    feed->limit = INT64_MAX;
}

void feed_free(struct feed *feed) {
    if (!feed) return;
    feed_restart(feed, 0);
    while (feed_free_step(feed)) continue;
    memory_free(feed->slots, feed->class);
    memory_free_sized(feed, sizeof(*feed), feed->class);
}

void feed_append(struct feed *feed, const void *bytes, size_t length) {
    const char *from = bytes;
    while (length) {
        uint64_t number = number_of(feed, feed->end);
        if (number == feed->first + feed->count) add_block(feed);
        size_t used = (size_t)(feed->end - place_of(feed, number));
        size_t fits = FEED_BLOCK_BYTES - used < length ? FEED_BLOCK_BYTES - used : length;
        memcpy((*slot_of(feed, number))->bytes + used, from, fits);
        from += fits;
        length -= fits;
        feed->end += (int64_t)fits;
        feed_trim(feed);
    }
}

void feed_set_kept(struct feed *feed, size_t kept) {
    feed->kept = kept;
    feed_trim(feed);
}

/* ---- readers ---- */

static void feed_hold(struct feed_reader *reader, uint64_t number) {
    reader->block = *slot_of(reader->feed, number);
    reader->block->readers++;
}

static void begin_at(struct feed_reader *reader, struct feed *feed, int64_t place) {
    ASSERT(!reader->feed);
    *reader = (struct feed_reader){.feed = feed, .place = place};
    feed_hold(reader, number_to_hold(feed, place));
}

bool feed_follow(struct feed_reader *reader, struct feed *feed, int64_t place) {
    if (place < feed_begin(feed) || place > feed->end) return false;
    if (!feed->count) add_block(feed);
    begin_at(reader, feed, place);
    return true;
}

/* The block of that place exists, because the other reader holds it, or an earlier one. */
void feed_follow_reader(struct feed_reader *reader, const struct feed_reader *other) {
    ASSERT(other->feed);
    begin_at(reader, other->feed, other->place);
}

void feed_leave(struct feed_reader *reader) {
    if (!reader->feed) return;
    ASSERT(reader->block->readers);
    reader->block->readers--;
    feed_trim(reader->feed);
    *reader = (struct feed_reader){.place = reader->place};
}

size_t feed_lag(const struct feed_reader *reader) {
    return reader->feed ? (size_t)(reader->feed->end - reader->place) : 0;
}

int feed_pieces(const struct feed_reader *reader, struct iovec *pieces, int count_max,
                size_t bytes_max) {
    const struct feed *feed = reader->feed;
    if (!feed) return 0;
    int64_t end = feed->end < feed->limit ? feed->end : feed->limit;
    if (end - reader->place > (int64_t)bytes_max) end = reader->place + (int64_t)bytes_max;
    int count = 0;
    for (int64_t place = reader->place; place < end && count < count_max; count++) {
        uint64_t number = number_of(feed, place);
        size_t skipped = (size_t)(place - place_of(feed, number));
        size_t length = FEED_BLOCK_BYTES - skipped;
        if ((int64_t)length > end - place) length = (size_t)(end - place);
        pieces[count] = (struct iovec){(*slot_of(feed, number))->bytes + skipped, length};
        place += (int64_t)length;
    }
    return count;
}

void feed_take(struct feed_reader *reader, size_t length) {
    struct feed *feed = reader->feed;
    ASSERT(length <= feed_lag(reader));
    reader->place += (int64_t)length;
    struct feed_block *before = reader->block;
    before->readers--;
    feed_hold(reader, number_to_hold(feed, reader->place));
    if (reader->block != before) feed_trim(feed);
}

void feed_check(const struct feed *feed) {
    ASSERT(feed->count <= feed->slot_count);
    if (!feed->count) return;
    int64_t last = place_of(feed, feed->first + feed->count - 1);
    ASSERT(feed->end >= last && feed->end - last <= FEED_BLOCK_BYTES);
    const struct feed_block *first = *slot_of(feed, feed->first);
    bool is_kept = (uint64_t)(feed->end - place_of(feed, feed->first + 1)) < feed->kept;
    ASSERT(feed->count == 1 || first->readers || is_kept);
    for (uint64_t n = feed->first; n < feed->first + feed->count; n++)
        ASSERT(!(*slot_of(feed, n))->next);
}
