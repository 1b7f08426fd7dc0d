/* SPDX-License-Identifier: BSD-3-Clause
 * Dispatch: every request passes here, once for its hints and once to run.
 *
 *   prefetch_bucket: find the row, hash the first key, ask for its bucket
 *   prefetch_entry:  ask for the entry
 *   execute:         known? arity? authenticated? paused? -> handler -> counts
 *
 * The hints change nothing: what a command earlier in the batch did is seen by the later ones,
 * since each looks up again. The hash may be kept, for it depends on the key's bytes alone.
 *
 * The clock is read once a command: its end is the next one's start.
 */
#include "exec/dispatch.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/probes.h"
#include "exec/blocked.h"
#include "exec/command.h"
#include "exec/command_times.h"
#include "exec/memory_limit.h"
#include "exec/monitor.h"
#include "exec/pause.h"
#include "exec/slowlog.h"
#include "metric/attribution.h"
#include "metric/cause.h"
#include "metric/latency.h"
#include "metric/metric.h"
#include "net/client.h"
#include "net/reply.h"
#include "option/option.h"
#include "store/keyspace.h"
#include "store/limbo.h"

/* How much of a request an error shows: as 6.2. */
#define UNKNOWN_SHOWN_BYTES 128
#define TOUCHES_KEYS (COMMAND_READONLY | COMMAND_WRITE | COMMAND_MAY_REPLICATE)

static uint64_t processed;
static const struct call *current;
static int64_t last_end_nsec; /* end of the batch's last command; 0 = none yet */

static void print_command_stats(struct buffer *out) {
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
    {.section = "Stats",
     .place = 20,
     .name = "total_commands_processed",
     .type = METRIC_UINT64,
     .variable = &processed,
     .reset = true,
     .help = "Commands that were run."},
    {.section = "Commandstats",
     .place = 10,
     .name = "cmdstat_<name>",
     .print_lines = print_command_stats,
     .help = "Calls, time in microseconds, refused and failed calls of each command used."},
};

void dispatch_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(command_reset_stats);
    metric_register_reset(command_times_reset);
}

uint64_t dispatch_commands_processed(void) { return processed; }
const struct call *dispatch_current(void) { return current; }

static void prefetch_bucket(struct request *r) {
    struct command *command = command_find(r->argv[0]);
    r->command = command;
    if (!command || command->first_key <= 0 || command->first_key >= r->argc) return;
    struct slice key = r->argv[command->first_key];
    r->key_bytes = key.bytes;
    r->key_hash = hash_bytes(key.bytes, key.length);
    keyspace_prefetch_bucket(keyspace_at(r->client->database), r->key_hash);
}

static void prefetch_entry(struct request *r) {
    if (r->key_bytes) keyspace_prefetch_entry(keyspace_at(r->client->database), r->key_hash);
}

static void reply_unknown(const struct request *r) {
    struct buffer shown;
    buffer_init(&shown, MEMORY_OTHER);
    for (int i = 1; i < r->argc && shown.length < UNKNOWN_SHOWN_BYTES; i++) {
        size_t room = UNKNOWN_SHOWN_BYTES - shown.length;
        size_t length = r->argv[i].length < room ? r->argv[i].length : room;
        buffer_printf(&shown, "`%.*s`, ", (int)length, r->argv[i].bytes);
    }
    size_t length = r->argv[0].length;
    reply_error_format(r->client, "unknown command `%.*s`, with args beginning with: %s",
                       (int)length, r->argv[0].bytes, shown.length ? shown.bytes : "");
    buffer_free(&shown);
}

/* Says why the request may not run; true where it may. */
static bool admit(const struct request *r) {
    struct command *command = r->command;
    struct client *c = r->client;
    if (!command) {
        reply_unknown(r);
        return false;
    }
    if (!command_arity_fits(command, r->argc)) {
        reply_error_format(c, "wrong number of arguments for '%s' command", command->name);
        command->rejected_calls++;
        return false;
    }
    if (!(c->flags & CLIENT_AUTHENTICATED) && !(command->flags & COMMAND_NO_AUTH)) {
        reply_error(c, "-NOAUTH Authentication required.");
        command->rejected_calls++;
        return false;
    }
    if (memory_limit_is_on() && !memory_limit_make_room() && command->flags & COMMAND_DENYOOM) {
        reply_error(c, "-OOM command not allowed when used memory > 'maxmemory'.");
        command->rejected_calls++;
        return false;
    }
    if (__builtin_expect(c->flags & CLIENT_CLOSING, 0)) return false; /* it was too large */
    if (__builtin_expect(c->flags & CLIENT_MONITOR, 0) && command->flags & TOUCHES_KEYS) {
        reply_error(c, "Replica can't interract with the keyspace"); /* 6.2 lists it as a replica */
        command->rejected_calls++;
        return false;
    }
    return true;
}

/* The batch's first command asks the clock; before that it was reading and parsing. */
static int64_t begin(void) {
    if (!last_end_nsec) {
        last_end_nsec = clock_monotonic_nsec();
        cause_enter(CAUSE_COMMANDS, last_end_nsec);
    }
    attribution_command_begin(last_end_nsec);
    return last_end_nsec;
}

static void note_if_slow(const struct call *call, int64_t start_nsec) {
    int64_t nsec = last_end_nsec - start_nsec, msec = nsec / 1000000;
    bool is_event = latency_is_on() && msec >= latency_threshold_msec();
    bool is_logged = slowlog_wants(call, nsec);
    if (__builtin_expect(!is_event && !is_logged, 1)) return;
    struct attribution_span span;
    attribution_explain(start_nsec, last_end_nsec, &span);
    if (is_logged) slowlog_note(call, &span);
    if (is_event)
        latency_note(call->command->flags & COMMAND_FAST ? "fast-command" : "command", msec);
}

/* What eviction took before the command is not the command's: as 6.2. */
static int64_t begin_after_eviction(int64_t start) {
    int64_t end_nsec = memory_limit_slice_end_nsec();
    if (!end_nsec || end_nsec < start) return start;
    attribution_command_begin(end_nsec);
    return end_nsec;
}

static void execute(struct request *r) {
    struct command *command = r->command;
    r->client->slots[CLIENT_SLOT_COMMAND] = command;
    int64_t start = begin();
    if (__builtin_expect(!admit(r), 0)) return;
    if (memory_limit_is_on()) start = begin_after_eviction(start);
    if (__builtin_expect(pause_refuses(r->client, command), 0)) {
        pause_hold(r);
        return;
    }
    struct call call = {
        .client = r->client,
        .command = command,
        .argc = r->argc,
        .argv = r->argv,
        .keyspace = keyspace_at(r->client->database),
        .request = r,
    };
    r->client->flags &= ~(unsigned)CLIENT_ERROR_REPLIED;
    current = &call;
    if (r->query) slowlog_keep_large_arguments(&call);
    size_t monitor_mark = monitor_before(&call);
    limbo_enter();
    PROBE3(command__start, command->name, call.client->id, call.argc);
    command->handler(&call);
    blocked_serve();
    limbo_leave();
    monitor_after(&call, monitor_mark);
    current = NULL;
    last_end_nsec = clock_monotonic_nsec();
    command->calls++;
    command->nsec += (uint64_t)(last_end_nsec - start);
    command_times_note(command, last_end_nsec - start);
    note_if_slow(&call, start);
    PROBE3(command__done, command->name, call.client->id, last_end_nsec - start);
    r->finished = !(r->client->flags & CLIENT_HELD);
    if (r->client->flags & CLIENT_ERROR_REPLIED) command->failed_calls++;
    processed++;
}

static void before_replies(void) {
    if (last_end_nsec) cause_enter(CAUSE_IO, last_end_nsec);
    last_end_nsec = 0;
}

static const struct batch_executor executor = {prefetch_bucket, prefetch_entry, execute,
                                               before_replies, command_times_note_felt};

const struct batch_executor *dispatch_executor(void) { return &executor; }
