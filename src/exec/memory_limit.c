/* SPDX-License-Identifier: BSD-3-Clause
 * maxmemory. Before each command: is too much used, and what is to be done about it?
 *
 *   total    used_memory, less the buffers of replicas and the append only file, less what is
 *            handed to the background or retired and not yet freed
 *   counted  total, less the memory of clients where the exemption is on
 *   written  total, less the memory of clients, and large arguments, which are to become values
 *
 *   total <= maxmemory    nothing; this is all that most commands see
 *   counted > maxmemory   evict down to it: a slice, bounded by maxmemory-eviction-tenacity and,
 *                         below 100, by the budget. Not done in time: the command runs all the
 *                         same, and slices go on before the loop sleeps. No key left to evict, or
 *                         noeviction: no room.
 *   total > ceiling       while the budget is below 100 or the exemption on: disconnect the largest
 *                         clients where they hold more than what lies between maxmemory and
 *                         ceiling, else evict down to the ceiling at once
 *   counted > soft limit  before the loop sleeps: in idle time, and in busy time as much as was
 *                         added since the last turn
 *
 * Tenacity bounds what a slice takes, and so what it frees; a command may write more than that, a
 * value of a megabyte where ten thousand small keys have to go for it. So slices keep account of
 * what was written and not yet answered by victims. Where that is more than a small share of
 * maxmemory a slice goes on beyond its tenacity until it is not, but for some milliseconds at most,
 * the more the more there is; what is left is the next slice's. These are milliseconds of the
 * thread's own: where other work has its processor, waiting for it answers nothing. Slices run
 * between turns as well, also for arguments that are being read: a large value is answered bit by
 * bit while it comes. Replies are not "written": for these, keys go at tenacity's pace.
 *
 * Invariants
 *  1. A slice's target is fixed when it begins. It is reached when the victims' own sizes add up to
 *     it, whatever else is allocated or freed meanwhile; so what eviction makes others write never
 *     makes it go on.
 *  2. No slice but that of the ceiling uses time that the budget does not grant, except for the end
 *     of its last victim; with a budget, large values are freed in the background.
 *  3. `evicting` is set while a target was missed for want of time and no later slice has met it.
 *  4. Nothing is evicted while clients are paused, in the midst of a load, nor in that of a script
 *     that runs beyond its time: as 6.2.
 *  5. Without a budget counted never passes maxmemory by more than the share that may go
 *     unanswered, what one turn writes, and what clients hold, as long as those milliseconds of
 *     each command and turn suffice to evict what that adds; else by a few times the share.
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

/* Victims between two looks at the clock without a budget: 6.2's number. */
#define VICTIMS_PER_CLOCK 16
/* A slice's time: 50 us for each of the first ten steps of tenacity, 15 % more for each further
 * one, no limit at 100. Facts of 6.2. */
#define TENACITY_STEP_NSEC 50000
#define TENACITY_LINEAR 10
#define TENACITY_GROWTH 1.15
#define TENACITY_UNLIMITED 100
/* Of maxmemory so small a part may be written beyond it and not be answered yet. */
#define UNANSWERED_ONE_IN 32
/* A slice that has more to answer goes on for so long for each such part, and at most for so long.
 * So little is answered gently, and much before it becomes more. */
#define ANSWER_NSEC 5000000
#define ANSWER_NSEC_MAX 50000000
/* Of maxmemory so small a part may wait for the background to free it: it is not counted. */
#define PENDING_ONE_IN 16
/* A slice for the soft limit: no longer than expiry's, for nobody waits for it; under load it must
 * keep pace with a whole turn of writes. */
#define SOFT_IDLE_NSEC 100000
#define SOFT_BUSY_NSEC 500000
/* When the budget is spent the loop may sleep, and looks again after so long. */
#define BUDGET_WAIT_MSEC 1
#define BUDGET_UNLIMITED 100
#define PERCENT_MAX 1000

enum outcome {
    OUTCOME_DONE,
    OUTCOME_MORE, /* time was up */
    OUTCOME_NONE  /* no key that may go */
};

static size_t all_clients(void) { return memory_used(MEMORY_CLIENTS); }
static size_t nothing(void) { return 0; }
static size_t disconnect_nobody(size_t bytes) { return 0; }
static const struct memory_limit_clients without_detail = {all_clients, nothing, nothing,
                                                           disconnect_nobody};

static int64_t limit, tenacity, budget_percent, ceiling, soft_limit;
static bool exclude_clients;
static bool exempt; /* somebody else sees to it */
static const struct memory_limit_clients *clients = &without_detail;
static struct time_budget budget;
static bool budget_spent; /* in this turn */
static int64_t slice_end_nsec;
static bool evicting, busy;
static bool lacked;     /* there was no room for the last call that was asked */
static size_t answered; /* slices have evicted for what was written up to so many bytes */
static size_t soft_baseline = SIZE_MAX; /* counted bytes that a busy turn returns to */
static uint64_t eviction_nsec, budget_exhausted, overshoot_peak, ceiling_hits;

static int64_t end_of_wait(struct loop_timer *t) { return LOOP_TIMER_END; }
static struct loop_timer wait_timer = {.callback = end_of_wait};
static bool waiting;

/* ---- what is counted ---- */

static size_t less(size_t a, size_t b) { return a > b ? a - b : 0; }

static size_t total_bytes(void) {
    /* Pending first: read in this order, it is never less than its share of the sum. */
    size_t leaving = lazyfree_pending_bytes() + limbo_bytes() + clients->leaving();
    size_t uncounted = memory_used_uncounted();
    return less(memory_used_total(), leaving + uncounted);
}

/* That stay. */
static size_t client_bytes(void) { return less(clients->bytes(), clients->leaving()); }

static size_t counted_of(size_t total) {
    return exclude_clients ? less(total, client_bytes()) : total;
}

size_t memory_limit_counted(void) { return counted_of(total_bytes()); }

static size_t written_of(size_t total) {
    return less(total, client_bytes()) + clients->arguments();
}

/* An option that is bytes, or a negative percentage of maxmemory. */
static size_t resolve(int64_t bytes_or_percent) {
    if (bytes_or_percent >= 0) return (size_t)bytes_or_percent;
    return (size_t)((double)limit * (double)-bytes_or_percent / 100);
}

static bool ceiling_acts(void) {
    return ceiling && (budget_percent < BUDGET_UNLIMITED || exclude_clients);
}

static size_t ceiling_bytes(void) {
    size_t bytes = resolve(ceiling);
    return bytes > (size_t)limit ? bytes : (size_t)limit;
}

/* ---- options ---- */

/* What is there is no command's doing any more, and neither is what fits. */
static void answer_all(void) {
    size_t total = total_bytes(), written = written_of(total);
    size_t fits = less((size_t)limit, less(total, written));
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
    lacked = false; /* by the old limit */
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
    return limit ? less(memory_limit_counted(), (size_t)limit) : 0;
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
     .type = METRIC_FUNCTION,
     .print = print_counted,
     .help = "Bytes that count toward maxmemory."},
    {.section = "Memory",
     .place = 1410,
     .name = "maxmemory_overshoot_bytes",
     .type = METRIC_FUNCTION,
     .print = print_overshoot,
     .help = "Those of them that are over maxmemory now."},
    {.section = "Memory",
     .place = 1420,
     .name = "maxmemory_overshoot_peak_bytes",
     .type = METRIC_UINT64,
     .variable = &overshoot_peak,
     .reset = true,
     .help = "The most that a command has found over maxmemory."},
    {.section = "Stats",
     .place = 1210,
     .name = "eviction_cpu_usec_total",
     .type = METRIC_FUNCTION,
     .print = print_eviction_usec,
     .help = "Microseconds of the main thread that eviction took."},
    {.section = "Stats",
     .place = 1220,
     .name = "eviction_budget_exhausted_count",
     .type = METRIC_UINT64,
     .variable = &budget_exhausted,
     .reset = true,
     .help = "Turns of the event loop in which maxmemory-eviction-cpu-budget stopped eviction."},
    {.section = "Stats",
     .place = 1230,
     .name = "maxmemory_ceiling_hits",
     .type = METRIC_UINT64,
     .variable = &ceiling_hits,
     .reset = true,
     .help = "Commands that found memory above maxmemory-ceiling."},
};

void memory_limit_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(reset_eviction_usec);
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

/* What a slice is to free, what of it even beyond its time, and that time. */
struct aim {
    size_t target, least;
    int64_t nsec, least_nsec; /* for the target; for `least`, in which the thread has worked */
};

/* When a slice began: by the clock, and by the thread's own time where its aim asks for that. */
struct start {
    int64_t nsec, cpu_nsec;
};

static bool time_is_up(const struct aim *aim, const struct start *start, size_t freed) {
    int64_t passed_nsec = clock_monotonic_nsec() - start->nsec;
    if (passed_nsec <= aim->nsec) return false;
    if (freed >= aim->least) return true;
    return passed_nsec > aim->least_nsec &&
           clock_thread_cpu_nsec() - start->cpu_nsec > aim->least_nsec;
}

/* Until victims of so many bytes are gone, or time is up by a look at the clock after every
 * `stride` of them. `*freed` is what they took. */
static enum outcome evict_until(const struct aim *aim, int64_t begin_nsec, unsigned stride,
                                size_t *freed) {
    struct start start = {begin_nsec, aim->least ? clock_thread_cpu_nsec() : 0};
    *freed = 0;
    for (unsigned victims = 1; *freed < aim->target; victims++) {
        size_t bytes;
        if (!evict_timed(&bytes)) return OUTCOME_NONE;
        *freed += bytes;
        if (victims % stride == 0 && time_is_up(aim, &start, *freed))
            return *freed < aim->target ? OUTCOME_MORE : OUTCOME_DONE;
    }
    return OUTCOME_DONE;
}

static enum outcome slice(struct aim aim, bool budgeted, size_t *freed) {
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
    enum cause before = cause_enter(CAUSE_EVICTION, begin_nsec);
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
    size_t due = less(written, answered);
    if (due > over) due = over;
    size_t part = (size_t)limit / UNANSWERED_ONE_IN + 1;
    struct aim aim = {over, less(due, part), tenacity_nsec(), (int64_t)(due / part) * ANSWER_NSEC};
    if (aim.least_nsec > ANSWER_NSEC_MAX) aim.least_nsec = ANSWER_NSEC_MAX;
    enum outcome outcome = slice(aim, has_budget(), freed);
    answered = less(less(written, *freed), less(due, *freed));
    evicting = outcome == OUTCOME_MORE;
    return outcome;
}

/* Down to the ceiling, whatever it costs; false where there is nothing left to give. */
static bool enforce_ceiling(size_t total) {
    size_t top = ceiling_bytes(), room = top - (size_t)limit, freed;
    if (total <= top) return true;
    ceiling_hits++;
    size_t held = client_bytes();
    if (held > room) {
        size_t wanted = held - room < total - top ? held - room : total - top;
        total = less(total, clients->disconnect_largest(wanted));
        if (total <= top) return true;
    }
    return slice((struct aim){.target = total - top, .nsec = INT64_MAX}, false, &freed) !=
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
    if (ceiling_acts() && !enforce_ceiling(less(total, freed))) room = false;
    return room;
}

/* ---- the gate ---- */

/* In a transaction all that is queued takes memory, and EXEC where anything queued does. Room is
 * made for any call, as in 6.2. */
static bool lacks_memory(const struct call *call) {
    lacked = !memory_limit_make_room();
    if (!lacked || call->origin == CALL_PRIMARY) return false; /* what it has done is done */
    bool queues = client_in_transaction(call->client);
    if (queues && !(call->command->flags & COMMAND_EXECUTES))
        return !(call->command->flags & COMMAND_ENDS_TRANSACTION);
    return gate_flags(call) & COMMAND_DENYOOM;
}

bool memory_limit_lacked(void) { return limit && lacked; }

/* Scripts' calls have a gate of their own, for which room is made once, before they begin. */
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

/* More is to be done: now, or when the budget allows it again. */
static bool go_on(void) {
    if (!budget_spent) return true;
    if (!waiting) loop_timer_start(client_loop(), &wait_timer, BUDGET_WAIT_MSEC);
    waiting = true;
    return false;
}

/* Above the soft limit, and not above the limit itself. */
static bool step_soft(size_t counted, bool idle) {
    size_t soft = resolve(soft_limit), freed = 0;
    if (!soft || counted <= soft) {
        soft_baseline = soft;
        return false;
    }
    if (soft_baseline == SIZE_MAX) soft_baseline = counted;
    size_t floor = idle || soft_baseline < soft ? soft : soft_baseline;
    enum outcome outcome = OUTCOME_DONE;
    struct aim aim = {.target = less(counted, floor),
                      .nsec = idle ? SOFT_IDLE_NSEC : SOFT_BUSY_NSEC};
    if (aim.target) outcome = slice(aim, has_budget(), &freed);
    counted = less(counted, freed);
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
