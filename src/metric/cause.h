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

enum cause {
    CAUSE_OTHER, /* the loop itself, timers, all code that enters no cause */
    CAUSE_COMMANDS,
    CAUSE_EVICTION,
    CAUSE_EXPIRY,
    CAUSE_FREEING,
    CAUSE_TABLES,
    CAUSE_PERSISTENCE,
    CAUSE_FORK,
    CAUSE_IO,   /* reading, parsing, writing */
    CAUSE_IDLE, /* waiting for events */
    CAUSES
};

/* Main thread only. `now_nsec` is clock_monotonic_nsec(), which the caller mostly has anyway. Time
 * since the last change is added to the cause that ends. Returns that cause, for cause_leave. */
enum cause cause_enter(enum cause cause, int64_t now_nsec);
/* Back to `previous`. */
void cause_leave(enum cause previous, int64_t now_nsec);
/* Sum of a cause since start or CONFIG RESETSTAT, in ns; the running one as of its last change. */
uint64_t cause_nsec(enum cause cause);
const char *cause_name(enum cause cause); /* "eviction" */
/* Remembers the sums as they are now, at the begin of a command: one comparison where nothing has
 * been added since the last time. */
void cause_snapshot(void);
/* The sums that cause_snapshot has remembered, kept while further snapshots are taken. */
struct cause_snapshot {
    uint64_t nsec[CAUSES];
    uint64_t changes;
};
void cause_snapshot_save(struct cause_snapshot *snapshot);
void cause_snapshot_restore(const struct cause_snapshot *snapshot);
/* What was added to a cause since then, in ns. */
uint64_t cause_since_snapshot(enum cause cause);
void cause_reset(void); /* CONFIG RESETSTAT */
#endif
