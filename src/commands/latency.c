/* SPDX-License-Identifier: BSD-3-Clause
 * LATENCY: the slow events that metric/latency.c keeps, as lists, as a chart and in words.
 */
#include "commands/latency.h"

#include <inttypes.h>

#include "base/clock.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/command.h"
#include "command/row.h"
#include "metric/attribution.h"
#include "metric/latency.h"
#include "metric/sparkline.h"
#include "net/reply.h"
#include "option/option.h"
#include "report/advice.h"
#include "report/command_times.h"
#include "report/host_cpu.h"

/* The line below the chart's headline: as wide as the widest chart. */
#define RULE_CHARS SPARKLINE_WIDTH

static int64_t threshold_msec;
static struct host_cpu host_at_reset; /* as of the start or the last LATENCY RESET */

static bool apply_threshold(const struct option_row *row, char *reason, size_t reason_size) {
    latency_set_threshold_msec(threshold_msec);
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "latency-monitor-threshold",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "latency",
     .place = 10,
     .fallback = "0",
     .variable = &threshold_msec,
     .low = 0,
     .high = INT64_MAX,
     .apply = apply_threshold,
     .help = "Events that take at least so many milliseconds are kept for the LATENCY command; 0: "
             "none."},
};

/* ---- figures of an event ---- */

struct figures {
    int64_t low, high; /* ms */
    double mean, deviation;
    double period_seconds; /* the mean time from one sample to the next */
};

static int64_t now_seconds(void) { return clock_wall_usec() / 1000000; }

static struct figures figures_of(const struct latency_event *event) {
    size_t count = latency_sample_count(event);
    struct latency_sample oldest = latency_sample_at(event, 0);
    struct figures f = {.low = oldest.msec, .high = oldest.msec};
    for (size_t i = 0; i < count; i++) {
        int64_t msec = latency_sample_at(event, i).msec;
        if (msec < f.low) f.low = msec;
        if (msec > f.high) f.high = msec;
        f.mean += (double)msec / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double difference = (double)latency_sample_at(event, i).msec - f.mean;
        f.deviation += (difference < 0 ? -difference : difference) / (double)count;
    }
    f.period_seconds = (double)(now_seconds() - oldest.wall_seconds) / (double)count;
    return f;
}

/* ---- subcommands ---- */

static void latency_latest(struct call *call) {
    struct client *c = call->client;
    reply_array(c, (int64_t)latency_event_count());
    for (size_t i = 0; i < latency_event_count(); i++) {
        const struct latency_event *e = latency_event_at(i);
        struct latency_sample newest = latency_sample_at(e, latency_sample_count(e) - 1);
        reply_array(c, 4);
        reply_bulk_c_string(c, latency_event_name(e));
        reply_integer(c, newest.wall_seconds);
        reply_integer(c, newest.msec);
        reply_integer(c, latency_event_msec_max(e));
    }
}

static void latency_history(struct call *call) {
    const struct latency_event *e = latency_find(call->argv[2]);
    size_t count = e ? latency_sample_count(e) : 0;
    reply_array(call->client, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        struct latency_sample sample = latency_sample_at(e, i);
        reply_array(call->client, 2);
        reply_integer(call->client, sample.wall_seconds);
        reply_integer(call->client, sample.msec);
    }
}

static void latency_reset_events(struct call *call) {
    int64_t count = 0;
    if (call->argc == 2) host_at_reset = host_cpu_read();
    if (call->argc == 2) count = (int64_t)latency_reset_all();
    for (int i = 2; i < call->argc; i++) count += (int64_t)latency_reset(call->argv[i]);
    reply_integer(call->client, count);
}

static void format_age(char *label, size_t size, int64_t seconds) {
    if (seconds < 60)
        snprintf(label, size, "%" PRId64 "s", seconds);
    else if (seconds < 3600)
        snprintf(label, size, "%" PRId64 "m", seconds / 60);
    else if (seconds < 24 * 3600)
        snprintf(label, size, "%" PRId64 "h", seconds / 3600);
    else
        snprintf(label, size, "%" PRId64 "d", seconds / (24 * 3600));
}

static void latency_graph(struct call *call) {
    struct slice name = call->argv[2];
    const struct latency_event *e = latency_find(name);
    if (!e) {
        reply_error_format(call->client, "No samples available for event '%.*s'", (int)name.length,
                           name.bytes);
        return;
    }
    struct sparkline_column columns[LATENCY_SAMPLES_MAX];
    size_t count = latency_sample_count(e);
    int64_t now = now_seconds();
    for (size_t i = 0; i < count; i++) {
        struct latency_sample sample = latency_sample_at(e, i);
        columns[i].value = sample.msec;
        format_age(columns[i].label, sizeof(columns[i].label), now - sample.wall_seconds);
    }
    struct figures f = figures_of(e);
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    buffer_printf(&text,
                  "%s - high %" PRId64 " ms, low %" PRId64 " ms (all time high %" PRId64 " ms)\n",
                  latency_event_name(e), f.high, f.low, latency_event_msec_max(e));
    for (int i = 0; i < RULE_CHARS; i++) buffer_append_char(&text, '-');
    buffer_append_char(&text, '\n');
    sparkline_append(&text, columns, count);
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

/* ---- DOCTOR ---- */

/* The difference; 0 where one of the two is not known (-1). */
static int64_t taken_since_reset(int64_t now, int64_t at_reset) {
    return now >= 0 && at_reset >= 0 ? now - at_reset : 0;
}

/* Adds what kept the server from running at all, where that lasted as long as an event. */
static void doctor_off_cpu(struct buffer *text) {
    int64_t floor_usec = latency_threshold_msec() * 1000;
    struct attribution_sums sums = attribution_sums();
    struct host_cpu host = host_cpu_read();
    int64_t off_usec = (int64_t)(sums.off_cpu_nsec / 1000);
    if (off_usec >= floor_usec)
        buffer_printf(text,
                      "- off-CPU: for %" PRId64
                      " ms since CONFIG RESETSTAT the server's thread "
                      "did not run although it had work, for %" PRIu64
                      " ms in the worst turn of "
                      "its loop. SLOWLOG EXPLAIN says which slow commands that explains.\n",
                      off_usec / 1000, sums.off_cpu_turn_nsec_max / 1000000);
    int64_t steal_usec = taken_since_reset(host.steal_usec, host_at_reset.steal_usec);
    if (steal_usec >= floor_usec && steal_usec > 0)
        buffer_printf(text,
                      "- steal: for %" PRId64
                      " ms the hypervisor gave this machine's processors "
                      "to others. Commands are not to blame; a machine with processors of its own "
                      "helps.\n",
                      steal_usec / 1000);
    int64_t throttled_usec = taken_since_reset(host.throttled_usec, host_at_reset.throttled_usec);
    if (throttled_usec >= floor_usec && throttled_usec > 0)
        buffer_printf(text,
                      "- throttling: the control group's CPU quota was used up %" PRId64
                      " times "
                      "and kept threads from running for %" PRId64
                      " ms. Raise the quota (cpu.max, "
                      "or the container's CPU limit).\n",
                      host.throttled_count - host_at_reset.throttled_count, throttled_usec / 1000);
}

static void doctor_report(struct buffer *text) {
    buffer_printf(text, "Events of %" PRId64 " ms and more:\n\n", latency_threshold_msec());
    for (size_t i = 0; i < latency_event_count(); i++) {
        const struct latency_event *e = latency_event_at(i);
        struct figures f = figures_of(e);
        buffer_printf(text,
                      "%zu. %s: %zu samples, one in %.1f seconds; mean %.0f ms, mean deviation "
                      "%.0f ms, longest ever %" PRId64 " ms.\n",
                      i + 1, latency_event_name(e), latency_sample_count(e), f.period_seconds,
                      f.mean, f.deviation, latency_event_msec_max(e));
    }
    buffer_append_char(text, '\n');
    for (size_t i = 0; i < latency_event_count(); i++) {
        const char *name = latency_event_name(latency_event_at(i));
        const struct advice *advice = advice_find(name);
        if (!advice || !advice->text) continue;
        buffer_printf(text, "- %s: %s ", name, advice->text);
        advice_append_option(advice, text);
        buffer_append_char(text, '\n');
    }
    doctor_off_cpu(text);
}

static void latency_doctor(struct call *call) {
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    if (latency_event_count())
        doctor_report(&text);
    else if (latency_is_on())
        buffer_printf(&text, "Nothing took %" PRId64 " ms or longer since the last reset.\n",
                      latency_threshold_msec());
    else
        buffer_append_c_string(&text,
                               "The latency monitor is off. CONFIG SET latency-monitor-threshold "
                               "with the milliseconds from which an event is too slow for you "
                               "switches it on.\n");
    reply_verbatim(call->client, buffer_slice(&text), "txt");
    buffer_free(&text);
}

/* ---- HISTOGRAM ---- */

/* Replies a map from each bucket's bound in us to the number of calls that took at most so long;
 * buckets without calls of their own are left out. */
static void reply_cumulative(struct client *c, const uint64_t counts[COMMAND_TIMES_BUCKETS]) {
    int64_t used = 0;
    uint64_t sum = 0;
    struct reply_group buckets = reply_map_begin(c);
    for (unsigned i = 0; i < COMMAND_TIMES_BUCKETS; i++) {
        if (!counts[i]) continue;
        sum += counts[i];
        used++;
        reply_integer(c, INT64_C(1) << i);
        reply_integer(c, (int64_t)sum);
    }
    reply_group_end(&buckets, used);
}

static void reply_times(struct client *c, const struct command *command) {
    uint64_t calls = 0;
    for (unsigned i = 0; i < COMMAND_TIMES_BUCKETS; i++) calls += command->times->inside[i];
    reply_bulk_c_string(c, command->name);
    reply_map(c, 3);
    reply_bulk_c_string(c, "calls");
    reply_integer(c, (int64_t)calls);
    reply_bulk_c_string(c, "histogram_usec");
    reply_cumulative(c, command->times->inside);
    reply_bulk_c_string(c, "client_histogram_usec");
    reply_cumulative(c, command->times->felt);
}

/* As in Redis 7, a command that is unknown or has not run is skipped, and a name given twice is
 * shown twice. */
static void latency_histogram(struct call *call) {
    size_t names = (size_t)call->argc - 2, asked = names ? names : command_count();
    int64_t count = 0;
    struct reply_group commands = reply_map_begin(call->client);
    for (size_t i = 0; i < asked; i++) {
        const struct command *command = names ? command_find(call->argv[i + 2]) : command_at(i);
        if (!command || !command->times) continue;
        reply_times(call->client, command);
        count++;
    }
    reply_group_end(&commands, count);
}

/* ---- the command ---- */

static const char *const help[] = {
    "DOCTOR",
    "    Says in words what was slow, and what may help.",
    "GRAPH <event>",
    "    Draws the event's samples as a chart of characters.",
    "HISTOGRAM [<command> ...]",
    "    Calls of these commands, or of all that ran, by microseconds: inside the command, and",
    "    as the client felt it, from its socket being ready to the reply being written.",
    "HISTORY <event>",
    "    The event's samples: time and milliseconds of each.",
    "LATEST",
    "    The newest sample of each event, and its longest ever.",
    "RESET [<event> ...]",
    "    Forgets the samples of these events, or of all.",
    NULL,
};

static void command_latency(struct call *call) {
    int argc = call->argc;
    if (argc == 2 && argument_is(call, 1, "help"))
        reply_help(call, help);
    else if (argc == 2 && argument_is(call, 1, "latest"))
        latency_latest(call);
    else if (argc == 3 && argument_is(call, 1, "history"))
        latency_history(call);
    else if (argc == 3 && argument_is(call, 1, "graph"))
        latency_graph(call);
    else if (argc == 2 && argument_is(call, 1, "doctor"))
        latency_doctor(call);
    else if (argument_is(call, 1, "histogram"))
        latency_histogram(call);
    else if (argument_is(call, 1, "reset"))
        latency_reset_events(call);
    else
        reply_unknown_subcommand(call);
}

static struct command rows[] = {
    COMMAND("latency", command_latency, -2, ADMIN | NO_SCRIPT | ANYTIME, NO_CATEGORY, NO_KEYS,
            "Events that took long, and times of commands: DOCTOR, GRAPH, HISTOGRAM, HISTORY, "
            "LATEST, RESET."),
};

void commands_latency_register(void) {
    host_at_reset = host_cpu_read();
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    command_register(COMMAND_ROWS(rows));
}
