/* SPDX-License-Identifier: BSD-3-Clause
 * A budget of time: a share of wall time, granted once a turn and never exceeded in any 100 ms.
 *
 * For work that can stop between any two small steps: ask how much is left, do a step, read the
 * clock, say how much was spent. Only the last step of a slice can spend more than was left; that
 * is debt, and nothing is granted until it is paid.
 */
#ifndef EVENKEEL_BASE_TIME_BUDGET_H
#define EVENKEEL_BASE_TIME_BUDGET_H
#include <stdbool.h>
#include <stdint.h>

/* The share holds over any window of this length, wherever it begins. */
#define TIME_BUDGET_WINDOW_MSEC 100

struct time_budget {
    int64_t share_percent;              /* 1..100 */
    int64_t tokens_nsec, refilled_nsec; /* what may be spent in this turn; negative: debt */
    bool turn_is_new;
    int64_t window_nsec;                        /* sum of `spent` */
    int64_t newest_msec;                        /* the newest slot's millisecond */
    int64_t spent[TIME_BUDGET_WINDOW_MSEC + 1]; /* nsec of each millisecond, by msec modulo slots */
};

/* Starts the budget, with the most that a turn can be granted. `now_nsec` is clock_monotonic_nsec()
 * here and below. */
void time_budget_start(struct time_budget *b, int64_t share_percent, int64_t now_nsec);
/* A turn of the loop begins. */
void time_budget_turn(struct time_budget *b);
/* Nanoseconds that may be spent now; 0 or less: none. */
int64_t time_budget_left(struct time_budget *b, int64_t now_nsec);
void time_budget_spend(struct time_budget *b, int64_t begin_nsec, int64_t end_nsec);
#endif
