/* SPDX-License-Identifier: BSD-3-Clause
 * Running requests and calls. Every request of a batch passes here twice:
 *
 *   prefetch:         finds the command's row, hashes the first key; prefetches the header of its
 *                     table where there is a table for each slot, its bucket, its entry: each of
 *                     them for a group of requests, before the next
 *   execute_request:  makes a call of the request and runs it
 *
 * Prefetching is only a hint: each command looks its keys up again, so it sees what the commands
 * before it in the batch have changed. The hash is kept, because it depends only on the key's
 * bytes.
 *
 * The clock is read once a command, because the end of a command is the start of the next one. So
 * the time of EXEC is a little more than the sum of its commands' times; 6.2, too, counts this time
 * for EXEC and for each command. The cached wall time follows that reading, so that the "now" of a
 * command is behind all commands before it. Whether a key is due is decided by the time at which
 * the outermost call began, as in 6.2.
 */
#include "exec/run.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/probes.h"
#include "command/call_make.h"
#include "command/command.h"
#include "ds/table.h"
#include "exec/blocked.h"
#include "exec/client_flags.h"
#include "exec/effects.h"
#include "exec/memory_limit.h"
#include "io/loop.h"
#include "metric/cause.h"
#include "metric/latency.h"
#include "net/batch.h"
#include "net/client.h"
#include "publish/tracking.h"
#include "report/command_times.h"
#include "report/monitor.h"
#include "report/observed.h"
#include "report/slowlog.h"
#include "report/trace.h"
#include "store/keyspace.h"
#include "store/limbo.h"

static struct cause run_cause = {.name = "commands", .place = 10};

void run_register(void) { cause_register(&run_cause); }

/* When the last command ended; 0 = other work was done since. */
static int64_t last_end_nsec;
static void (*within)(void);
static const struct run_observer *observer; /* NULL = there is none */
/* Flags of a client (client_flags_of) that make end_unusual necessary. */
static uint64_t unusual_end;

/* The first command after other work reads the clock, because reading and parsing came before it.
 * Returns the cause of that work. */
static const struct cause *start_clock(void) {
    last_end_nsec = clock_monotonic_nsec();
    clock_follow(last_end_nsec);
    return cause_enter(&run_cause, last_end_nsec);
}

void run_pause_clock(void) {
    if (last_end_nsec) cause_enter(&loop_cause_io, last_end_nsec);
    last_end_nsec = 0;
}

static __attribute__((noinline)) void note_slow(const struct call *call, int64_t start_nsec,
                                                bool is_event, bool is_logged) {
    struct attribution_span span;
    attribution_explain(start_nsec, last_end_nsec, &span);
    if (is_logged && blocked_is(call->client))
        blocked_keep_slow(call->client, slowlog_prepare(call, &span));
    else if (is_logged)
        slowlog_note(call, &span);
    if (is_event)
        latency_note(call->command->flags & COMMAND_FAST ? "fast-command" : "command",
                     (last_end_nsec - start_nsec) / 1000000);
}

/* Inlined, because every command runs it; what it does for a slow one is not. */
static inline void note_if_slow(const struct call *call, int64_t start_nsec) {
    int64_t nsec = last_end_nsec - start_nsec;
    bool is_event = false, is_logged = slowlog_wants(call, nsec);
    if (__builtin_expect(latency_is_on(), 0)) is_event = nsec / 1000000 >= latency_threshold_msec();
    if (__builtin_expect(is_event || is_logged, 0))
        note_slow(call, start_nsec, is_event, is_logged);
}

/* The time that eviction took before the command is not the command's, as in 6.2. */
static int64_t begin_after_eviction(int64_t start) {
    int64_t end_nsec = memory_limit_slice_end_nsec();
    if (!end_nsec || end_nsec < start) return start;
    attribution_command_begin(end_nsec);
    clock_follow(end_nsec);
    return end_nsec;
}

static void tell_request_ended(const struct call *call) {
    if (observer && client_flags(call->client, observer->of) & observer->flags)
        observer->request_ended(call);
}

static __attribute__((noinline)) void end_unusual(const struct call *call, bool outermost) {
    struct client *c = call->client;
    if (call->request) tell_request_ended(call);
    if (c->flags & CLIENT_ERROR_REPLIED) {
        client_forget_error(c);
        call->command->failed_calls++;
    }
    if (client_flags(c, &tracking_client_state) & (TRACKING_ON | TRACKING_MESSAGES_WAIT))
        tracking_after_call(call, outermost, client_in_transaction(c));
}

/* True if an argument may have a block of its own, which a command may take over and free. */
static inline bool may_lose_arguments(const struct call *call) {
    return call->request ? call->request->query != NULL : call->blobs != NULL;
}

/* Runs the handler and, for every origin, what follows it: effects, and serving blocked clients. */
static inline __attribute__((always_inline)) void perform_call(struct call *call, bool outermost) {
    limbo_enter();
    PROBE3(command__start, call->command->name, call->client->id, call->argc);
    if (__builtin_expect(effects_wanted() != 0, 0)) {
        if (outermost)
            effects_unit_begin();
        else
            effects_call_begin(call);
    }
    call->command->handler(call);
    if (__builtin_expect(effects_wanted() != 0, 0)) effects_call_end(call, outermost);
    if (outermost) blocked_serve();
    limbo_leave();
}

static __attribute__((noinline)) size_t begin_monitored(const struct call *call, unsigned reports) {
    if (reports & OBSERVED_BY_TRACE && trace_may_want(call)) trace_call(call);
    return monitor_before(call);
}

/* The flag of a failure is cleared when the failure is counted, so that a failed call within
 * another does not count as a failure of the outer one. Inlined, because every command runs it. */
static inline __attribute__((always_inline)) void run_call(struct call *call, int64_t start) {
    struct command *command = call->command;
    struct client *c = call->client;
    ASSERT_SLOW(command); /* a gate refuses an unknown command */
    if (may_lose_arguments(call)) slowlog_keep_large_arguments(call);
    client_forget_error(c);
    const struct call *outer = call_set_running(call);
    unsigned reports = observed_now.by;
    size_t monitor_mark = 0;
    if (__builtin_expect(reports != 0, 0)) {
        /* A traced server that no client monitors comes here for every call. */
        if (reports != OBSERVED_BY_TRACE)
            monitor_mark = begin_monitored(call, reports);
        else if (trace_may_want(call))
            trace_call(call);
    }
    perform_call(call, !outer);
    if (__builtin_expect(reports & OBSERVED_BY_MONITOR, 0)) monitor_after(call, monitor_mark);
    call_set_running(outer);
    last_end_nsec = clock_monotonic_nsec();
    clock_follow(last_end_nsec);
    command->calls++;
    command->nsec += (uint64_t)(last_end_nsec - start);
    command_times_note(command, last_end_nsec - start);
    note_if_slow(call, start);
    PROBE3(command__done, command->name, c->id, last_end_nsec - start);
    /* A request in a nested turn is the outermost call of its client. */
    if (__builtin_expect(client_has_any(c, unusual_end) != 0, 0))
        end_unusual(call, !outer || call->request);
    call_count_one();
}

static inline __attribute__((always_inline)) enum gate_verdict pass_and_run(struct call *call) {
    const struct command *command = call->command;
    int64_t start = last_end_nsec;
    attribution_command_begin(start);
    bool fits = command && command_arity_fits(command, call->argc);
    if (__builtin_expect(!fits || !gates_clear(call->client), 0) &&
        !(fits && gates_clear_by_slot(call))) {
        enum gate_verdict verdict = gates_ask(call);
        if (verdict == GATE_QUEUED) last_end_nsec = clock_monotonic_nsec();
        if (verdict != GATE_OPEN) return verdict;
        if (gate_is_set(&memory_limit_gate)) start = begin_after_eviction(start);
    }
    run_call(call, start);
    return GATE_OPEN;
}

/* A call of the log was counted, timed and shown to monitors when it ran first. Keys that are due
 * are visible to it, because the log itself says when they are deleted. */
static __attribute__((noinline)) enum gate_verdict run_again(struct call *call) {
    enum gate_verdict verdict = gates_ask(call);
    if (verdict != GATE_OPEN) return verdict;
    bool shown = keyspace_show_due(true);
    const struct call *outer = call_set_running(call);
    perform_call(call, !outer);
    call_set_running(outer);
    keyspace_show_due(shown);
    client_forget_error(call->client);
    return GATE_OPEN;
}

/* For a call outside of a batch and of other calls: starts the clock, and stops it afterwards. */
static __attribute__((noinline)) enum gate_verdict run_alone(struct call *call) {
    const struct cause *before = start_clock();
    enum gate_verdict verdict = pass_and_run(call);
    cause_leave(before, last_end_nsec);
    last_end_nsec = 0;
    return verdict;
}

static inline __attribute__((always_inline)) enum gate_verdict run_now(struct call *call) {
    if (__builtin_expect(!last_end_nsec, 0)) {
        if (!call->request) return run_alone(call);
        start_clock();
    }
    return pass_and_run(call);
}

/* The primary decides which keys expire, so keys that are due are visible to its commands. Unlike
 * commands of the log they are counted, because they are new here. */
static __attribute__((noinline)) enum gate_verdict run_after_primary(struct call *call) {
    bool shown = keyspace_show_due(true);
    enum gate_verdict verdict = run_now(call);
    keyspace_show_due(shown);
    return verdict;
}

enum gate_verdict call_run(struct call *call) {
    if (__builtin_expect(call->origin == CALL_LOG, 0)) return run_again(call);
    if (__builtin_expect(call->origin == CALL_PRIMARY, 0)) return run_after_primary(call);
    return run_now(call);
}

/* ---- requests of a batch ---- */

/* Finds the command and hashes its first key; false where it has none. */
static inline bool find_and_hash(struct request *r) {
    struct command *command = command_find(r->argv[0]);
    r->command = command;
    if (!command || command->first_key <= 0 || command->first_key >= r->argc) return false;
    struct slice key = r->argv[command->first_key];
    r->hashed = command->first_key;
    r->key_hash = key_hash_of(key);
    return true;
}

static inline const struct keyspace *keyspace_of(const struct request *r) {
    return keyspace_at(r->client->database);
}

/* All keys are in one table. */
static void prefetch_requests(struct request *requests, int count) {
    for (struct request *r = requests; r != requests + count; r++)
        if (!r->error && find_and_hash(r)) keyspace_prefetch_bucket(keyspace_of(r), r->key_hash);
    if (count == 1) return;
    for (struct request *r = requests; r != requests + count; r++)
        if (r->hashed) keyspace_prefetch_entry(keyspace_of(r), r->key_hash);
}

/* There is a table for each slot. Its header must have arrived before the bucket is known. */
static void prefetch_by_slot(struct request *requests, int count) {
    const struct table *tables[BATCH_GROUP];
    ASSERT(count <= BATCH_GROUP);
    for (int i = 0; i < count; i++) {
        struct request *r = &requests[i];
        if (!r->error && find_and_hash(r))
            tables[i] = keyspace_prefetch_table(keyspace_of(r), r->key_hash);
        else
            tables[i] = NULL;
    }
    for (int i = 0; i < count; i++)
        if (tables[i]) table_prefetch_bucket(tables[i], requests[i].key_hash);
    for (int i = 0; count > 1 && i < count; i++)
        if (tables[i]) table_prefetch_element(tables[i], requests[i].key_hash);
}

static void execute_request(struct request *r) {
    struct client *c = r->client;
    struct call call;
    call_of_request(&call, CALL_NETWORK, r);
    enum gate_verdict verdict = call_run(&call);
    if (__builtin_expect(verdict == GATE_OPEN, 1)) {
        r->finished = !(c->flags & CLIENT_HELD);
    } else if (verdict == GATE_REFUSED) {
        tell_request_ended(&call);
        if (client_flags(c, &tracking_client_state) & TRACKING_ON)
            tracking_after_refusal(c, call.command, client_in_transaction(c));
    }
}

#define EXECUTOR(how)                                                            \
    {                                                                            \
        .prefetch = (how), .execute = execute_request, .pause = run_pause_clock, \
        .after_replies = command_times_note_felt                                 \
    }
static const struct batch_executor run_requests = EXECUTOR(prefetch_requests);
static const struct batch_executor run_by_slot = EXECUTOR(prefetch_by_slot);

const struct batch_executor *run_executor(void) {
    return keyspace_is_partitioned() ? &run_by_slot : &run_requests;
}

/* ---- calls within calls ---- */

void run_nest_begin(struct run_nesting *outer) {
    attribution_nest_begin(&outer->attribution);
    clock_hold();
    limbo_leave();
}

void run_nest_end(const struct run_nesting *outer) {
    limbo_enter();
    clock_let_go();
    attribution_nest_end(&outer->attribution);
}

void run_open(void (*what)(void), const struct run_observer *who) {
    within = what;
    observer = who;
    unusual_end = client_flags_of_net(CLIENT_ERROR_REPLIED) |
                  client_flags_of(&tracking_client_state, TRACKING_ON | TRACKING_MESSAGES_WAIT);
    if (observer) unusual_end |= client_flags_of(observer->of, observer->flags);
}

static bool may_last(const struct call *call) { return gate_flags(call) & COMMAND_MAY_LAST; }

struct gate run_gate = {
    .origins = GATE_FROM(CALL_NETWORK),
    .stops = may_last,
    .refusal = "-BUSY Too many commands take long within each other. Try again later."};

/* Calls in the nested turn are timed by themselves; the caller's clock continues after them. */
bool run_turn_within(void) {
    struct attribution_nesting attribution;
    struct effects_nesting effects;
    struct tracking_nesting tracking;
    bool timed = last_end_nsec != 0, innermost = batch_turns_left() == 1;
    if (innermost) gate_set(&run_gate, true);
    const struct cause *before = cause_enter(&loop_cause_io, clock_monotonic_nsec());
    attribution_nest_begin(&attribution);
    unsigned limbo = limbo_pause();
    bool shown = keyspace_show_due(false); /* clients of the nested turn see no due keys */
    uint64_t record = effects_nest_begin(&effects);
    tracking_nest_begin(&tracking);
    last_end_nsec = 0;
    bool turned = batch_turn_within(record);
    tracking_nest_end(&tracking);
    effects_nest_end(&effects);
    keyspace_show_due(shown);
    limbo_go_on(limbo);
    attribution_nest_end(&attribution);
    if (innermost) gate_set(&run_gate, false);
    if (turned && within) within();
    if (loop_depth(client_loop()) == 0) client_free_closing(); /* else the outermost turn does it */
    int64_t now = clock_monotonic_nsec();
    last_end_nsec = timed ? now : 0;
    cause_leave(before, now);
    return !loop_is_stopping(client_loop());
}
