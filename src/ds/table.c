/* SPDX-License-Identifier: BSD-3-Clause
 * Linear hashing over buckets of one cache line.
 *
 * The bucket. 64 bytes: seven one-byte fingerprints (the top byte of the hash), a byte of
 * occupancy bits and seven words. A word is the element's 48-bit address with hash bits 16..31
 * (the tag) above it. One comparison finds all slots whose fingerprint matches, and the tag rules
 * out nearly all that match by chance, so a lookup touches the bucket's line and then the element.
 * A full bucket turns its last word into a link to an overflow bucket of the same form.
 *
 * The address. With n buckets, 2^L <= n < 2^(L+1), a hash belongs to the bucket of its low L+1
 * bits, or of its low L bits where that bucket does not exist yet. To grow, bucket n - 2^L is
 * split: its elements whose hash bit L is set move to the new bucket n. To shrink, the last bucket
 * is merged into the bucket that it was split from. Either touches two chains and nothing else. Bit
 * L is in the tag from level 16 on. Below that level elements are few enough to be in the
 * processor's cache: they are prefetched together and hashed again.
 *
 * The place. Buckets stand in chunks of 1,024. The last chunk grows from one bucket, in the
 * allocator's size classes and at least by a sixteenth of the table, so that a small table is
 * small, and a middling one wastes little; from 16,384 buckets on a chunk is allocated whole. A
 * chunk of less than 8 buckets doubles, except in tables that stand side by side. A directory of
 * two levels finds chunks 1 and up: pages of 512 addresses, of which the first grows by doubling,
 * under a root that doubles. No allocation is larger than TABLE_CHUNK_BYTES, and a bucket is
 * cleared when it comes into use; so all steps cost the same, except for those that move the last
 * chunk, a page or the root, at most 56 KiB.
 *
 * The debt. An insert above the load limit splits a bucket, or two where growth was put off. A
 * table that falls below its minimal fill owes shrinking until it is filled to SHRINK_STOP_PERCENT
 * again: the gap keeps a table of about constant size from merging and splitting by turns, and from
 * allocating and freeing the chunk at a border. Each removal pays one merge; idle time pays more by
 * table_pay. While a child saves (TABLE_RESIZE_AVOID) both kinds of debt wait, up to the limits
 * that keep chains short, because each step writes to pages that the child shares.
 *
 * Tables that owe are in one of two lists, so that idle time finds them without a look at the other
 * tables: `payable` has the tables that may pay in the present mode, `waiting` the others. A table
 * is listed when its debt begins; a table without debt may stay listed until table_pay_owed comes
 * to it.
 *
 * The scan. A hash's position is the number that its bits give in reverse order, lowest bit first.
 * A bucket that is addressed by the b low bits i holds exactly the positions that begin with those
 * b bits, which is an interval; the buckets' intervals are disjoint and cover all positions. The
 * cursor stands for a position such that every element below it that was there throughout has been
 * visited. A step visits the bucket whose interval the cursor is in, and moves the cursor to that
 * interval's end, so the promise holds after the step where it held before. Between steps a split
 * halves an interval and a merge joins two, and neither moves an element's position, so the promise
 * holds then too; after a merge the cursor may stand within an interval, and the part below it is
 * visited again. The end of the last interval is the number 0. A bucket's interval can be cut into
 * SCAN_PARTS equal parts by the bits of the hash that follow; a step that visits the elements of
 * some of these parts in order, and ends where a part ends, keeps the promise for the same reason.
 *
 * The random pick. Give each bucket as many places as the longest chain has slots, draw a bucket
 * and a place, and draw again where there is no element: each element has exactly one place, so
 * all are equally likely. The number of overflow buckets at each depth is counted, so that the
 * longest chain is known. Where the table is so sparse that draws keep failing, a rank is drawn
 * instead; the directory's number of elements of each chunk leads to its element.
 *
 * Invariants (table_check):
 *  1. 2^L <= n < 2^(L+1), low_mask = 2^L - 1; n = 0 before the first insert only, and after
 *     table_clear.
 *  2. Each element stands in the chain that its hash addresses, under its fingerprint and tag.
 *  3. A bucket with a link is full: six elements and the link. An overflow bucket holds at least
 *     two elements, because a single one would stand in the place of the link.
 *  4. An empty slot's word is 0 and so is its fingerprint.
 *  5. `count`, `depths` and `bytes` are what a walk finds.
 *  6. Chunks stand for all buckets below n and no others; so do the directory's pages. All chunks
 *     but the last are full, and so are all pages if there are several. Of each chunk but the
 *     first, the page has the number of elements in its chains.
 *  7. While the table owes shrinking, one more merge leaves it at most SHRINK_STOP_PERCENT full.
 *  8. A listed table that may pay is in `payable`. One that owes is listed, unless
 *     table_forget_owing has taken it out since its last removal.
 *
 * The table owns its buckets, never the elements. It is not safe for several threads: the lists are
 * the main thread's, so a table that another thread is to free is taken out of them first
 * (table_detach).
 */
#include "ds/table.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/memory.h"
#include "base/panic.h"
#include "base/prefetch.h"
#include "base/probes.h"
#include "base/random.h"
#include "ds/table_internal.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* How many buckets ahead table_each prefetches elements: some twenty misses are under way. */
#define EACH_AHEAD 4
/* table_scan_run works on three groups of buckets at a time: it prefetches the buckets of the
 * newest, prefetches the elements of the one before, and visits the oldest. Each bucket and each
 * element is in a page of its own, and a prefetch waits for a walk of the page tables; prefetches
 * in a row let these walks overlap. */
#define SCAN_GROUP ((size_t)8)
#define SCAN_RING (3 * SCAN_GROUP)
#define SCAN_PARTS (1U << TABLE_SCAN_PART_BITS)
#define BUCKETS_MAX (ROOT_PAGES_MAX * PAGE_CHUNKS * CHUNK_BUCKETS - 1)
/* A chunk of a table with n buckets grows by n / CHUNK_STEP_SHARE buckets at least, but with the
 * allocator's classes, of which there are CLASSES_PER_DOUBLING. A chunk of less than CHUNK_DOUBLED
 * buckets doubles instead, because sets and hashes pass these sizes while they are filled, and each
 * step takes two calls of the allocator and a copy. Tables that stand side by side do not, because
 * there may be thousands of them with few elements each. */
#define CHUNK_STEP_SHARE 16
#define CLASSES_PER_DOUBLING 4
#define CHUNK_DOUBLED 8
#define MIN_FILL_PERCENT_DEFAULT 10
#define MIN_FILL_PERCENT_MAX 50
#define SHRINK_STOP_PERCENT 80
#define AVOID_FILL_PERCENT 2 /* below this a table shrinks even while a child saves */
#define AVOID_LOAD_FACTOR 2  /* above this times the load limit it grows, too */
#define SPLITS_PER_INSERT 2

#define WORD_BYTES 8 /* allocations are multiples of it */
/* table_random draws so often before it draws a rank, and prefetches the buckets of so many draws
 * together. */
#define RANDOM_DRAWS 128
#define RANDOM_BATCH 8
/* table_sample looks at up to so many buckets for each element that it wants. */
#define SAMPLE_BUCKETS_PER_ELEMENT 16

static enum table_resize resize_mode = TABLE_RESIZE_FREE;
static unsigned min_fill_percent = MIN_FILL_PERCENT_DEFAULT;
static size_t listed_count;
static struct list_link payable = {&payable, &payable}, waiting = {&waiting, &waiting};

/* Chunk 0 of a table without buckets, so that lookups need no test. Never written. */
static const struct bucket no_bucket;

/* ---- Hash bits and words ---- */

static inline uint64_t fingerprint_of(uint64_t hash) { return hash >> 56; }

static inline uint64_t word_make(uint64_t hash, const void *element) {
    uint64_t address = (uint64_t)(uintptr_t)element;
    ASSERT(address >> ADDRESS_BITS == 0);
#if TABLE_TAG_BITS
    return address | (hash >> TAG_HASH_SHIFT) << ADDRESS_BITS;
#else
    return address;
#endif
}

static inline bool word_tag_fits(uint64_t word, uint64_t hash) {
#if TABLE_TAG_BITS
    return (word ^ hash << (ADDRESS_BITS - TAG_HASH_SHIFT)) >> ADDRESS_BITS == 0;
#else
    return true;
#endif
}

/* ---- One bucket ---- */

/* A bit for each occupied slot whose fingerprint matches. */
static inline unsigned head_match(uint64_t head, uint64_t fingerprint) {
    uint64_t pattern = fingerprint * UINT64_C(0x0101010101010101);
#ifdef __SSE2__
    __m128i equal =
        _mm_cmpeq_epi8(_mm_cvtsi64_si128((long long)head), _mm_cvtsi64_si128((long long)pattern));
    unsigned bits = (unsigned)_mm_movemask_epi8(equal);
#else
    /* The top bit of each byte that is zero in `differs`, exactly; then gathered by a product
     * whose partial products never meet. */
    const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t differs = head ^ pattern;
    uint64_t zero = ~(((differs & low7) + low7) | differs | low7);
    unsigned bits = (unsigned)(((zero >> 7) * UINT64_C(0x0102040810204080)) >> 56);
#endif
    return bits & (unsigned)(head >> OCCUPANCY_SHIFT) & OCCUPANCY_ALL;
}

static inline uint64_t bucket_fingerprint(const struct bucket *b, unsigned slot) {
    return b->head >> (8 * slot) & 0xff;
}

/* The slot is empty. */
static inline void bucket_set(struct bucket *b, unsigned slot, uint64_t fingerprint,
                              uint64_t word) {
    b->head |= fingerprint << (8 * slot) | UINT64_C(1) << (OCCUPANCY_SHIFT + slot);
    b->slots[slot] = word;
}

static inline void bucket_clear(struct bucket *b, unsigned slot) {
    b->head &= ~(UINT64_C(0xff) << (8 * slot) | UINT64_C(1) << (OCCUPANCY_SHIFT + slot));
    b->slots[slot] = 0;
}

static void bucket_prefetch_elements(const struct bucket *b) {
    for (unsigned m = head_occupied(b->head); m != 0; m &= m - 1)
        prefetch(word_element(b->slots[__builtin_ctz(m)]));
}

/* ---- Finding buckets ---- */

static inline size_t index_of(const struct table *t, uint64_t hash) {
    uint32_t index = (uint32_t)hash & (t->low_mask << 1 | 1);
    /* Without a branch, which would be mispredicted for up to half of the hashes. */
    return index & (t->low_mask | -(uint32_t)(index < t->buckets));
}

/* Elements in the chunk's chains, for any but chunk 0. */
static inline uint32_t *chunk_count(const struct table *t, size_t chunk) {
    struct page *page = t->root[chunk >> PAGE_SHIFT];
    uint32_t *counts = (uint32_t *)(void *)(page->chunks + ((size_t)1 << t->page_shift));
    return counts + chunk % PAGE_CHUNKS;
}

/* Counts `more` further elements (a wrapped number: fewer) in the bucket's chain. */
static inline void note_elements(struct table *t, size_t index, uint32_t more) {
    if (index >= CHUNK_BUCKETS) *chunk_count(t, index >> CHUNK_SHIFT) += more;
}

static inline struct bucket *table_bucket_for(const struct table *t, uint64_t hash) {
    return bucket_at(t, index_of(t, hash));
}

/* The slot of the element with this key in the chain that begins at `b`; NULL where there is none.
 */
static inline uint64_t *chain_find(const struct table *t, struct bucket *b, uint64_t hash,
                                   const void *key, size_t key_length) {
    for (;;) {
        uint64_t head = b->head;
        for (unsigned m = head_match(head, fingerprint_of(hash)); m != 0; m &= m - 1) {
            uint64_t *slot = &b->slots[__builtin_ctz(m)];
            if (LIKELY(word_tag_fits(*slot, hash)) &&
                LIKELY(t->type->element_matches(word_element(*slot), key, key_length)))
                return slot;
        }
        if (LIKELY(!(head & HEAD_LINK))) return NULL;
        b = (struct bucket *)(uintptr_t)b->slots[LINK_SLOT];
    }
}

/* The slot of exactly this element, by address, in the chain that begins at `b`; NULL where there
 * is none. */
static uint64_t *chain_find_element(struct bucket *b, uint64_t hash, const void *element) {
    for (; b != NULL; b = bucket_next(b)) {
        for (unsigned m = head_match(b->head, fingerprint_of(hash)); m != 0; m &= m - 1) {
            uint64_t *slot = &b->slots[__builtin_ctz(m)];
            if (word_element(*slot) == element) return slot;
        }
    }
    return NULL;
}

static size_t chain_count(const struct bucket *b) {
    size_t count = 0;
    for (; b != NULL; b = bucket_next(b))
        count += (size_t)__builtin_popcount(head_occupied(b->head));
    return count;
}

static void bucket_visit(const struct bucket *b, void (*visit)(void *element, void *context),
                         void *context) {
    for (unsigned m = head_occupied(b->head); m != 0; m &= m - 1)
        visit(word_element(b->slots[__builtin_ctz(m)]), context);
}

/* Prefetches the first bucket's elements and its overflow bucket. */
static void chain_prefetch(const struct bucket *b) {
    if (b->head & HEAD_LINK) prefetch(bucket_next(b));
    bucket_prefetch_elements(b);
}

static void chain_prefetch_rest(const struct bucket *b) {
    if (b->head & HEAD_LINK) chain_prefetch(bucket_next(b));
}

static void chain_visit(const struct bucket *b, void (*visit)(void *element, void *context),
                        void *context) {
    for (; b != NULL; b = bucket_next(b)) {
        chain_prefetch(b);
        bucket_visit(b, visit, context);
    }
}

/* ---- Overflow buckets ---- */

static inline uint32_t *depth_counter(struct table *t, unsigned depth) {
    return &t->depths[depth < DEPTHS ? depth - 1 : DEPTHS - 1];
}

static void depth_enter(struct table *t, unsigned depth) {
    if (depth > t->deepest) t->deepest = depth < UINT16_MAX ? (uint16_t)depth : UINT16_MAX;
    (*depth_counter(t, depth))++;
}

static void depth_leave(struct table *t, unsigned depth) {
    if (--*depth_counter(t, depth) == 0 && depth >= DEPTHS) t->deepest = DEPTHS - 1;
}

/* At least the number of buckets in the longest chain; exactly that up to DEPTHS. */
static size_t longest_chain(const struct table *t) {
    if (t->depths[DEPTHS - 1] != 0) return (size_t)t->deepest + 1;
    unsigned depth = DEPTHS - 1;
    while (depth > 0 && t->depths[depth - 1] == 0) depth--;
    return (size_t)depth + 1;
}

static struct bucket *overflow_alloc(struct table *t) {
    struct bucket *b = memory_alloc_aligned(BUCKET_BYTES, BUCKET_BYTES, t->type->class);
    t->bytes += memory_good_size(BUCKET_BYTES);
    return b;
}

static void overflow_free(struct table *t, struct bucket *b) {
    t->bytes -= memory_good_size(BUCKET_BYTES);
    memory_free_aligned(b, BUCKET_BYTES, BUCKET_BYTES, t->type->class);
}

/* The last bucket of a chain, where elements are added. */
struct chain_end {
    struct bucket *bucket;
    unsigned depth;
};

static struct chain_end chain_end_of(struct bucket *primary) {
    struct chain_end end = {primary, 0};
    for (struct bucket *b; UNLIKELY((b = bucket_next(end.bucket)) != NULL); end.depth++)
        end.bucket = b;
    return end;
}

/* Appends an overflow bucket to the chain, whose last bucket is full; the element whose slot
 * becomes the link moves there. `spare` holds buckets to take first, linked by their last word. */
static void chain_extend(struct table *t, struct chain_end *end, struct bucket **spare) {
    struct bucket *full = end->bucket, *b = *spare;
    if (b != NULL)
        *spare = (struct bucket *)(uintptr_t)b->slots[LINK_SLOT];
    else
        b = overflow_alloc(t);
    *b = (struct bucket){0};
    bucket_set(b, 0, bucket_fingerprint(full, LINK_SLOT), full->slots[LINK_SLOT]);
    bucket_clear(full, LINK_SLOT);
    full->head |= HEAD_LINK;
    full->slots[LINK_SLOT] = (uint64_t)(uintptr_t)b;
    end->bucket = b;
    depth_enter(t, ++end->depth);
}

static inline void chain_append(struct table *t, struct chain_end *end, struct bucket **spare,
                                uint64_t fingerprint, uint64_t word) {
    unsigned empty = ~head_occupied(end->bucket->head) & OCCUPANCY_ALL;
    if (UNLIKELY(empty == 0)) {
        chain_extend(t, end, spare);
        empty = 1U << 1;
    }
    bucket_set(end->bucket, (unsigned)__builtin_ctz(empty), fingerprint, word);
}

/* Empties a slot of the chain that begins at `primary`: the chain's last element fills the gap, and
 * an overflow bucket that would be left with one element is dissolved. */
static void chain_remove(struct table *t, struct bucket *primary, uint64_t *slot) {
    struct bucket *b = (struct bucket *)((uintptr_t)slot & ~(uintptr_t)(BUCKET_BYTES - 1));
    unsigned index = (unsigned)(slot - b->slots);
    bucket_clear(b, index);
    if (LIKELY(!(primary->head & HEAD_LINK))) return;
    struct bucket *previous = primary, *last = bucket_next(primary);
    unsigned depth = 1;
    for (struct bucket *next; (next = bucket_next(last)) != NULL; depth++) {
        previous = last;
        last = next;
    }
    if (b != last) {
        unsigned from = (unsigned)__builtin_ctz(head_occupied(last->head));
        bucket_set(b, index, bucket_fingerprint(last, from), last->slots[from]);
        bucket_clear(last, from);
    }
    unsigned left = head_occupied(last->head);
    if ((left & (left - 1)) != 0) return;
    unsigned from = (unsigned)__builtin_ctz(left);
    previous->head &= ~HEAD_LINK;
    bucket_set(previous, LINK_SLOT, bucket_fingerprint(last, from), last->slots[from]);
    depth_leave(t, depth);
    overflow_free(t, last);
}

/* ---- Chunks and the directory ---- */

static size_t power_below(size_t n) { return (size_t)1 << (63 - __builtin_clzll(n)); }

/* The capacity that follows on this one of a chunk whose first bucket is `start`. */
static size_t capacity_after(const struct table *t, size_t start, size_t capacity) {
    size_t by_table = start == 0 ? 1 : power_below(start) / CHUNK_STEP_SHARE;
    size_t by_class = capacity == 0 ? 0 : power_below(capacity) / CLASSES_PER_DOUBLING;
    if (capacity < CHUNK_DOUBLED && !t->side_by_side) by_class = capacity;
    size_t next = capacity + (by_table > by_class ? by_table : by_class);
    return next < CHUNK_BUCKETS ? next : CHUNK_BUCKETS;
}

static struct bucket *buckets_alloc(struct table *t, size_t buckets) {
    t->bytes += memory_good_size(buckets * BUCKET_BYTES);
    return memory_alloc_aligned(chunk_alignment(buckets), buckets * BUCKET_BYTES, t->type->class);
}

static void buckets_free(struct table *t, struct bucket *chunk, size_t buckets) {
    t->bytes -= memory_good_size(buckets * BUCKET_BYTES);
    memory_free_aligned(chunk, chunk_alignment(buckets), buckets * BUCKET_BYTES, t->type->class);
}

/* Gives the last chunk another capacity; `used` of its buckets are kept. */
static void last_resize(struct table *t, size_t chunk, size_t used, size_t capacity) {
    struct bucket **place = chunk_place(t, chunk), *old = *place;
    *place = buckets_alloc(t, capacity);
    if (t->last_capacity != 0) {
        memcpy(*place, old, used * BUCKET_BYTES);
        buckets_free(t, old, t->last_capacity);
    }
    t->last_capacity = (uint16_t)capacity;
}

static void root_free(struct table *t) {
    size_t bytes = sizeof(*t->root) << t->root_shift;
    memory_free_sized(t->root, bytes, t->type->class);
    t->bytes -= memory_good_size(bytes);
    t->root = NULL;
    t->root_shift = 0;
}

/* Makes room for twice as many pages, or for the first one. */
static void root_grow(struct table *t) {
    unsigned shift = t->root ? t->root_shift + 1U : 0;
    size_t old = t->root ? (size_t)1 << t->root_shift : 0, capacity = (size_t)1 << shift;
    ASSERT_COMPARE(capacity, <=, ROOT_PAGES_MAX);
    t->root = memory_realloc(t->root, capacity * sizeof(*t->root), t->type->class);
    for (size_t i = old; i < capacity; i++) t->root[i] = NULL;
    t->bytes += memory_good_size(capacity * sizeof(*t->root));
    if (old != 0) t->bytes -= memory_good_size(old * sizeof(*t->root));
    t->root_shift = (uint8_t)shift;
}

static struct page *page_alloc(struct table *t, unsigned shift) {
    size_t bytes = PAGE_BYTES((size_t)1 << shift);
    t->bytes += memory_good_size(bytes);
    return memory_zalloc(bytes, t->type->class);
}

static void page_free(struct table *t, struct page *page) {
    size_t bytes = PAGE_BYTES((size_t)1 << t->page_shift);
    memory_free_sized(page, bytes, t->type->class);
    t->bytes -= memory_good_size(bytes);
}

/* Doubles the first page, which is the only one. */
static void page_grow(struct table *t) {
    size_t chunks = (size_t)1 << t->page_shift;
    struct page *old = t->root[0], *page = page_alloc(t, t->page_shift + 1U);
    ASSERT(old != NULL);
    memcpy(page->chunks, old->chunks, chunks * sizeof(*old->chunks));
    memcpy(page->chunks + 2 * chunks, old->chunks + chunks, chunks * sizeof(uint32_t));
    page_free(t, old);
    t->root[0] = page;
    t->page_shift++;
}

/* Makes room in the directory for a chunk behind the last one. */
static void chunk_open(struct table *t, size_t chunk) {
    size_t page = chunk >> PAGE_SHIFT;
    if (t->root == NULL || page >> t->root_shift != 0) root_grow(t);
    if (t->root[page] == NULL) {
        if (page == 0) t->page_shift = 1;
        t->root[page] = page_alloc(t, t->page_shift);
    } else if (chunk % PAGE_CHUNKS >> t->page_shift != 0) {
        page_grow(t);
    }
    *chunk_count(t, chunk) = 0;
    t->last_capacity = 0;
}

/* Frees the highest chunk, and the page of the directory that only this chunk needed. */
static void chunk_free(struct table *t, size_t chunk) {
    size_t page = chunk >> PAGE_SHIFT;
    struct bucket **place = chunk_place(t, chunk);
    buckets_free(t, *place, t->last_capacity);
    t->last_capacity = CHUNK_BUCKETS;
    *place = NULL;
    if (chunk % PAGE_CHUNKS == 0 || chunk == 1) {
        page_free(t, t->root[page]);
        t->root[page] = NULL;
    }
    if (chunk == 1) root_free(t);
}

/* Makes room for the bucket behind the last one and clears it. */
static struct bucket *bucket_open(struct table *t) {
    size_t index = t->buckets, chunk = index >> CHUNK_SHIFT, used = index % CHUNK_BUCKETS;
    ASSERT(index < BUCKETS_MAX);
    if (used == 0 && chunk != 0) chunk_open(t, chunk);
    if (used == t->last_capacity)
        last_resize(t, chunk, used, capacity_after(t, index - used, t->last_capacity));
    struct bucket *b = bucket_at(t, index);
    *b = (struct bucket){0};
    return b;
}

/* Frees the memory that only the bucket behind the last one needed. */
static void bucket_close(struct table *t) {
    size_t chunk = t->buckets >> CHUNK_SHIFT, used = t->buckets % CHUNK_BUCKETS, capacity = 0;
    if (used == 0) {
        chunk_free(t, chunk);
    } else if (used <= (size_t)t->last_capacity / 2) {
        while (capacity < used) capacity = capacity_after(t, t->buckets - used, capacity);
        if (capacity < t->last_capacity) last_resize(t, chunk, used, capacity);
    }
}

/* ---- Growth and shrinking ---- */

static inline size_t load_limit(size_t buckets) {
    return buckets * TABLE_LOAD_NUMERATOR / TABLE_LOAD_DENOMINATOR;
}

static inline bool fill_below(const struct table *t, size_t percent) {
    return t->count * TABLE_LOAD_DENOMINATOR * 100 < percent * TABLE_LOAD_NUMERATOR * t->buckets;
}

/* The elements of a bucket about to be split at this level will be hashed again. */
static inline bool split_hashes(unsigned level) {
    return level < TAG_HASH_SHIFT || level >= TAG_HASH_SHIFT + TABLE_TAG_BITS;
}

static inline unsigned hash_bit(const struct table *t, uint64_t word, unsigned level) {
    uint64_t bits = word >> (ADDRESS_BITS - TAG_HASH_SHIFT);
    if (UNLIKELY(split_hashes(level))) bits = t->type->element_hash(word_element(word));
    return (unsigned)(bits >> level) & 1;
}

/* Moves all elements of a chain, which `primary` (a copy of its primary bucket) begins, to the end
 * of ends[0] or, where bit `level` of the hash is set, of ends[1]. With ends[1].bucket NULL all go
 * to ends[0]. Returns how many went to the last of the ends. Each bucket is copied out before its
 * elements are placed, so that overflow buckets can be reused at once. */
static uint32_t chain_pour(struct table *t, const struct bucket *primary, struct chain_end ends[2],
                           unsigned level) {
    uint32_t total = 0, split_off = 0;
    struct bucket old = *primary, *spare = NULL;
    bool splits = ends[1].bucket != NULL;
    for (unsigned depth = 1;; depth++) {
        if (splits && split_hashes(level)) bucket_prefetch_elements(&old);
        for (unsigned m = head_occupied(old.head); m != 0; m &= m - 1) {
            unsigned slot = (unsigned)__builtin_ctz(m);
            unsigned side = splits ? hash_bit(t, old.slots[slot], level) : 0;
            chain_append(t, &ends[side], &spare, bucket_fingerprint(&old, slot), old.slots[slot]);
            total++;
            split_off += side;
        }
        struct bucket *next = bucket_next(&old);
        if (next == NULL) break;
        old = *next;
        next->slots[LINK_SLOT] = (uint64_t)(uintptr_t)spare;
        spare = next;
        depth_leave(t, depth);
    }
    while (spare != NULL) {
        struct bucket *next = (struct bucket *)(uintptr_t)spare->slots[LINK_SLOT];
        overflow_free(t, spare);
        spare = next;
    }
    return splits ? split_off : total;
}

/* Prefetches for the next splits: the line of one bucket, and the overflow bucket of the one before
 * it, whose line an earlier call has prefetched. */
static void split_prefetch(const struct table *t, size_t source) {
    if (source + 2 > t->low_mask) return;
    prefetch(bucket_at(t, source + 2));
    const struct bucket *next = bucket_next(bucket_at(t, source + 1));
    if (next != NULL) prefetch(next);
}

/* Counts `elements` as moved from one bucket's chain to another's. */
static inline void note_moved(struct table *t, size_t from, size_t to, uint32_t elements) {
    note_elements(t, from, -elements);
    note_elements(t, to, elements);
}

static void split_bucket(struct table *t) {
    struct bucket *fresh = bucket_open(t);
    size_t source = t->buckets - ((size_t)t->low_mask + 1);
    unsigned level = (unsigned)__builtin_ctzll((size_t)t->low_mask + 1);
    struct bucket *b = bucket_at(t, source), old = *b;
    *b = (struct bucket){0};
    struct chain_end ends[2] = {{b, 0}, {fresh, 0}};
    note_moved(t, source, t->buckets, chain_pour(t, &old, ends, level));
    split_prefetch(t, source);
    t->buckets++;
    if (t->buckets == 2 * ((size_t)t->low_mask + 1)) t->low_mask = t->low_mask << 1 | 1;
    t->splits++;
    PROBE2(table__split, t->buckets, t->count);
}

/* Merges the last bucket into the one that it was split from. There are at least two buckets. */
static void merge_buckets(struct table *t) {
    if (t->buckets == t->low_mask + 1) t->low_mask >>= 1;
    size_t last = t->buckets - 1, target = last - (t->low_mask + 1);
    struct chain_end ends[2] = {chain_end_of(bucket_at(t, target)), {NULL, 0}};
    note_moved(t, last, target, chain_pour(t, bucket_at(t, last), ends, 0));
    t->buckets--;
    t->merges++;
    PROBE2(table__merge, t->buckets, t->count);
    bucket_close(t);
}

/* Whether a further merge leaves the table at most SHRINK_STOP_PERCENT full. */
static inline bool can_merge(const struct table *t) {
    return t->buckets > 1 && t->count * TABLE_LOAD_DENOMINATOR * 100 <=
                                 SHRINK_STOP_PERCENT * TABLE_LOAD_NUMERATOR * (t->buckets - 1);
}

/* count > load_limit(buckets), without a division. */
static inline bool is_above_load_limit(const struct table *t) {
    return t->count * TABLE_LOAD_DENOMINATOR > (size_t)t->buckets * TABLE_LOAD_NUMERATOR;
}

static inline bool owes_growth(const struct table *t) {
    return is_above_load_limit(t) && t->buckets != 0;
}

static const struct table *resting; /* splits and merges nothing; NULL = none */

static bool may_grow(const struct table *t) {
    if (!owes_growth(t) || t == resting) return false;
    return resize_mode == TABLE_RESIZE_FREE ||
           t->count > AVOID_LOAD_FACTOR * load_limit(t->buckets);
}

static bool may_shrink(const struct table *t) {
    if (!t->shrinking || t == resting) return false;
    return resize_mode == TABLE_RESIZE_FREE || fill_below(t, AVOID_FILL_PERCENT);
}

/* ---- Debt ---- */

static bool table_may_pay(const struct table *t) { return may_grow(t) || may_shrink(t); }

static void debt_unlist(struct table *t) {
    if (!t->listed) return;
    list_remove(&t->link);
    t->listed = false;
    listed_count--;
}

/* Appends the table to the list that its debt belongs to. */
static void debt_list(struct table *t) {
    debt_unlist(t);
    if (!table_owes(t)) return;
    list_append(table_may_pay(t) ? &payable : &waiting, &t->link);
    t->listed = true;
    listed_count++;
}

static inline void shrink_begin(struct table *t) {
    if (LIKELY(!fill_below(t, min_fill_percent)) || t->shrinking || !can_merge(t)) return;
    t->shrinking = true;
    debt_list(t);
}

static inline void shrink_end(struct table *t) {
    if (UNLIKELY(t->shrinking) && !can_merge(t)) t->shrinking = false;
}

/* One owed merge, where the mode allows it. */
static bool shrink_step(struct table *t) {
    if (!may_shrink(t)) return false;
    merge_buckets(t);
    shrink_end(t);
    return true;
}

static bool grow_step(struct table *t) {
    if (!may_grow(t)) return false;
    split_bucket(t);
    return true;
}

/* An insert's share of growth; the rest is owed. */
__attribute__((noinline)) static void grow_after_insert(struct table *t) {
    t->unseen = 0;
    for (int i = 0; i < SPLITS_PER_INSERT && grow_step(t); i++) continue;
    if (UNLIKELY(owes_growth(t))) debt_list(t);
}

/* A removal's share of shrinking. While a child saves, the removal may carry the table across the
 * limit beyond which it pays all the same, in either direction. */
__attribute__((noinline)) static void shrink_after_remove(struct table *t) {
    t->unseen = 0;
    bool paid = shrink_step(t);
    if (UNLIKELY(!t->listed || (resize_mode == TABLE_RESIZE_AVOID && paid))) debt_list(t);
}

/* Sorts all tables that owe into the two lists anew. */
static void debt_sort(void) {
    struct list_link all = {&all, &all};
    while (!list_is_empty(&payable) || !list_is_empty(&waiting)) {
        struct list_link *link = list_is_empty(&payable) ? waiting.next : payable.next;
        list_remove(link); /* still counted as listed: it is listed again at once */
        list_append(&all, link);
    }
    while (!list_is_empty(&all)) debt_list(LIST_ENTRY(all.next, struct table, link));
}

void table_set_resize(enum table_resize mode) {
    if (mode == resize_mode) return;
    resize_mode = mode;
    debt_sort();
}

void table_set_min_fill(unsigned percent) {
    ASSERT_COMPARE(percent, <=, MIN_FILL_PERCENT_MAX);
    min_fill_percent = percent;
    if (percent != 0) return;
    struct list_link *const lists[] = {&payable, &waiting};
    for (int i = 0; i < 2; i++)
        for (struct list_link *link = lists[i]->next; link != lists[i]; link = link->next)
            LIST_ENTRY(link, struct table, link)->shrinking = false;
    debt_sort();
}

void table_reconsider(struct table *t) {
    shrink_begin(t);
    if (!t->listed) debt_list(t);
}

void table_rest(struct table *t) {
    struct table *before = (struct table *)(uintptr_t)resting;
    resting = t;
    if (before && before->listed) debt_list(before);
    if (t && t->listed) debt_list(t);
}

void table_watch(struct table *t, bool watched) { t->watched = watched; }
bool table_is_watched(const struct table *t) { return t->watched; }

void table_detach(struct table *t) { debt_unlist(t); }

void table_forget_owing(void) {
    struct list_link *const lists[] = {&payable, &waiting};
    for (int i = 0; i < 2; i++)
        while (!list_is_empty(lists[i]))
            debt_unlist(LIST_ENTRY(lists[i]->next, struct table, link));
}

bool table_owes(const struct table *t) { return t->shrinking || owes_growth(t); }

size_t table_pay(struct table *t, size_t steps) {
    size_t done = 0;
    while (done < steps && (grow_step(t) || shrink_step(t))) done++;
    if (t->listed) debt_list(t);
    return done;
}

size_t table_owing(void) { return listed_count; }

bool table_any_payable(void) { return !list_is_empty(&payable); }

size_t table_pay_owed(size_t steps) {
    size_t done = 0;
    /* A table without debt costs a step, too, so that the work is bounded. */
    for (size_t left = steps; left > 0 && table_any_payable();) {
        struct table *t = LIST_ENTRY(payable.next, struct table, link);
        size_t seen = table_bytes_seen(t), paid = table_pay(t, left);
        t->unseen = (int32_t)((int64_t)(t->bytes - seen) / WORD_BYTES);
        done += paid;
        left -= paid == 0 ? 1 : paid;
    }
    return done;
}

bool table_reserve(struct table *t, size_t elements, size_t steps) {
    size_t wanted = t->count + elements;
    t->shrinking = false;
    if (t->buckets == 0 && wanted > 0) {
        bucket_open(t);
        t->buckets = 1;
    }
    for (; wanted > load_limit(t->buckets); steps--) {
        if (steps == 0) return false;
        split_bucket(t);
    }
    return true;
}

/* ---- Life ---- */

static void table_init(struct table *t, const struct table_type *type, size_t bytes,
                       bool side_by_side) {
    *t = (struct table){
        .first = (struct bucket *)(uintptr_t)&no_bucket,
        .type = type,
        .bytes = bytes,
        .side_by_side = side_by_side,
    };
}

struct table *table_create(const struct table_type *type) {
    struct table *t = memory_alloc(sizeof(*t), type->class);
    table_init(t, type, memory_good_size(sizeof(*t)), false);
    return t;
}

struct table *table_create_many(const struct table_type *type, size_t count) {
    size_t bytes = count * sizeof(struct table);
    struct table *tables = memory_alloc_aligned(BUCKET_BYTES, bytes, type->class);
    for (size_t i = 0; i < count; i++) table_init(&tables[i], type, 0, true);
    return tables;
}

void table_free_many(struct table *tables, size_t count) {
    enum memory_class class = tables->type->class;
    for (size_t i = 0; i < count; i++) table_clear(&tables[i]);
    memory_free_aligned(tables, BUCKET_BYTES, count * sizeof(struct table), class);
}

static void chain_free(struct table *t, struct bucket *primary,
                       void (*release)(void *element, void *context), void *context) {
    t->count -= chain_count(primary);
    if (release != NULL) chain_visit(primary, release, context);
    for (struct bucket *b = bucket_next(primary), *next; b != NULL; b = next) {
        next = bucket_next(b);
        overflow_free(t, b);
    }
}

bool table_clear_step(struct table *t, size_t *buckets_max,
                      void (*release)(void *element, void *context), void *context) {
    debt_unlist(t);
    t->unseen = 0;
    for (; t->buckets > 0; --*buckets_max) {
        if (*buckets_max == 0) return false;
        size_t last = --t->buckets;
        struct bucket *b = bucket_at(t, last);
        if (last % CHUNK_BUCKETS != 0) prefetch(b - 1);
        chain_free(t, b, release, context);
        if (last % CHUNK_BUCKETS == 0 && last != 0) chunk_free(t, last >> CHUNK_SHIFT);
    }
    if (t->last_capacity != 0) buckets_free(t, t->first, t->last_capacity);
    table_init(t, t->type, t->bytes, t->side_by_side);
    return true;
}

void table_clear(struct table *t) {
    size_t all = SIZE_MAX;
    table_clear_step(t, &all, NULL, NULL);
}

bool table_free_step(struct table *t, size_t buckets_max,
                     void (*release)(void *element, void *context), void *context) {
    if (!table_clear_step(t, &buckets_max, release, context)) return false;
    memory_free_sized(t, sizeof(*t), t->type->class);
    return true;
}

void table_free(struct table *t) { table_free_step(t, SIZE_MAX, NULL, NULL); }

size_t table_count(const struct table *t) { return t->count; }

size_t table_buckets(const struct table *t) { return t->buckets; }

size_t table_bytes(const struct table *t) { return t->bytes; }

size_t table_bytes_seen(const struct table *t) {
    return t->bytes - (size_t)((int64_t)t->unseen * WORD_BYTES);
}

/* ---- Elements ---- */

void *table_find(const struct table *t, uint64_t hash, const void *key, size_t key_length) {
    const uint64_t *slot = chain_find(t, table_bucket_for(t, hash), hash, key, key_length);
    return slot == NULL ? NULL : word_element(*slot);
}

table_slot table_find_slot(struct table *t, uint64_t hash, const void *key, size_t key_length) {
    return chain_find(t, table_bucket_for(t, hash), hash, key, key_length);
}

void *table_slot_element(const uint64_t *slot) { return word_element(*slot); }

void *table_slot_replace(table_slot slot, void *element) {
    void *old = word_element(*slot);
    ASSERT((uint64_t)(uintptr_t)element >> ADDRESS_BITS == 0);
    *slot = (*slot & ~ADDRESS_MASK) | (uint64_t)(uintptr_t)element;
    return old;
}

void table_insert(struct table *t, uint64_t hash, void *element) {
    if (UNLIKELY(t->buckets == 0)) {
        bucket_open(t);
        t->buckets = 1;
    }
    size_t index = index_of(t, hash);
    struct bucket *primary = bucket_at(t, index), *spare = NULL;
    ASSERT_SLOW(((t->type->element_hash(element) ^ hash) & TABLE_HASH_BITS) == 0);
    ASSERT_SLOW(chain_find_element(primary, hash, element) == NULL);
    struct chain_end end = chain_end_of(primary);
    chain_append(t, &end, &spare, fingerprint_of(hash), word_make(hash, element));
    note_elements(t, index, 1);
    t->count++;
    if (UNLIKELY(is_above_load_limit(t))) grow_after_insert(t);
    shrink_end(t);
}

static void table_take_out(struct table *t, uint64_t hash, struct bucket *primary, uint64_t *slot) {
    chain_remove(t, primary, slot);
    note_elements(t, index_of(t, hash), -UINT32_C(1));
    t->count--;
    shrink_begin(t);
    if (UNLIKELY(t->shrinking)) shrink_after_remove(t);
}

void *table_remove(struct table *t, uint64_t hash, const void *key, size_t key_length) {
    struct bucket *primary = table_bucket_for(t, hash);
    uint64_t *slot = chain_find(t, primary, hash, key, key_length);
    if (slot == NULL) return NULL;
    void *element = word_element(*slot);
    table_take_out(t, hash, primary, slot);
    return element;
}

bool table_remove_element(struct table *t, uint64_t hash, const void *element) {
    struct bucket *primary = table_bucket_for(t, hash);
    uint64_t *slot = chain_find_element(primary, hash, element);
    if (slot == NULL) return false;
    table_take_out(t, hash, primary, slot);
    return true;
}

bool table_holds(const struct table *t, uint64_t hash, const void *element) {
    return t->buckets != 0 && chain_find_element(table_bucket_for(t, hash), hash, element) != NULL;
}

void table_prefetch_bucket(const struct table *t, uint64_t hash) {
    prefetch(table_bucket_for(t, hash));
}

void table_prefetch_element(const struct table *t, uint64_t hash) {
    const struct bucket *b = table_bucket_for(t, hash);
    for (unsigned m = head_match(b->head, fingerprint_of(hash)); m != 0; m &= m - 1) {
        uint64_t word = b->slots[__builtin_ctz(m)];
        if (UNLIKELY(!word_tag_fits(word, hash))) continue;
        prefetch(word_element(word));
        return;
    }
    /* A third stage, for the overflow bucket's elements, would save a twentieth of a lookup at
     * most. */
    if (b->head & HEAD_LINK) prefetch(bucket_next(b));
}

/* ---- Walks and picks ---- */

uint64_t table_scan(const struct table *t, uint64_t cursor,
                    void (*visit)(void *element, void *context), void *context) {
    if (t->buckets == 0) return 0;
    size_t index = scan_advance(t, &cursor);
    chain_visit(bucket_at(t, index), visit, context);
    return cursor;
}

/* The part of a bucket's interval that a hash, or a cursor, is in; `level` is the number of bits
 * that address the bucket. */
static inline unsigned scan_part(uint64_t hash, unsigned level) {
    return (unsigned)(table_place(hash >> level) >> (64 - TABLE_SCAN_PART_BITS));
}

static unsigned word_part(const struct table *t, uint64_t word, unsigned level) {
    bool tagged = !split_hashes(level) && !split_hashes(level + TABLE_SCAN_PART_BITS - 1);
    return scan_part(tagged ? word >> (ADDRESS_BITS - TAG_HASH_SHIFT)
                            : t->type->element_hash(word_element(word)),
                     level);
}

/* Visits the bucket's elements of the parts from `from` on and below `until`. */
static void bucket_visit_parts(const struct table *t, const struct bucket *b, unsigned level,
                               unsigned from, unsigned until,
                               void (*visit)(void *element, void *context), void *context) {
    for (unsigned m = head_occupied(b->head); m != 0; m &= m - 1) {
        uint64_t word = b->slots[__builtin_ctz(m)];
        unsigned part = word_part(t, word, level);
        if (part >= from && part < until) visit(word_element(word), context);
    }
}

static void chain_count_parts(const struct table *t, const struct bucket *b, unsigned level,
                              size_t counts[SCAN_PARTS]) {
    for (; b != NULL; b = bucket_next(b)) {
        for (unsigned m = head_occupied(b->head); m != 0; m &= m - 1)
            counts[word_part(t, b->slots[__builtin_ctz(m)], level)]++;
    }
}

uint64_t table_scan_some(const struct table *t, uint64_t cursor, size_t wanted,
                         void (*visit)(void *element, void *context), void *context) {
    if (t->buckets == 0) return 0;
    uint64_t start = cursor, mask = scan_mask(t, cursor);
    size_t index = scan_advance(t, &cursor);
    const struct bucket *b = bucket_at(t, index);
    if (start == index && chain_count(b) <= wanted) {
        chain_visit(b, visit, context);
        return cursor;
    }
    unsigned level = (unsigned)__builtin_popcountll(mask);
    unsigned from = scan_part(start, level), until = from;
    size_t counts[SCAN_PARTS] = {0}, found = 0;
    chain_count_parts(t, b, level, counts);
    while (until < SCAN_PARTS && (found < wanted || counts[until] == 0)) found += counts[until++];
    for (; b != NULL; b = bucket_next(b))
        bucket_visit_parts(t, b, level, from, until, visit, context);
    if (until == SCAN_PARTS) return cursor;
    return index | table_place(until) >> (64 - TABLE_SCAN_PART_BITS) << level;
}

/* A bucket that was prefetched, and the cursor behind it. */
struct scanned {
    const struct bucket *bucket;
    uint64_t cursor;
};

/* Visits buckets from `done` on, at least one and at most up to `until`; returns where it stopped.
 * Their elements have been prefetched, except for those in overflow buckets. */
static size_t scan_visit(const struct scanned *ring, size_t done, size_t until, const bool *enough,
                         void (*visit)(void *element, void *context), void *context) {
    for (size_t i = done; i < until; i++) chain_prefetch_rest(ring[i % SCAN_RING].bucket);
    do {
        const struct bucket *b = ring[done % SCAN_RING].bucket;
        bucket_visit(b, visit, context);
        chain_visit(bucket_next(b), visit, context);
    } while (++done < until && !(enough && *enough));
    return done;
}

uint64_t table_scan_run(const struct table *t, uint64_t cursor, size_t positions,
                        const bool *enough, void (*visit)(void *element, void *context),
                        void *context) {
    struct scanned ring[SCAN_RING];
    size_t asked = 0, seen = 0, done = 0;
    if (t->buckets == 0) return 0;
    for (bool last = positions == 0; !last || done < asked;) {
        for (; !last && asked - done < SCAN_RING; asked++) {
            const struct bucket *b = bucket_at(t, scan_advance(t, &cursor));
            ring[asked % SCAN_RING] = (struct scanned){b, cursor};
            prefetch(b);
            last = cursor == 0 || asked + 1 == positions;
        }
        for (; seen < asked && seen - done < 2 * SCAN_GROUP; seen++)
            chain_prefetch(ring[seen % SCAN_RING].bucket);
        size_t until = done + SCAN_GROUP < seen ? done + SCAN_GROUP : seen;
        done = scan_visit(ring, done, until, enough, visit, context);
        if (enough && *enough) return ring[(done - 1) % SCAN_RING].cursor;
    }
    return cursor;
}

/* The element at a place of the chain, counted over all its slots except links; NULL where the slot
 * is empty. */
static void *chain_at_place(const struct bucket *b, size_t place) {
    while (b->head & HEAD_LINK) {
        if (place < LINK_SLOT) break;
        place -= LINK_SLOT;
        b = bucket_next(b);
    }
    if (place >= SLOTS || !(head_occupied(b->head) >> place & 1)) return NULL;
    return word_element(b->slots[place]);
}

/* The first bucket from `index` on, wrapping, that is not empty; skips chunks without an element.
 * The table is not empty. O(chunks + buckets a chunk). */
static size_t bucket_not_empty(const struct table *t, size_t index) {
    while (head_occupied(bucket_at(t, index)->head) == 0) {
        bool skip = index >= CHUNK_BUCKETS && *chunk_count(t, index >> CHUNK_SHIFT) == 0;
        index = skip ? (index | (CHUNK_BUCKETS - 1)) + 1 : index + 1;
        if (index >= t->buckets) index = 0;
    }
    return index;
}

/* The element of that rank, in the order of buckets from chunk 1 on and then of chunk 0.
 * O(chunks + buckets a chunk). */
static void *table_at_rank(const struct table *t, size_t rank) {
    size_t chunks = (t->buckets + CHUNK_BUCKETS - 1) >> CHUNK_SHIFT, chunk = 1;
    for (; chunk < chunks && rank >= *chunk_count(t, chunk); chunk++)
        rank -= *chunk_count(t, chunk);
    size_t index = chunk < chunks ? chunk << CHUNK_SHIFT : 0;
    for (size_t here; rank >= (here = chain_count(bucket_at(t, index))); index++) rank -= here;
    for (const struct bucket *b = bucket_at(t, index);; b = bucket_next(b)) {
        for (unsigned m = head_occupied(b->head); m != 0; m &= m - 1)
            if (rank-- == 0) return word_element(b->slots[__builtin_ctz(m)]);
    }
}

void *table_random(const struct table *t) {
    if (t->count == 0) return NULL;
    size_t places = longest_chain(t) * LINK_SLOT + 1;
    size_t batch = t->buckets <= CHUNK_BUCKETS ? 1 : RANDOM_BATCH, drawn[RANDOM_BATCH] = {0};
    for (size_t draws = 0; draws < RANDOM_DRAWS; draws += batch) {
        for (size_t i = 0; i < batch; i++) {
            drawn[i] = random_below(t->buckets);
            prefetch(bucket_at(t, drawn[i]));
        }
        for (size_t i = 0; i < batch; i++) {
            void *element = chain_at_place(bucket_at(t, drawn[i]), random_below(places));
            if (element != NULL) return element;
        }
    }
    return table_at_rank(t, random_below(t->count));
}

/* Up to `wanted` elements of a chain after its first `skip` ones; returns how many. */
static size_t chain_sample(const struct bucket *b, size_t skip, void **elements, size_t wanted) {
    size_t found = 0;
    for (; b != NULL; b = bucket_next(b)) {
        for (unsigned m = head_occupied(b->head); m != 0; m &= m - 1) {
            if (found == wanted) return found;
            if (skip == 0)
                elements[found++] = word_element(b->slots[__builtin_ctz(m)]);
            else
                skip--;
        }
    }
    return found;
}

size_t table_sample(const struct table *t, void **elements, size_t wanted) {
    if (t->count == 0) return 0;
    size_t index = bucket_not_empty(t, random_below(t->buckets)), looked = 1, looks = t->buckets;
    if (looks / SAMPLE_BUCKETS_PER_ELEMENT > wanted) looks = wanted * SAMPLE_BUCKETS_PER_ELEMENT;
    /* Begins at a random place of the first chain, because otherwise a chain's first elements would
     * be sampled more often than its last ones, and those of overflow buckets hardly ever. */
    const struct bucket *first = bucket_at(t, index);
    size_t skip = random_below(chain_count(first));
    size_t found = chain_sample(first, skip, elements, wanted);
    for (; found < wanted && looked < looks; looked++) {
        if (++index == t->buckets) index = 0;
        found += chain_sample(bucket_at(t, index), 0, elements + found, wanted - found);
    }
    if (found < wanted && looked == t->buckets)
        found +=
            chain_sample(first, 0, elements + found, skip < wanted - found ? skip : wanted - found);
    return found;
}

void table_each(const struct table *t, void (*visit)(void *element, void *context), void *context) {
    for (size_t i = 0; i < t->buckets; i++) {
        size_t ahead = i + EACH_AHEAD;
        if (ahead < t->buckets) bucket_prefetch_elements(bucket_at(t, ahead));
        chain_visit(bucket_at(t, i), visit, context);
    }
}

void table_each_until(const struct table *t, const bool *enough,
                      void (*visit)(void *element, void *context), void *context) {
    for (size_t i = 0; i < t->buckets && !*enough; i++) {
        bool begins_chunk = i % CHUNK_BUCKETS == 0 && i != 0;
        if (begins_chunk && *chunk_count(t, i >> CHUNK_SHIFT) == 0)
            i |= CHUNK_BUCKETS - 1;
        else
            chain_visit(bucket_at(t, i), visit, context);
    }
}

void table_sweep(const struct table *t, size_t *position,
                 void (*visit)(void *element, void *context), void *context) {
    if (t->buckets == 0) {
        *position = 0;
        return;
    }
    size_t index = *position < t->buckets ? *position : 0;
    *position = index + 1 < t->buckets ? index + 1 : 0;
    prefetch(bucket_at(t, *position));
    chain_visit(bucket_at(t, index), visit, context);
}

/* ---- Statistics and checks ---- */

void table_stats(const struct table *t, struct table_stats *stats) {
    *stats = (struct table_stats){
        .elements = t->count,
        .buckets = t->buckets,
        .longest_chain = t->buckets == 0 ? 0 : 1,
        .bytes = t->bytes,
        .splits = t->splits,
        .merges = t->merges,
        .owes = table_owes(t),
        .may_pay = table_may_pay(t),
    };
    for (size_t i = 0; i < t->buckets; i++) {
        size_t length = 1;
        for (struct bucket *b = bucket_next(bucket_at(t, i)); b != NULL; b = bucket_next(b))
            length++;
        stats->overflow_buckets += length - 1;
        if (length > stats->longest_chain) stats->longest_chain = length;
    }
}

static void table_check_bucket(const struct table *t, const struct bucket *b, size_t index) {
    ASSERT_COMPARE((uintptr_t)b % BUCKET_BYTES, ==, 0);
    unsigned occupied = head_occupied(b->head), slots = SLOTS;
    if (b->head & HEAD_LINK) {
        ASSERT_COMPARE(occupied, ==, OCCUPANCY_ALL >> 1);
        ASSERT(b->slots[LINK_SLOT] != 0);
        ASSERT_COMPARE(bucket_fingerprint(b, LINK_SLOT), ==, 0);
        slots--;
    }
    for (unsigned i = 0; i < slots; i++) {
        uint64_t word = b->slots[i];
        if (occupied >> i & 1) {
            uint64_t hash = t->type->element_hash(word_element(word));
            ASSERT_COMPARE(index_of(t, hash), ==, index);
            ASSERT_COMPARE(bucket_fingerprint(b, i), ==, fingerprint_of(hash));
            ASSERT(word_tag_fits(word, hash));
        } else {
            ASSERT_COMPARE(word, ==, 0);
            ASSERT_COMPARE(bucket_fingerprint(b, i), ==, 0);
        }
    }
}

/* Returns the number of elements. */
static size_t check_chain(const struct table *t, size_t index, size_t depths[DEPTHS]) {
    const struct bucket *b = bucket_at(t, index);
    size_t count = 0, depth = 0;
    for (; b != NULL; b = bucket_next(b), depth++) {
        table_check_bucket(t, b, index);
        unsigned here = (unsigned)__builtin_popcount(head_occupied(b->head));
        count += here;
        if (depth == 0) continue;
        ASSERT_COMPARE(here, >=, 2);
        ASSERT_COMPARE(depth, <, longest_chain(t));
        depths[depth < DEPTHS ? depth - 1 : DEPTHS - 1]++;
    }
    return count;
}

static size_t count_walked(const struct table *t, size_t chunk) {
    size_t count = 0, end = (chunk + 1) << CHUNK_SHIFT;
    for (size_t i = chunk << CHUNK_SHIFT; i < end && i < t->buckets; i++)
        count += chain_count(bucket_at(t, i));
    return count;
}

/* Returns the bytes that the chunks and the directory take. */
static size_t check_chunks(const struct table *t) {
    size_t pages = 0, chunks = 0, page_chunks = (size_t)1 << t->page_shift;
    size_t wanted = t->buckets == 0 ? 0 : (t->buckets - 1) >> CHUNK_SHIFT;
    size_t root = t->root == NULL ? 0 : (size_t)1 << t->root_shift;
    size_t bytes = root == 0 ? 0 : memory_good_size(root * sizeof(*t->root));
    for (size_t page = 0; page < root; page++) {
        if (t->root[page] == NULL) continue;
        ASSERT_COMPARE(page, ==, pages);
        pages++;
        for (size_t i = 0; i < page_chunks; i++) {
            if (t->root[page]->chunks[i] == NULL) continue;
            size_t chunk = page * PAGE_CHUNKS + i;
            chunks++;
            ASSERT_COMPARE(count_walked(t, chunk), ==, *chunk_count(t, chunk));
            ASSERT_COMPARE(chunk, ==, chunks);
        }
    }
    ASSERT_COMPARE(chunks, ==, wanted);
    ASSERT_COMPARE(pages, ==, chunks == 0 ? 0 : (chunks >> PAGE_SHIFT) + 1);
    ASSERT(pages <= 1 || page_chunks == PAGE_CHUNKS);
    return bytes + pages * memory_good_size(PAGE_BYTES(page_chunks)) +
           chunks * memory_good_size(TABLE_CHUNK_BYTES) +
           (t->last_capacity == 0 ? 0 : memory_good_size(t->last_capacity * BUCKET_BYTES));
}

static bool stands_in(const struct list_link *list, const struct table *t) {
    const struct list_link *link = list->next;
    while (link != list && link != &t->link) link = link->next;
    return link != list;
}

void table_check(const struct table *t) {
    if (t->buckets == 0) {
        ASSERT_COMPARE(t->count, ==, 0);
        ASSERT(t->first == &no_bucket && t->last_capacity == 0 && t->low_mask == 0);
    } else {
        ASSERT((t->low_mask & (t->low_mask + 1)) == 0);
        ASSERT(t->low_mask < t->buckets && t->buckets <= 2 * (size_t)t->low_mask + 1);
        size_t in_last = (t->buckets - 1) % CHUNK_BUCKETS + 1;
        ASSERT(in_last <= t->last_capacity && t->last_capacity <= CHUNK_BUCKETS);
    }
    size_t depths[DEPTHS] = {0}, count = 0, bytes = check_chunks(t);
    for (size_t i = 0; i < t->buckets; i++) count += check_chain(t, i, depths);
    ASSERT_COMPARE(count, ==, t->count);
    for (size_t i = 0; i < DEPTHS; i++) {
        ASSERT_COMPARE(depths[i], ==, t->depths[i]);
        bytes += depths[i] * memory_good_size(BUCKET_BYTES);
    }
    if (!t->side_by_side) bytes += memory_good_size(sizeof(*t));
    ASSERT_COMPARE(bytes, ==, t->bytes);
    ASSERT(!t->shrinking || can_merge(t));
    if (t->listed && (may_grow(t) || may_shrink(t))) ASSERT(stands_in(&payable, t));
}
