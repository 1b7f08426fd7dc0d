/* SPDX-License-Identifier: BSD-3-Clause
 * The section latencystats of INFO, and the option latency-attribution.
 *
 * The times by cause are wall time, and their sum is the whole wall time. Off-CPU time is a part of
 * that sum: the time in which the thread did not run although it was not waiting for events.
 */
#include "report/stalls.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/string.h"
#include "io/loop.h"
#include "metric/attribution.h"
#include "metric/cause.h"
#include "metric/metric.h"
#include "option/option.h"

#define NSEC_PER_USEC 1000

static bool attribute;
static struct loop *loop;

/* ---- the option ---- */

static bool apply_attribution(const struct option_row *row, char *reason, size_t reason_size) {
    attribution_set(attribute);
    if (loop) loop_set_cpu_accounting(loop, attribute);
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "latency-attribution",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "latency",
     .place = 20,
     .fallback = "yes",
     .variable = &attribute,
     .apply = apply_attribution,
     .help = "Measure the event loop's CPU time at each of its turns, so that a slow command's "
             "wall time is split into its own and into time in which the thread did not run "
             "(SLOWLOG EXPLAIN). no: neither that nor eventloop_turn_cpu_usec_max is measured."},
};

/* ---- INFO latencystats ---- */

/* Gives the cause that runs its sum up to now. */
static void note_running_cause(void) {
    int64_t now = clock_monotonic_nsec();
    cause_leave(cause_enter(&cause_other, now), now);
}

static void print_causes(const struct metric_row *row, struct buffer *out) {
    note_running_cause();
    for (unsigned i = 0; i < cause_count(); i++)
        buffer_printf(out, "main_thread_%s_usec:%" PRIu64 "\r\n", cause_at(i)->name,
                      cause_nsec(cause_at(i)) / NSEC_PER_USEC);
}

static void print_usec(struct buffer *out, uint64_t nsec) {
    buffer_printf(out, "%" PRIu64, nsec / NSEC_PER_USEC);
}
static void print_off_cpu(const struct metric_row *row, struct buffer *out) {
    print_usec(out, attribution_sums().off_cpu_nsec);
}
static void print_off_cpu_maximum(const struct metric_row *row, struct buffer *out) {
    print_usec(out, attribution_sums().off_cpu_turn_nsec_max);
}
static void print_off_cpu_unclaimed(const struct metric_row *row, struct buffer *out) {
    print_usec(out, attribution_sums().unclaimed_nsec);
}

static bool has_run_delay(void) { return attribution_run_delay_nsec() >= 0; }
static void print_run_delay(const struct metric_row *row, struct buffer *out) {
    print_usec(out, (uint64_t)attribution_run_delay_nsec());
}

static enum metric_presence sample_cause(const struct metric_family *family, size_t index,
                                         struct metric_sample *s) {
    if (index >= cause_count()) return METRIC_END;
    if (!index) note_running_cause();
    const struct cause *cause = cause_at((unsigned)index);
    s->labels[0] = (struct metric_label){"cause", slice_of(cause->name)};
    s->value = cause_nsec(cause) / NSEC_PER_USEC;
    return METRIC_PRESENT;
}
static const struct metric_family cause_families[] = {
    {"main_thread", METRIC_COUNTER_USEC,
     "Wall time of the thread that runs commands, by what it was for.", sample_cause},
    {0}};

static const struct metric_row metric_rows[] = {
    {.section = "Latencystats",
     .place = 10,
     .name = "main_thread_<cause>_usec",
     .measure = METRIC_FAMILIES,
     .print_lines = print_causes,
     .families = cause_families,
     .help = "Wall time of the thread that runs commands, by what it was for; together all its "
             "time since CONFIG RESETSTAT. Causes: other, commands, eviction, expiry, freeing, "
             "tables, defrag, persistence, fork, io, idle."},
    {.section = "Latencystats",
     .place = 20,
     .name = "main_thread_off_cpu_usec",
     .measure = METRIC_COUNTER_USEC,
     .type = METRIC_FUNCTION,
     .print = print_off_cpu,
     .help = "Of that, all but idle: time in which the thread did not run. Needs "
             "latency-attribution."},
    {.section = "Latencystats",
     .place = 30,
     .name = "main_thread_off_cpu_turn_usec_max",
     .measure = METRIC_USEC,
     .type = METRIC_FUNCTION,
     .print = print_off_cpu_maximum,
     .help = "The most of it in one turn of the event loop."},
    {.section = "Latencystats",
     .place = 40,
     .name = "main_thread_off_cpu_unclaimed_usec",
     .measure = METRIC_COUNTER_USEC,
     .type = METRIC_FUNCTION,
     .print = print_off_cpu_unclaimed,
     .help = "The part of it that no slow command accounts for: see the latency event off-cpu."},
    {.section = "Latencystats",
     .place = 50,
     .name = "main_thread_run_delay_usec",
     .measure = METRIC_COUNTER_USEC,
     .type = METRIC_FUNCTION,
     .print = print_run_delay,
     .present = has_run_delay,
     .help = "Since its start: time in which the thread could run and waited for a processor, also "
             "when woken from waiting for events. The kernel counts it."},
};

void stalls_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(attribution_reset);
    metric_register_reset(cause_reset);
}

void stalls_open(struct loop *the_loop) {
    loop = the_loop;
    loop_set_cpu_accounting(loop, attribute);
}
