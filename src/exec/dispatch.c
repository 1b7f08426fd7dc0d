/* SPDX-License-Identifier: BSD-3-Clause
 * Dispatch: every request of a batch passes here three times.
 *
 *   prefetch_bucket: finds the command's row, hashes the first key, prefetches its bucket
 *   prefetch_entry:  prefetches the entry
 *   execute:         makes a call of the request and runs it (exec/run)
 *
 * Prefetching is only a hint: each command looks its keys up again, so it sees what the commands
 * before it in the batch have changed. The hash is kept, because it depends only on the key's
 * bytes.
 */
#include "exec/dispatch.h"

#include "base/hash.h"
#include "command/call_make.h"
#include "command/command.h"
#include "exec/run.h"
#include "metric/metric.h"
#include "net/client.h"
#include "publish/tracking.h"
#include "report/command_times.h"
#include "report/monitor.h"
#include "store/keyspace.h"

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

void dispatch_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(command_reset_stats);
    metric_register_reset(command_times_reset);
}

static void prefetch_bucket(struct request *r) {
    struct command *command = command_find(r->argv[0]);
    r->command = command;
    if (!command || command->first_key <= 0 || command->first_key >= r->argc) return;
    struct slice key = r->argv[command->first_key];
    r->hashed = command->first_key;
    r->key_hash = hash_bytes(key.bytes, key.length);
    keyspace_prefetch_bucket(keyspace_at(r->client->database), r->key_hash);
}

static void prefetch_entry(struct request *r) {
    if (r->hashed) keyspace_prefetch_entry(keyspace_at(r->client->database), r->key_hash);
}

/* Of refused commands MONITOR shows only EXEC, as in 6.2. */
static void monitor_refused(const struct call *call) {
    if (call->command && call->command->flags & COMMAND_EXECUTES)
        monitor_after(call, monitor_before(call));
}

static void execute_request(struct request *r) {
    struct client *c = r->client;
    struct call call;
    call_of_request(&call, CALL_NETWORK, r);
    enum gate_verdict verdict = call_run(&call);
    if (__builtin_expect(verdict == GATE_OPEN, 1)) {
        r->finished = !(c->flags & CLIENT_HELD);
    } else if (verdict == GATE_REFUSED) {
        monitor_refused(&call);
        if (client_flags(c, &tracking_client_state) & TRACKING_ON)
            tracking_after_refusal(c, call.command, client_in_transaction(c));
    }
}

static const struct batch_executor executor = {prefetch_bucket, prefetch_entry, execute_request,
                                               run_pause_clock, command_times_note_felt};

const struct batch_executor *dispatch_executor(void) { return &executor; }
