/* SPDX-License-Identifier: BSD-3-Clause
 * The system's clocks, and a pair of hands that a test can set.
 *
 * The set hands are atomic, so that threads may read while a test moves them; the cached reading
 * belongs to the main thread. Before the first clock_refresh it is 0.
 */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/panic.h"

#define NSEC_PER_SEC INT64_C(1000000000)

static atomic_bool is_fixed;
static _Atomic int64_t fixed_wall_usec, fixed_monotonic_nsec;
static int64_t cached_usec;

static int64_t read_nsec(clockid_t clock) {
    struct timespec now;
    int failed = clock_gettime(clock, &now);
    ASSERT(!failed);
    return (int64_t)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static inline bool stands_still(void) {
    return __builtin_expect(atomic_load_explicit(&is_fixed, memory_order_relaxed), 0);
}

int64_t clock_wall_usec(void) {
    if (stands_still()) return atomic_load_explicit(&fixed_wall_usec, memory_order_relaxed);
    return read_nsec(CLOCK_REALTIME) / 1000;
}

int64_t clock_wall_msec(void) { return clock_wall_usec() / 1000; }

int64_t clock_monotonic_nsec(void) {
    if (stands_still()) return atomic_load_explicit(&fixed_monotonic_nsec, memory_order_relaxed);
    return read_nsec(CLOCK_MONOTONIC);
}

int64_t clock_monotonic_usec(void) { return clock_monotonic_nsec() / 1000; }

int64_t clock_thread_cpu_nsec(void) { return read_nsec(CLOCK_THREAD_CPUTIME_ID); }

void clock_refresh(void) { cached_usec = clock_wall_usec(); }

int64_t clock_cached_usec(void) { return cached_usec; }

int64_t clock_cached_msec(void) { return cached_usec / 1000; }

void clock_use_fixed(int64_t wall_usec, int64_t monotonic_nsec) {
    atomic_store(&fixed_wall_usec, wall_usec);
    atomic_store(&fixed_monotonic_nsec, monotonic_nsec);
    atomic_store(&is_fixed, true);
}

void clock_advance_usec(int64_t usec) {
    ASSERT(atomic_load(&is_fixed));
    atomic_fetch_add(&fixed_wall_usec, usec);
    atomic_fetch_add(&fixed_monotonic_nsec, usec * 1000);
}

void clock_use_system(void) { atomic_store(&is_fixed, false); }
