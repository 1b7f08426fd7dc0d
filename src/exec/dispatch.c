/* SPDX-License-Identifier: BSD-3-Clause
 * Dispatch: every request passes here, once for its hints and once to run.
 *
 *   prefetch_bucket: find the row, hash the first key, ask for its bucket
 *   prefetch_entry:  ask for the entry
 *   execute:         known? arity? authenticated? ... paused? -> run, or queue after MULTI
 *   run:             monitor, handler, counts, times, slow log; for calls within calls, too
 *
 * The hints change nothing: what a command earlier in the batch did is seen by the later ones,
 * since each looks up again. The hash may be kept, for it depends on the key's bytes alone.
 *
 * The clock is read once a command: its end is the next one's start. So what EXEC takes is the sum
 * of what its commands take and a little; 6.2 counts it the same way, in both. The cached wall time
 * follows that reading, so that a command's "now" never lacks what those before it took. Keys are
 * due by the moment at which the outermost call began, as in 6.2.
 */
#include "exec/dispatch.h"

#include <stdarg.h>

#include "access/acl.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/probes.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/blocked.h"
#include "exec/effects.h"
#include "exec/memory_limit.h"
#include "exec/pause.h"
#include "exec/transaction.h"
#include "metric/attribution.h"
#include "metric/cause.h"
#include "metric/latency.h"
#include "metric/metric.h"
#include "net/client.h"
#include "net/reply.h"
#include "option/option.h"
#include "publish/tracking.h"
#include "report/command_times.h"
#include "report/monitor.h"
#include "report/slowlog.h"
#include "store/keyspace.h"
#include "store/limbo.h"

/* How much of a request an error shows: as 6.2. */
#define UNKNOWN_SHOWN_BYTES 128
#define TOUCHES_KEYS (COMMAND_READONLY | COMMAND_WRITE | COMMAND_MAY_REPLICATE)
/* Of these two a client that may run everything has the first alone. */
#define FREE (CLIENT_AUTHENTICATED | CLIENT_LIMITED)
/* Clients that have any of these flags are looked at more closely. */
#define UNUSUAL (CLIENT_CLOSING | CLIENT_MONITOR | CLIENT_SUBSCRIBED)

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

void dispatch_refuse(struct client *c, struct command *command, const char *format, ...) {
    struct buffer text;
    va_list arguments;
    buffer_init(&text, MEMORY_OTHER);
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (command) command->rejected_calls++;
    if (c->flags & CLIENT_TRANSACTION) c->flags |= CLIENT_QUEUE_FAILED;
    if (command && command->flags & COMMAND_EXECUTES) {
        transaction_end(c);
        reply_error_format(c, "-EXECABORT Transaction discarded because of: %s",
                           text.bytes + (text.bytes[0] == '-'));
    } else {
        reply_error(c, text.bytes);
    }
    buffer_free(&text);
}

static void refuse_unknown(const struct request *r) {
    struct buffer shown;
    buffer_init(&shown, MEMORY_OTHER);
    for (int i = 1; i < r->argc && shown.length < UNKNOWN_SHOWN_BYTES; i++) {
        size_t room = UNKNOWN_SHOWN_BYTES - shown.length;
        size_t length = r->argv[i].length < room ? r->argv[i].length : room;
        buffer_printf(&shown, "`%.*s`, ", (int)length, r->argv[i].bytes);
    }
    size_t length = r->argv[0].length;
    dispatch_refuse(r->client, NULL, "unknown command `%.*s`, with args beginning with: %s",
                    (int)length, r->argv[0].bytes, shown.length ? shown.bytes : "");
    buffer_free(&shown);
}

/* In a transaction all that is queued takes memory, and EXEC where anything queued does. */
static bool needs_memory(const struct client *c, const struct command *command) {
    if (__builtin_expect(!(c->flags & CLIENT_TRANSACTION), 1))
        return command->flags & COMMAND_DENYOOM;
    if (command->flags & COMMAND_EXECUTES) return transaction_flags(c) & COMMAND_DENYOOM;
    return !(command->flags & COMMAND_ENDS_TRANSACTION);
}

static bool admit_unusual(struct client *c, struct command *command) {
    if (c->flags & CLIENT_CLOSING) return false; /* it was too large */
    if (c->flags & CLIENT_SUBSCRIBED && c->protocol == 2 &&
        !(command->flags & COMMAND_FOR_SUBSCRIBERS)) {
        dispatch_refuse(c, command,
                        "Can't execute '%s': only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT / "
                        "RESET are allowed in this context",
                        command->name);
        return false;
    }
    if (c->flags & CLIENT_MONITOR && command->flags & TOUCHES_KEYS) {
        /* 6.2 lists it as a replica */
        dispatch_refuse(c, command, "Replica can't interract with the keyspace");
        return false;
    }
    return true;
}

/* As acl_admits says; the words are 6.2's. */
static bool admit_acl(const struct request *r) {
    struct command *command = r->command;
    enum acl_denial denial = acl_admits(r->client, command, r->argc, r->argv);
    if (denial == ACL_ALLOWED) return true;
    if (denial == ACL_DENIED_COMMAND)
        dispatch_refuse(r->client, command,
                        "-NOPERM this user has no permissions to run the '%s' command or its "
                        "subcommand",
                        command->name);
    else
        dispatch_refuse(r->client, command,
                        "-NOPERM this user has no permissions to access one of the %s used as "
                        "arguments",
                        denial == ACL_DENIED_KEY ? "keys" : "channels");
    return false;
}

/* The client must authenticate first, or its user may not do everything. */
static bool admit_user(const struct request *r) {
    struct command *command = r->command;
    struct client *c = r->client;
    if (!(c->flags & CLIENT_AUTHENTICATED) && client_authentication_required() &&
        !(command->flags & COMMAND_NO_AUTH)) {
        dispatch_refuse(c, command, "-NOAUTH Authentication required.");
        return false;
    }
    return admit_acl(r);
}

/* Says why the request may not run; true where it may. */
static bool admit(const struct request *r) {
    struct command *command = r->command;
    struct client *c = r->client;
    if (!command) {
        refuse_unknown(r);
        return false;
    }
    if (!command_arity_fits(command, r->argc)) {
        dispatch_refuse(c, command, "wrong number of arguments for '%s' command", command->name);
        return false;
    }
    if (__builtin_expect((c->flags & FREE) != CLIENT_AUTHENTICATED, 0) && !admit_user(r))
        return false;
    if (memory_limit_is_on() && !memory_limit_make_room() && needs_memory(c, command)) {
        dispatch_refuse(c, command, "-OOM command not allowed when used memory > 'maxmemory'.");
        return false;
    }
    return __builtin_expect(!(c->flags & UNUSUAL), 1) || admit_unusual(c, command);
}

/* The batch's first command asks the clock; before that it was reading and parsing. */
static int64_t begin(void) {
    if (!last_end_nsec) {
        last_end_nsec = clock_monotonic_nsec();
        clock_follow(last_end_nsec);
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
    clock_follow(end_nsec);
    return end_nsec;
}

/* What few calls need after their end. */
#define UNUSUAL_END (CLIENT_ERROR_REPLIED | CLIENT_TRACKING | CLIENT_MESSAGES_WAIT)

static __attribute__((noinline)) void end_unusual(const struct call *call, bool outermost) {
    struct client *c = call->client;
    if (c->flags & CLIENT_ERROR_REPLIED) {
        c->flags &= ~(unsigned)CLIENT_ERROR_REPLIED;
        call->command->failed_calls++;
    }
    if (c->flags & (CLIENT_TRACKING | CLIENT_MESSAGES_WAIT)) tracking_after_call(call, outermost);
}

/* A call that failed within another is no failure of the outer one: the flag goes when it is
 * counted. Inlined: it is run for every single command. */
static inline __attribute__((always_inline)) void run(struct call *call, int64_t start,
                                                      bool outermost) {
    struct command *command = call->command;
    struct client *c = call->client;
    c->flags &= ~(unsigned)CLIENT_ERROR_REPLIED;
    const struct call *outer = call_set_running(call);
    bool monitored = monitor_any();
    size_t monitor_mark = __builtin_expect(monitored, 0) ? monitor_before(call) : 0;
    limbo_enter();
    PROBE3(command__start, command->name, c->id, call->argc);
    command->handler(call);
    if (__builtin_expect(effects_wanted() != 0, 0)) effects_call_end(call, outermost);
    if (outermost) blocked_serve();
    limbo_leave();
    if (__builtin_expect(monitored, 0)) monitor_after(call, monitor_mark);
    call_set_running(outer);
    last_end_nsec = clock_monotonic_nsec();
    clock_follow(last_end_nsec);
    command->calls++;
    command->nsec += (uint64_t)(last_end_nsec - start);
    command_times_note(command, last_end_nsec - start);
    note_if_slow(call, start);
    PROBE3(command__done, command->name, c->id, last_end_nsec - start);
    if (__builtin_expect(c->flags & UNUSUAL_END, 0)) end_unusual(call, outermost);
    call_count_one();
}

void dispatch_nest_begin(struct dispatch_nesting *outer) {
    attribution_nest_begin(&outer->attribution);
    clock_hold();
    limbo_leave();
}

void dispatch_nest_end(const struct dispatch_nesting *outer) {
    limbo_enter();
    clock_let_go();
    attribution_nest_end(&outer->attribution);
}

void dispatch_call(struct call *call) {
    int64_t start = last_end_nsec;
    attribution_command_begin(start);
    if (call->blobs) slowlog_keep_large_arguments(call);
    run(call, start, false);
}

/* Of what is refused 6.2 shows MONITOR only EXEC. */
static void monitor_refused(const struct request *r) {
    struct command *command = r->command;
    if (!command || !(command->flags & COMMAND_EXECUTES)) return;
    struct call call = {.client = r->client, .command = command, .argc = r->argc, .argv = r->argv};
    monitor_after(&call, monitor_before(&call));
}

static void execute(struct request *r) {
    struct command *command = r->command;
    struct client *c = r->client;
    c->slots[CLIENT_SLOT_COMMAND] = command;
    int64_t start = begin();
    if (__builtin_expect(!admit(r), 0)) {
        monitor_refused(r);
        if (c->flags & CLIENT_TRACKING) tracking_after_refusal(c, command);
        return;
    }
    if (memory_limit_is_on()) start = begin_after_eviction(start);
    unsigned flags = command->flags;
    bool in_transaction = c->flags & CLIENT_TRANSACTION;
    if (__builtin_expect(in_transaction, 0) && flags & COMMAND_EXECUTES)
        flags |= transaction_flags(c);
    if (__builtin_expect(pause_refuses(c, flags), 0)) {
        pause_hold(r);
        return;
    }
    if (__builtin_expect(in_transaction, 0) && !(flags & COMMAND_UNQUEUED)) {
        transaction_queue(r);
        last_end_nsec = clock_monotonic_nsec();
        return;
    }
    struct call call = {
        .client = c,
        .command = command,
        .argc = r->argc,
        .argv = r->argv,
        .keyspace = keyspace_at(c->database),
        .request = r,
        .hashed = r->hashed,
        .key_hash = r->key_hash,
    };
    if (r->query) slowlog_keep_large_arguments(&call);
    run(&call, start, true);
    r->finished = !(c->flags & CLIENT_HELD);
}

static void before_replies(void) {
    if (call_running()) return; /* it sends to many: its time goes on */
    if (last_end_nsec) cause_enter(CAUSE_IO, last_end_nsec);
    last_end_nsec = 0;
}

static const struct batch_executor executor = {prefetch_bucket, prefetch_entry, execute,
                                               before_replies, command_times_note_felt};

const struct batch_executor *dispatch_executor(void) { return &executor; }
