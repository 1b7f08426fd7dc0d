/* SPDX-License-Identifier: BSD-3-Clause
 * Off-CPU time: how much of the main thread's wall time it did not run, and whose time that was.
 *
 * The thread's CPU clock costs a system call, so it is read once a turn of the event loop, and
 * within a turn only where ATTRIBUTION_STEP_NSEC have passed since the last reading. A command that
 * took long is thus always preceded by a reading that is at most one step older than its start,
 * and followed by one of its own: what the thread did not run between them is the command's,
 * but for that step. Time that passes in the wait for events is idle and nobody's; time that passes
 * in a read before a command lies before the reading at the command's start.
 */
#ifndef EVENKEEL_METRIC_ATTRIBUTION_H
#define EVENKEEL_METRIC_ATTRIBUTION_H
#include <stdbool.h>
#include <stdint.h>

#include "metric/cause.h"

/* Between two readings within a turn at least: a read costs about 0.2 us, so 0.04 % at most. Also
 * what a command's off-CPU time may be too small by. */
#define ATTRIBUTION_STEP_NSEC INT64_C(500000)

/* Where a slow command's wall time went, in us. */
struct attribution_span {
    int64_t wall_usec;
    int64_t cpu_usec, off_cpu_usec; /* -1: not measured */
    int64_t cause_usec[CAUSES];     /* wall time of work of these causes, within the command */
    /* Since at most ATTRIBUTION_SWITCHES_NSEC before it began; -1: not measured. */
    int64_t involuntary_switches, voluntary_switches, major_faults;
    /* Since about as long: could run and waited for a processor. -1: not known. */
    int64_t run_delay_usec;
};
/* These counts are read anew at the first turn after so long. */
#define ATTRIBUTION_SWITCHES_NSEC INT64_C(10000000)

/* On at first. Off: no clock of the CPU is read, and spans say that nothing was measured. */
void attribution_set(bool on);

/* ---- the loop, outermost turns only ---- */

/* Before the first turn, or after work between single turns: nothing before `now` counts. */
void attribution_start(int64_t now_nsec, int64_t cpu_nsec);
/* A wait for events is over. */
void attribution_waited(int64_t begin_nsec, int64_t end_nsec);
/* The end of a turn. What its commands have not claimed becomes a latency event, "off-cpu". */
void attribution_turn_end(int64_t now_nsec, int64_t cpu_nsec);

/* ---- dispatch ---- */

/* A command begins. */
void attribution_command_begin(int64_t now_nsec);
/* A command that began with attribution_command_begin(begin_nsec) has ended now, and took long:
 * reads the clocks and fills the span. Its off-CPU time counts as claimed. */
void attribution_explain(int64_t begin_nsec, int64_t now_nsec, struct attribution_span *span);
/* A command runs others, each of which begins and is explained by itself: what was noted at its own
 * begin is kept meanwhile. Where it is explained too, it claims again what they have claimed. */
struct attribution_nesting {
    int64_t wall_nsec, cpu_nsec, idle_nsec;
    struct cause_snapshot causes;
};
void attribution_nest_begin(struct attribution_nesting *outer);
void attribution_nest_end(const struct attribution_nesting *outer);

/* Time in which the calling thread could run and had to wait for a processor, in ns since its
 * start; -1 where the kernel does not say. A system call. Always from the same thread. */
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
