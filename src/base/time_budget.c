/* SPDX-License-Identifier: BSD-3-Clause
 * A budget of time.
 *
 * Two rules bound it.
 *
 * A token bucket: tokens flow in at the share's rate, are granted once a turn, and gather for a
 * tenth of the window at most, so that a turn after a pause does not spend a whole window's time in
 * one go. Overspending leaves a debt, which is paid before anything is granted.
 *
 * A sliding window: a sum, kept by the millisecond, bounds what is spent in any window of that
 * length. Tokens alone would allow the share and the tokens gathered before it.
 *
 * Invariants
 *  1. window_nsec is the sum of `spent`, whose slots stand for newest_msec and the milliseconds
 *     before it. There is one slot more than the window has milliseconds, so that the slots cover
 *     any window that ends now.
 *  2. However much time passes between two calls, a call's work is bounded by the number of slots.
 */
#include "base/time_budget.h"

#include <string.h>

#define SLOTS (TIME_BUDGET_WINDOW_MSEC + 1)
#define NSEC_PER_MSEC 1000000
/* How long tokens gather at most. */
#define GATHER_MSEC (TIME_BUDGET_WINDOW_MSEC / 10)

static int64_t share_of(const struct time_budget *b, int64_t nsec) {
    return nsec / 100 * b->share_percent;
}

static int64_t tokens_max(const struct time_budget *b) {
    return share_of(b, GATHER_MSEC * NSEC_PER_MSEC);
}

static int64_t *slot_of(struct time_budget *b, int64_t msec) { return &b->spent[msec % SLOTS]; }

void time_budget_start(struct time_budget *b, int64_t share_percent, int64_t now_nsec) {
    memset(b, 0, sizeof(*b));
    b->share_percent = share_percent;
    b->tokens_nsec = tokens_max(b);
    b->refilled_nsec = now_nsec;
    b->newest_msec = now_nsec / NSEC_PER_MSEC;
}

void time_budget_turn(struct time_budget *b) { b->turn_is_new = true; }

/* Moves the window on, so that the newest slot is that of `now`. */
static void budget_advance(struct time_budget *b, int64_t now_nsec) {
    int64_t now_msec = now_nsec / NSEC_PER_MSEC;
    if (now_msec - b->newest_msec >= SLOTS) {
        memset(b->spent, 0, sizeof(b->spent));
        b->window_nsec = 0;
        b->newest_msec = now_msec;
    }
    while (b->newest_msec < now_msec) {
        int64_t *slot = slot_of(b, ++b->newest_msec);
        b->window_nsec -= *slot;
        *slot = 0;
    }
}

static void budget_refill(struct time_budget *b, int64_t now_nsec) {
    int64_t passed = now_nsec - b->refilled_nsec;
    b->turn_is_new = false;
    b->refilled_nsec = now_nsec;
    b->tokens_nsec += share_of(b, passed);
    if (b->tokens_nsec > tokens_max(b)) b->tokens_nsec = tokens_max(b);
}

int64_t time_budget_left(struct time_budget *b, int64_t now_nsec) {
    if (b->turn_is_new) budget_refill(b, now_nsec);
    budget_advance(b, now_nsec);
    int64_t of_window =
        share_of(b, TIME_BUDGET_WINDOW_MSEC * (int64_t)NSEC_PER_MSEC) - b->window_nsec;
    return b->tokens_nsec < of_window ? b->tokens_nsec : of_window;
}

void time_budget_spend(struct time_budget *b, int64_t begin_nsec, int64_t end_nsec) {
    b->tokens_nsec -= end_nsec - begin_nsec;
    budget_advance(b, end_nsec);
    int64_t oldest_nsec = (b->newest_msec - SLOTS + 1) * NSEC_PER_MSEC;
    if (begin_nsec < oldest_nsec) begin_nsec = oldest_nsec;
    while (begin_nsec < end_nsec) {
        int64_t msec = begin_nsec / NSEC_PER_MSEC, next_nsec = (msec + 1) * NSEC_PER_MSEC;
        int64_t part = (next_nsec < end_nsec ? next_nsec : end_nsec) - begin_nsec;
        *slot_of(b, msec) += part;
        b->window_nsec += part;
        begin_nsec += part;
    }
}
