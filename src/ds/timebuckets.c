/* SPDX-License-Identifier: BSD-3-Clause
 * The index by deadline: a hierarchical wheel of time buckets (Varghese and Lauck, 1987).
 *
 * Time is counted in milliseconds. Relative to `base`, a time not later than the latest clock seen,
 * an element's bucket is given by the highest group of six bits in which its deadline and base
 * differ: that group is the level, the deadline's bits there are the slot. Level 0 holds single
 * milliseconds, level 1 spans of 64 ms, level 2 of 4 s, and so on: eleven levels hold every int64.
 * Deadlines before base stand in the bucket `early`.
 *
 *   base  ...|level 2|level 1|level 0|       deadline's first difference from base decides
 *
 * When time reaches a slot of a higher level, base moves to its start and the slot is drained: its
 * elements move to lower levels, at most TIMEBUCKETS_CASCADE_MAX of them a call. Each element moves
 * at most once a level.
 *
 * A bucket is a list of segments of up to 62 element pointers, all full but the first. An element's
 * reference is its segment's number and its place there; the segment names its bucket. So an
 * element is found without knowing its deadline, whatever base was when it came, and a removed
 * one's place is taken by the bucket's newest. Segment numbers are kept dense, so that a random
 * number is a fair draw; 2^26 segments hold 4.1 billion elements.
 *
 * Invariants
 *  1. elements[reference % 64] of segment reference / 64 is the element, for each element.
 *  2. Of a bucket's segments only the first may have room; none is empty.
 *  3. Elements of level l > 0, slot s, have a deadline that differs from base first at level l and
 *     with s > base's own bits there, except those of the bucket that is being drained.
 *  4. Fewer numbers are free than in use, give or take HOLES_ALLOWED.
 *
 * Ownership: elements are the caller's; the index holds their addresses.
 */
#include "ds/timebuckets.h"

#include "base/panic.h"
#include "base/random.h"

#define LEVEL_BITS 6
#define SLOTS 64
#define LEVELS 11
#define BUCKETS (LEVELS * SLOTS + 1)
#define EARLY (LEVELS * SLOTS)
#define NO_BUCKET (-1)

#define NO_SEGMENT UINT32_MAX
#define PLACE_BITS 6
#define SEGMENTS_MAX (1u << (32 - PLACE_BITS))
/* With the header of 16 bytes and the allocator's classes: 32, 64, 128, 256 and 512 bytes. */
#define SEGMENT_ELEMENTS_MIN 2
#define SEGMENT_ELEMENTS_MAX 62
/* A bucket's further segments begin so small: where a hundred elements stand in each bucket, half a
 * segment left empty would cost two bytes an element. */
#define SEGMENT_ELEMENTS_FURTHER 14

/* Segment pointers stand in pages of 64 KiB. */
#define PAGE_BITS 13
#define PAGE_ENTRIES (1u << PAGE_BITS)
#define PAGE_ENTRIES_MIN 8

#define HOLES_ALLOWED 64
/* Free numbers passed over or cut off in one call at most. */
#define CUT_MAX 256
/* Draws before a random pick counts through the buckets instead. Only a small index is so thin:
 * each bucket has one segment that is not full, so at a density below a quarter (half the numbers
 * in use, segments half full) there are few segments to count, and above it one in 10^8 picks gets
 * there. */
#define RANDOM_DRAWS_MAX 64
/* Elements that a call examines in the early bucket while the clock is behind base. */
#define EARLY_EXAMINED_MAX 64

struct segment {
    uint32_t next, previous; /* within the bucket; previous of the first is NO_SEGMENT */
    uint16_t bucket, count, capacity, unused;
    void *elements[];
};
_Static_assert(sizeof(struct segment) == 16, "a segment's header is 16 bytes");

struct bucket {
    uint32_t first;
    size_t count;
};

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
};

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

/* Pages that no number needs; one is kept, so that a border that is crossed often costs nothing. */
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
        t->type->set_reference(s->elements[i], hole << PLACE_BITS | i);
    t->numbers_end--;
}

/* Keeps numbers dense (invariant 4): two segments move for each one freed beyond the bound, so the
 * bound is regained sooner than it is lost. */
static void give_number(struct timebuckets *t, uint32_t number) {
    hole_link(t, number);
    cut_end(t);
    for (int i = 0; i < 2 && t->holes > t->numbers_end - t->holes + HOLES_ALLOWED; i++) {
        if (is_hole(t, t->numbers_end - 1)) return;
        renumber_last(t);
        cut_end(t);
    }
}

static void segment_free(struct timebuckets *t, uint32_t number) {
    struct segment *s = segment_at(t, number);
    struct bucket *b = &t->buckets[s->bucket];
    if (s->previous != NO_SEGMENT)
        segment_at(t, s->previous)->next = s->next;
    else
        b->first = s->next;
    if (s->next != NO_SEGMENT) segment_at(t, s->next)->previous = s->previous;
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

static unsigned level_of(uint64_t difference) {
    return difference ? (63 - (unsigned)__builtin_clzll(difference)) / LEVEL_BITS : 0;
}

static int bucket_for(const struct timebuckets *t, int64_t deadline) {
    if (deadline < t->base) return EARLY;
    unsigned level = level_of((uint64_t)deadline ^ (uint64_t)t->base);
    unsigned slot = (unsigned)((uint64_t)deadline >> (level * LEVEL_BITS)) & (SLOTS - 1);
    return (int)(level * SLOTS + slot);
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

/* Takes out what stands at `reference`; the bucket's newest takes its place. */
static void take_out(struct timebuckets *t, uint32_t reference) {
    struct segment *s = segment_at(t, reference >> PLACE_BITS);
    unsigned place = reference & ((1u << PLACE_BITS) - 1);
    int bucket = s->bucket;
    struct bucket *b = &t->buckets[bucket];
    uint32_t first_number = b->first;
    struct segment *first = segment_at(t, first_number);
    void *newest = first->elements[--first->count];
    if (first != s || place != first->count) {
        s->elements[place] = newest;
        t->type->set_reference(newest, reference);
    }
    if (--b->count == 0 && bucket != EARLY) t->used[bucket / SLOTS] &= ~(1ull << (bucket % SLOTS));
    /* Here, for the last one may also be removed from outside; base may move only then. */
    if (!b->count && bucket == t->draining) t->draining = NO_BUCKET;
    if (!first->count) segment_free(t, first_number);
}

/* ---- the public part ---- */

struct timebuckets *timebuckets_create(const struct timebuckets_type *type) {
    struct timebuckets *t = memory_zalloc(sizeof(*t), type->class);
    t->type = type;
    t->bytes = memory_good_size(sizeof(*t));
    t->draining = NO_BUCKET;
    t->first_hole = NO_HOLE;
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
    bucket_put(t, bucket_for(t, t->type->deadline_msec(element)), element);
    t->count++;
}

void timebuckets_remove(struct timebuckets *t, void *element) {
    take_out(t, t->type->reference(element));
    t->count--;
}

void timebuckets_moved(struct timebuckets *t, void *element) {
    uint32_t reference = t->type->reference(element);
    segment_at(t, reference >> PLACE_BITS)->elements[reference & ((1u << PLACE_BITS) - 1)] =
        element;
}

/* ---- time ---- */

/* Asks the processor for those elements that will be a bucket's newest one after the other. */
static void prefetch_newest(const struct timebuckets *t, int bucket, int count) {
    uint32_t number = t->buckets[bucket].first;
    while (count > 0 && number != NO_SEGMENT) {
        const struct segment *s = segment_at(t, number);
        for (unsigned i = s->count; i > 0 && count > 0; i--, count--)
            __builtin_prefetch(s->elements[i - 1], 1);
        number = s->next;
    }
}

/* Moves elements of the bucket being drained to lower levels; returns how many of the budget are
 * left. */
static int drain(struct timebuckets *t, int budget) {
    int bucket = t->draining;
    if (t->buckets[bucket].count) prefetch_newest(t, bucket, budget);
    while (budget && t->buckets[bucket].count) {
        void *element = bucket_newest(t, bucket);
        take_out(t, t->type->reference(element));
        bucket_put(t, bucket_for(t, t->type->deadline_msec(element)), element);
        budget--;
    }
    return budget;
}

/* An element of the early bucket that is due, looking at a bounded number of them. With the clock
 * at or past base all are due. */
static void *early_due(struct timebuckets *t, int64_t now) {
    struct bucket *b = &t->buckets[EARLY];
    if (!b->count) return NULL;
    if (now >= t->base) return bucket_newest(t, EARLY);
    /* The clock has gone back: examine some, going round the bucket's segments. */
    uint32_t number = t->early_hand;
    for (size_t examined = 0; examined < EARLY_EXAMINED_MAX && examined < b->count;) {
        if (number >= t->numbers_end || is_hole(t, number) ||
            segment_at(t, number)->bucket != EARLY)
            number = b->first;
        const struct segment *s = segment_at(t, number);
        t->early_hand = number;
        for (unsigned i = 0; i < s->count; i++)
            if (t->type->deadline_msec(s->elements[i]) <= now) return s->elements[i];
        examined += s->count;
        number = t->early_hand = s->next;
    }
    return NULL;
}

/* The first slot of `level` that is not empty, from `from` on; SLOTS where there is none. */
static unsigned first_used(const struct timebuckets *t, unsigned level, unsigned from) {
    if (from >= SLOTS) return SLOTS;
    uint64_t bits = t->used[level] >> from << from;
    return bits ? (unsigned)__builtin_ctzll(bits) : SLOTS;
}

static unsigned base_slot(const struct timebuckets *t, unsigned level) {
    return (unsigned)((uint64_t)t->base >> (level * LEVEL_BITS)) & (SLOTS - 1);
}

/* The earliest time of a slot. */
static int64_t slot_start(const struct timebuckets *t, unsigned level, unsigned slot) {
    unsigned shift = level * LEVEL_BITS, above = shift + LEVEL_BITS;
    uint64_t high = above < 64 ? (uint64_t)t->base >> above << above : 0;
    return (int64_t)(high | (uint64_t)slot << shift);
}

/* The earliest slot above level 0 that holds something; false where there is none. The slot that
 * base stands in is empty at every level (invariant 3) unless it is being drained. */
static bool next_slot(const struct timebuckets *t, unsigned *level, unsigned *slot) {
    for (*level = 1; *level < LEVELS; ++*level) {
        *slot = first_used(t, *level, base_slot(t, *level) + 1);
        if (*slot < SLOTS) return true;
    }
    return false;
}

/* As timebuckets_peek_due; `*bucket` is the element's, all of whose elements are due, or NO_BUCKET
 * where that is not said. The element itself is not touched. */
static void *peek(struct timebuckets *t, int64_t now_msec, bool *more, int *bucket) {
    int budget = TIMEBUCKETS_CASCADE_MAX;
    *more = false;
    *bucket = NO_BUCKET;
    /* An empty index starts anew, so that a clock that was far ahead once does no lasting harm. */
    if (!t->count) t->base = now_msec > 0 ? now_msec : 0;
    void *early = early_due(t, now_msec);
    if (early) {
        /* A clock that went back makes some due and others not. */
        if (now_msec >= t->base) *bucket = EARLY;
        return early;
    }
    while (t->count) {
        if (t->draining != NO_BUCKET) budget = drain(t, budget);
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
        bool found = slot == SLOTS && next_slot(t, &level, &slot);
        if (!found || slot_start(t, level, slot) > now_msec) break;
        t->base = slot_start(t, level, slot);
        t->draining = (int)(level * SLOTS + slot);
    }
    if (now_msec > t->base) t->base = now_msec; /* nothing lies between */
    return NULL;
}

void *timebuckets_peek_due(struct timebuckets *t, int64_t now_msec, bool *more) {
    int bucket;
    return peek(t, now_msec, more, &bucket);
}

/* Newest first, for removing the newest moves no other. */
size_t timebuckets_peek_due_group(struct timebuckets *t, int64_t now_msec, void **group, size_t max,
                                  bool *more) {
    int bucket;
    void *first = peek(t, now_msec, more, &bucket);
    if (!first || !max) return 0;
    group[0] = first;
    if (bucket == NO_BUCKET) return 1;
    size_t found = 0;
    uint32_t number = t->buckets[bucket].first;
    while (number != NO_SEGMENT) {
        const struct segment *s = segment_at(t, number);
        for (unsigned i = s->count; i > 0 && found < max; i--) group[found++] = s->elements[i - 1];
        if (found == max) break;
        number = s->next;
    }
    return found;
}

int64_t timebuckets_next_deadline(const struct timebuckets *t) {
    unsigned level, slot;
    if (!t->count) return INT64_MAX;
    if (t->buckets[EARLY].count) return INT64_MIN;
    if (t->draining != NO_BUCKET) return t->base;
    slot = first_used(t, 0, base_slot(t, 0));
    if (slot < SLOTS) return slot_start(t, 0, slot);
    return next_slot(t, &level, &slot) ? slot_start(t, level, slot) : INT64_MAX;
}

size_t timebuckets_due(const struct timebuckets *t, int64_t now_msec) {
    size_t due = now_msec >= t->base ? t->buckets[EARLY].count : 0;
    for (unsigned level = 0; level < LEVELS; level++) {
        for (uint64_t bits = t->used[level]; bits; bits &= bits - 1) {
            unsigned slot = (unsigned)__builtin_ctzll(bits);
            int64_t start = slot_start(t, level, slot);
            size_t held = t->buckets[level * SLOTS + slot].count;
            if (start > now_msec) break;
            uint64_t span = level * LEVEL_BITS < 63 ? 1ull << (level * LEVEL_BITS) : INT64_MAX;
            uint64_t passed = (uint64_t)now_msec - (uint64_t)start + 1;
            due += passed >= span ? held : (size_t)((double)held * (double)passed / (double)span);
        }
    }
    return due;
}

/* ---- sampling and walking ---- */

/* The element of that rank, bucket by bucket. */
static void *element_at_rank(const struct timebuckets *t, uint64_t rank) {
    const struct bucket *b = t->buckets;
    while (rank >= b->count) rank -= b++->count;
    const struct segment *s = segment_at(t, b->first);
    for (; rank >= s->count; s = segment_at(t, s->next)) rank -= s->count;
    return s->elements[rank];
}

void *timebuckets_random(const struct timebuckets *t) {
    if (!t->count) return NULL;
    for (int draw = 0; draw < RANDOM_DRAWS_MAX; draw++) {
        uint32_t number = (uint32_t)random_below(t->numbers_end);
        unsigned place = (unsigned)random_below(SEGMENT_ELEMENTS_MAX);
        if (is_hole(t, number)) continue;
        struct segment *s = segment_at(t, number);
        if (place < s->count) return s->elements[place];
    }
    return element_at_rank(t, random_below(t->count));
}

uint64_t timebuckets_walk(const struct timebuckets *t, uint64_t cursor,
                          void (*visit)(void *element, void *context), void *context) {
    uint64_t end = t->numbers_end;
    /* One segment a call, passing over a bounded number of free numbers. */
    for (int passed = 0; cursor < end && passed < CUT_MAX; passed++, cursor++) {
        if (is_hole(t, (uint32_t)cursor)) continue;
        struct segment *s = segment_at(t, (uint32_t)cursor);
        for (unsigned i = 0; i < s->count; i++) visit(s->elements[i], context);
        cursor++;
        break;
    }
    return cursor < end ? cursor : 0;
}

/* ---- invariants ---- */

static size_t check_bucket(const struct timebuckets *t, int bucket, uint32_t *segments) {
    size_t elements = 0;
    uint32_t previous = NO_SEGMENT;
    for (uint32_t n = t->buckets[bucket].first; n != NO_SEGMENT; n = segment_at(t, n)->next) {
        ASSERT(n < t->numbers_end && !is_hole(t, n));
        struct segment *s = segment_at(t, n);
        ASSERT(s->bucket == bucket && s->previous == previous && s->count > 0);
        ASSERT(previous == NO_SEGMENT || s->count == s->capacity);
        for (unsigned i = 0; i < s->count; i++) {
            ASSERT(t->type->reference(s->elements[i]) == (n << PLACE_BITS | i));
            if (bucket != t->draining)
                ASSERT(bucket_for(t, t->type->deadline_msec(s->elements[i])) == bucket);
        }
        elements += s->count;
        previous = n;
        ++*segments;
    }
    ASSERT(elements == t->buckets[bucket].count);
    return elements;
}

void timebuckets_check(const struct timebuckets *t) {
    size_t elements = 0;
    uint32_t segments = 0, holes = 0;
    for (int i = 0; i < BUCKETS; i++) {
        elements += check_bucket(t, i, &segments);
        bool used = i != EARLY && t->used[i / SLOTS] >> (i % SLOTS) & 1;
        ASSERT(i == EARLY || used == (t->buckets[i].count > 0));
    }
    ASSERT(elements == t->count);
    for (uint32_t n = t->first_hole; n != NO_HOLE; n = hole_next(*entry_of(t, n))) holes++;
    ASSERT(holes == t->holes && holes + segments == t->numbers_end);
}
