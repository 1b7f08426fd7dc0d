/* SPDX-License-Identifier: BSD-3-Clause
 * maxmemory: what is done before each command, and between turns, if too much memory is used.
 *
 *   total    used_memory, less the buffers of replicas and the append only file, less memory that
 *            is handed to the background or retired and not yet freed
 *   counted  total, less the memory of clients if the exemption is on
 *   written  total, less the memory of clients, plus large arguments, which will become values
 *
 *   total <= maxmemory    nothing is done; most commands do no more than this test
 *   counted > maxmemory   a slice evicts down to maxmemory, bounded by maxmemory-eviction-tenacity
 *                         and, below 100, by the budget. If its time is up before that, the command
 *                         runs all the same, and further slices run before the loop sleeps. If no
 *                         key is left to evict, or under noeviction, there is no room.
 *   total > ceiling       only while the budget is below 100 or the exemption is on: if clients
 * hold more than the room between maxmemory and the ceiling, the largest are disconnected, else
 * keys are evicted down to the ceiling at once counted > soft limit  slices run before the loop
 * sleeps: down to the soft limit in idle time, in busy time by as much as the last turn has added
 *
 * Tenacity bounds the time of a slice, and so what it frees, but a command may write more than
 * that: for a value of a megabyte ten thousand small keys must go. So slices keep account of the
 * bytes that were written and for which no key was evicted yet (unanswered bytes). While these are
 * more than a small share of maxmemory, a slice continues beyond its tenacity, for some
 * milliseconds at most; the bound grows with the unanswered bytes, and the next slice continues.
 * The milliseconds are CPU time of the thread, because waiting for a processor that other work has
 * evicts nothing. Slices run between turns, too, also for arguments that are being read, so that
 * keys are evicted for a large value step by step while it arrives. Replies do not count as
 * written: keys are evicted for them at the pace of tenacity.
 *
 * Invariants
 *  1. A slice's target is fixed when it begins. It is reached when the sizes of the evicted keys
 *     add up to it, whatever else is allocated or freed meanwhile; so memory that eviction itself
 *     makes others allocate never prolongs a slice.
 *  2. Only slices for the ceiling use more time than the budget grants; other slices overrun it at
 *     most by the eviction of one key. With a budget, large values are freed in the background.
 *  3. `evicting` is set while a slice has missed its target for lack of time and no later slice has
 *     reached it.
 *  4. As in 6.2, no key is evicted while clients are paused, during a load, or during a script that
 *     runs beyond its time.
 *  5. Without a budget `counted` exceeds maxmemory by at most the share that may stay unanswered,
 *     the bytes that one turn writes, and the memory of clients, as long as those milliseconds of
 *     each command and turn suffice to evict for the bytes that are added; else by a few times the
 *     share.
 */
#include "exec/memory_limit.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/probes.h"
#include "base/time_budget.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/client_flags.h"
#include "exec/gates.h"
#include "exec/pause.h"
#include "metric/cause.h"
#include "metric/latency.h"
#include "metric/metric.h"
#include "net/client.h"
#include "option/option.h"
#include "store/evict.h"
#include "store/lazyfree.h"
#include "store/limbo.h"

static struct cause eviction_cause = {
    .name = "eviction", .place = 20, .field = "eviction_usec", .verdict = "keys were evicted"};

/* Without a budget, a slice reads the clock after so many evicted keys, as 6.2 does. */
#define VICTIMS_PER_CLOCK 16
/* A slice's time: 50 us for each of the first ten steps of tenacity, 15 % more for each further
 * step, no limit at 100, as in 6.2. */
#define TENACITY_STEP_NSEC 50000
#define TENACITY_LINEAR 10
#define TENACITY_GROWTH 1.15
#define TENACITY_UNLIMITED 100
/* This part of maxmemory may be written beyond it and stay unanswered for a time. */
#define UNANSWERED_ONE_IN 32
/* A slice with more unanswered bytes may continue for ANSWER_NSEC for each such part, and for
 * ANSWER_NSEC_MAX at most. So few bytes cost short slices, and many are answered before they grow.
 */
#define ANSWER_NSEC 5000000
#define ANSWER_NSEC_MAX 50000000
/* Memory that waits for the background to free it is not counted; it may be this part of
 * maxmemory. */
#define PENDING_ONE_IN 16
/* The time of a slice for the soft limit: in idle time no longer than a slice of expiry, because no
 * command waits for it; under load it must keep pace with the writes of a whole turn. */
#define SOFT_IDLE_NSEC 100000
#define SOFT_BUSY_NSEC 500000
/* When the budget is spent, the loop may sleep, and eviction is tried again after this time. */
#define BUDGET_WAIT_MSEC 1
#define BUDGET_UNLIMITED 100
#define PERCENT_MAX 1000

enum outcome {
    OUTCOME_DONE,
    OUTCOME_MORE, /* the time was up before */
    OUTCOME_NONE  /* there is no key to evict */
};

static size_t all_clients(void) { return memory_used(MEMORY_CLIENTS); }
static size_t no_bytes(void) { return 0; }
static size_t disconnect_nobody(size_t bytes) { return 0; }
static const struct memory_limit_clients without_detail = {all_clients, no_bytes, no_bytes,
                                                           disconnect_nobody};

static int64_t limit, tenacity, budget_percent, ceiling, soft_limit;
static bool exclude_clients;
static bool exempt; /* memory_limit_set_exempt */
static const struct memory_limit_clients *clients = &without_detail;
static struct time_budget budget;
static bool budget_spent; /* the budget was spent in this turn */
static int64_t slice_end_nsec;
static bool evicting, busy;
static bool lacked;     /* there was no room for the last call that was checked */
static size_t answered; /* `written` up to this value has been answered by evictions */
static size_t soft_baseline = SIZE_MAX; /* counted bytes to which slices of a busy turn return */
static uint64_t eviction_nsec, budget_exhausted, overshoot_peak, ceiling_hits;

static int64_t end_of_wait(struct loop_timer *t) { return LOOP_TIMER_END; }
static struct loop_timer wait_timer = {.callback = end_of_wait};
static bool waiting;

/* ---- what is counted ---- */

static size_t bytes_above(size_t a, size_t b) { return a > b ? a - b : 0; }

static size_t total_bytes(void) {
    /* The pending bytes are read first, so that they are never less than their share of the sum,
     * which other threads reduce meanwhile. */
    size_t leaving = lazyfree_pending_bytes() + limbo_bytes() + clients->leaving();
    size_t uncounted = memory_used_uncounted();
    return bytes_above(memory_used_total(), leaving + uncounted);
}

/* Bytes of the clients that are not being closed. */
static size_t client_bytes(void) { return bytes_above(clients->bytes(), clients->leaving()); }

static size_t counted_of(size_t total) {
    return exclude_clients ? bytes_above(total, client_bytes()) : total;
}

size_t memory_limit_counted(void) { return counted_of(total_bytes()); }

static size_t written_of(size_t total) {
    return bytes_above(total, client_bytes()) + clients->arguments();
}

/* The bytes that an option says: bytes, or, as a negative number, percent of maxmemory. */
static size_t resolve_limit(int64_t bytes_or_percent) {
    if (bytes_or_percent >= 0) return (size_t)bytes_or_percent;
    return (size_t)((double)limit * (double)-bytes_or_percent / 100);
}

static bool ceiling_acts(void) {
    return ceiling && (budget_percent < BUDGET_UNLIMITED || exclude_clients);
}

static size_t ceiling_bytes(void) {
    size_t bytes = resolve_limit(ceiling);
    return bytes > (size_t)limit ? bytes : (size_t)limit;
}

/* ---- options ---- */

/* Counts all that is written now, and all that fits into maxmemory, as answered. */
static void answer_all(void) {
    size_t total = total_bytes(), written = written_of(total);
    size_t fits = bytes_above((size_t)limit, bytes_above(total, written));
    answered = written > fits ? written : fits;
}

static void look_at_gate(void) { gate_set(&memory_limit_gate, limit && !exempt); }

void memory_limit_set_exempt(bool is_exempt) {
    exempt = is_exempt;
    lacked = false;
    look_at_gate();
}

static bool apply_limit(const struct option_row *row, char *reason, size_t reason_size) {
    soft_baseline = SIZE_MAX;
    lacked = false; /* it was said of the old limit */
    answer_all();
    look_at_gate();
    lazyfree_bound_pending(limit ? (size_t)limit / PENDING_ONE_IN : SIZE_MAX);
    if (!limit || memory_limit_counted() <= (size_t)limit) return true;
    if (option_source_now() == OPTION_FROM_CONFIG_SET)
        log_warning("maxmemory is %" PRId64
                    " bytes now, and %zu are in use that count toward it: "
                    "keys will be evicted or writes refused, as maxmemory-policy says",
                    limit, memory_limit_counted());
    evicting = true;
    return true;
}

static bool apply_soft_limit(const struct option_row *row, char *reason, size_t reason_size) {
    soft_baseline = SIZE_MAX;
    return true;
}

static bool apply_budget(const struct option_row *row, char *reason, size_t reason_size) {
    time_budget_start(&budget, budget_percent, clock_monotonic_nsec());
    budget_spent = false;
    return true;
}

static bool check_ceiling(const struct option_row *row, struct slice value, char *reason,
                          size_t reason_size) {
    int64_t percent;
    bool is_percent = value.length && value.bytes[value.length - 1] == '%';
    if (!is_percent || !number_parse_int64(value.bytes, value.length - 1, &percent) ||
        percent == 0 || percent >= 100)
        return true;
    snprintf(reason, reason_size, "argument must be 0, or bytes, or at least 100%%");
    return false;
}

static const struct option_row option_rows[] = {
    {.name = "maxmemory",
     .type = OPTION_TYPE_BYTES,
     .flags = OPTION_MUTABLE,
     .section = "memory",
     .place = 10,
     .fallback = "0",
     .variable = &limit,
     .low = 0,
     .high = INT64_MAX,
     .apply = apply_limit,
     .help = "Bytes that the data and what goes with it may take; 0 = no limit. Above it keys are "
             "evicted as maxmemory-policy says, or commands that need memory are refused."},
    OPTION_INT("maxmemory-eviction-tenacity", &tenacity, "10", 0, 100, OPTION_MUTABLE, "memory", 40,
               "How long one command may go on evicting: 0 = hardly, 10 = half a millisecond, 100 "
               "= until done. Longer where more than a 32nd of maxmemory was written and nothing "
               "has gone for it yet."),
    {.name = "maxmemory-eviction-cpu-budget",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "memory",
     .place = 80,
     .fallback = "100",
     .variable = &budget_percent,
     .low = 1,
     .high = BUDGET_UNLIMITED,
     .apply = apply_budget,
     .help =
         "Percent of the main thread's time that eviction may take, over any 100 ms. When it is "
         "spent commands go on although memory is over maxmemory, up to maxmemory-ceiling. 100 "
         "= no limit, as Redis 6.2."},
    OPTION_BOOL("maxmemory-exclude-client-buffers", &exclude_clients, false, OPTION_MUTABLE,
                "memory", 90,
                "Do not count the memory of normal and pubsub clients toward maxmemory, so that "
                "many or slow clients cause no eviction. maxmemory-ceiling still counts it."),
    {.name = "maxmemory-ceiling",
     .type = OPTION_TYPE_BYTES_OR_PERCENT,
     .flags = OPTION_MUTABLE,
     .section = "memory",
     .place = 100,
     .fallback = "120%",
     .variable = &ceiling,
     .low = -PERCENT_MAX,
     .high = INT64_MAX,
     .check = check_ceiling,
     .help = "Bytes, or percent of maxmemory, that the budget or the exclusion of client buffers "
             "may let memory grow to; 0 = no ceiling. Above it the largest clients are "
             "disconnected where clients hold more than the room up to here, but none that holds "
             "less than 8 kb; else keys are evicted whatever the budget. Without budget and "
             "exclusion it does nothing."},
    {.name = "maxmemory-soft-limit",
     .type = OPTION_TYPE_BYTES_OR_PERCENT,
     .flags = OPTION_MUTABLE,
     .section = "memory",
     .place = 105,
     .fallback = "0",
     .variable = &soft_limit,
     .low = -100,
     .high = INT64_MAX,
     .apply = apply_soft_limit,
     .help = "Bytes, or percent of maxmemory, above which keys are evicted ahead of need: in idle "
             "time, and otherwise as fast as memory is taken. 0 = none. Only where maxmemory and "
             "a policy that evicts are set."},
};

/* ---- metrics ---- */

static size_t overshoot_now(void) {
    return limit ? bytes_above(memory_limit_counted(), (size_t)limit) : 0;
}

static void print_counted(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", memory_limit_counted());
}
static void print_overshoot(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", overshoot_now());
}
static void print_eviction_usec(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRIu64, eviction_nsec / 1000);
}
static void reset_eviction_usec(void) { eviction_nsec = 0; }

static const struct metric_row metric_rows[] = {
    {.section = "Memory",
     .place = 1400,
     .name = "mem_counted_for_eviction",
     .measure = METRIC_BYTES,
     .type = METRIC_FUNCTION,
     .print = print_counted,
     .help = "Bytes that count toward maxmemory."},
    {.section = "Memory",
     .place = 1410,
     .name = "maxmemory_overshoot_bytes",
     .measure = METRIC_BYTES,
     .type = METRIC_FUNCTION,
     .print = print_overshoot,
     .help = "Those of them that are over maxmemory now."},
    {.section = "Memory",
     .place = 1420,
     .name = "maxmemory_overshoot_peak_bytes",
     .measure = METRIC_BYTES,
     .type = METRIC_UINT64,
     .variable = &overshoot_peak,
     .reset = true,
     .help = "The most that a command has found over maxmemory."},
    {.section = "Stats",
     .place = 1210,
     .name = "eviction_cpu_usec_total",
     .measure = METRIC_COUNTER_USEC,
     .type = METRIC_FUNCTION,
     .print = print_eviction_usec,
     .help = "Microseconds of the main thread that eviction took."},
    {.section = "Stats",
     .place = 1220,
     .name = "eviction_budget_exhausted_count",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &budget_exhausted,
     .reset = true,
     .help = "Turns of the event loop in which maxmemory-eviction-cpu-budget stopped eviction."},
    {.section = "Stats",
     .place = 1230,
     .name = "maxmemory_ceiling_hits",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &ceiling_hits,
     .reset = true,
     .help = "Commands that found memory above maxmemory-ceiling."},
};

void memory_limit_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(reset_eviction_usec);
    cause_register(&eviction_cause);
}

void memory_limit_set_clients(const struct memory_limit_clients *how) { clients = how; }

int64_t memory_limit_bytes(void) { return limit; }

bool memory_limit_shares_integers(void) { return !limit || !evict_tracks_use(); }

/* ---- a slice ---- */

int64_t memory_limit_slice_end_nsec(void) {
    int64_t end_nsec = slice_end_nsec;
    slice_end_nsec = 0;
    return end_nsec;
}

static int64_t tenacity_nsec(void) {
    if (tenacity >= TENACITY_UNLIMITED) return INT64_MAX;
    if (tenacity <= TENACITY_LINEAR) return TENACITY_STEP_NSEC * tenacity;
    double nsec = TENACITY_STEP_NSEC * TENACITY_LINEAR;
    for (int64_t i = TENACITY_LINEAR; i < tenacity; i++) nsec *= TENACITY_GROWTH;
    return (int64_t)nsec;
}

static bool has_budget(void) { return budget_percent < BUDGET_UNLIMITED; }

static void note_budget_spent(void) {
    if (!budget_spent) budget_exhausted++;
    budget_spent = true;
}

static bool evict_timed(size_t *bytes) {
    bool lazily = has_budget() || lazyfree_wanted(LAZYFREE_EVICTION);
    if (__builtin_expect(!latency_is_on(), 1)) return evict_one(lazily, bytes);
    int64_t begin = clock_monotonic_nsec();
    bool found = evict_one(lazily, bytes);
    if (found) latency_note("eviction-del", (clock_monotonic_nsec() - begin) / 1000000);
    return found;
}

/* What a slice is to free: `target` within `nsec`; `least` of it even beyond that time, up to
 * `least_nsec` of CPU time of the thread. */
struct aim {
    size_t target, least;
    int64_t nsec, least_nsec;
};

/* When a slice began: by the clock and, if its aim has a `least`, by the thread's CPU time. */
struct start {
    int64_t nsec, cpu_nsec;
};

static bool aim_time_is_up(const struct aim *aim, const struct start *start, size_t freed) {
    int64_t passed_nsec = clock_monotonic_nsec() - start->nsec;
    if (passed_nsec <= aim->nsec) return false;
    if (freed >= aim->least) return true;
    return passed_nsec > aim->least_nsec &&
           clock_thread_cpu_nsec() - start->cpu_nsec > aim->least_nsec;
}

/* Evicts until the target is reached or the time is up; reads the clock after every `stride` keys.
 * `*freed` gets the bytes of the evicted keys. */
static enum outcome evict_until(const struct aim *aim, int64_t begin_nsec, unsigned stride,
                                size_t *freed) {
    struct start start = {begin_nsec, aim->least ? clock_thread_cpu_nsec() : 0};
    *freed = 0;
    for (unsigned victims = 1; *freed < aim->target; victims++) {
        size_t bytes;
        if (!evict_timed(&bytes)) return OUTCOME_NONE;
        *freed += bytes;
        if (victims % stride == 0 && aim_time_is_up(aim, &start, *freed))
            return *freed < aim->target ? OUTCOME_MORE : OUTCOME_DONE;
    }
    return OUTCOME_DONE;
}

static enum outcome evict_slice(struct aim aim, bool budgeted, size_t *freed) {
    unsigned stride = VICTIMS_PER_CLOCK;
    *freed = 0;
    if (budgeted && budget_spent) return OUTCOME_MORE;
    int64_t begin_nsec = clock_monotonic_nsec();
    if (budgeted) {
        int64_t granted_nsec = time_budget_left(&budget, begin_nsec);
        if (granted_nsec <= 0) {
            note_budget_spent();
            return OUTCOME_MORE;
        }
        if (granted_nsec < aim.nsec) aim.nsec = granted_nsec;
        aim.least = 0;
        stride = 1;
    }
    const struct cause *before = cause_enter(&eviction_cause, begin_nsec);
    PROBE1(eviction__start, aim.target);
    enum outcome outcome = evict_until(&aim, begin_nsec, stride, freed);
    int64_t end_nsec = clock_monotonic_nsec();
    slice_end_nsec = end_nsec;
    cause_leave(before, end_nsec);
    PROBE2(eviction__done, *freed, end_nsec - begin_nsec);
    eviction_nsec += (uint64_t)(end_nsec - begin_nsec);
    latency_note("eviction-cycle", (end_nsec - begin_nsec) / 1000000);
    if (budgeted) {
        time_budget_spend(&budget, begin_nsec, end_nsec);
        if (outcome == OUTCOME_MORE && time_budget_left(&budget, end_nsec) <= 0)
            note_budget_spent();
    }
    return outcome;
}

/* ---- the limit ---- */

static enum outcome evict_to_limit(size_t total, size_t counted, size_t *freed) {
    size_t over = counted - (size_t)limit, written = written_of(total);
    size_t due = bytes_above(written, answered);
    if (due > over) due = over;
    size_t part = (size_t)limit / UNANSWERED_ONE_IN + 1;
    struct aim aim = {over, bytes_above(due, part), tenacity_nsec(),
                      (int64_t)(due / part) * ANSWER_NSEC};
    if (aim.least_nsec > ANSWER_NSEC_MAX) aim.least_nsec = ANSWER_NSEC_MAX;
    enum outcome outcome = evict_slice(aim, has_budget(), freed);
    answered = bytes_above(bytes_above(written, *freed), bytes_above(due, *freed));
    evicting = outcome == OUTCOME_MORE;
    return outcome;
}

/* Brings the total down to the ceiling, however long that takes. False if there is nothing left to
 * evict. */
static bool enforce_ceiling(size_t total) {
    size_t top = ceiling_bytes(), room = top - (size_t)limit, freed;
    if (total <= top) return true;
    ceiling_hits++;
    size_t held = client_bytes();
    if (held > room) {
        size_t wanted = held - room < total - top ? held - room : total - top;
        total = bytes_above(total, clients->disconnect_largest(wanted));
        if (total <= top) return true;
    }
    return evict_slice((struct aim){.target = total - top, .nsec = INT64_MAX}, false, &freed) !=
           OUTCOME_NONE;
}

bool memory_limit_make_room(void) {
    busy = true;
    size_t total = total_bytes();
    if (total <= (size_t)limit || pause_mode() != PAUSE_NONE) return true;
    if (gates_forbid_eviction()) return true;

    size_t counted = counted_of(total), freed = 0;
    bool room = true;
    if (counted > (size_t)limit) {
        size_t over = counted - (size_t)limit;
        if (over > overshoot_peak) overshoot_peak = over;
        room = evict_to_limit(total, counted, &freed) != OUTCOME_NONE;
    }
    if (ceiling_acts() && !enforce_ceiling(bytes_above(total, freed))) room = false;
    return room;
}

/* ---- the gate ---- */

/* In a transaction every command that is queued is refused, because the queue takes memory, and
 * EXEC is refused if a queued command has COMMAND_DENYOOM. Room is made before any call, as in 6.2.
 */
static bool lacks_memory(const struct call *call) {
    lacked = !memory_limit_make_room();
    if (!lacked || call->origin == CALL_PRIMARY) return false; /* the primary has run it already */
    bool queues = client_in_transaction(call->client);
    if (queues && !(call->command->flags & COMMAND_EXECUTES))
        return !(call->command->flags & COMMAND_ENDS_TRANSACTION);
    return gate_flags(call) & COMMAND_DENYOOM;
}

bool memory_limit_lacked(void) { return limit && lacked; }

/* Calls of scripts have a gate of their own (script_gate_memory): room is made once, before the
 * script begins. */
struct gate memory_limit_gate = {
    .origins = GATE_FROM(CALL_NETWORK) | GATE_FROM(CALL_PRIMARY),
    .stops = lacks_memory,
    .refusal = "-OOM command not allowed when used memory > 'maxmemory'."};

/* ---- between turns ---- */

void memory_limit_turn(void) {
    budget_spent = false;
    waiting = false;
    if (has_budget()) time_budget_turn(&budget);
}

/* Whether eviction may continue now; if the budget is spent, starts the timer for later. */
static bool go_on(void) {
    if (!budget_spent) return true;
    if (!waiting) loop_timer_start(client_loop(), &wait_timer, BUDGET_WAIT_MSEC);
    waiting = true;
    return false;
}

/* Evicts for the soft limit, while the limit itself is kept. */
static bool step_soft(size_t counted, bool idle) {
    size_t soft = resolve_limit(soft_limit), freed = 0;
    if (!soft || counted <= soft) {
        soft_baseline = soft;
        return false;
    }
    if (soft_baseline == SIZE_MAX) soft_baseline = counted;
    size_t floor = idle || soft_baseline < soft ? soft : soft_baseline;
    enum outcome outcome = OUTCOME_DONE;
    struct aim aim = {.target = bytes_above(counted, floor),
                      .nsec = idle ? SOFT_IDLE_NSEC : SOFT_BUSY_NSEC};
    if (aim.target) outcome = evict_slice(aim, has_budget(), &freed);
    counted = bytes_above(counted, freed);
    if (counted < soft_baseline) soft_baseline = counted;
    return outcome != OUTCOME_NONE && counted > soft && go_on();
}

bool memory_limit_step(void) {
    bool idle = !busy;
    size_t freed;
    busy = false;
    bool acts = limit && !exempt && evict_policy() != EVICT_NOTHING;
    if (!acts || pause_mode() != PAUSE_NONE) return false;
    bool enforce = evicting || clients->arguments();
    if (!enforce && !soft_limit) return false;
    size_t total = total_bytes(), counted = counted_of(total);
    if (enforce && counted > (size_t)limit)
        return evict_to_limit(total, counted, &freed) == OUTCOME_MORE && go_on();
    evicting = false;
    return soft_limit && step_soft(counted, idle);
}
