/* SPDX-License-Identifier: BSD-3-Clause
 * The system's clocks, and fixed times that a test can set.
 *
 * The fixed times are atomic, so that threads may read while a test moves them; the cached reading
 * belongs to the main thread. Before the first clock_refresh it is 0.
 *
 * The end of the cached millisecond is kept as a monotonic time, so that clock_follow costs a
 * comparison. After it wall time is read anew, not computed, so that its jumps are seen too.
 */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/panic.h"

#define NSEC_PER_SEC INT64_C(1000000000)

static atomic_bool is_fixed;
static _Atomic int64_t fixed_wall_usec, fixed_monotonic_nsec;
static struct reading { int64_t usec, msec; } cached, held;
static int64_t cached_until_nsec; /* monotonic: the cached millisecond ends */
static unsigned holds;

/* The time stamp counter: nanoseconds a tick times 2^32 (0: not used), and a moment in both. */
static uint64_t tick_nsec_shifted;
static uint64_t start_ticks;
static int64_t start_nsec;
static char monotonic_name[64] = "POSIX clock_gettime";

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

#ifdef __x86_64__
static bool counter_is_invariant(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}

/* The kernel itself checks the counter and switches to another clock source when it proves
 * unstable. */
static bool kernel_trusts_counter(void) {
    char name[16] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (!f) return false;
    bool read = fgets(name, sizeof(name), f) != NULL;
    fclose(f);
    return read && strcmp(name, "tsc\n") == 0;
}

static inline int64_t counter_nsec(void) {
    unsigned __int128 passed = (unsigned __int128)(__rdtsc() - start_ticks) * tick_nsec_shifted;
    return start_nsec + (int64_t)(passed >> 32);
}

void clock_calibrate(void) {
    if (tick_nsec_shifted || !counter_is_invariant() || !kernel_trusts_counter()) return;
    int64_t begin_nsec = read_nsec(CLOCK_MONOTONIC), nsec;
    uint64_t begin_ticks = __rdtsc(), ticks;
    do {
        nsec = read_nsec(CLOCK_MONOTONIC);
        ticks = __rdtsc();
    } while (nsec - begin_nsec < CLOCK_CALIBRATION_NSEC);
    double tick_nsec = (double)(nsec - begin_nsec) / (double)(ticks - begin_ticks);
    start_nsec = nsec;
    start_ticks = ticks;
    tick_nsec_shifted = (uint64_t)(tick_nsec * (double)(UINT64_C(1) << 32));
    snprintf(monotonic_name, sizeof(monotonic_name), "X86 TSC @ %.0f ticks/us", 1000 / tick_nsec);
}
#else
static inline int64_t counter_nsec(void) { return 0; }

void clock_calibrate(void) {}
#endif

const char *clock_monotonic_name(void) { return monotonic_name; }

int64_t clock_monotonic_nsec(void) {
    if (stands_still()) return atomic_load_explicit(&fixed_monotonic_nsec, memory_order_relaxed);
    return tick_nsec_shifted ? counter_nsec() : read_nsec(CLOCK_MONOTONIC);
}

int64_t clock_monotonic_usec(void) { return clock_monotonic_nsec() / 1000; }

int64_t clock_monotonic_msec(void) { return clock_monotonic_nsec() / 1000000; }

int64_t clock_monotonic_sec(void) { return clock_monotonic_nsec() / NSEC_PER_SEC; }

int64_t clock_thread_cpu_nsec(void) { return read_nsec(CLOCK_THREAD_CPUTIME_ID); }

void clock_refresh(void) {
    cached_until_nsec = clock_monotonic_nsec();
    cached.usec = clock_wall_usec();
    cached.msec = cached.usec / 1000;
    cached_until_nsec += (1000 - cached.usec % 1000) * 1000;
    if (!holds) held = cached;
}

void clock_follow(int64_t monotonic_nsec) {
    if (__builtin_expect(monotonic_nsec >= cached_until_nsec, 0)) clock_refresh();
}

int64_t clock_cached_usec(void) { return cached.usec; }

int64_t clock_cached_msec(void) { return cached.msec; }

void clock_hold(void) { holds++; }

void clock_let_go(void) {
    ASSERT(holds > 0);
    if (--holds == 0) held = cached;
}

int64_t clock_held_usec(void) { return held.usec; }

int64_t clock_held_msec(void) { return held.msec; }

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
