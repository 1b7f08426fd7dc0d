/* SPDX-License-Identifier: BSD-3-Clause
 * The plan of a new cluster.
 *
 * The slots are cut into equal parts of a fractional size, and each cut is rounded to the nearest
 * slot, so that parts differ by one slot at most.
 */
#include "clusterctl/ctl_allocate.h"

#include <math.h>
#include <string.h>

#include "base/key_slot.h"
#include "base/memory.h"
#include "base/panic.h"

/* Exchanges that are tried, a seat; and in all, because each is O(seats^2). */
#define TRIES_A_SEAT 500
#define TRIES_MAX 100000
#define UNASSIGNED (-2)

/* Orders the seats by turns: one of each host, the hosts in the order of their first seats, then
 * the next of each. */
static void order_by_turns(const struct ctl_seat *seats, size_t count, size_t *order) {
    bool *taken = memory_zalloc(count * sizeof(*taken), MEMORY_OTHER);
    for (size_t ordered = 0; ordered < count;) {
        size_t round = ordered;
        for (size_t i = 0; i < count; i++) {
            bool is_in_round = taken[i];
            for (size_t j = round; j < ordered && !is_in_round; j++)
                is_in_round = !strcmp(seats[order[j]].host, seats[i].host);
            if (is_in_round) continue;
            taken[i] = true;
            order[ordered++] = i;
        }
    }
    memory_free(taken, MEMORY_OTHER);
}

static void cut_slots(struct ctl_seat *seats, const size_t *order, size_t primaries) {
    double part = (double)KEY_SLOTS / (double)primaries, cursor = 0;
    unsigned first = 0;
    for (size_t i = 0; i < primaries; i++, cursor += part) {
        unsigned last = (unsigned)lround(cursor + part - 1);
        if (last >= KEY_SLOTS || i == primaries - 1) last = KEY_SLOTS - 1;
        if (last < first) last = first;
        struct ctl_seat *seat = &seats[order[i]];
        seat->primary = -1;
        seat->first = first;
        seat->last = last;
        first = last + 1;
    }
}

size_t ctl_allocate_primaries(struct ctl_seat *seats, size_t count, size_t replicas,
                              size_t *order) {
    size_t primaries = count / (replicas + 1);
    if (primaries < CTL_PRIMARIES_MIN) return primaries;
    order_by_turns(seats, count, order);
    cut_slots(seats, order, primaries);
    /* The first spare seat is likely to be on the host of the first primary: it goes last. */
    if (count > primaries) {
        size_t spare = order[primaries];
        memmove(&order[primaries], &order[primaries + 1], (count - primaries - 1) * sizeof(*order));
        order[count - 1] = spare;
    }
    for (size_t i = primaries; i < count; i++) seats[order[i]].primary = UNASSIGNED;
    return primaries;
}

/* Returns the place in `order` of the next spare seat for a primary, on another host if possible;
 * 0 = none is left. */
static size_t find_spare(const struct ctl_seat *seats, size_t count, const size_t *order,
                         size_t primaries, const char *host) {
    size_t any = 0;
    for (size_t i = primaries; i < count; i++) {
        if (seats[order[i]].primary != UNASSIGNED) continue;
        if (strcmp(seats[order[i]].host, host) != 0) return i;
        if (!any) any = i;
    }
    return any;
}

void ctl_allocate_replicas(
    struct ctl_seat *seats, size_t count, size_t replicas, const size_t *order,
    void (*assigned)(void *context, size_t replica, size_t primary, bool extra), void *context) {
    size_t primaries = count / (replicas + 1), in_turn = 0;
    for (size_t each = 0; each < primaries * replicas; each++) {
        size_t primary = order[each / replicas];
        size_t spare = find_spare(seats, count, order, primaries, seats[primary].host);
        ASSERT(spare); /* primaries * (replicas + 1) <= count */
        seats[order[spare]].primary = (int)primary;
        assigned(context, order[spare], primary, false);
    }
    for (size_t i = primaries; i < count; i++) {
        if (seats[order[i]].primary != UNASSIGNED) continue;
        size_t primary = order[in_turn++ % primaries];
        seats[order[i]].primary = (int)primary;
        assigned(context, order[i], primary, true);
    }
}

/* Whether an earlier replica of the same primary has the seat's host. */
static bool has_sibling_there(const struct ctl_seat *seats, size_t seat) {
    for (size_t i = 0; i < seat; i++)
        if (seats[i].primary == seats[seat].primary && !strcmp(seats[i].host, seats[seat].host))
            return true;
    return false;
}

unsigned ctl_allocate_score(const struct ctl_seat *seats, size_t count, size_t *offenders,
                            size_t *offending) {
    unsigned score = 0;
    *offending = 0;
    for (size_t i = 0; i < count; i++) {
        if (seats[i].primary < 0) continue;
        bool beside_primary = !strcmp(seats[i].host, seats[seats[i].primary].host);
        bool beside_sibling = has_sibling_there(seats, i);
        score += (beside_primary ? CTL_SCORE_PRIMARY : 0) + beside_sibling;
        if (beside_primary || beside_sibling) {
            if (offenders) offenders[*offending] = i;
            ++*offending;
        }
    }
    return score;
}

/* Chooses a replica of another primary; `seat` where there is none. */
static size_t draw_other(const struct ctl_seat *seats, size_t count, size_t seat,
                         uint64_t (*draw_below)(uint64_t bound)) {
    size_t begin = (size_t)draw_below(count);
    for (size_t i = 0; i < count; i++) {
        size_t other = (begin + i) % count;
        if (seats[other].primary >= 0 && seats[other].primary != seats[seat].primary) return other;
    }
    return seat;
}

static void swap_primaries(struct ctl_seat *a, struct ctl_seat *b) {
    int primary = a->primary;
    a->primary = b->primary;
    b->primary = primary;
}

unsigned ctl_allocate_improve(struct ctl_seat *seats, size_t count,
                              uint64_t (*draw_below)(uint64_t bound)) {
    size_t *offenders = memory_alloc(count * sizeof(*offenders), MEMORY_OTHER), offending, unused;
    unsigned score = ctl_allocate_score(seats, count, offenders, &offending);
    size_t tries = count * TRIES_A_SEAT < TRIES_MAX ? count * TRIES_A_SEAT : TRIES_MAX;
    while (score && tries--) {
        size_t seat = offenders[draw_below(offending)];
        size_t other = draw_other(seats, count, seat, draw_below);
        swap_primaries(&seats[seat], &seats[other]);
        unsigned changed = ctl_allocate_score(seats, count, NULL, &unused);
        if (changed > score) {
            swap_primaries(&seats[seat], &seats[other]);
            continue;
        }
        score = ctl_allocate_score(seats, count, offenders, &offending);
    }
    memory_free(offenders, MEMORY_OTHER);
    return score;
}
