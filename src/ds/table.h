/* SPDX-License-Identifier: BSD-3-Clause
 * The hash table: linear hashing (Litwin 1980, Larson 1988) over buckets of one cache line.
 *
 * It holds pointers to elements; an element knows its own key. Growth splits one bucket per
 * insert above the load limit, shrinking merges one back; nothing larger than TABLE_CHUNK_BYTES is
 * ever allocated, cleared or freed. table.c has the essay.
 *
 * Pointers are kept with 16 further hash bits in their unused high bits, so that a split of a
 * large table moves elements without touching them and a lookup compares 24 bits of hash before it
 * touches one. Addresses must fit 48 bits (asserted). Sanitizer builds keep plain pointers and
 * hash again instead.
 */
#ifndef EVENKEEL_DS_TABLE_H
#define EVENKEEL_DS_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/relocation.h"

#define TABLE_BUCKET_SLOTS 7
#define TABLE_CHUNK_BYTES 65536 /* 1,024 buckets; the largest single allocation */
/* Load limit: 16/3 elements a bucket on average. */
#define TABLE_LOAD_NUMERATOR 16
#define TABLE_LOAD_DENOMINATOR 3
/* The share of one element in a table at its load limit: 64 / (16/3) = 12 bytes of its bucket, and
 * some 2 of overflow buckets, of which there is one for each five buckets. */
#define TABLE_ELEMENT_BYTES 14

struct table;

/* The bits of a hash that a table looks at. The others are its owner's. */
#define TABLE_HASH_BITS UINT64_C(0xff000000ffffffff)

/* What the table must know about its elements. `key` is the pointer that the caller passes to
 * table_find. */
struct table_type {
    /* The hash under which the element was inserted, or one that agrees with it in TABLE_HASH_BITS;
     * called when pointers hold too few hash bits. */
    uint64_t (*element_hash)(const void *element);
    bool (*element_matches)(const void *element, const void *key, size_t key_length);
    enum memory_class class;
};

/* A table allocates its first bucket at the first insert. `type` must outlive it. */
struct table *table_create(const struct table_type *type);
/* Frees the table, not the elements. Frees a table of any size within the call, chunk by chunk. */
void table_free(struct table *t);
/* Frees a table in steps: calls `release` (may be NULL) for each element of up to `buckets_max`
 * buckets and returns true when the table is gone. After the first call only this function may be
 * called. */
bool table_free_step(struct table *t, size_t buckets_max,
                     void (*release)(void *element, void *context), void *context);

/* Frees all memory of the table but the struct itself, chunk by chunk; not the elements. The table
 * is as new then. */
void table_clear(struct table *t);
/* Clears a table in steps: calls `release` (may be NULL) for each element of up to `*buckets_max`
 * buckets, which are subtracted from it, and returns true when the table is as new. Until then only
 * this function may be called. */
bool table_clear_step(struct table *t, size_t *buckets_max,
                      void (*release)(void *element, void *context), void *context);

/* Creates `count` empty tables side by side (table_nth), in one block of count * TABLE_BYTES bytes,
 * which is in no table's table_bytes. They are not to be freed one by one, but cleared. The buckets
 * of each grow in smaller steps than those of a table of table_create, because they are many. */
#define TABLE_BYTES 96
struct table *table_create_many(const struct table_type *type, size_t count);
/* Clears and frees them. */
void table_free_many(struct table *tables, size_t count);
static inline struct table *table_nth(struct table *tables, size_t index) {
    return (struct table *)(void *)((char *)tables + index * TABLE_BYTES);
}

size_t table_count(const struct table *t);
size_t table_buckets(const struct table *t); /* primary buckets */
/* Bytes that the table holds (good sizes of buckets, directory, struct). O(1). */
size_t table_bytes(const struct table *t);
/* table_bytes without what table_pay_owed has changed since an insert or a removal last resized the
 * table. So the sum of an owner, which sees only its own inserts and removals, stays true. */
size_t table_bytes_seen(const struct table *t);

/* The element with this key; NULL if there is none. */
void *table_find(const struct table *t, uint64_t hash, const void *key, size_t key_length);
/* The place of the pointer to the found element, valid until the table changes, for
 * table_slot_element and table_slot_replace. Returns NULL if there is none. */
typedef uint64_t *table_slot;
table_slot table_find_slot(struct table *t, uint64_t hash, const void *key, size_t key_length);
void *table_slot_element(const uint64_t *slot);
/* The new element must have the same key (an entry that moved). Returns the old one. */
void *table_slot_replace(table_slot slot, void *element);
/* Adds an element whose key is not there yet (debug builds assert that the element itself is not,
 * and that `hash` is its hash). May split a bucket, or two where growth is owed. */
void table_insert(struct table *t, uint64_t hash, void *element);
/* Removes and returns the element; NULL if there is none. May merge a bucket. */
void *table_remove(struct table *t, uint64_t hash, const void *key, size_t key_length);
/* Removes exactly this element (by address). Returns false if it is not there. */
bool table_remove_element(struct table *t, uint64_t hash, const void *element);

/* Whether exactly this element (by address, which is not dereferenced) is in the table under this
 * hash. */
bool table_holds(const struct table *t, uint64_t hash, const void *element);

/* Calls `visit` once for each element. `visit` must not change the table. Faster than a whole
 * table_scan: buckets come in the order of memory, and elements are prefetched ahead. */
void table_each(const struct table *t, void (*visit)(void *element, void *context), void *context);

/* table_each until `*enough`, which `visit` sets; it ends behind that bucket. Skips chunks without
 * elements, so a table whose first buckets are empty costs O(buckets / 1024 + 1024) besides the
 * elements visited. */
void table_each_until(const struct table *t, const bool *enough,
                      void (*visit)(void *element, void *context), void *context);

/* Prefetch in two stages, so that many lookups overlap: first the bucket's line; later, when the
 * line has arrived, the elements whose fingerprints match. No effect on any result. */
void table_prefetch_bucket(const struct table *t, uint64_t hash);
void table_prefetch_element(const struct table *t, uint64_t hash);

/* Calls `visit` for each element of one bucket position and returns the next cursor, 0 at the end;
 * start with 0. Every element that is in the table from the first call to the last is visited at
 * least once, whatever the table does in between; an element may be visited twice. `visit` must not
 * change the table. One primary bucket (with its overflow) a call. The cursor is the next position
 * in bit-reversed hash order. */
uint64_t table_scan(const struct table *t, uint64_t cursor,
                    void (*visit)(void *element, void *context), void *context);
/* table_scan in smaller steps: a call stops within the bucket as soon as it has visited `wanted`
 * elements, or few more, because elements that agree in TABLE_SCAN_PART_BITS further bits of the
 * hash are visited together. Cursors of this function and of table_scan may be mixed. */
#define TABLE_SCAN_PART_BITS 4
uint64_t table_scan_some(const struct table *t, uint64_t cursor, size_t wanted,
                         void (*visit)(void *element, void *context), void *context);

/* table_scan over up to `positions` (>= 1) buckets, with prefetch of the following ones. `enough`
 * (may be NULL) is false at first; the run ends behind the bucket in which `visit` has set it. */
uint64_t table_scan_run(const struct table *t, uint64_t cursor, size_t positions,
                        const bool *enough, void (*visit)(void *element, void *context),
                        void *context);
/* The place of a hash, or of a cursor other than 0, in the scan's order: elements below the
 * cursor's place have been visited. */
static inline uint64_t table_place(uint64_t hash) {
    uint64_t bytes = __builtin_bswap64(hash);
    bytes = (bytes >> 4 & 0x0f0f0f0f0f0f0f0f) | (bytes & 0x0f0f0f0f0f0f0f0f) << 4;
    bytes = (bytes >> 2 & 0x3333333333333333) | (bytes & 0x3333333333333333) << 2;
    return (bytes >> 1 & 0x5555555555555555) | (bytes & 0x5555555555555555) << 1;
}

/* A random element, each equally likely; NULL if the table is empty. Draws a bucket and a slot,
 * and after a bounded number of draws without an element a rank, which is found in O(buckets / 1024
 * + 1024). Uses base/random. */
void *table_random(const struct table *t);
/* Up to `wanted` distinct elements from neighbouring buckets at a random place: cheap, and random
 * enough for sampling. Returns how many, at least one where the table is not empty. */
size_t table_sample(const struct table *t, void **elements, size_t wanted);

/* The clock hand of eviction: visits all elements of bucket `*position` and moves the hand to the
 * next bucket, wrapping. The table may grow and shrink between calls (a hand beyond the end wraps).
 */
void table_sweep(const struct table *t, size_t *position,
                 void (*visit)(void *element, void *context), void *context);

/* Growth and shrinking of all tables; main thread only. */
enum table_resize {
    TABLE_RESIZE_FREE,  /* as needed */
    TABLE_RESIZE_AVOID, /* a child saves: grow above twice the load, shrink below 2 % fill only */
};
/* Sets the mode. Resizing that TABLE_RESIZE_AVOID puts off is owed. O(tables that owe). */
void table_set_resize(enum table_resize mode);
/* Sets the fill below which a table owes shrinking, until it is 80 % full again: `percent` of the
 * load limit, 1 to 50, default 10; 0 = never, and shrinking that is owed is cancelled. Each table
 * applies it at its next removal. O(1), with 0 O(tables that owe). */
void table_set_min_fill(unsigned percent);
/* Applies table_set_min_fill to this table now. */
void table_reconsider(struct table *t);
/* Keeps this table from splitting and merging, whatever it owes, because a save copies its elements
 * in steps. One table at a time; NULL = none. To be ended before the table is freed. */
void table_rest(struct table *t);
/* A flag for the owner: whether a save must be told before elements are changed, added or removed.
 * The owner does the telling; the table itself ignores the flag. */
void table_watch(struct table *t, bool watched);
bool table_is_watched(const struct table *t);
/* Returns true while the table owes growth (splits put off) or shrinking, whether or not its mode
 * lets it pay now. */
bool table_owes(const struct table *t);
/* Does up to `steps` splits or merges that the table owes and the mode allows; returns how many it
 * did. Each removal pays a step by itself; lookups and scans pay none. */
size_t table_pay(struct table *t, size_t steps);
/* Does up to `steps` owed splits or merges of all tables, one table after another; returns how many
 * it did. O(steps), however many tables there are. */
size_t table_pay_owed(size_t steps);
/* Whether there may be a table that owes and may pay now. O(1). */
bool table_any_payable(void);
/* The number of tables that owe; may count some that owe no longer. O(1). */
size_t table_owing(void);
/* Call it before a table is handed to another thread, which may only free it. */
void table_detach(struct table *t);
/* table_detach for all tables that owe, for a hand-over of values in which some of them may be. The
 * tables that stay are listed again at their next removal, or by table_reconsider. O(tables that
 * owe). */
void table_forget_owing(void);
/* Grows the table, in either mode, for `elements` more, by up to `steps` splits a call; returns
 * true when there is room. A removal may begin to shrink it again. */
bool table_reserve(struct table *t, size_t elements, size_t steps);

/* ---- moving blocks (base/relocation.h) ---- */

/* Elements that stand near each other in a table, and which of them are wanted elsewhere. */
struct table_group {
    unsigned count;
    table_slot slots[RELOCATION_ASK_MAX];
    void *elements[RELOCATION_ASK_MAX]; /* as they were when the group was made */
    uint64_t wanted;                    /* bit i: elements[i] */
};
typedef void table_group_visit(struct table *t, const struct table_group *group,
                               struct relocation *r, void *context);
/* Moves the struct of a table of table_create, if it is wanted elsewhere. Returns the table's
 * address. Not for a table that a save watches. O(1). */
MUST_USE struct table *table_relocate(struct table *t, struct relocation *r);
/* Moves the structs of table_create_many, if they are wanted elsewhere. Returns the address of the
 * first. O(count). */
MUST_USE struct table *table_relocate_many(struct table *tables, size_t count,
                                           struct relocation *r);
/* Goes on over the next few buckets in the order of table_scan, whose promise holds for the
 * cursors: moves their overflow buckets and then calls `visit`, at least once, unless they are
 * empty, for their elements. `visit` (NULL = elements stay) moves the elements that are wanted and
 * puts their new addresses into their slots (table_slot_replace); otherwise it must not change the
 * table. It may change the slots of other elements: an element's slot is true, `elements` may be
 * out of date. Cursor 0 also moves the directory, and the last chunk where it is a small block: one
 * block for each 500,000 buckets. */
uint64_t table_relocate_some(struct table *t, uint64_t cursor, struct relocation *r,
                             table_group_visit *visit, void *context);

struct table_stats {
    size_t elements, buckets, overflow_buckets, longest_chain, bytes;
    size_t splits, merges; /* since creation, modulo 2^32 */
    bool owes, may_pay;    /* table_owes, and its mode lets it pay now */
};
/* Walks everything: for DEBUG and tests. */
void table_stats(const struct table *t, struct table_stats *stats);
/* Asserts the invariants; walks everything. */
void table_check(const struct table *t);
#endif
