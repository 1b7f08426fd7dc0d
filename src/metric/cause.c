/* SPDX-License-Identifier: BSD-3-Clause
 * The main thread's time by cause.
 *
 * Invariant: all time since the first change is in exactly one sum, or in the running cause since
 * `since_nsec`. Hence the sums grow by the wall time between two readings of the clock.
 */
#include "metric/cause.h"

#include "base/panic.h"

static enum cause running;
static int64_t since_nsec; /* 0 = no change yet */
static uint64_t sums_nsec[CAUSES];

static const char *const names[CAUSES] = {
    "other",  "commands",    "eviction", "expiry", "freeing",
    "tables", "persistence", "fork",     "io",     "idle",
};

enum cause cause_enter(enum cause cause, int64_t now_nsec) {
    enum cause previous = running;
    ASSERT(cause < CAUSES);
    /* A clock that a test sets back bills nobody. */
    if (since_nsec && now_nsec > since_nsec)
        sums_nsec[previous] += (uint64_t)(now_nsec - since_nsec);
    since_nsec = now_nsec;
    running = cause;
    return previous;
}

void cause_leave(enum cause previous, int64_t now_nsec) { cause_enter(previous, now_nsec); }

uint64_t cause_nsec(enum cause cause) {
    ASSERT(cause < CAUSES);
    return sums_nsec[cause];
}

const char *cause_name(enum cause cause) {
    ASSERT(cause < CAUSES);
    return names[cause];
}
