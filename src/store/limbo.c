/* SPDX-License-Identifier: BSD-3-Clause
 * The limbo: a list of blocks to be freed when the outermost call ends.
 *
 * Most commands retire nothing or one block; for them the limbo costs a counter that goes up and
 * down, and one item. The first ITEMS_FIRST items are in a static array, so that hardly any command
 * allocates; further ones are in chunks of 64 KiB. An item has the function that frees its block,
 * because the block may be an entry, an entry without its value, a value, or a whole database.
 *
 * Invariants
 *  1. `items` is the number of items in the static array and all chunks; 0 while no call runs.
 *  2. `bytes` is the sum of the items' bytes and of the chunks.
 *  3. While the items are freed none is added: no call runs then, or a call is at its checkpoint,
 *     and the functions that free retire nothing.
 *
 * Ownership: an item owns its block.
 */
#include "store/limbo.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/panic.h"
#include "metric/cause.h"

struct cause freeing_cause = {
    .name = "freeing", .place = 40, .field = "free_usec", .verdict = "memory was freed"};

#define ITEMS_FIRST 64
/* A chunk is 64 KiB, the largest allocation that is made at once. */
#define ITEMS_PER_CHUNK 4095
/* A checkpoint frees if there are at least so many items: as many as need no chunk. */
#define CHECKPOINT_ITEMS ITEMS_FIRST
#define CHECKPOINT_BYTES 65536
/* From so many bytes on, freeing is timed, at the cost of two readings of the clock. */
#define TIMED_BYTES 65536

struct item {
    void *block;
    void (*release)(void *block);
};

struct chunk {
    struct chunk *next; /* the older one */
    size_t count;
    struct item items[ITEMS_PER_CHUNK];
};
_Static_assert(sizeof(struct chunk) == 65536, "a chunk is the largest that may be allocated");

static unsigned depth;
static size_t items, bytes;
static struct item first[ITEMS_FIRST];
static struct chunk *newest; /* NULL while `first` has room */

static void release_items(const struct item *list, size_t count) {
    for (size_t i = 0; i < count; i++) list[i].release(list[i].block);
}

__attribute__((noinline)) static void release_all(void) {
    bool timed = bytes >= TIMED_BYTES;
    const struct cause *before = &cause_other;
    if (timed) before = cause_enter(&freeing_cause, clock_monotonic_nsec());
    release_items(first, items < ITEMS_FIRST ? items : ITEMS_FIRST);
    while (newest) {
        struct chunk *chunk = newest;
        release_items(chunk->items, chunk->count);
        newest = chunk->next;
        memory_free_sized(chunk, sizeof(*chunk), MEMORY_OTHER);
    }
    items = 0;
    bytes = 0;
    if (timed) cause_leave(before, clock_monotonic_nsec());
}

void limbo_enter(void) { depth++; }

void limbo_leave(void) {
    ASSERT_SLOW(depth > 0);
    if (--depth == 0 && items) release_all();
}

unsigned limbo_pause(void) {
    unsigned paused = depth;
    depth = 0;
    if (items) release_all();
    return paused;
}

void limbo_go_on(unsigned paused) {
    ASSERT(depth == 0 && !items);
    depth = paused;
}

bool limbo_is_open(void) { return depth > 0; }

bool limbo_nested(void) { return depth > 1; }

static struct item *item_in_chunk(void) {
    if (!newest || newest->count == ITEMS_PER_CHUNK) {
        struct chunk *chunk = memory_alloc(sizeof(*chunk), MEMORY_OTHER);
        chunk->next = newest;
        chunk->count = 0;
        newest = chunk;
        bytes += sizeof(*chunk);
    }
    return &newest->items[newest->count++];
}

void limbo_retire(void *block, size_t block_bytes, void (*release)(void *block)) {
    if (depth == 0) {
        release(block);
        return;
    }
    struct item *item = items < ITEMS_FIRST ? &first[items] : item_in_chunk();
    *item = (struct item){block, release};
    items++;
    bytes += block_bytes;
}

void limbo_checkpoint(void) {
    if (depth == 1 && (items >= CHECKPOINT_ITEMS || bytes >= CHECKPOINT_BYTES)) release_all();
}

size_t limbo_bytes(void) { return bytes; }
