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
    unsigned bucket = command_times_bucket(nsec);
    for (int i = 0; i < count;) {
        const struct command *command = requests[i].finished ? requests[i].command : NULL;
        int first = i;
        while (i < count && requests[i].command == requests[first].command &&
               requests[i].finished == requests[first].finished)
            i++;
        if (command && command->times) command->times->felt[bucket] += (uint64_t)(i - first);
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

static const struct metric_row metric_rows[] = {
    {.section = "Commandstats",
     .place = 10,
     .name = "cmdstat_<name>",
     .print_lines = print_command_stats,
     .help = "Calls, time in microseconds, refused and failed calls of each command used."},
};

void command_times_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(command_reset_stats);
    metric_register_reset(reset_times);
}
