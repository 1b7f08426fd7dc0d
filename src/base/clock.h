/* SPDX-License-Identifier: BSD-3-Clause
 * Time. All of the server asks here, so that a test can set the clock.
 *
 * Wall time may jump; monotonic time never goes back and is used for durations. A turn of the
 * event loop reads wall time (clock_refresh) and its commands share that reading, so that a command
 * sees one moment; what commands take the reading follows, by the millisecond (clock_follow).
 */
#ifndef EVENKEEL_BASE_CLOCK_H
#define EVENKEEL_BASE_CLOCK_H
#include <stdint.h>

#include "base/attributes.h"

/* Wall time since 1970, read from the system now. */
int64_t clock_wall_usec(void);
int64_t clock_wall_msec(void);
/* Time since an unknown start, for durations. */
int64_t clock_monotonic_nsec(void);
int64_t clock_monotonic_msec(void);
int64_t clock_monotonic_sec(void);
FOR_TESTS int64_t clock_monotonic_usec(void);
/* From here on clock_monotonic_* count the processor's time stamp counter, where it is invariant
 * and the kernel itself keeps time by it: a third of the cost of asking the kernel. Takes
 * CLOCK_CALIBRATION_NSEC once; call it at start, before there are threads. Without such a counter
 * nothing changes. */
#define CLOCK_CALIBRATION_NSEC 5000000
void clock_calibrate(void);
/* What clock_monotonic_* count, for INFO: "POSIX clock_gettime" or "X86 TSC @ 2450 ticks/us". */
const char *clock_monotonic_name(void);
/* CPU time of the calling thread; a system call, about 0.2 us. */
int64_t clock_thread_cpu_nsec(void);

/* Reads wall time once and keeps it for clock_cached_*. Main thread only. */
void clock_refresh(void);
/* The same where, at this moment of clock_monotonic_nsec, the kept millisecond is over: a
 * comparison else. For who has read that clock anyway. */
void clock_follow(int64_t monotonic_nsec);
FOR_TESTS int64_t clock_cached_usec(void);
int64_t clock_cached_msec(void);
/* The kept reading again, but one that stands still between clock_hold and clock_let_go: the moment
 * by which keys are due. So no key of a transaction goes in the midst of it. Pairs may be nested.
 */
void clock_hold(void);
void clock_let_go(void);
int64_t clock_held_usec(void);
int64_t clock_held_msec(void);

/* Tests: from now on wall and monotonic time stand at these values until moved; NULL-like return
 * to the system's clock by clock_use_system(). */
FOR_TESTS void clock_use_fixed(int64_t wall_usec, int64_t monotonic_nsec);
FOR_TESTS void clock_advance_usec(int64_t usec);
FOR_TESTS void clock_use_system(void);
#endif
