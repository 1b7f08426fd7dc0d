/* SPDX-License-Identifier: BSD-3-Clause
 * Off-CPU time of the main thread, from pairs of readings of the wall clock and the CPU clock.
 *
 * Off-CPU time is the time between two pairs that is neither idle nor CPU time. A wait uses a
 * little CPU time at its end that no busy time contains, so the result may be negative. It then
 * counts as 0, and is not subtracted from the next span.
 *
 * Invariants
 *  1. Every nanosecond is in at most one span, because `mark` moves forward with each pair.
 *  2. When a command begins, `mark` is at most ATTRIBUTION_STEP_NSEC of busy time old.
 *  3. A command never claims more off-CPU time than its wall time less all CPU time since the mark
 *     before it, because the CPU time between that mark and its begin may be its own.
 *
 * Commands that run in a nested turn of the loop, inside another command, move `mark`. A command's
 * CPU time is therefore counted from `command`, the copy of `mark` that attribution_command_begin
 * makes; attribution_nest_begin and attribution_nest_end save and restore the outer command's copy.
 * Main thread only.
 */
#include "metric/attribution.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/system.h"
#include "metric/latency.h"

#define NSEC_PER_USEC 1000
#define NSEC_PER_MSEC 1000000
/* Room for three numbers of at most 20 digits each. */
#define SCHEDSTAT_BYTES 80

struct mark {
    int64_t wall_nsec, cpu_nsec;
    int64_t idle_nsec; /* all time so far that the thread waited for events */
};

static bool on = true;
static struct mark mark;
static int64_t idle_nsec;
static int64_t next_step_nsec; /* a command that begins later takes a pair of readings */

static struct {
    int64_t read_nsec; /* when the counters were read; 0 = never */
    int64_t involuntary, voluntary, major_faults;
    int64_t delay_read_nsec, delay_nsec;
} switches;

/* The thread's schedstat, kept open: 0 = not opened yet, -1 = the kernel has none. */
static int schedstat_fd;

/* The copy of `mark` at the begin of the running command. */
static struct mark command;
static struct attribution_sums sums;
static uint64_t turn_off_nsec, turn_claimed_nsec;

void attribution_set(bool enabled) {
    if (enabled && !on) attribution_start(clock_monotonic_nsec(), clock_thread_cpu_nsec());
    on = enabled;
}

/* ---- readings ---- */

/* Reads the second number of "<ns run> <ns waited> <times run>". */
int64_t attribution_run_delay_nsec(void) {
    char text[SCHEDSTAT_BYTES];
    int64_t delay_nsec;
    if (!schedstat_fd)
        schedstat_fd = system_open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC, 0);
    ssize_t length = schedstat_fd < 0 ? -1 : system_pread(schedstat_fd, text, sizeof(text) - 1, 0);
    if (length <= 0) return -1;
    text[length] = 0;
    char *second = strchr(text, ' ');
    if (!second) return -1;
    second++;
    return number_parse_int64(second, strcspn(second, " \n"), &delay_nsec) ? delay_nsec : -1;
}

/* Reads the run delay, which costs more than the other counters and is therefore not read at each
 * step. */
static void read_run_delay(int64_t now_nsec) {
    switches.delay_read_nsec = now_nsec;
    switches.delay_nsec = attribution_run_delay_nsec();
}

static void read_switches(int64_t now_nsec) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return; /* without it the counters stay 0 */
    switches.read_nsec = now_nsec;
    switches.involuntary = usage.ru_nivcsw;
    switches.voluntary = usage.ru_nvcsw;
    switches.major_faults = usage.ru_majflt;
}

/* Returns the off-CPU time from `from` to `to`, in nanoseconds. */
static uint64_t off_between(const struct mark *from, const struct mark *to) {
    int64_t wall = to->wall_nsec - from->wall_nsec, idle = to->idle_nsec - from->idle_nsec;
    int64_t off = wall - idle - (to->cpu_nsec - from->cpu_nsec);
    return off > 0 ? (uint64_t)off : 0;
}

static void take_mark(int64_t now_nsec, int64_t cpu_nsec) {
    struct mark now = {now_nsec, cpu_nsec, idle_nsec};
    uint64_t off = off_between(&mark, &now);
    turn_off_nsec += off;
    sums.off_cpu_nsec += off;
    mark = now;
    next_step_nsec = now_nsec + ATTRIBUTION_STEP_NSEC;
}

/* ---- the loop ---- */

void attribution_start(int64_t now_nsec, int64_t cpu_nsec) {
    mark = command = (struct mark){now_nsec, cpu_nsec, idle_nsec};
    next_step_nsec = now_nsec + ATTRIBUTION_STEP_NSEC;
    turn_off_nsec = turn_claimed_nsec = 0;
    read_switches(now_nsec);
    read_run_delay(now_nsec);
}

void attribution_waited(int64_t begin_nsec, int64_t end_nsec) {
    int64_t waited = end_nsec - begin_nsec;
    if (waited <= 0) return; /* a test has set the clock back */
    idle_nsec += waited;
    next_step_nsec += waited; /* a mark's age counts busy time only */
}

void attribution_turn_end(int64_t now_nsec, int64_t cpu_nsec) {
    if (!on) return;
    take_mark(now_nsec, cpu_nsec);
    if (turn_off_nsec > sums.off_cpu_turn_nsec_max) sums.off_cpu_turn_nsec_max = turn_off_nsec;
    if (turn_off_nsec > turn_claimed_nsec) {
        uint64_t unclaimed = turn_off_nsec - turn_claimed_nsec;
        sums.unclaimed_nsec += unclaimed;
        if (unclaimed >= NSEC_PER_MSEC)
            latency_note("off-cpu", (int64_t)(unclaimed / NSEC_PER_MSEC));
    }
    turn_off_nsec = turn_claimed_nsec = 0;
    if (now_nsec - switches.read_nsec >= ATTRIBUTION_SWITCHES_NSEC) read_switches(now_nsec);
    if (now_nsec - switches.delay_read_nsec >= ATTRIBUTION_SWITCHES_NSEC) read_run_delay(now_nsec);
}

/* ---- dispatch ---- */

void attribution_command_begin(int64_t now_nsec) {
    cause_snapshot();
    if (__builtin_expect(now_nsec > next_step_nsec, 0) && on) {
        take_mark(now_nsec, clock_thread_cpu_nsec());
        read_switches(now_nsec);
    }
    command = mark;
}

void attribution_nest_begin(struct attribution_nesting *outer) {
    outer->wall_nsec = command.wall_nsec;
    outer->cpu_nsec = command.cpu_nsec;
    outer->idle_nsec = command.idle_nsec;
    cause_snapshot_save(&outer->causes);
}

void attribution_nest_end(const struct attribution_nesting *outer) {
    command = (struct mark){outer->wall_nsec, outer->cpu_nsec, outer->idle_nsec};
    cause_snapshot_restore(&outer->causes);
}

void attribution_explain(int64_t begin_nsec, int64_t now_nsec, struct attribution_span *span) {
    int64_t wall = now_nsec - begin_nsec;
    memset(span, 0, sizeof(*span));
    span->wall_usec = wall / NSEC_PER_USEC;
    for (unsigned i = 0; i < cause_count(); i++) {
        const struct cause *cause = cause_at(i);
        span->cause_usec[cause->number] = (int64_t)(cause_since_snapshot(cause) / NSEC_PER_USEC);
    }
    if (!on) {
        span->cpu_usec = span->off_cpu_usec = -1;
        span->involuntary_switches = span->voluntary_switches = span->major_faults = -1;
        span->run_delay_usec = -1;
        return;
    }
    int64_t cpu_now = clock_thread_cpu_nsec(), cpu = cpu_now - command.cpu_nsec;
    if (cpu > wall) cpu = wall; /* invariant 3 */
    take_mark(now_nsec, cpu_now);
    turn_claimed_nsec += (uint64_t)(wall - cpu);
    span->cpu_usec = cpu / NSEC_PER_USEC;
    span->off_cpu_usec = span->wall_usec - span->cpu_usec;
    int64_t involuntary = switches.involuntary, voluntary = switches.voluntary;
    int64_t major_faults = switches.major_faults, delay_nsec = switches.delay_nsec;
    read_switches(now_nsec);
    read_run_delay(now_nsec);
    span->run_delay_usec =
        switches.delay_nsec < 0 ? -1 : (switches.delay_nsec - delay_nsec) / NSEC_PER_USEC;
    span->involuntary_switches = switches.involuntary - involuntary;
    span->voluntary_switches = switches.voluntary - voluntary;
    span->major_faults = switches.major_faults - major_faults;
}

/* ---- figures ---- */

struct attribution_sums attribution_sums(void) {
    return sums;
}
void attribution_reset(void) { sums = (struct attribution_sums){0}; }
