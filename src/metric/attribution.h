/* SPDX-License-Identifier: BSD-3-Clause
 * Off-CPU time: how much of its wall time the main thread did not run, and which command lost that
 * time.
 *
 * The thread's CPU clock costs a system call, so it is read once a turn of the event loop, and
 * within a turn only where ATTRIBUTION_STEP_NSEC have passed since the last reading. A command that
 * took long is thus always preceded by a reading that is at most one step older than its start,
 * and followed by one of its own: the time between them in which the thread did not run is the
 * command's, except for that step. The wait for events is idle time and no command's; a read before
 * a command lies before the reading at the command's start.
 */
#ifndef EVENKEEL_METRIC_ATTRIBUTION_H
#define EVENKEEL_METRIC_ATTRIBUTION_H
#include <stdbool.h>
#include <stdint.h>

#include "metric/cause.h"

/* The least time between two readings within a turn: a reading costs about 0.2 us, so 0.04 % at
 * most. A command's off-CPU time may be too small by as much. */
#define ATTRIBUTION_STEP_NSEC INT64_C(500000)

/* Where a slow command's wall time went, in us. */
struct attribution_span {
    int64_t wall_usec;
    int64_t cpu_usec, off_cpu_usec; /* -1: not measured */
    int64_t cause_usec[CAUSES_MAX]; /* by struct cause.number: wall time within the command */
    /* Counted from at most ATTRIBUTION_SWITCHES_NSEC before the command began; -1: not measured. */
    int64_t involuntary_switches, voluntary_switches, major_faults;
    /* Time in which the thread could run and waited for a processor, counted from about the same
     * moment; -1: not known. */
    int64_t run_delay_usec;
};
/* These counts are read anew at the first turn after so many nanoseconds. */
#define ATTRIBUTION_SWITCHES_NSEC INT64_C(10000000)

/* Switches attribution on (as at start) or off. While it is off the CPU clock is not read, and
 * spans say that nothing was measured. */
void attribution_set(bool on);

/* ---- the loop, outermost turns only ---- */

/* To be called before the first turn, or after work between single turns: time before `now_nsec`
 * does not count. */
void attribution_start(int64_t now_nsec, int64_t cpu_nsec);
/* A wait for events is over. */
void attribution_waited(int64_t begin_nsec, int64_t end_nsec);
/* Ends a turn. Off-CPU time that its commands have not claimed becomes a latency event, "off-cpu".
 */
void attribution_turn_end(int64_t now_nsec, int64_t cpu_nsec);

/* ---- dispatch ---- */

/* A command begins. */
void attribution_command_begin(int64_t now_nsec);
/* A command that began with attribution_command_begin(begin_nsec) has ended now, and took long:
 * reads the clocks and fills the span. Its off-CPU time counts as claimed. */
void attribution_explain(int64_t begin_nsec, int64_t now_nsec, struct attribution_span *span);
/* A command runs other commands, each of which begins and is explained by itself: keeps the outer
 * command's begin meanwhile. If the outer command is explained, too, it claims their time again. */
struct attribution_nesting {
    int64_t wall_nsec, cpu_nsec, idle_nsec;
    struct cause_snapshot causes;
};
void attribution_nest_begin(struct attribution_nesting *outer);
void attribution_nest_end(const struct attribution_nesting *outer);

/* Time in which the calling thread could run and had to wait for a processor, in ns since its
 * start; -1 where the kernel does not say. A system call. Must always be called by the same thread.
 */
int64_t attribution_run_delay_nsec(void);

/* ---- figures, since start or attribution_reset ---- */

struct attribution_sums {
    uint64_t off_cpu_nsec;          /* not running, waits for events apart */
    uint64_t off_cpu_turn_nsec_max; /* the most in one turn */
    uint64_t unclaimed_nsec;        /* of it in turns none of whose commands was slow */
};
struct attribution_sums attribution_sums(void);
void attribution_reset(void);
#endif
