/* SPDX-License-Identifier: BSD-3-Clause
 * When active defragmentation works, how much, and on what next.
 *
 * The waste is what jemalloc's pages in use hold beyond its blocks, as in 6.2: a pass begins where
 * it is active-defrag-threshold-lower percent of the blocks, and active-defrag-ignore-bytes. The
 * share of time rises with the waste from active-defrag-cycle-min to -max percent, and does not
 * fall during a run. It is kept by a time budget (base/time_budget.h), and spent in slices.
 *
 * A step asks and moves until its budget of blocks is spent, about STEP_BUDGET * 100 ns, and the
 * clock is read between steps. Large values that a step meets are noted by address, hash
 * and type of their entries, and continued before the next buckets; an entry that has gone
 * meanwhile is recognised without a look at its memory, and another one at its place by its type,
 * because the cursor of one type means nothing to another.
 *
 * While blocks are taken faster than a pass gives memory back, the pass rests: new blocks fill the
 * free places without being moved, and what a pass would move meanwhile is soon among new waste.
 * Once a second the growth of the blocks is compared with the bytes that the pass has moved in the
 * last second in which it did not rest.
 *
 * Invariants
 *  1. Between two steps the pass holds no pointer into the data that it would dereference.
 *  2. A pass ends: its position moves on with each step. Only large values are added to what lies
 *     ahead, a bounded number a step.
 */
#include "defrag/defrag.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/relocation.h"
#include "base/time_budget.h"
#include "io/loop.h"
#include "metric/cause.h"
#include "metric/latency.h"
#include "metric/metric.h"
#include "metric/row.h"
#include "option/option.h"
#include "store/frontier.h"
#include "store/key_map.h"
#include "store/keyspace.h"
#include "store/limbo.h"
#include "store/relocate.h"
#include "store/saving.h"

#define NSEC_PER_USEC 1000
#define NSEC_PER_MSEC 1000000
#define LOOK_MSEC 1000
/* A load makes in a second what otherwise takes minutes. */
#define LOOK_MSEC_OF_LOAD 100
/* The loop is woken so soon again for a pass whose budget is spent. */
#define AGAIN_MSEC 2
/* Less is not worth a slice, because its first blocks are cache misses. */
#define SLICE_MIN_NSEC (50 * NSEC_PER_USEC)
#define STEP_BUDGET 256
/* How often the allocator's figures are looked at during a pass. */
#define MEASURE_MSEC 100
/* Waste that has not been gained is looked at again when it has grown by one in so many. */
#define SETTLED_GROWTH 8
/* A pass that gains less than one in so many of the waste has settled. */
#define GAIN_SHARE 16
/* Growth of less than one in so many of the blocks' bytes a second is no reason to rest. */
#define GROWTH_SHARE 64
/* Growth is measured over so long at least. */
#define GROWTH_MSEC 500
/* The most that active-defrag-threshold-upper can be. */
#define WASTE_PERCENT_MAX 1000
/* Large values that the groups of a step can meet: a step ends behind a few buckets. */
#define LARGE_MAX (8 * RELOCATION_ASK_MAX)

enum defrag_state { DEFRAG_OFF, DEFRAG_WATCHING, DEFRAG_RUNNING, DEFRAG_SETTLED };

/* Why a pass that is running does nothing. */
enum defrag_rest { REST_NOT, REST_CALL, REST_SAVE, REST_GROWTH };

/* A large value whose blocks are still to be moved. */
struct large_value {
    const struct entry *entry; /* not dereferenced */
    uint64_t hash;
    unsigned type;
};

static struct {
    enum defrag_state state;
    int64_t percent; /* of time, while running; else 0 */
    struct time_budget budget;
    int64_t measured_msec, looked_nsec;
    enum defrag_rest rests; /* why the last step did nothing */

    int database;
    struct key_walk walk;
    uint64_t deadlines_at;
    struct value_cursor value_at; /* in the first large value */
    struct large_value large[LARGE_MAX];
    unsigned large_count, large_at;
    unsigned part; /* of further blocks, behind the last database */
    uint64_t part_at;

    size_t waste_before; /* when the pass began */
    size_t waste_settled;
    uint64_t moved;
    int64_t begun_msec;
} pass;

/* How fast blocks are taken, and given back. */
static struct {
    int64_t since_nsec; /* 0: nothing is known */
    size_t allocated;
    uint64_t moved_bytes; /* since then */
    bool rested;          /* since then */
    double given_per_sec; /* 0: not yet known */
    bool outruns;
} growth;

static unsigned chance_percent; /* defrag_move_by_chance */

static relocation_part *const no_parts[] = {NULL};
static relocation_part *const *parts = no_parts;

static bool enabled;
static int64_t cycle_min, cycle_max, threshold_low, threshold_high, ignore_bytes, scan_fields;
static uint64_t hits, misses, key_hits, key_misses, moved_bytes;
static struct loop *loop;
static struct loop_timer look_timer, wake_timer;
static struct cause defrag_cause = {.name = "defrag", .place = 55};

/* ---- how much is wasted ---- */

struct waste {
    size_t bytes, allocated;
    double percent; /* of what the blocks need */
};

static struct waste waste_now(void) {
    struct memory_allocator_stats stats;
    if (chance_percent > 0) return (struct waste){.bytes = INT64_MAX, .percent = WASTE_PERCENT_MAX};
    memory_allocator_stats(&stats);
    if (stats.allocated == 0 || stats.active < stats.allocated)
        return (struct waste){.allocated = stats.allocated};
    size_t bytes = stats.active - stats.allocated;
    return (struct waste){bytes, stats.allocated, 100.0 * (double)bytes / (double)stats.allocated};
}

static bool is_much(const struct waste *w) {
    return w->percent >= (double)threshold_low && w->bytes >= (size_t)ignore_bytes;
}

/* The share of time for this waste. */
static int64_t percent_for(const struct waste *w) {
    double span = (double)(threshold_high - threshold_low);
    double part = span > 0 ? (w->percent - (double)threshold_low) / span : 1;
    if (part < 0) part = 0;
    if (part > 1) part = 1;
    int64_t percent = cycle_min + (int64_t)(part * (double)(cycle_max - cycle_min));
    return percent < cycle_min ? cycle_min : percent;
}

/* ---- passes ---- */

/* Nothing moves while a call or a save by walk has pointers into the data, or a child shares its
 * pages. */
static enum defrag_rest reason_to_rest(void) {
    if (limbo_is_open()) return REST_CALL;
    if (saving_now() || frontier_is_open()) return REST_SAVE;
    return growth.outruns ? REST_GROWTH : REST_NOT;
}

static void growth_forget(void) {
    growth.since_nsec = 0;
    growth.given_per_sec = 0;
    growth.outruns = false;
}

/* Looks how much has been taken and moved since the last look. */
static void growth_look(size_t allocated, int64_t now_nsec) {
    int64_t nsec = now_nsec - growth.since_nsec;
    bool known = growth.since_nsec != 0;
    if (known && nsec < (int64_t)GROWTH_MSEC * NSEC_PER_MSEC) return;
    if (known) {
        double sec = (double)nsec / 1e9;
        double taken = ((double)allocated - (double)growth.allocated) / sec;
        if (!growth.rested) growth.given_per_sec = (double)growth.moved_bytes / sec;
        growth.outruns = growth.given_per_sec > 0 && taken > growth.given_per_sec &&
                         taken * GROWTH_SHARE > (double)allocated;
    }
    growth.since_nsec = now_nsec;
    growth.allocated = allocated;
    growth.moved_bytes = 0;
    growth.rested = growth.outruns;
}

static void set_state(enum defrag_state state) {
    pass.state = state;
    if (state != DEFRAG_RUNNING) {
        pass.percent = 0;
        pass.rests = REST_NOT;
        growth_forget();
    }
    if (loop && state != DEFRAG_RUNNING) loop_timer_stop(loop, &wake_timer);
}

static void set_percent(int64_t percent) {
    if (percent <= pass.percent) return;
    pass.percent = percent;
    time_budget_start(&pass.budget, percent, clock_monotonic_nsec());
}

/* Blocks that this thread's cache holds free would keep their slabs. */
static void pass_begin(const struct waste *w) {
    (void)memory_allocator_control("thread.tcache.flush", NULL, NULL, NULL, 0);
    (void)relocation_measure();
    pass.measured_msec = clock_cached_msec();
    pass.database = 0;
    pass.walk = (struct key_walk){0};
    pass.deadlines_at = 0;
    pass.large_count = pass.large_at = 0;
    pass.part = 0;
    pass.part_at = 0;
    pass.waste_before = w->bytes;
    pass.moved = 0;
    pass.begun_msec = clock_cached_msec();
    set_state(DEFRAG_RUNNING);
    set_percent(percent_for(w));
}

static void pass_end(void) {
    struct waste w = waste_now();
    bool gained =
        chance_percent > 0 || w.bytes < pass.waste_before - pass.waste_before / GAIN_SHARE;
    log_verbose(
        "Active defragmentation: a pass of %lld ms has moved %llu blocks; waste %zu bytes, "
        "%.1f %%%s.",
        (long long)(clock_cached_msec() - pass.begun_msec), (unsigned long long)pass.moved, w.bytes,
        w.percent, is_much(&w) && !gained ? ", which moving does not gain" : "");
    if (is_much(&w) && gained) {
        pass_begin(&w);
    } else if (is_much(&w)) {
        pass.waste_settled = w.bytes;
        set_state(DEFRAG_SETTLED);
    } else {
        set_state(DEFRAG_WATCHING);
    }
}

void defrag_look(void) {
    if (pass.state == DEFRAG_OFF) return;
    pass.looked_nsec = clock_monotonic_nsec();
    struct waste w = waste_now();
    if (pass.state == DEFRAG_SETTLED) {
        bool grown = w.bytes > pass.waste_settled + pass.waste_settled / SETTLED_GROWTH;
        if (grown || !is_much(&w)) set_state(DEFRAG_WATCHING);
    }
    if (pass.state == DEFRAG_RUNNING) {
        set_percent(percent_for(&w));
        growth_look(w.allocated, pass.looked_nsec);
        pass.rests = reason_to_rest();
    } else if (pass.state == DEFRAG_WATCHING && is_much(&w)) {
        log_verbose("Active defragmentation begins: waste %zu bytes, %.1f %%.", w.bytes, w.percent);
        pass_begin(&w);
    }
}

/* ---- a step ---- */

static void note_large(const struct entry *e, void *context) {
    if (pass.large_count < LARGE_MAX)
        pass.large[pass.large_count++] = (struct large_value){e, key_map_hash(e), e->type};
}

static void large_step(struct keyspace *ks, struct relocate_work *work) {
    const struct large_value *l = &pass.large[pass.large_at];
    uint64_t before = work->moves.moved;
    bool through =
        keyspace_relocate_value(ks, l->entry, l->hash, l->type, &pass.value_at, &work->moves);
    work->keys_moved += work->moves.moved > before;
    if (!through) return;
    pass.value_at = (struct value_cursor){0};
    if (++pass.large_at == pass.large_count) pass.large_at = pass.large_count = 0;
}

/* Goes on with the further blocks; false behind the last of them. */
static bool part_step(struct relocate_work *work) {
    if (parts[pass.part]) {
        pass.part_at = parts[pass.part](pass.part_at, &work->moves);
        if (pass.part_at == 0) pass.part++;
    }
    return parts[pass.part] != NULL;
}

/* Goes on with the pass by a piece; false at its end. */
static bool pass_step(struct relocate_work *work) {
    if (pass.database >= keyspace_databases()) return part_step(work);
    struct keyspace *ks = keyspace_at(pass.database);
    if (pass.large_at < pass.large_count) {
        large_step(ks, work);
        return true;
    }
    if (!pass.walk.done) {
        keyspace_relocate_some(ks, &pass.walk, work);
        return true;
    }
    pass.deadlines_at = keyspace_relocate_deadlines(ks, pass.deadlines_at, &work->moves);
    if (pass.deadlines_at != 0) return true;
    pass.walk = (struct key_walk){0};
    pass.database++;
    return true;
}

static bool run_step(void) {
    struct relocate_work work = {
        .moves.budget = STEP_BUDGET, .effort_max = (size_t)scan_fields, .large = note_large};
    bool more = true;
    while (more && work.moves.budget > 0) {
        size_t before = work.moves.budget;
        more = pass_step(&work);
        /* Buckets without a block, and databases without a key, cost something, too. */
        if (work.moves.budget == before) work.moves.budget--;
    }
    hits += work.moves.moved;
    misses += work.moves.stayed;
    moved_bytes += work.moves.moved_bytes;
    growth.moved_bytes += work.moves.moved_bytes;
    pass.moved += work.moves.moved;
    key_hits += work.keys_moved;
    key_misses += work.keys_stayed;
    return more;
}

static void measure_anew(void) {
    int64_t now_msec = clock_cached_msec();
    if (now_msec - pass.measured_msec < MEASURE_MSEC && now_msec >= pass.measured_msec) return;
    pass.measured_msec = now_msec;
    (void)relocation_measure();
}

/* Works for `granted_nsec` at most. */
static void run_slice(int64_t begun_nsec, int64_t granted_nsec) {
    int64_t now_nsec = begun_nsec;
    bool more = true;
    measure_anew();
    while (more && now_nsec - begun_nsec < granted_nsec) {
        more = run_step();
        now_nsec = clock_monotonic_nsec();
    }
    time_budget_spend(&pass.budget, begun_nsec, now_nsec);
    latency_note("active-defrag-cycle", (now_nsec - begun_nsec) / NSEC_PER_MSEC);
    if (!more) pass_end();
}

/* Has the loop woken for the next slice. */
static bool sleep_for_budget(void) {
    if (loop) loop_timer_start(loop, &wake_timer, AGAIN_MSEC);
    return false;
}

/* A slice of `slice_nsec` at most; true if another one may follow at once. */
__attribute__((noinline)) static bool step_within(int64_t slice_nsec) {
    pass.rests = reason_to_rest();
    growth.rested |= pass.rests != REST_NOT;
    if (pass.rests != REST_NOT) return false;
    int64_t now_nsec = clock_monotonic_nsec();
    time_budget_turn(&pass.budget);
    int64_t granted_nsec = time_budget_left(&pass.budget, now_nsec);
    if (granted_nsec < SLICE_MIN_NSEC) return sleep_for_budget();
    const struct cause *before = cause_enter(&defrag_cause, now_nsec);
    run_slice(now_nsec, granted_nsec < slice_nsec ? granted_nsec : slice_nsec);
    now_nsec = clock_monotonic_nsec();
    cause_leave(before, now_nsec);
    if (pass.state != DEFRAG_RUNNING) return false;
    return time_budget_left(&pass.budget, now_nsec) >= SLICE_MIN_NSEC || sleep_for_budget();
}

bool defrag_step(void) {
    return pass.state == DEFRAG_RUNNING && step_within(DEFRAG_SLICE_USEC * NSEC_PER_USEC);
}

void defrag_step_of_load(void) {
    if (pass.state == DEFRAG_OFF) return;
    if (clock_monotonic_nsec() - pass.looked_nsec >= (int64_t)LOOK_MSEC_OF_LOAD * NSEC_PER_MSEC)
        defrag_look();
    growth_forget(); /* a load grows to its end: a pass that rested would not move anything */
    if (pass.state == DEFRAG_RUNNING) (void)step_within(DEFRAG_LOAD_SLICE_USEC * NSEC_PER_USEC);
}

static bool drawn_by_chance(const void *block) { return random_below(100) < chance_percent; }

void defrag_move_by_chance(unsigned percent) {
    chance_percent = percent;
    relocation_set_chooser(percent > 0 ? drawn_by_chance : NULL, 0);
}

/* ---- options, INFO ---- */

static int64_t look_again(struct loop_timer *timer) {
    defrag_look();
    return LOOK_MSEC;
}

/* Only wakes the loop: the slice follows before its next wait. */
static int64_t wake_for_slice(struct loop_timer *timer) { return LOOP_TIMER_END; }

static void follow_option(void) {
    if (enabled == (pass.state != DEFRAG_OFF)) return;
    set_state(enabled ? DEFRAG_WATCHING : DEFRAG_OFF);
    if (!loop) return;
    if (enabled)
        loop_timer_start(loop, &look_timer, 0);
    else
        loop_timer_stop(loop, &look_timer);
}

static bool apply_enabled(const struct option_row *row, char *reason, size_t reason_size) {
    if (enabled && !relocation_is_possible()) {
        snprintf(reason, reason_size,
                 "Active defragmentation cannot be enabled: it requires a Redis server compiled "
                 "with a modified Jemalloc like the one shipped by default with the Redis source "
                 "distribution");
        return false;
    }
    follow_option();
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "activedefrag",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = "defragmentation",
     .place = 10,
     .fallback = "no",
     .variable = &enabled,
     .apply = apply_enabled,
     .help = "Move values together while the server runs, so that the allocator can give memory "
             "back. Needs jemalloc 5.2 or later, and no patched one."},
    OPTION_BYTES("active-defrag-ignore-bytes", &ignore_bytes, "100mb", 1, INT64_MAX, OPTION_MUTABLE,
                 "defragmentation", 20, "Bytes lost to fragmentation below which nothing is done."),
    OPTION_INT("active-defrag-threshold-lower", &threshold_low, "10", 0, WASTE_PERCENT_MAX,
               OPTION_MUTABLE, "defragmentation", 30,
               "Percent of fragmentation at which the work begins."),
    OPTION_INT("active-defrag-threshold-upper", &threshold_high, "100", 0, WASTE_PERCENT_MAX,
               OPTION_MUTABLE, "defragmentation", 40,
               "Percent of fragmentation at which it takes its largest share."),
    OPTION_INT("active-defrag-cycle-min", &cycle_min, "1", 1, 99, OPTION_MUTABLE, "defragmentation",
               50, "Percent of CPU time at the lower threshold."),
    OPTION_INT("active-defrag-cycle-max", &cycle_max, "25", 1, 99, OPTION_MUTABLE,
               "defragmentation", 60, "Percent of CPU time at the upper threshold."),
    OPTION_INT("active-defrag-max-scan-fields", &scan_fields, "1000", 1, INT64_MAX, OPTION_MUTABLE,
               "defragmentation", 70,
               "Elements up to which a collection is moved in one go; larger ones are moved in "
               "steps."),
};

/* ---- what INFO and MEMORY DOCTOR say ---- */

static const char *const state_names[] = {"off", "watching", "running", "settled"};

static const char *state_name(void) {
    bool rests = pass.state == DEFRAG_RUNNING && pass.rests != REST_NOT;
    return rests ? "resting" : state_names[pass.state];
}

static const char *reason_name(void) {
    static const char *const of_states[] = {"option", "little_waste", "waste", "no_gain"};
    static const char *const of_rests[] = {
        [REST_CALL] = "call", [REST_SAVE] = "save", [REST_GROWTH] = "growth"};
    bool rests = pass.state == DEFRAG_RUNNING && pass.rests != REST_NOT;
    return rests ? of_rests[pass.rests] : of_states[pass.state];
}

static void print_state(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, state_name());
}

static void print_reason(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, reason_name());
}

bool defrag_is_on(void) { return pass.state != DEFRAG_OFF; }

void defrag_append_state(struct buffer *out) {
    static const char *const texts[] = {
        [DEFRAG_OFF] = "is off",
        [DEFRAG_WATCHING] = ("waits, because less is wasted than active-defrag-threshold-lower and "
                             "active-defrag-ignore-bytes say"),
        [DEFRAG_RUNNING] = "is at work",
        [DEFRAG_SETTLED] = "has ended, because moving blocks gained nothing more"};
    static const char *const rests[] = {
        [REST_CALL] = "rests while a command runs",
        [REST_SAVE] = "rests until the save that is under way has ended",
        [REST_GROWTH] = "rests while memory is taken faster than it would be given back"};
    bool resting = pass.state == DEFRAG_RUNNING && pass.rests > REST_CALL;
    buffer_printf(out, "Active defragmentation %s.",
                  resting ? rests[pass.rests] : texts[pass.state]);
}

#define DEFRAG_COUNTER(p, n, var, h)                                              \
    {                                                                             \
        .section = "Stats", .place = (p), .name = (n), .measure = METRIC_COUNTER, \
        .type = METRIC_UINT64, .variable = (var), .reset = true, .help = (h)      \
    }

static const struct metric_row metric_rows[] = {
    METRIC_NUMBER("Memory", 390, "active_defrag_running", METRIC_GAUGE, &pass.percent,
                  "Percent of time that active defragmentation may take now; 0: it is not "
                  "running."),
    METRIC_PRINT("Memory", 391, "active_defrag_state", METRIC_INFO_ONLY, print_state,
                 "off, watching, running, resting, or settled: active_defrag_reason says why."),
    METRIC_PRINT(
        "Memory", 392, "active_defrag_reason", METRIC_INFO_ONLY, print_reason,
        "Why it is in that state. off: option; watching: little_waste; running: waste; settled: "
        "no_gain, because moving gains nothing more; resting: save, call, or growth, because "
        "memory is taken faster than given back."),
    DEFRAG_COUNTER(250, "active_defrag_hits", &hits, "Blocks that were moved."),
    DEFRAG_COUNTER(260, "active_defrag_misses", &misses, "Blocks that were left where they are."),
    DEFRAG_COUNTER(265, "active_defrag_moved_bytes", &moved_bytes, "Bytes of the moved blocks."),
    DEFRAG_COUNTER(270, "active_defrag_key_hits", &key_hits, "Keys of which a block was moved."),
    DEFRAG_COUNTER(280, "active_defrag_key_misses", &key_misses,
                   "Keys of which no block was moved."),
};

void defrag_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    cause_register(&defrag_cause);
}

void defrag_set_parts(relocation_part *const *all) { parts = all; }

void defrag_open(struct loop *l) {
    loop = l;
    look_timer.callback = look_again;
    wake_timer.callback = wake_for_slice;
    if (pass.state != DEFRAG_OFF) loop_timer_start(loop, &look_timer, 0);
}
