/* SPDX-License-Identifier: BSD-3-Clause
 * The main thread's time by cause.
 *
 * Invariant: all time since the first change is in exactly one sum, or in the running cause since
 * `since_nsec`. Hence the sums grow by the wall time between two readings of the clock.
 */
#include "metric/cause.h"

#include <string.h>

#include "base/panic.h"

static enum cause running;
static int64_t since_nsec; /* 0 = no change yet */
static uint64_t sums_nsec[CAUSES];
static uint64_t changes;           /* how often a sum was changed */
static struct cause_snapshot last; /* the snapshot, with the value of `changes` at its time */

static const char *const names[CAUSES] = {
    "other",  "commands",    "eviction", "expiry", "freeing",
    "tables", "persistence", "fork",     "io",     "idle",
};

enum cause cause_enter(enum cause cause, int64_t now_nsec) {
    enum cause previous = running;
    ASSERT(cause < CAUSES);
    /* If a test has set the clock back, no cause is charged. */
    if (since_nsec && now_nsec > since_nsec)
        sums_nsec[previous] += (uint64_t)(now_nsec - since_nsec);
    since_nsec = now_nsec;
    running = cause;
    changes++;
    return previous;
}

void cause_leave(enum cause previous, int64_t now_nsec) { cause_enter(previous, now_nsec); }

uint64_t cause_nsec(enum cause cause) {
    ASSERT(cause < CAUSES);
    return sums_nsec[cause];
}

void cause_snapshot(void) {
    if (__builtin_expect(changes == last.changes, 1)) return;
    memcpy(last.nsec, sums_nsec, sizeof(sums_nsec));
    last.changes = changes;
}

void cause_snapshot_save(struct cause_snapshot *snapshot) { *snapshot = last; }
void cause_snapshot_restore(const struct cause_snapshot *snapshot) { last = *snapshot; }

uint64_t cause_since_snapshot(enum cause cause) {
    ASSERT(cause < CAUSES);
    return sums_nsec[cause] - last.nsec[cause];
}

void cause_reset(void) {
    memset(sums_nsec, 0, sizeof(sums_nsec));
    memset(last.nsec, 0, sizeof(last.nsec));
}

const char *cause_name(enum cause cause) {
    ASSERT(cause < CAUSES);
    return names[cause];
}
