/* SPDX-License-Identifier: BSD-3-Clause
 * The index by deadline: a hierarchical wheel of time buckets (Varghese and Lauck, 1987).
 *
 * An element's deadline and `base`, a time not later than the latest clock seen, determine its
 * bucket (time_slots.h): a slot of a level, or, for deadlines before base, the bucket `early`.
 *
 * When time reaches a slot of a higher level, base moves to the slot's start and the slot is
 * drained: its elements move to lower levels, at most TIMEBUCKETS_CASCADE_MAX of them a call. Each
 * element moves at most once a level.
 *
 * A bucket is a list of segments of up to 62 element pointers, all full but the first. An element's
 * reference is its segment's number and its place there; the segment names its bucket. So an
 * element is found without its deadline, whatever base was when it was inserted. The bucket's
 * newest element takes a removed element's place. Segment numbers are kept dense, so that a random
 * number is a fair draw; 2^26 segments hold 4.1 billion elements.
 *
 * While the index rests (a child saves), only elements that callers insert are written to, because
 * each write would copy a page that the child shares:
 *
 *   - base does not move, so no bucket is drained. A bucket whose time is over is due as a whole,
 *     and its elements are found as ever. At most two other buckets hold due elements: the one that
 *     was being drained, and the one into whose span the clock falls. These two are listed: their
 *     elements' references are copied, by deadline, into `soon` (time_numbers.h), a bounded number
 *     a call, and those of elements that are inserted later are added. References are stable while
 *     the index rests; so when a reference's time comes, the element that stands there is checked,
 *     whichever element it was when it was listed.
 *   - The place of a removed element stays empty, a gap. No segment gets another number.
 *
 * After the rest base goes on from where it stood, as after a pause of the clock. Gaps are filled
 * and numbers made dense step by step (timebuckets_settle); every function works with the gaps that
 * are left.
 *
 * Invariants
 *  1. elements[reference % 64] of segment reference / 64 is the element, for each element.
 *  2. Only a bucket's first segment may have room, and that segment's last element is no gap. No
 *     segment has gaps only.
 *  3. Elements of level l > 0, slot s, have a deadline that differs from base first at level l and
 *     with s > base's own bits there, except those of the bucket that is being drained.
 *  4. Fewer numbers are free than in use, give or take HOLES_ALLOWED, unless `unsettled`.
 *  5. While resting, an element of a bucket that is listed to its end has its reference in `soon`
 *     where its deadline belongs.
 *
 * Ownership: elements are the caller's; the index holds their addresses.
 */
#include "ds/timebuckets.h"

#include "base/panic.h"
#include "base/random.h"
#include "base/relocation.h"
#include "ds/time_numbers.h"
#include "ds/time_slots.h"

#define SLOTS TIME_SLOTS
#define LEVELS TIME_LEVELS
#define BUCKETS TIME_PLACES
#define EARLY TIME_EARLY
#define NO_BUCKET (-1)

#define NO_SEGMENT UINT32_MAX
#define PLACE_BITS 6
#define SEGMENTS_MAX (1u << (32 - PLACE_BITS))
/* With the header of 16 bytes and the allocator's classes: 32, 64, 128, 256 and 512 bytes. */
#define SEGMENT_ELEMENTS_MIN 2
#define SEGMENT_ELEMENTS_MAX 62
/* The first size of a bucket's further segments. Small, because with a hundred elements in each
 * bucket half a segment left empty would cost two bytes an element. */
#define SEGMENT_ELEMENTS_FURTHER 14

/* Segment pointers stand in pages of 64 KiB. */
#define PAGE_BITS 13
#define PAGE_ENTRIES (1u << PAGE_BITS)
#define PAGE_ENTRIES_MIN 8

#define HOLES_ALLOWED 64
/* The most free numbers that one call skips or cuts off. */
#define CUT_MAX 256
/* How often a random pick draws before it counts through the buckets instead. Only a small index is
 * sparse enough to get there: each bucket has one segment that is not full, so an index with a
 * density below a quarter (half the numbers in use, segments half full) has few segments to count;
 * above that density one in 10^8 picks gets there. */
#define RANDOM_DRAWS_MAX 64
/* How often a random pick draws where a long rest has left many gaps. */
#define RANDOM_DRAWS_GAPS_MAX 4096
/* How many elements of the early bucket a call examines while the clock is behind base. */
#define EARLY_EXAMINED_MAX 64
/* Blocks of `retired` that a call frees: more than a call can list. */
#define RETIRED_BLOCKS_MAX 128
/* Segments that one step of settling looks at, because most have no gap. */
#define SETTLE_LOOKS_MAX 16

struct segment {
    uint32_t next, previous; /* within the bucket; previous of the first is NO_SEGMENT */
    uint16_t bucket, count, capacity, gaps; /* count: places in use, gaps among them */
    void *elements[];
};
_Static_assert(sizeof(struct segment) == 16, "a segment's header is 16 bytes");

struct bucket {
    uint32_t first;
    size_t count;
};

/* A bucket whose elements are due one by one while the index rests. */
struct listing {
    int bucket;
    uint32_t next; /* the segment that is listed next; NO_SEGMENT: all are */
};
#define LISTINGS 2

struct timebuckets {
    const struct timebuckets_type *type;
    int64_t base;
    int draining; /* a bucket that base has reached, NO_BUCKET: none */
    size_t count;
    uint64_t used[LEVELS]; /* a bit for each slot that is not empty */
    struct bucket buckets[BUCKETS];
    /* A page's entry is a segment, or a free number's links. */
    uintptr_t **pages;
    uint32_t pages_capacity, pages_count;
    uint32_t first_page_capacity;
    uint32_t numbers_end; /* numbers given out so far */
    uint32_t holes;       /* free ones among them */
    uint32_t first_hole;
    uint32_t early_hand; /* where the examination of the early bucket goes on */
    size_t bytes;
    /* The number of the rest that the listings belong to: the present rest, or an earlier one. */
    unsigned rest;
    struct listing listings[LISTINGS];
    struct time_numbers *soon;    /* references of the listed buckets' elements; or NULL */
    struct time_numbers *retired; /* freed in steps; or NULL */
    size_t gaps;
    uint32_t settle_hand;
    bool unsettled; /* timebuckets_settle may have something to do */
};

static bool resting;
static unsigned rests; /* so far */

/* ---- memory ---- */

static void *take_memory(struct timebuckets *t, size_t size) {
    t->bytes += memory_good_size(size);
    return memory_alloc(size, t->type->class);
}

static void give_memory(struct timebuckets *t, void *block, size_t size) {
    if (!block) return;
    t->bytes -= memory_good_size(size);
    memory_free_sized(block, size, t->type->class);
}

static void *resize_memory(struct timebuckets *t, void *block, size_t old_size, size_t size,
                           size_t keep) {
    void *moved = take_memory(t, size);
    if (keep) memcpy(moved, block, keep);
    give_memory(t, block, old_size);
    return moved;
}

/* ---- numbers and segments ---- */

static size_t segment_size(unsigned capacity) {
    return sizeof(struct segment) + capacity * sizeof(void *);
}

static uintptr_t *entry_of(const struct timebuckets *t, uint32_t number) {
    return &t->pages[number >> PAGE_BITS][number & (PAGE_ENTRIES - 1)];
}

static uint32_t number_of(uint32_t reference) { return reference >> PLACE_BITS; }
static unsigned reference_place(uint32_t reference) { return reference & ((1u << PLACE_BITS) - 1); }

static struct segment *segment_at(const struct timebuckets *t, uint32_t number) {
    return (struct segment *)*entry_of(t, number);
}

static bool is_hole(const struct timebuckets *t, uint32_t number) {
    return *entry_of(t, number) & 1;
}

static void grow_pages(struct timebuckets *t) {
    if (t->numbers_end < t->first_page_capacity) return;
    if (t->first_page_capacity < PAGE_ENTRIES) {
        uint32_t old = t->first_page_capacity, wanted = old ? 2 * old : PAGE_ENTRIES_MIN;
        if (!old) {
            t->pages = take_memory(t, sizeof(*t->pages));
            t->pages_capacity = t->pages_count = 1;
            t->pages[0] = NULL;
        }
        t->pages[0] = resize_memory(t, t->pages[0], old * sizeof(uintptr_t),
                                    wanted * sizeof(uintptr_t), old * sizeof(uintptr_t));
        t->first_page_capacity = wanted;
        return;
    }
    if (t->numbers_end < t->pages_count * PAGE_ENTRIES) return;
    if (t->pages_count == t->pages_capacity) {
        size_t old = t->pages_capacity * sizeof(*t->pages);
        t->pages = resize_memory(t, t->pages, old, 2 * old, old);
        t->pages_capacity *= 2;
    }
    t->pages[t->pages_count++] = take_memory(t, PAGE_ENTRIES * sizeof(uintptr_t));
}

/* Frees pages that no number needs, except for one, so that a border that is crossed often costs
 * nothing. */
static void shrink_pages(struct timebuckets *t) {
    while (t->pages_count > 1 &&
           t->numbers_end + PAGE_ENTRIES <= (t->pages_count - 1) * PAGE_ENTRIES)
        give_memory(t, t->pages[--t->pages_count], PAGE_ENTRIES * sizeof(uintptr_t));
}

/* Free numbers form a list through their entries: tag 1, next and previous of 31 bits each. */
static uintptr_t hole_entry(uint32_t next, uint32_t previous) {
    return (uintptr_t)previous << 32 | (uintptr_t)(next & INT32_MAX) << 1 | 1;
}
static uint32_t hole_next(uintptr_t entry) { return (uint32_t)entry >> 1; }
static uint32_t hole_previous(uintptr_t entry) { return (uint32_t)(entry >> 32); }
#define NO_HOLE ((uint32_t)INT32_MAX)

static void hole_link(struct timebuckets *t, uint32_t number) {
    *entry_of(t, number) = hole_entry(t->first_hole, NO_HOLE);
    if (t->first_hole != NO_HOLE) {
        uintptr_t *next = entry_of(t, t->first_hole);
        *next = hole_entry(hole_next(*next), number);
    }
    t->first_hole = number;
    t->holes++;
}

static void hole_unlink(struct timebuckets *t, uint32_t number) {
    uintptr_t entry = *entry_of(t, number);
    uint32_t next = hole_next(entry), previous = hole_previous(entry);
    if (previous == NO_HOLE) {
        t->first_hole = next;
    } else {
        uintptr_t *place = entry_of(t, previous);
        *place = hole_entry(next, hole_previous(*place));
    }
    if (next != NO_HOLE) {
        uintptr_t *place = entry_of(t, next);
        *place = hole_entry(hole_next(*place), previous);
    }
    t->holes--;
}

static uint32_t take_number(struct timebuckets *t) {
    if (t->first_hole != NO_HOLE) {
        uint32_t number = t->first_hole;
        hole_unlink(t, number);
        return number;
    }
    ASSERT(t->numbers_end < SEGMENTS_MAX);
    grow_pages(t);
    return t->numbers_end++;
}

static void cut_end(struct timebuckets *t) {
    for (int i = 0; i < CUT_MAX && t->numbers_end && is_hole(t, t->numbers_end - 1); i++)
        hole_unlink(t, --t->numbers_end);
    shrink_pages(t);
}

/* Moves the segment with the highest number into a hole. */
static void renumber_last(struct timebuckets *t) {
    uint32_t last = t->numbers_end - 1, hole = t->first_hole;
    struct segment *s = segment_at(t, last);
    hole_unlink(t, hole);
    *entry_of(t, hole) = (uintptr_t)s;
    if (s->previous != NO_SEGMENT)
        segment_at(t, s->previous)->next = hole;
    else
        t->buckets[s->bucket].first = hole;
    if (s->next != NO_SEGMENT) segment_at(t, s->next)->previous = hole;
    for (unsigned i = 0; i < s->count; i++)
        if (s->elements[i]) t->type->set_reference(s->elements[i], hole << PLACE_BITS | i);
    t->numbers_end--;
}

static bool is_sparse(const struct timebuckets *t) {
    return t->holes > t->numbers_end - t->holes + HOLES_ALLOWED;
}

static void make_dense(struct timebuckets *t) {
    for (int i = 0; i < 2 && is_sparse(t); i++) {
        if (is_hole(t, t->numbers_end - 1)) return;
        renumber_last(t);
        cut_end(t);
    }
}

/* Frees a number and keeps numbers dense (invariant 4): for each number freed beyond the bound two
 * segments move, so the number of holes falls back within the bound. */
static void give_number(struct timebuckets *t, uint32_t number) {
    hole_link(t, number);
    cut_end(t);
    if (__builtin_expect(resting, 0))
        t->unsettled = true;
    else
        make_dense(t);
}

static void segment_free(struct timebuckets *t, uint32_t number) {
    struct segment *s = segment_at(t, number);
    struct bucket *b = &t->buckets[s->bucket];
    if (s->previous != NO_SEGMENT)
        segment_at(t, s->previous)->next = s->next;
    else
        b->first = s->next;
    if (s->next != NO_SEGMENT) segment_at(t, s->next)->previous = s->previous;
    for (int i = 0; i < LISTINGS; i++)
        if (t->listings[i].next == number) t->listings[i].next = s->next;
    t->gaps -= s->gaps;
    give_memory(t, s, segment_size(s->capacity));
    give_number(t, number);
}

static struct segment *segment_add(struct timebuckets *t, int bucket) {
    struct bucket *b = &t->buckets[bucket];
    bool further = b->first != NO_SEGMENT;
    unsigned capacity = further ? SEGMENT_ELEMENTS_FURTHER : SEGMENT_ELEMENTS_MIN;
    uint32_t number = take_number(t);
    struct segment *s = take_memory(t, segment_size(capacity));
    *s = (struct segment){b->first, NO_SEGMENT, (uint16_t)bucket, 0, (uint16_t)capacity, 0};
    *entry_of(t, number) = (uintptr_t)s;
    if (further) segment_at(t, b->first)->previous = number;
    b->first = number;
    return s;
}

/* The bucket's first segment, with room for one more. */
static struct segment *segment_with_room(struct timebuckets *t, int bucket) {
    uint32_t number = t->buckets[bucket].first;
    if (number == NO_SEGMENT) return segment_add(t, bucket);
    struct segment *s = segment_at(t, number);
    if (s->count < s->capacity) return s;
    if (s->capacity == SEGMENT_ELEMENTS_MAX) return segment_add(t, bucket);
    unsigned wider = 2u * s->capacity + 2; /* 2, 6, 14, 30, 62 */
    s = resize_memory(t, s, segment_size(s->capacity), segment_size(wider), segment_size(s->count));
    s->capacity = (uint16_t)wider;
    *entry_of(t, number) = (uintptr_t)s;
    return s;
}

/* ---- buckets ---- */

static int timebuckets_bucket_for(const struct timebuckets *t, int64_t deadline) {
    return time_place_for(t->base, deadline);
}

static void bucket_put(struct timebuckets *t, int bucket, void *element) {
    struct segment *s = segment_with_room(t, bucket);
    s->elements[s->count] = element;
    t->type->set_reference(element, t->buckets[bucket].first << PLACE_BITS | s->count);
    s->count++;
    t->buckets[bucket].count++;
    if (bucket != EARLY) t->used[bucket / SLOTS] |= 1ull << (bucket % SLOTS);
}

static void *bucket_newest(const struct timebuckets *t, int bucket) {
    struct segment *s = segment_at(t, t->buckets[bucket].first);
    return s->elements[s->count - 1];
}

/* Cuts gaps from the end of the bucket's first segment, so that it ends with an element again, or
 * frees it. At most the next segment has to be trimmed after it, because a segment of gaps alone is
 * freed at once. */
static void trim_first_segment(struct timebuckets *t, int bucket) {
    for (;;) {
        uint32_t number = t->buckets[bucket].first;
        if (number == NO_SEGMENT) return;
        struct segment *s = segment_at(t, number);
        for (; s->count && !s->elements[s->count - 1]; s->count--) {
            s->gaps--;
            t->gaps--;
        }
        if (s->count) return;
        segment_free(t, number);
    }
}

static void leave_gap(struct timebuckets *t, uint32_t reference) {
    struct segment *s = segment_at(t, number_of(reference));
    s->elements[reference_place(reference)] = NULL;
    s->gaps++;
    t->gaps++;
    t->unsettled = true;
    if (s->previous == NO_SEGMENT)
        trim_first_segment(t, s->bucket);
    else if (s->gaps == s->count)
        segment_free(t, number_of(reference));
}

/* Moves the bucket's newest element to `reference`. */
static void fill_place(struct timebuckets *t, uint32_t reference) {
    struct segment *s = segment_at(t, number_of(reference));
    unsigned place = reference_place(reference);
    int bucket = s->bucket;
    struct segment *first = segment_at(t, t->buckets[bucket].first);
    void *newest = first->elements[--first->count];
    if (first != s || place != first->count) {
        s->elements[place] = newest;
        t->type->set_reference(newest, reference);
    }
    if (!first->count || first->gaps) trim_first_segment(t, bucket);
}

/* Takes out the element at `reference`. The bucket's newest element takes its place; while the
 * index rests the place becomes a gap. */
static void timebuckets_take_out(struct timebuckets *t, uint32_t reference) {
    int bucket = segment_at(t, number_of(reference))->bucket;
    struct bucket *b = &t->buckets[bucket];
    if (--b->count == 0 && bucket != EARLY) t->used[bucket / SLOTS] &= ~(1ull << (bucket % SLOTS));
    /* Here, because a caller may remove the last element, too; base may move only after the bucket
     * is drained. */
    if (!b->count && bucket == t->draining) t->draining = NO_BUCKET;
    if (__builtin_expect(resting, 0))
        leave_gap(t, reference);
    else
        fill_place(t, reference);
}

/* ---- resting ---- */

static void retire_soon(struct timebuckets *t) {
    if (!t->soon) return;
    /* Two retired structures within moments: only a clock that keeps going back causes that. */
    if (t->retired) (void)time_numbers_free_step(t->retired, SIZE_MAX);
    t->retired = t->soon;
    t->soon = NULL;
    t->unsettled = true;
}

static void forget_listings(struct timebuckets *t) {
    for (int i = 0; i < LISTINGS; i++) t->listings[i] = (struct listing){NO_BUCKET, NO_SEGMENT};
    retire_soon(t);
}

/* Drops the listings of an earlier rest. To be called before `soon` is used. */
static void join_rest(struct timebuckets *t) {
    if (t->rest == rests) return;
    t->rest = rests;
    forget_listings(t);
}

static bool deadline_of_reference(const void *index, uint32_t reference, int64_t *deadline) {
    const struct timebuckets *t = index;
    uint32_t number = number_of(reference), place = reference_place(reference);
    if (number >= t->numbers_end || is_hole(t, number)) return false;
    const struct segment *s = segment_at(t, number);
    if (place >= s->count || !s->elements[place]) return false;
    *deadline = t->type->deadline_msec(s->elements[place]);
    return true;
}

/* Lists a bucket, from where an earlier call stopped, as far as the budget goes. */
static void list_bucket(struct timebuckets *t, struct listing *l, int bucket, int *budget) {
    if (l->bucket != bucket) {
        l->bucket = bucket;
        l->next = bucket == NO_BUCKET ? NO_SEGMENT : t->buckets[bucket].first;
    }
    while (l->next != NO_SEGMENT && *budget > 0) {
        uint32_t number = l->next;
        const struct segment *s = segment_at(t, number);
        for (unsigned i = 0; i < s->count; i++) __builtin_prefetch(s->elements[i]);
        for (unsigned i = 0; i < s->count; i++)
            if (s->elements[i])
                time_numbers_add(t->soon, t->type->deadline_msec(s->elements[i]),
                                 number << PLACE_BITS | i);
        *budget -= s->count;
        l->next = s->next;
    }
}

/* Adds an element that was inserted into a listed bucket. */
static void note_listed(struct timebuckets *t, int bucket, void *element) {
    join_rest(t);
    for (int i = 0; i < LISTINGS; i++)
        if (t->listings[i].bucket == bucket)
            time_numbers_add(t->soon, t->type->deadline_msec(element), t->type->reference(element));
}

/* Whether all of the bucket's elements are listed in `soon`. */
static bool is_listed(const struct timebuckets *t, int bucket) {
    if (!resting || t->rest != rests) return false;
    for (int i = 0; i < LISTINGS; i++)
        if (t->listings[i].bucket == bucket) return t->listings[i].next == NO_SEGMENT;
    return false;
}

/* ---- the public part ---- */

struct timebuckets *timebuckets_create(const struct timebuckets_type *type) {
    struct timebuckets *t = memory_zalloc(sizeof(*t), type->class);
    t->type = type;
    t->bytes = memory_good_size(sizeof(*t));
    t->draining = NO_BUCKET;
    t->first_hole = NO_HOLE;
    t->rest = rests;
    forget_listings(t);
    for (int i = 0; i < BUCKETS; i++) t->buckets[i].first = NO_SEGMENT;
    return t;
}

bool timebuckets_free_step(struct timebuckets *t, size_t elements_max) {
    size_t segments = elements_max / SEGMENT_ELEMENTS_MAX + 1;
    while (t->numbers_end && segments--) {
        uintptr_t entry = *entry_of(t, --t->numbers_end);
        if (entry & 1) continue;
        struct segment *s = (struct segment *)entry;
        give_memory(t, s, segment_size(s->capacity));
        shrink_pages(t);
    }
    if (t->numbers_end) return false;
    if (t->soon && !time_numbers_free_step(t->soon, elements_max)) return false;
    t->soon = NULL;
    if (t->retired && !time_numbers_free_step(t->retired, elements_max)) return false;
    t->retired = NULL;
    for (uint32_t i = 1; i < t->pages_count; i++)
        give_memory(t, t->pages[i], PAGE_ENTRIES * sizeof(uintptr_t));
    if (t->pages) {
        give_memory(t, t->pages[0], t->first_page_capacity * sizeof(uintptr_t));
        give_memory(t, t->pages, t->pages_capacity * sizeof(*t->pages));
    }
    memory_free_sized(t, sizeof(*t), t->type->class);
    return true;
}

void timebuckets_free(struct timebuckets *t) {
    if (t) (void)timebuckets_free_step(t, SIZE_MAX / 2);
}

size_t timebuckets_count(const struct timebuckets *t) { return t->count; }
size_t timebuckets_bytes(const struct timebuckets *t) { return t->bytes; }

void timebuckets_insert(struct timebuckets *t, void *element) {
    int bucket = timebuckets_bucket_for(t, t->type->deadline_msec(element));
    bucket_put(t, bucket, element);
    t->count++;
    if (__builtin_expect(resting, 0)) note_listed(t, bucket, element);
}

void timebuckets_remove(struct timebuckets *t, void *element) {
    timebuckets_take_out(t, t->type->reference(element));
    t->count--;
}

/* ---- moving blocks ---- */

void timebuckets_replace(struct timebuckets *t, void *element) {
    uint32_t reference = t->type->reference(element);
    struct segment *s = segment_at(t, number_of(reference));
    ASSERT_SLOW(reference_place(reference) < s->count);
    s->elements[reference_place(reference)] = element;
}

/* The cursor is the number of the next segment: nothing but its number leads to a segment. */
uint64_t timebuckets_relocate_some(struct timebuckets *t, uint64_t cursor, struct relocation *r) {
    while (cursor < t->numbers_end && r->budget > 0) {
        void *asked[RELOCATION_ASK_MAX];
        uintptr_t *entries[RELOCATION_ASK_MAX];
        unsigned count = 0;
        for (; cursor < t->numbers_end && count < RELOCATION_ASK_MAX; cursor++) {
            entries[count] = entry_of(t, (uint32_t)cursor);
            asked[count] = (void *)*entries[count];
            count += !is_hole(t, (uint32_t)cursor);
        }
        for (uint64_t left = relocation_ask(r, asked, count); left != 0; left &= left - 1) {
            unsigned i = (unsigned)__builtin_ctzll(left);
            *entries[i] = (uintptr_t)relocation_move(r, asked[i], t->type->class);
        }
    }
    return cursor < t->numbers_end ? cursor : 0;
}

/* ---- time ---- */

/* Prefetches the elements that will become the bucket's newest one after the other. */
static void prefetch_newest(const struct timebuckets *t, int bucket, int count) {
    uint32_t number = t->buckets[bucket].first;
    while (count > 0 && number != NO_SEGMENT) {
        const struct segment *s = segment_at(t, number);
        for (unsigned i = s->count; i > 0 && count > 0; i--, count--)
            __builtin_prefetch(s->elements[i - 1], 1);
        number = s->next;
    }
}

/* Moves elements of the bucket being drained to lower levels; returns the rest of the budget. */
static int timebuckets_drain(struct timebuckets *t, int budget) {
    int bucket = t->draining;
    if (t->buckets[bucket].count) prefetch_newest(t, bucket, budget);
    while (budget && t->buckets[bucket].count) {
        void *element = bucket_newest(t, bucket);
        timebuckets_take_out(t, t->type->reference(element));
        bucket_put(t, timebuckets_bucket_for(t, t->type->deadline_msec(element)), element);
        budget--;
    }
    return budget;
}

/* A due element of the early bucket, of which a bounded number are examined. With the clock at or
 * past base all are due. */
static void *early_due(struct timebuckets *t, int64_t now) {
    struct bucket *b = &t->buckets[EARLY];
    if (!b->count) return NULL;
    if (now >= t->base) return bucket_newest(t, EARLY);
    /* The clock has gone back: examine some elements, going round the bucket's segments. */
    uint32_t number = t->early_hand;
    for (size_t examined = 0; examined < EARLY_EXAMINED_MAX && examined < b->count;) {
        if (number >= t->numbers_end || is_hole(t, number) ||
            segment_at(t, number)->bucket != EARLY)
            number = b->first;
        const struct segment *s = segment_at(t, number);
        t->early_hand = number;
        for (unsigned i = 0; i < s->count; i++)
            if (s->elements[i] && t->type->deadline_msec(s->elements[i]) <= now)
                return s->elements[i];
        examined += s->count;
        number = t->early_hand = s->next;
    }
    return NULL;
}

/* The first slot of `level` that is not empty, from `from` on; SLOTS where there is none. */
static unsigned first_used(const struct timebuckets *t, unsigned level, unsigned from) {
    return time_first_used(t->used[level], from);
}

static unsigned base_slot(const struct timebuckets *t, unsigned level) {
    return time_slot_at(t->base, level);
}

static int64_t slot_start(const struct timebuckets *t, unsigned level, unsigned slot) {
    return time_slot_start(t->base, level, slot);
}

static int64_t bucket_end(const struct timebuckets *t, int bucket) {
    return time_slot_end(t->base, (unsigned)bucket / SLOTS, (unsigned)bucket % SLOTS);
}

/* The earliest slot above level 0 that holds something; false where there is none. The slot that
 * base stands in is empty at every level (invariant 3) unless it is being drained. */
static bool timebuckets_next_slot(const struct timebuckets *t, unsigned *level, unsigned *slot) {
    for (*level = 1; *level < LEVELS; ++*level) {
        *slot = first_used(t, *level, base_slot(t, *level) + 1);
        if (*slot < SLOTS) return true;
    }
    return false;
}

/* The earliest bucket, except for `early`, all of whose elements are due; NO_BUCKET: none. */
static int bucket_due(const struct timebuckets *t, int64_t now) {
    unsigned slot = first_used(t, 0, base_slot(t, 0));
    if (slot < SLOTS && slot_start(t, 0, slot) <= now) return (int)slot;
    if (t->draining != NO_BUCKET && bucket_end(t, t->draining) <= now) return t->draining;
    unsigned levels = time_level_of((uint64_t)now ^ (uint64_t)t->base);
    for (unsigned level = 1; level <= levels; level++) {
        slot = first_used(t, level, base_slot(t, level) + 1);
        int bucket = (int)(level * SLOTS + slot);
        if (slot < SLOTS && bucket_end(t, bucket) <= now) return bucket;
    }
    return NO_BUCKET;
}

/* The bucket above level 0 into whose span `now`, which is past base, falls; NO_BUCKET where that
 * bucket is empty. Buckets of lower levels lie before it in time, those of higher levels behind it.
 */
static int bucket_begun(const struct timebuckets *t, int64_t now) {
    unsigned level = time_level_of((uint64_t)now ^ (uint64_t)t->base);
    int bucket = (int)(level * SLOTS + time_slot_at(now, level));
    return level && t->buckets[bucket].count ? bucket : NO_BUCKET;
}

/* `peek_due` while the index rests: moves no element. */
static void *peek_resting(struct timebuckets *t, int64_t now, bool *more, int *bucket) {
    int budget = TIMEBUCKETS_CASCADE_MAX;
    uint32_t reference;
    if (t->retired && time_numbers_free_step(t->retired, RETIRED_BLOCKS_MAX)) t->retired = NULL;
    if (now < t->base) return NULL;
    *bucket = bucket_due(t, now);
    if (*bucket != NO_BUCKET) return bucket_newest(t, *bucket);
    if (t->soon && now < time_numbers_base(t->soon)) forget_listings(t); /* the clock went back */
    int begun = bucket_begun(t, now);
    if (!t->soon && begun == NO_BUCKET && t->draining == NO_BUCKET) return NULL;
    if (!t->soon) t->soon = time_numbers_create(now, t->type->class, &t->bytes);
    list_bucket(t, &t->listings[0], t->draining, &budget);
    list_bucket(t, &t->listings[1], begun, &budget);
    if (time_numbers_peek(t->soon, now, deadline_of_reference, t, &budget, &reference))
        return segment_at(t, number_of(reference))->elements[reference_place(reference)];
    *more = budget <= 0;
    return NULL;
}

/* timebuckets_peek_due; `*bucket` becomes the element's bucket if all of its elements are due, else
 * NO_BUCKET. Does not touch the element. */
static void *peek_due(struct timebuckets *t, int64_t now_msec, bool *more, int *bucket) {
    int budget = TIMEBUCKETS_CASCADE_MAX;
    *more = false;
    *bucket = NO_BUCKET;
    /* An empty index starts anew, so that a clock that was far ahead once does no lasting harm. */
    if (!t->count) t->base = now_msec > 0 ? now_msec : 0;
    if (__builtin_expect(resting, 0))
        join_rest(t);
    else if (__builtin_expect(t->unsettled, 0))
        timebuckets_settle(t, 1);
    void *early = early_due(t, now_msec);
    if (early) {
        /* If the clock went back, only some of them may be due. */
        if (now_msec >= t->base) *bucket = EARLY;
        return early;
    }
    if (__builtin_expect(resting, 0))
        return t->count ? peek_resting(t, now_msec, more, bucket) : NULL;
    while (t->count) {
        if (t->draining != NO_BUCKET) budget = timebuckets_drain(t, budget);
        unsigned slot = first_used(t, 0, base_slot(t, 0));
        if (slot < SLOTS && slot_start(t, 0, slot) <= now_msec) {
            *bucket = (int)slot;
            return bucket_newest(t, (int)slot);
        }
        if (t->draining != NO_BUCKET) {
            *more = true;
            return NULL;
        }
        unsigned level;
        bool found = slot == SLOTS && timebuckets_next_slot(t, &level, &slot);
        if (!found || slot_start(t, level, slot) > now_msec) break;
        t->base = slot_start(t, level, slot);
        t->draining = (int)(level * SLOTS + slot);
    }
    if (now_msec > t->base) t->base = now_msec; /* nothing lies between */
    return NULL;
}

void *timebuckets_peek_due(struct timebuckets *t, int64_t now_msec, bool *more) {
    int bucket;
    return peek_due(t, now_msec, more, &bucket);
}

/* Newest first, because removing the newest element moves no other. */
size_t timebuckets_peek_due_group(struct timebuckets *t, int64_t now_msec, void **group, size_t max,
                                  bool *more) {
    int bucket;
    void *first = peek_due(t, now_msec, more, &bucket);
    if (!first || !max) return 0;
    group[0] = first;
    if (bucket == NO_BUCKET) return 1;
    size_t found = 0;
    uint32_t number = t->buckets[bucket].first;
    while (number != NO_SEGMENT) {
        const struct segment *s = segment_at(t, number);
        for (unsigned i = s->count; i > 0 && found < max; i--)
            if (s->elements[i - 1]) group[found++] = s->elements[i - 1];
        if (found == max) break;
        number = s->next;
    }
    return found;
}

/* The next deadline while the index rests: `soon` has those of the listed elements. */
static int64_t next_resting(const struct timebuckets *t) {
    bool joined = t->rest == rests;
    int64_t next = joined && t->soon ? time_numbers_next(t->soon) : INT64_MAX;
    if (t->draining != NO_BUCKET && !is_listed(t, t->draining))
        return next < t->base ? next : t->base;
    for (unsigned level = 0; level < LEVELS; level++) {
        unsigned slot = first_used(t, level, base_slot(t, level) + (level > 0));
        int bucket = (int)(level * SLOTS + slot);
        if (slot < SLOTS && is_listed(t, bucket)) slot = first_used(t, level, slot + 1);
        if (slot == SLOTS) continue;
        int64_t start = slot_start(t, level, slot);
        return start < next ? start : next;
    }
    return next;
}

int64_t timebuckets_next_deadline(const struct timebuckets *t) {
    unsigned level, slot;
    if (!t->count) return INT64_MAX;
    if (t->buckets[EARLY].count) return INT64_MIN;
    if (__builtin_expect(resting, 0)) return next_resting(t);
    if (t->draining != NO_BUCKET) return t->base;
    slot = first_used(t, 0, base_slot(t, 0));
    if (slot < SLOTS) return slot_start(t, 0, slot);
    return timebuckets_next_slot(t, &level, &slot) ? slot_start(t, level, slot) : INT64_MAX;
}

size_t timebuckets_due(const struct timebuckets *t, int64_t now_msec) {
    size_t due = now_msec >= t->base ? t->buckets[EARLY].count : 0;
    if (resting && t->rest == rests && t->soon) due += time_numbers_due(t->soon, now_msec);
    for (unsigned level = 0; level < LEVELS; level++) {
        for (uint64_t bits = t->used[level]; bits; bits &= bits - 1) {
            unsigned slot = (unsigned)__builtin_ctzll(bits);
            int bucket = (int)(level * SLOTS + slot);
            if (slot_start(t, level, slot) > now_msec) break;
            if (is_listed(t, bucket)) continue; /* counted above */
            due += time_slot_due(t->base, level, slot, t->buckets[bucket].count, now_msec);
        }
    }
    return due < t->count ? due : t->count;
}

/* ---- after a rest ---- */

void timebuckets_set_resting(bool on) {
    if (on && !resting) rests++;
    resting = on;
}

/* Fills gaps of a segment until none is left, or until that has freed a segment of the bucket, so
 * that a step's work is bounded. */
static void settle_segment(struct timebuckets *t, uint32_t number) {
    struct segment *s = segment_at(t, number);
    uint32_t first = t->buckets[s->bucket].first;
    for (unsigned place = 0; place < s->count; place++) {
        if (s->elements[place]) continue;
        int bucket = s->bucket;
        s->gaps--;
        t->gaps--;
        fill_place(t, number << PLACE_BITS | place);
        if (t->buckets[bucket].first != first) return;
    }
}

static void settle_step(struct timebuckets *t) {
    retire_soon(t);
    if (t->retired && time_numbers_free_step(t->retired, RETIRED_BLOCKS_MAX)) t->retired = NULL;
    for (int i = 0; i < SETTLE_LOOKS_MAX && t->gaps; i++) {
        if (t->settle_hand >= t->numbers_end) t->settle_hand = 0;
        uint32_t number = t->settle_hand++;
        if (is_hole(t, number) || !segment_at(t, number)->gaps) continue;
        settle_segment(t, number);
        t->settle_hand = number; /* it may have further gaps */
        break;
    }
    cut_end(t);
    make_dense(t);
    t->unsettled = t->retired || t->gaps || is_sparse(t);
}

bool timebuckets_settle(struct timebuckets *t, size_t steps) {
    for (; t->unsettled && !resting && steps; steps--) settle_step(t);
    return t->unsettled && !resting;
}

/* ---- sampling and walking ---- */

/* The element of that rank, bucket by bucket. */
static void *timebuckets_at_rank(const struct timebuckets *t, uint64_t rank) {
    const struct bucket *b = t->buckets;
    while (rank >= b->count) rank -= b++->count;
    const struct segment *s = segment_at(t, b->first);
    for (; rank >= (uint64_t)s->count - s->gaps; s = segment_at(t, s->next))
        rank -= (uint64_t)s->count - s->gaps;
    if (!s->gaps) return s->elements[rank];
    for (unsigned place = 0;; place++)
        if (s->elements[place] && rank-- == 0) return s->elements[place];
}

/* Enough draws, by the index's density, that a pick hardly ever fails. */
static int draws_max(const struct timebuckets *t) {
    if (!t->gaps && !t->unsettled) return RANDOM_DRAWS_MAX;
    size_t most = RANDOM_DRAWS_MAX / 4 * (t->numbers_end * (size_t)SEGMENT_ELEMENTS_MAX / t->count);
    if (most > RANDOM_DRAWS_GAPS_MAX) return RANDOM_DRAWS_GAPS_MAX;
    return most > RANDOM_DRAWS_MAX ? (int)most : RANDOM_DRAWS_MAX;
}

void *timebuckets_random(const struct timebuckets *t) {
    if (!t->count) return NULL;
    for (int draw = draws_max(t); draw > 0; draw--) {
        uint32_t number = (uint32_t)random_below(t->numbers_end);
        unsigned place = (unsigned)random_below(SEGMENT_ELEMENTS_MAX);
        if (is_hole(t, number)) continue;
        struct segment *s = segment_at(t, number);
        if (place < s->count && s->elements[place]) return s->elements[place];
    }
    return timebuckets_at_rank(t, random_below(t->count));
}

uint64_t timebuckets_walk(const struct timebuckets *t, uint64_t cursor,
                          void (*visit)(void *element, void *context), void *context) {
    uint64_t end = t->numbers_end;
    /* One segment a call, after a bounded number of free numbers. */
    for (int passed = 0; cursor < end && passed < CUT_MAX; passed++, cursor++) {
        if (is_hole(t, (uint32_t)cursor)) continue;
        struct segment *s = segment_at(t, (uint32_t)cursor);
        for (unsigned i = 0; i < s->count; i++)
            if (s->elements[i]) visit(s->elements[i], context);
        cursor++;
        break;
    }
    return cursor < end ? cursor : 0;
}

/* ---- invariants ---- */

static void check_segment(const struct timebuckets *t, int bucket, uint32_t number) {
    const struct segment *s = segment_at(t, number);
    unsigned gaps = 0;
    for (unsigned i = 0; i < s->count; i++) {
        if (!s->elements[i]) {
            gaps++;
            continue;
        }
        ASSERT(t->type->reference(s->elements[i]) == (number << PLACE_BITS | i));
        if (bucket != t->draining)
            ASSERT(timebuckets_bucket_for(t, t->type->deadline_msec(s->elements[i])) == bucket);
    }
    ASSERT(gaps == s->gaps && gaps < s->count);
    ASSERT(s->previous != NO_SEGMENT || s->elements[s->count - 1]);
}

static size_t timebuckets_check_bucket(const struct timebuckets *t, int bucket, uint32_t *segments,
                                       size_t *gaps) {
    size_t elements = 0;
    uint32_t previous = NO_SEGMENT;
    for (uint32_t n = t->buckets[bucket].first; n != NO_SEGMENT; n = segment_at(t, n)->next) {
        ASSERT(n < t->numbers_end && !is_hole(t, n));
        const struct segment *s = segment_at(t, n);
        ASSERT(s->bucket == bucket && s->previous == previous && s->count > 0);
        ASSERT(previous == NO_SEGMENT || s->count == s->capacity);
        check_segment(t, bucket, n);
        elements += (size_t)s->count - s->gaps;
        *gaps += s->gaps;
        previous = n;
        ++*segments;
    }
    ASSERT(elements == t->buckets[bucket].count);
    return elements;
}

void timebuckets_check(const struct timebuckets *t) {
    size_t elements = 0, gaps = 0;
    uint32_t segments = 0, holes = 0;
    for (int i = 0; i < BUCKETS; i++) {
        elements += timebuckets_check_bucket(t, i, &segments, &gaps);
        bool used = i != EARLY && t->used[i / SLOTS] >> (i % SLOTS) & 1;
        ASSERT(i == EARLY || used == (t->buckets[i].count > 0));
    }
    ASSERT(elements == t->count && gaps == t->gaps);
    for (uint32_t n = t->first_hole; n != NO_HOLE; n = hole_next(*entry_of(t, n))) holes++;
    ASSERT(holes == t->holes && holes + segments == t->numbers_end);
    ASSERT(t->unsettled || (!gaps && !t->retired && !is_sparse(t)));
    if (t->soon) time_numbers_check(t->soon);
}
