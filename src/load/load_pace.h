/* SPDX-License-Identifier: BSD-3-Clause
 * Due times at a constant rate, which the threads of a load share in turn.
 */
#ifndef EVENKEEL_LOAD_LOAD_PACE_H
#define EVENKEEL_LOAD_LOAD_PACE_H
#include <stdint.h>

/* A thread's schedule. The time is kept as a fraction of nanoseconds, so that it does not drift. */
struct load_pace {
    double due_nsec, interval_nsec;
};

/* `rate`: batches a second of all threads together, above 0. */
static inline struct load_pace load_pace_of(double rate, unsigned thread, unsigned threads) {
    double between = 1e9 / rate;
    return (struct load_pace){between * thread, between * threads};
}

/* The next due time, in nanoseconds since the load began. */
static inline int64_t load_pace_next(struct load_pace *pace) {
    int64_t due = (int64_t)pace->due_nsec;
    pace->due_nsec += pace->interval_nsec;
    return due;
}
#endif
