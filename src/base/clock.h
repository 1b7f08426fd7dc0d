/* SPDX-License-Identifier: BSD-3-Clause
 * Time. All of the server reads the clock here, so that a test can set it.
 *
 * Wall time may jump; monotonic time never goes back and is used for durations. A turn of the
 * event loop reads wall time (clock_refresh) and its commands share that reading, so that a command
 * sees one moment. While commands run, the shared reading is renewed once a millisecond
 * (clock_follow).
 */
#ifndef EVENKEEL_BASE_CLOCK_H
#define EVENKEEL_BASE_CLOCK_H
#include <stdint.h>

#include "base/attributes.h"

/* Wall time since 1970, read from the system now. */
int64_t clock_wall_usec(void);
int64_t clock_wall_msec(void);
/* Time since an unknown start, for durations. Never goes back. */
int64_t clock_monotonic_nsec(void);
int64_t clock_monotonic_msec(void);
int64_t clock_monotonic_sec(void);
FOR_TESTS int64_t clock_monotonic_usec(void);
/* Makes clock_monotonic_* read the processor's time stamp counter, at a third of the kernel's cost,
 * if the counter is invariant and the kernel itself keeps time by it; otherwise nothing changes.
 * Call it once at start, before there are threads. Takes CLOCK_CALIBRATION_NSEC. */
#define CLOCK_CALIBRATION_NSEC 5000000
void clock_calibrate(void);
/* The source of clock_monotonic_*, for INFO: "POSIX clock_gettime" or "X86 TSC @ 2450 ticks/us". */
const char *clock_monotonic_name(void);
/* CPU time of the calling thread; a system call, about 0.2 us. */
int64_t clock_thread_cpu_nsec(void);

/* Reads wall time once and keeps it for clock_cached_*. Main thread only. */
void clock_refresh(void);
/* Calls clock_refresh where the millisecond that the kept reading stands for is over; otherwise
 * costs one comparison. `monotonic_nsec` is clock_monotonic_nsec() now: for callers that have read
 * it anyway. Main thread only. */
void clock_follow(int64_t monotonic_nsec);
FOR_TESTS int64_t clock_cached_usec(void);
int64_t clock_cached_msec(void);
/* The kept reading, but frozen between clock_hold and clock_let_go, so that no key expires in the
 * midst of a transaction: whether a key is due is decided by this reading. Pairs may be nested. */
void clock_hold(void);
void clock_let_go(void);
int64_t clock_held_usec(void);
int64_t clock_held_msec(void);

/* Tests: wall and monotonic time stand still at these values until clock_advance_usec moves both;
 * clock_use_system returns to the system's clocks. */
FOR_TESTS void clock_use_fixed(int64_t wall_usec, int64_t monotonic_nsec);
FOR_TESTS void clock_advance_usec(int64_t usec);
FOR_TESTS void clock_use_system(void);
#endif
