/* SPDX-License-Identifier: BSD-3-Clause
 * The main thread's time by cause.
 *
 * Invariant: all time since the first change is in exactly one sum, or in the running cause since
 * `since_nsec`. Hence the sums grow by the wall time between two readings of the clock. Places are
 * not negative, so cause_other is the first row.
 */
#include "metric/cause.h"

#include <string.h>

#include "base/panic.h"

struct cause cause_other = {.name = "other", .place = 0};

static const struct cause *rows[CAUSES_MAX] = {&cause_other}; /* by place */
static unsigned count = 1;

static const struct cause *running = &cause_other;
static int64_t since_nsec; /* 0 = no change yet */
static uint64_t sums_nsec[CAUSES_MAX];
static uint64_t changes;           /* how often a sum was changed */
static struct cause_snapshot last; /* the snapshot, with the value of `changes` at its time */

void cause_register(struct cause *cause) {
    if (cause->number) return;
    ASSERT(count < CAUSES_MAX);
    unsigned i = count;
    for (; rows[i - 1]->place > cause->place; i--) rows[i] = rows[i - 1];
    rows[i] = cause;
    cause->number = count++;
}

unsigned cause_count(void) { return count; }
const struct cause *cause_at(unsigned index) { return rows[index]; }

const struct cause *cause_enter(const struct cause *cause, int64_t now_nsec) {
    const struct cause *previous = running;
    /* If a test has set the clock back, no cause is charged. */
    if (since_nsec && now_nsec > since_nsec)
        sums_nsec[previous->number] += (uint64_t)(now_nsec - since_nsec);
    since_nsec = now_nsec;
    running = cause;
    changes++;
    return previous;
}

void cause_leave(const struct cause *previous, int64_t now_nsec) {
    cause_enter(previous, now_nsec);
}

uint64_t cause_nsec(const struct cause *cause) { return sums_nsec[cause->number]; }

void cause_snapshot(void) {
    if (__builtin_expect(changes == last.changes, 1)) return;
    memcpy(last.nsec, sums_nsec, sizeof(sums_nsec));
    last.changes = changes;
}

void cause_snapshot_save(struct cause_snapshot *snapshot) { *snapshot = last; }
void cause_snapshot_restore(const struct cause_snapshot *snapshot) { last = *snapshot; }

uint64_t cause_since_snapshot(const struct cause *cause) {
    return sums_nsec[cause->number] - last.nsec[cause->number];
}

void cause_reset(void) {
    memset(sums_nsec, 0, sizeof(sums_nsec));
    memset(last.nsec, 0, sizeof(last.nsec));
}
