/* SPDX-License-Identifier: BSD-3-Clause
 * The part that the two files of the table share: what a table consists of, where a bucket stands,
 * and the order of scans. table.c explains it.
 */
#ifndef EVENKEEL_DS_TABLE_INTERNAL_H
#define EVENKEEL_DS_TABLE_INTERNAL_H
#include "base/list.h"
#include "base/panic.h"
#include "ds/table.h"

/* LeakSanitizer must see the addresses as they are. */
#ifdef EVENKEEL_SANITIZER
#define TABLE_TAG_BITS 0
#else
#define TABLE_TAG_BITS 16
#endif
#define TAG_HASH_SHIFT 16 /* the lowest hash bit that the tag holds */
#define ADDRESS_BITS 48
#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)

#define SLOTS TABLE_BUCKET_SLOTS
#define LINK_SLOT (SLOTS - 1)
#define OCCUPANCY_SHIFT 56
#define OCCUPANCY_ALL 0x7fU
#define HEAD_LINK (UINT64_C(1) << 63)
#define CHUNK_BUCKETS ((size_t)1024)
#define CHUNK_SHIFT 10
#define PAGE_CHUNKS ((size_t)512)
#define PAGE_SHIFT 9
#define ROOT_PAGES_MAX ((size_t)8192)
/* Large blocks are whole pages, because the allocator gives a large block without alignment a
 * random start within its first page, so each would touch one page more than it fills. */
#define LARGE_ALIGNMENT 4096
#define LARGE_BUCKETS ((size_t)256) /* 16 KiB, the allocator's smallest large block */
#define BUCKET_BYTES sizeof(struct bucket)

/* Overflow buckets are counted by their depth in the chain; the last counter is for all deeper
 * ones. */
#define DEPTHS 3

/* `head`: byte i (from the lowest) is slot i's fingerprint, the top byte has the occupancy bits of
 * the seven slots and, as its top bit, whether the last slot is a link. */
struct bucket {
    uint64_t head;
    uint64_t slots[SLOTS];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct bucket) == 64, "a bucket is one cache line");
_Static_assert(CHUNK_BUCKETS * sizeof(struct bucket) == TABLE_CHUNK_BYTES, "a chunk is full");
_Static_assert(ROOT_PAGES_MAX * sizeof(void *) <= TABLE_CHUNK_BYTES, "the root is no large block");

/* A part of the directory: the chunks' addresses, and behind them, as uint32_t, the numbers of
 * elements in their chains. It has room for 2^page_shift chunks. */
struct page {
    struct bucket *chunks[1];
};
#define PAGE_BYTES(chunks) ((chunks) * (sizeof(struct bucket *) + sizeof(uint32_t)))

/* What a lookup reads stands in the first 32 bytes, which are in one line of the cache even where
 * tables stand side by side (table_create_many). */
struct table {
    uint32_t buckets;     /* n */
    uint32_t low_mask;    /* 2^L - 1 */
    struct bucket *first; /* chunk 0, or no_bucket */
    struct page **root;   /* chunk 0 of page 0 is not used; NULL while there is only chunk 0 */
    const struct table_type *type;
    size_t count;
    size_t bytes;
    struct list_link link;
    uint32_t splits, merges; /* since creation; they wrap */
    uint32_t depths[DEPTHS]; /* overflow buckets at depth 1, 2 ...; 0 = the primary one */
    int32_t unseen;          /* of bytes, in words: see table_bytes_seen */
    uint16_t deepest;        /* no chain is deeper, while depths[DEPTHS - 1] is not 0 */
    uint16_t last_capacity;  /* of the last chunk, in buckets */
    uint8_t root_shift;      /* the root has room for 2^root_shift pages */
    uint8_t page_shift;
    bool shrinking : 1;    /* owes shrinking */
    bool listed : 1;       /* in `payable` or `waiting` */
    bool watched : 1;      /* table_watch */
    bool side_by_side : 1; /* made by table_create_many */
};

_Static_assert(sizeof(struct table) == TABLE_BYTES, "the header promises this size");

static inline void *word_element(uint64_t word) { return (void *)(uintptr_t)(word & ADDRESS_MASK); }

static inline unsigned head_occupied(uint64_t head) {
    return (unsigned)(head >> OCCUPANCY_SHIFT) & OCCUPANCY_ALL;
}

static inline struct bucket *bucket_next(const struct bucket *b) {
    return b->head & HEAD_LINK ? (struct bucket *)(uintptr_t)b->slots[LINK_SLOT] : NULL;
}

static inline struct bucket *bucket_at(const struct table *t, size_t index) {
    if (index < CHUNK_BUCKETS) return t->first + index;
    size_t chunk = index >> CHUNK_SHIFT;
    ASSERT_SLOW(t->root); /* there is more than one chunk */
    return t->root[chunk >> PAGE_SHIFT]->chunks[chunk % PAGE_CHUNKS] + index % CHUNK_BUCKETS;
}

static inline size_t chunk_alignment(size_t buckets) {
    return buckets < LARGE_BUCKETS ? BUCKET_BYTES : LARGE_ALIGNMENT;
}

/* The place of a chunk's address. */
static inline struct bucket **chunk_place(struct table *t, size_t chunk) {
    return chunk == 0 ? &t->first : &t->root[chunk >> PAGE_SHIFT]->chunks[chunk % PAGE_CHUNKS];
}

/* The mask of the bucket that the cursor is in, found as in table.c's index_of: a bucket that has
 * been split in this round is addressed by one bit more than the unsplit ones. */
static inline uint64_t scan_mask(const struct table *t, uint64_t cursor) {
    uint64_t mask = t->low_mask;
    return (cursor & mask) + mask + 1 < t->buckets ? mask << 1 | 1 : mask;
}

/* The bucket that the cursor is in; moves the cursor behind it. */
static inline size_t scan_advance(const struct table *t, uint64_t *cursor) {
    uint64_t mask = scan_mask(t, *cursor), index = *cursor & mask;
    /* An increment in reversed order: it carries from the mask's highest bit down. */
    uint64_t next = index, bit = (mask + 1) >> 1;
    for (; next & bit; bit >>= 1) next ^= bit;
    *cursor = next | bit;
    return index;
}
#endif
