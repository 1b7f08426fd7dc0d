/* SPDX-License-Identifier: BSD-3-Clause
 * The histograms of commands' times; INFO commandstats. LATENCY HISTOGRAM is in commands/latency.c.
 *
 * Neighbouring requests of a batch mostly have the same command. So the time that clients felt is
 * added once for each run of requests with the same command. A histogram is charged to MEMORY_OTHER
 * and belongs to its command's row, which lives as long as the process.
 */
#include "report/command_times.h"

#include "base/memory.h"
#include "command/command.h"
#include "metric/metric.h"
#include "net/batch.h"

void command_times_note(struct command *command, int64_t nsec) {
    if (__builtin_expect(!command->times, 0))
        command->times = memory_zalloc(sizeof(*command->times), MEMORY_OTHER);
    command->times->inside[command_times_bucket(nsec)]++;
}

void command_times_note_felt(const struct request *requests, int count, int64_t nsec) {
    if (nsec < 0) nsec = 0;
    unsigned bucket = command_times_bucket(nsec);
    for (int i = 0; i < count;) {
        const struct command *command = requests[i].finished ? requests[i].command : NULL;
        int first = i;
        while (i < count && requests[i].command == requests[first].command &&
               requests[i].finished == requests[first].finished)
            i++;
        if (!command || !command->times) continue;
        command->times->felt[bucket] += (uint64_t)(i - first);
        command->times->felt_nsec += (uint64_t)(i - first) * (uint64_t)nsec;
    }
}

static void reset_times(void) {
    for (size_t i = 0; i < command_count(); i++) {
        memory_free(command_at(i)->times, MEMORY_OTHER);
        command_at(i)->times = NULL;
    }
}

static void print_command_stats(const struct metric_row *row, struct buffer *out) {
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *c = command_at(i);
        if (!c->calls && !c->failed_calls && !c->rejected_calls) continue;
        double usec = (double)c->nsec / 1000;
        buffer_append_c_string(out, "cmdstat_");
        metric_append_name(out, c->name);
        buffer_printf(out,
                      ":calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,"
                      "failed_calls=%llu\r\n",
                      (unsigned long long)c->calls, (unsigned long long)(c->nsec / 1000),
                      c->calls ? usec / (double)c->calls : 0.0,
                      (unsigned long long)c->rejected_calls, (unsigned long long)c->failed_calls);
    }
}

enum command_figure { FIGURE_CALLS, FIGURE_TIME, FIGURE_REJECTED, FIGURE_FAILED };
static const enum command_figure calls_figure = FIGURE_CALLS, time_figure = FIGURE_TIME,
                                 rejected_figure = FIGURE_REJECTED, failed_figure = FIGURE_FAILED;

static uint64_t figure_of_command(const struct command *c, enum command_figure figure) {
    switch (figure) {
    case FIGURE_CALLS: return c->calls;
    case FIGURE_TIME: return c->nsec / 1000;
    case FIGURE_REJECTED: return c->rejected_calls;
    case FIGURE_FAILED: return c->failed_calls;
    }
    return 0;
}

static enum metric_presence sample_command(const struct metric_family *family, size_t index,
                                           struct metric_sample *s) {
    if (index >= command_count()) return METRIC_END;
    const struct command *c = command_at(index);
    if (!c->calls && !c->failed_calls && !c->rejected_calls) return METRIC_ABSENT;
    s->labels[0] = (struct metric_label){"cmd", slice_of(c->name)};
    s->value = figure_of_command(c, *(const enum command_figure *)family->context);
    return METRIC_PRESENT;
}

static const bool inside = false, felt = true;
static enum metric_presence sample_times(const struct metric_family *family, size_t index,
                                         struct metric_sample *s) {
    if (index >= command_count()) return METRIC_END;
    const struct command *c = command_at(index);
    if (!c->times) return METRIC_ABSENT;
    bool is_felt = *(const bool *)family->context;
    s->labels[0] = (struct metric_label){"cmd", slice_of(c->name)};
    s->value = (is_felt ? c->times->felt_nsec : c->nsec) / 1000;
    s->counts = is_felt ? c->times->felt : c->times->inside;
    s->buckets = COMMAND_TIMES_BUCKETS;
    s->first_bound = 1;
    return METRIC_PRESENT;
}

static const struct metric_family command_families[] = {
    {"command_calls", METRIC_COUNTER, "Calls of each command used.", sample_command, &calls_figure},
    {"command_time", METRIC_COUNTER_USEC, "Time in each command used.", sample_command,
     &time_figure},
    {"command_rejected_calls", METRIC_COUNTER, "Calls of each command that were refused.",
     sample_command, &rejected_figure},
    {"command_failed_calls", METRIC_COUNTER, "Calls of each command that failed.", sample_command,
     &failed_figure},
    {"command_duration", METRIC_HISTOGRAM_USEC, "Calls of each command by the time inside it.",
     sample_times, &inside},
    {"command_felt", METRIC_HISTOGRAM_USEC,
     "Calls of each command by the time that its client felt: from its socket being ready to the "
     "reply being written.",
     sample_times, &felt},
    {0}};

static const struct metric_row metric_rows[] = {
    {.section = "Commandstats",
     .place = 10,
     .name = "cmdstat_<name>",
     .measure = METRIC_FAMILIES,
     .print_lines = print_command_stats,
     .families = command_families,
     .help = "Calls, time in microseconds, refused and failed calls of each command used."},
};

void command_times_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(command_reset_stats);
    metric_register_reset(reset_times);
}
