/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers by time: a wheel (time_slots.h) of lists of blocks, last in, first out.
 *
 * The wheel advances as in timebuckets.c: when time reaches a slot of a higher level, base moves to
 * the slot's start and the slot is drained into lower ones, so a number moves at most once a level.
 * Deadlines are not kept: the owner's function is asked when a number moves or its time comes.
 *
 * Invariants
 *  1. No block of a list is empty, and all but the first are full.
 *  2. A number stands in the slot of the deadline that its element had when the number was added or
 *     last moved, so it is found in time if the element still has that deadline. Otherwise it is
 *     dropped when its time comes: the code that changed the deadline has added the number again,
 *     or finds the element in another way.
 */
#include "ds/time_numbers.h"

#include "base/panic.h"
#include "ds/time_slots.h"

#define NO_PLACE (-1)
#define BLOCK_NUMBERS 60 /* a block is 256 bytes */

struct block {
    struct block *next;
    uint64_t count;
    uint32_t numbers[BLOCK_NUMBERS];
};
_Static_assert(sizeof(struct block) == 256, "a block fills a class of the allocator");

struct list {
    struct block *first;
    size_t count;
};

struct time_numbers {
    enum memory_class class;
    size_t *bytes;
    int64_t base;
    int draining; /* a slot that base has reached, NO_PLACE: none */
    int freeing;  /* time_numbers_free_step has freed the lists before this one */
    uint64_t used[TIME_LEVELS];
    struct list lists[TIME_PLACES];
};

struct time_numbers *time_numbers_create(int64_t now_msec, enum memory_class class, size_t *bytes) {
    struct time_numbers *t = memory_zalloc(sizeof(*t), class);
    t->class = class;
    t->bytes = bytes;
    t->base = now_msec > 0 ? now_msec : 0;
    t->draining = NO_PLACE;
    *bytes += memory_good_size(sizeof(*t));
    return t;
}

static void drop_block(struct time_numbers *t, struct list *l) {
    struct block *gone = l->first;
    l->first = gone->next;
    *t->bytes -= memory_good_size(sizeof(*gone));
    memory_free_sized(gone, sizeof(*gone), t->class);
}

bool time_numbers_free_step(struct time_numbers *t, size_t blocks_max) {
    for (; t->freeing < TIME_PLACES; t->freeing++) {
        struct list *l = &t->lists[t->freeing];
        for (; l->first; blocks_max--) {
            if (!blocks_max) return false;
            drop_block(t, l);
        }
    }
    *t->bytes -= memory_good_size(sizeof(*t));
    memory_free_sized(t, sizeof(*t), t->class);
    return true;
}

static void list_put(struct time_numbers *t, int place, uint32_t number) {
    struct list *l = &t->lists[place];
    if (!l->first || l->first->count == BLOCK_NUMBERS) {
        struct block *b = memory_alloc(sizeof(*b), t->class);
        *t->bytes += memory_good_size(sizeof(*b));
        b->next = l->first;
        b->count = 0;
        l->first = b;
    }
    l->first->numbers[l->first->count++] = number;
    l->count++;
    if (place != TIME_EARLY) t->used[place / TIME_SLOTS] |= UINT64_C(1) << (place % TIME_SLOTS);
}

static uint32_t list_top(const struct list *l) { return l->first->numbers[l->first->count - 1]; }

static void list_pop(struct time_numbers *t, int place) {
    struct list *l = &t->lists[place];
    if (--l->first->count == 0) drop_block(t, l);
    if (--l->count) return;
    if (place != TIME_EARLY) t->used[place / TIME_SLOTS] &= ~(UINT64_C(1) << (place % TIME_SLOTS));
    if (place == t->draining) t->draining = NO_PLACE;
}

void time_numbers_add(struct time_numbers *t, int64_t deadline_msec, uint32_t number) {
    list_put(t, time_place_for(t->base, deadline_msec), number);
}

/* Moves the numbers of the slot being drained to lower levels, as far as the budget goes. */
static void time_numbers_drain(struct time_numbers *t, time_numbers_deadline *deadline,
                               const void *owner, int *budget) {
    for (; t->draining != NO_PLACE && *budget > 0; --*budget) {
        int place = t->draining;
        uint32_t number = list_top(&t->lists[place]);
        int64_t due;
        list_pop(t, place);
        if (deadline(owner, number, &due)) time_numbers_add(t, due, number);
    }
}

/* The first due number of a list whose time has come; numbers whose element is gone or not due are
 * dropped. */
static bool take_due(struct time_numbers *t, int place, int64_t now_msec,
                     time_numbers_deadline *deadline, const void *owner, int *budget,
                     uint32_t *number) {
    for (; t->lists[place].count && *budget > 0; --*budget) {
        int64_t due;
        *number = list_top(&t->lists[place]);
        if (deadline(owner, *number, &due) && due <= now_msec) return true;
        list_pop(t, place);
    }
    return false;
}

/* The earliest slot above level 0 that holds something; false where there is none. */
static bool time_numbers_next_slot(const struct time_numbers *t, unsigned *level, unsigned *slot) {
    for (*level = 1; *level < TIME_LEVELS; ++*level) {
        *slot = time_first_used(t->used[*level], time_slot_at(t->base, *level) + 1);
        if (*slot < TIME_SLOTS) return true;
    }
    return false;
}

bool time_numbers_peek(struct time_numbers *t, int64_t now_msec, time_numbers_deadline *deadline,
                       const void *owner, int *budget, uint32_t *number) {
    ASSERT_COMPARE(now_msec, >=, t->base);
    while (*budget > 0) {
        time_numbers_drain(t, deadline, owner, budget);
        if (take_due(t, TIME_EARLY, now_msec, deadline, owner, budget, number)) return true;
        unsigned level = 0, slot = time_first_used(t->used[0], time_slot_at(t->base, 0));
        if (slot < TIME_SLOTS && time_slot_start(t->base, 0, slot) <= now_msec) {
            if (take_due(t, (int)slot, now_msec, deadline, owner, budget, number)) return true;
            continue;
        }
        if (t->draining != NO_PLACE) return false; /* the budget is used up */
        bool found = slot == TIME_SLOTS && time_numbers_next_slot(t, &level, &slot);
        if (!found || time_slot_start(t->base, level, slot) > now_msec) {
            t->base = now_msec; /* nothing lies between */
            return false;
        }
        t->base = time_slot_start(t->base, level, slot);
        t->draining = (int)(level * TIME_SLOTS + slot);
    }
    return false;
}

int64_t time_numbers_base(const struct time_numbers *t) { return t->base; }

int64_t time_numbers_next(const struct time_numbers *t) {
    unsigned level, slot;
    if (t->lists[TIME_EARLY].count) return INT64_MIN;
    if (t->draining != NO_PLACE) return t->base;
    slot = time_first_used(t->used[0], time_slot_at(t->base, 0));
    if (slot < TIME_SLOTS) return time_slot_start(t->base, 0, slot);
    return time_numbers_next_slot(t, &level, &slot) ? time_slot_start(t->base, level, slot)
                                                    : INT64_MAX;
}

size_t time_numbers_due(const struct time_numbers *t, int64_t now_msec) {
    size_t due = now_msec >= t->base ? t->lists[TIME_EARLY].count : 0;
    for (unsigned level = 0; level < TIME_LEVELS; level++)
        for (uint64_t bits = t->used[level]; bits; bits &= bits - 1) {
            unsigned slot = (unsigned)__builtin_ctzll(bits);
            due += time_slot_due(t->base, level, slot, t->lists[level * TIME_SLOTS + slot].count,
                                 now_msec);
        }
    return due;
}

void time_numbers_check(const struct time_numbers *t) {
    for (int place = 0; place < TIME_PLACES; place++) {
        size_t count = 0;
        for (const struct block *b = t->lists[place].first; b; b = b->next) {
            ASSERT(b->count > 0 && b->count <= BLOCK_NUMBERS);
            ASSERT(b == t->lists[place].first || b->count == BLOCK_NUMBERS);
            count += b->count;
        }
        ASSERT(count == t->lists[place].count);
        bool used = place != TIME_EARLY && t->used[place / TIME_SLOTS] >> (place % TIME_SLOTS) & 1;
        ASSERT(place == TIME_EARLY || used == (count > 0));
    }
}
