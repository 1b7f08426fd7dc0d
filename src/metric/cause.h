/* SPDX-License-Identifier: BSD-3-Clause
 * The main thread's time by cause, one cause at a time.
 *
 * Code that begins work of another kind enters its cause and leaves it when done. Causes nest, and
 * an inner cause's time is not the outer cause's, so a command that evicts is charged for its own
 * work only. INFO latencystats and SLOWLOG EXPLAIN read the sums.
 */
#ifndef EVENKEEL_METRIC_CAUSE_H
#define EVENKEEL_METRIC_CAUSE_H
#include <stdint.h>

/* A cause. A module declares one and registers it at start, so that this header need not list the
 * modules: INFO and SLOWLOG EXPLAIN take names and texts from here. */
struct cause {
    const char *name; /* "eviction": INFO has main_thread_eviction_usec */
    int place;        /* the order in reports */
    /* SLOWLOG EXPLAIN: the field that has a slow command's time of this cause ("eviction_usec"),
     * NULL = none; and what its verdict says of that time ("keys were evicted"), NULL = nothing,
     * because the time is the command's own work. */
    const char *field, *verdict;
    /* Set by cause_register: the index of the cause in arrays of CAUSES_MAX. 0 before: the time of
     * a cause that is not registered is counted as that of cause_other. */
    unsigned number;
};
#define CAUSES_MAX 12

/* The loop itself, timers, all code that enters no cause. Always registered. */
extern struct cause cause_other;

/* Registers a cause, at start; it lives as long as the process. Does nothing for a cause that is
 * registered already. Asserts that there are at most CAUSES_MAX. */
void cause_register(struct cause *cause);
/* The number of causes, and the cause at `index` in the order of their places. */
unsigned cause_count(void);
const struct cause *cause_at(unsigned index);

/* Main thread only. `now_nsec` is clock_monotonic_nsec(), which the caller mostly has anyway. Time
 * since the last change is added to the cause that ends. Returns that cause, for cause_leave. */
const struct cause *cause_enter(const struct cause *cause, int64_t now_nsec);
/* Back to `previous`. */
void cause_leave(const struct cause *previous, int64_t now_nsec);
/* Sum of a cause since start or CONFIG RESETSTAT, in ns; the running one as of its last change. */
uint64_t cause_nsec(const struct cause *cause);
/* Remembers the sums as they are now, at the begin of a command: one comparison where nothing has
 * been added since the last time. */
void cause_snapshot(void);
/* The sums that cause_snapshot has remembered, kept while further snapshots are taken. */
struct cause_snapshot {
    uint64_t nsec[CAUSES_MAX];
    uint64_t changes;
};
void cause_snapshot_save(struct cause_snapshot *snapshot);
void cause_snapshot_restore(const struct cause_snapshot *snapshot);
/* What was added to a cause since then, in ns. */
uint64_t cause_since_snapshot(const struct cause *cause);
void cause_reset(void); /* CONFIG RESETSTAT */
#endif
