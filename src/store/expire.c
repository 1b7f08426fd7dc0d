/* SPDX-License-Identifier: BSD-3-Clause
 * Active expiry: takes due keys from the index by deadline, or looks for them by sampling.
 *
 * `deadline`: the loop calls expire_slice before it waits. Where nothing is due, this costs one
 * comparison with a lower bound of all deadlines, and a timer wakes the loop when the next key
 * becomes due. Otherwise a cycle begins over the active-expire-dbs-per-cycle databases whose keys
 * have been due longest (next_due.h). It visits them in turn, active-expire-sample-size keys a
 * visit, and reads the clock after each visit. A slice whose time is up leaves the rest of its
 * cycle to the next slice.
 *
 * The pace. When the loop would sleep, expiry goes on in slices of EXPIRE_SLICE_USEC, whatever the
 * effort. When the loop is busy, its work earns expiry credit, so that expiry gets a share of the
 * time of both: 25 % at effort 1, two more for each step of effort, as in 6.2. A backlog raises the
 * share up to SHARE_MAX_PERCENT, which it reaches when the due part of all keys with a deadline is
 * as large as effort tolerates (10 % at effort 1, one less for each step, as in 6.2). So expiry
 * keeps up where it can, and commands always get a part of the time.
 *
 * `sampling`: 6.2's cycle, from the cron. It looks at random keys with a deadline, and repeats this
 * while the due part of a sample is larger than effort tolerates, within a share of the time. While
 * cycles do not finish, further short ones run before the loop sleeps.
 *
 * Both read the same index; switching changes which of them runs.
 *
 * Invariants
 *  1. Under `deadline` no key is examined that is not due: examined counts what was deleted.
 *  2. Due keys that must stay (expiry is held) never keep the loop awake: a slice asks for another
 *     slice only where its time was up or it had no credit.
 *  3. cycle[0 .. cycle_count) are databases that may have due keys, each once.
 */
#include "store/expire.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/probes.h"
#include "io/loop.h"
#include "metric/cause.h"
#include "metric/latency.h"
#include "metric/metric.h"
#include "metric/row.h"
#include "option/option.h"
#include "store/keyspace.h"
#include "store/next_due.h"

static struct cause expire_cause = {
    .name = "expiry", .place = 30, .field = "expire_usec", .verdict = "keys were expired"};

#define NSEC_PER_USEC 1000
#define NSEC_PER_MSEC 1000000
#define SAMPLE_SIZE_MAX 10000
#define DBS_PER_CYCLE_MAX 10000
/* Facts of 6.2's cycle, effort counted from 0. */
#define SHARE_PERCENT(steps) (25 + 2 * (steps))
#define TOLERATED_PERCENT(steps) (10 - (steps))
#define SAMPLE_GROWTH(size, steps) ((size) / 4 * (steps))
#define FAST_USEC(steps) (1000 + 250 * (steps))
/* Commands keep a quarter of the time, however many keys are due. */
#define SHARE_MAX_PERCENT 75
/* Due keys are counted again after 1 ms, and 1 ms more for each so many databases with due keys:
 * counting one database's costs up to 0.5 us, so counting takes 3 % of the time at most. */
#define DATABASES_COUNTED_PER_MSEC 64
/* The most databases that one survey looks at, some 100 ns each, of a slice of 100 us. */
#define SURVEY_LOOKS_MAX 256

enum algorithm { ALGORITHM_DEADLINE, ALGORITHM_SAMPLING };

static const struct option_name algorithm_names[] = {
    {"deadline", ALGORITHM_DEADLINE}, {"sampling", ALGORITHM_SAMPLING}, {NULL, 0}};

struct turn {
    int64_t bound; /* the next deadline's, when the cycle began */
    int database;
};

static int algorithm;
static int64_t sample_size, effort, dbs_per_cycle;
static bool active = true;
static uint64_t cut_short, cycle_nsec, examined;

/* deadline */
static struct loop *loop;
static struct loop_timer timer;
static int64_t timer_deadline;
static uint64_t loop_events_seen;
static int64_t slice_end_nsec, credit_nsec;
static struct turn *cycle;
static int cycle_count, cycle_at;
static int *due_databases; /* for count_due */
static size_t pressing;    /* due keys when they were last counted */
static int64_t count_after_msec = INT64_MIN, counted_msec;

/* sampling */
static int next_database;
static bool last_cut_short;
static double stale_share; /* running mean of the samples' due part */
static int64_t fast_began_nsec;

/* ---- options ---- */

static const struct option_row option_rows[] = {
    OPTION_ENUM("active-expire-algorithm", &algorithm, "deadline", algorithm_names, OPTION_MUTABLE,
                "memory", 81,
                "How keys that are due are found. deadline: from an index in the order of time, "
                "without looking at others. sampling: by looking at random keys with a deadline, "
                "again while many of them are due, as Redis 6.2 does."),
    OPTION_INT("active-expire-sample-size", &sample_size, "20", 1, SAMPLE_SIZE_MAX, OPTION_MUTABLE,
               "memory", 82,
               "Keys that active expiry handles in a database before it reads the clock again. "
               "Larger is a little cheaper and makes a slice less exact."),
    OPTION_INT("active-expire-effort", &effort, "1", 1, 10, OPTION_MUTABLE, "memory", 83,
               "How much time active expiry may take from other work (25 percent and 2 more a "
               "step), and how many due keys it tolerates (10 percent and 1 less a step). Where "
               "nothing else waits it goes on whatever this says."),
    OPTION_INT("active-expire-dbs-per-cycle", &dbs_per_cycle, "16", 1, DBS_PER_CYCLE_MAX,
               OPTION_MUTABLE, "memory", 84,
               "Databases that active expiry visits in a cycle; with deadline, those first whose "
               "keys have been due longest."),
};

/* ---- metrics ---- */

static size_t count_due(void) {
    size_t due = 0;
    int64_t now_msec = clock_cached_msec();
    if (algorithm == ALGORITHM_SAMPLING)
        return (size_t)(stale_share * (double)keyspace_volatile_total());
    int count = next_due_collect(now_msec, due_databases);
    for (int i = 0; i < count; i++) due += keyspace_due(keyspace_at(due_databases[i]), now_msec);
    counted_msec = now_msec;
    count_after_msec = now_msec + count / DATABASES_COUNTED_PER_MSEC;
    pressing = due;
    return due;
}

static double share_of_volatile(size_t due) {
    size_t volatiles = keyspace_volatile_total();
    return volatiles ? (double)due / (double)volatiles : 0;
}

static void print_cycle_msec(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%llu", (unsigned long long)(cycle_nsec / NSEC_PER_MSEC));
}
double expire_stale_share(void) {
    return algorithm == ALGORITHM_SAMPLING ? stale_share : share_of_volatile(count_due());
}
static void print_stale_percentage(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%.2f", 100 * expire_stale_share());
}
static void print_backlog(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", count_due());
}
static const double median = 0.5, percentile_99 = 0.99;
static void print_lag(const struct metric_row *row, struct buffer *out) {
    const double *quantile = row->context;
    uint64_t usec = histogram_quantile_usec(keyspace_expiry_lag(), *quantile);
    uint64_t most = keyspace_expiry_lag()->maximum_usec;
    buffer_printf(out, "%llu", (unsigned long long)(usec < most ? usec : most));
}
static void print_lag_max(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%llu", (unsigned long long)keyspace_expiry_lag()->maximum_usec);
}

static enum metric_presence sample_lag(const struct metric_family *family, size_t index,
                                       struct metric_sample *s) {
    if (index) return METRIC_END;
    metric_sample_histogram(s, keyspace_expiry_lag());
    return METRIC_PRESENT;
}
static const struct metric_family lag_families[] = {
    {"expire_lag", METRIC_HISTOGRAM_USEC, "Time from a key's deadline to its deletion.",
     sample_lag},
    {0}};

static void reset_cycle(void) { cycle_nsec = 0; }

static const struct metric_row metric_rows[] = {
    METRIC_PRINT(
        "Stats", 130, "expired_stale_perc", METRIC_PERCENT, print_stale_percentage,
        "Share of the keys with a deadline that are due and not yet deleted, in percent; a "
        "running estimate under active-expire-algorithm sampling."),
    {.section = "Stats",
     .place = 140,
     .name = "expired_time_cap_reached_count",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &cut_short,
     .reset = true,
     .help = "Slices and cycles of active expiry that ended for their time limit."},
    METRIC_PRINT("Stats", 150, "expire_cycle_cpu_milliseconds", METRIC_COUNTER_MSEC,
                 print_cycle_msec, "Time spent in active expiry."),
    METRIC_PRINT("Stats", 1010, "expire_due_backlog", METRIC_GAUGE, print_backlog,
                 "Keys that are due and not yet deleted; estimated under active-expire-algorithm "
                 "sampling."),
    {.section = "Stats",
     .place = 1011,
     .name = "expire_examined_total",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &examined,
     .reset = true,
     .help = "Keys that active expiry looked at: no more than it deleted, under deadline."},
    {.section = "Stats",
     .place = 1012,
     .name = "expire_lag_usec_p50",
     .measure = METRIC_FAMILIES,
     .type = METRIC_FUNCTION,
     .print = print_lag,
     .context = &median,
     .families = lag_families,
     .help = "Time from deadline to deletion: half of the keys took no longer (a power of two)."},
    METRIC_PRINT_OF("Stats", 1013, "expire_lag_usec_p99", METRIC_INFO_ONLY, print_lag,
                    &percentile_99,
                    "Time from deadline to deletion: 99 percent of the keys took no longer."),
    METRIC_PRINT("Stats", 1014, "expire_lag_usec_max", METRIC_USEC, print_lag_max,
                 "The longest time from deadline to deletion."),
};

void expire_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(reset_cycle);
    cause_register(&expire_cause);
}

/* Only wakes the loop: the slice follows before the loop's next wait. */
static int64_t wake_for_slice(struct loop_timer *t) {
    timer_deadline = INT64_MAX;
    return LOOP_TIMER_END;
}

void expire_open(struct loop *l) {
    size_t databases = (size_t)keyspace_databases();
    due_databases = memory_alloc(databases * sizeof(*due_databases), MEMORY_OTHER);
    cycle = memory_alloc(databases * sizeof(*cycle), MEMORY_OTHER);
    loop = l;
    timer.callback = wake_for_slice;
    timer_deadline = INT64_MAX;
}

void expire_set_active(bool on) { active = on; }

/* Accounts for a slice or cycle that began at `begin_nsec`. */
static void book_slice(int64_t begin_nsec, const struct cause *before, bool in_time) {
    slice_end_nsec = clock_monotonic_nsec();
    cause_leave(before, slice_end_nsec);
    cycle_nsec += (uint64_t)(slice_end_nsec - begin_nsec);
    latency_note("expire-cycle", (slice_end_nsec - begin_nsec) / NSEC_PER_MSEC);
    if (!in_time) cut_short++;
    PROBE1(expire__done, slice_end_nsec - begin_nsec);
}

/* ---- by deadline ---- */

/* Arms the timer for the next deadline. A past deadline, of a key that could not be deleted, needs
 * no timer: the cron wakes the loop soon enough. */
static void arm_timer(int64_t now_msec) {
    int64_t deadline = next_due_earliest();
    if (!loop || deadline == timer_deadline) return;
    timer_deadline = deadline;
    if (deadline == INT64_MAX || deadline <= now_msec)
        loop_timer_stop(loop, &timer);
    else
        loop_timer_start(loop, &timer, deadline - now_msec);
}

/* Begins a cycle with the databases whose bounds are lowest, and raises bounds that deleted keys
 * have left too low. A database whose earliest deadline is unknown (its keys came with a past
 * deadline, after the clock went back) is added without taking another database's turn. O(log
 * databases) for each database that it looks at. */
static void survey_databases(int64_t now_msec) {
    int turns = 0;
    cycle_count = cycle_at = 0;
    for (int looks = 0; looks < SURVEY_LOOKS_MAX && turns < dbs_per_cycle; looks++) {
        int database = next_due_first();
        int64_t bound = next_due_bound(database);
        if (bound > now_msec) break;
        int64_t deadline = keyspace_next_deadline(keyspace_at(database));
        next_due_set(database, deadline > now_msec ? deadline : INT64_MAX);
        if (deadline > now_msec) continue;
        if (deadline != INT64_MIN) turns++;
        cycle[cycle_count].bound = deadline > bound ? deadline : bound;
        cycle[cycle_count++].database = database;
    }
    for (int i = 0; i < cycle_count; i++) next_due_set(cycle[i].database, cycle[i].bound);
}

/* Visits one database; true where that made progress: a key was deleted, or the bound was raised.
 * `*more`: the database may have further due keys. */
static bool visit_database(int database, int64_t now_msec, bool *more) {
    struct keyspace *ks = keyspace_at(database);
    size_t deleted = keyspace_expire_due(ks, now_msec, (size_t)sample_size, more);
    examined += deleted;
    if (*more) return true;
    int64_t next = keyspace_next_deadline(ks);
    if (next > now_msec) next_due_set(database, next);
    return deleted || next > now_msec;
}

/* Visits the cycle's databases in turn; false when time is up. `*progress` counts visits that made
 * progress. */
static bool visit_cycle(int64_t now_msec, int64_t end_nsec, size_t *progress) {
    while (cycle_count) {
        bool more;
        if (cycle_at >= cycle_count) cycle_at = 0;
        *progress += visit_database(cycle[cycle_at].database, now_msec, &more);
        if (more)
            cycle_at++;
        else
            cycle[cycle_at] = cycle[--cycle_count];
        if (clock_monotonic_nsec() >= end_nsec) return false;
    }
    return true;
}

/* Runs cycles until nothing is due; false when time is up. Stops after two cycles without progress,
 * because keys that look due must stay for now (the clock has gone back). */
static bool run_cycles(int64_t now_msec, int64_t end_nsec) {
    bool in_time = true;
    for (int fruitless = 0; in_time && fruitless < 2;) {
        size_t progress = 0;
        if (!cycle_count) survey_databases(now_msec);
        if (!cycle_count && next_due_earliest() > now_msec) break;
        in_time = visit_cycle(now_msec, end_nsec, &progress) && clock_monotonic_nsec() < end_nsec;
        if (!progress) fruitless++;
    }
    return in_time;
}

/* Expiry's share of a busy loop's time, by effort and backlog. */
static double busy_share(void) {
    int64_t steps = effort - 1;
    double share = (double)SHARE_PERCENT(steps) / 100, most = (double)SHARE_MAX_PERCENT / 100;
    int64_t now_msec = clock_cached_msec();
    if (now_msec > count_after_msec || now_msec < counted_msec) count_due();
    double pressure = share_of_volatile(pressing) * 100 / (double)TOLERATED_PERCENT(steps);
    return share + (most - share) * (pressure < 1 ? pressure : 1);
}

/* How long this slice may take; 0 or less where earlier slices took more than was earned. */
static int64_t slice_limit_nsec(int64_t work_nsec) {
    if (work_nsec <= 0) return EXPIRE_SLICE_USEC * NSEC_PER_USEC;
    const int64_t most = EXPIRE_SLICE_BUSY_USEC * NSEC_PER_USEC;
    double share = busy_share(), earned = (double)work_nsec * share / (1 - share);
    credit_nsec += earned < (double)most ? (int64_t)earned : most;
    if (credit_nsec > most) credit_nsec = most;
    return credit_nsec;
}

bool expire_step(int64_t work_nsec) {
    int64_t now_msec = clock_cached_msec();
    int64_t limit_nsec = slice_limit_nsec(work_nsec);
    if (limit_nsec <= 0) return true;
    int64_t begin_nsec = clock_monotonic_nsec();
    const struct cause *before = cause_enter(&expire_cause, begin_nsec);
    PROBE1(expire__start, limit_nsec);
    bool in_time = run_cycles(now_msec, begin_nsec + limit_nsec);
    book_slice(begin_nsec, before, in_time);
    if (work_nsec > 0) credit_nsec -= slice_end_nsec - begin_nsec;
    return !in_time;
}

/* The time that the loop has worked since the last slice; 0 if it served no event. */
static int64_t loop_work_nsec(void) {
    if (!loop || loop_stats(loop)->events == loop_events_seen) return 0;
    loop_events_seen = loop_stats(loop)->events;
    int64_t since = loop_wake_nsec(loop) > slice_end_nsec ? loop_wake_nsec(loop) : slice_end_nsec;
    int64_t work = clock_monotonic_nsec() - since;
    return work > 0 ? work : 1;
}

/* ---- by sampling ---- */

/* Samples one database until few are due or time is up; false when time is up. */
static bool expire_sample_database(struct keyspace *ks, int64_t end_nsec, size_t *seen,
                                   size_t *dead) {
    int64_t steps = effort - 1;
    size_t wanted = (size_t)(sample_size + SAMPLE_GROWTH(sample_size, steps)), looked, due;
    do {
        size_t volatiles = keyspace_count_volatile(ks);
        looked = due = 0;
        for (size_t n = wanted < volatiles ? wanted : volatiles; looked < n; looked++) {
            struct entry *e = keyspace_random_volatile(ks);
            if (!e) break;
            due += keyspace_expire_if_due(ks, e);
        }
        *seen += looked;
        *dead += due;
        examined += looked;
        if (clock_monotonic_nsec() >= end_nsec) return false;
    } while (looked && due * 100 > looked * (size_t)TOLERATED_PERCENT(steps));
    return true;
}

/* A cycle over the databases whose turn it is, of at most `limit_nsec`. */
static void sampling_cycle(int64_t limit_nsec) {
    size_t seen = 0, dead = 0;
    int visits = last_cut_short || dbs_per_cycle > keyspace_databases() ? keyspace_databases()
                                                                        : (int)dbs_per_cycle;
    int64_t begin_nsec = clock_monotonic_nsec();
    const struct cause *before = cause_enter(&expire_cause, begin_nsec);
    last_cut_short = false;
    PROBE1(expire__start, limit_nsec);
    for (int i = 0; i < visits && !last_cut_short; i++) {
        struct keyspace *ks = keyspace_at(next_database++ % keyspace_databases());
        last_cut_short = !expire_sample_database(ks, begin_nsec + limit_nsec, &seen, &dead);
    }
    next_database %= keyspace_databases();
    book_slice(begin_nsec, before, !last_cut_short);
    /* The weights are 6.2's. */
    stale_share = 0.05 * (seen ? (double)dead / (double)seen : 0) + 0.95 * stale_share;
}

void expire_cron(int64_t hz) {
    if (algorithm != ALGORITHM_SAMPLING || !active || !keyspace_may_expire()) return;
    int64_t second_nsec = INT64_C(1000) * NSEC_PER_MSEC;
    sampling_cycle(second_nsec * SHARE_PERCENT(effort - 1) / 100 / (hz > 0 ? hz : 1));
}

/* A short cycle before the loop sleeps; such cycles take half of the time at most. */
static void sampling_fast_cycle(void) {
    int64_t steps = effort - 1, limit_nsec = FAST_USEC(steps) * NSEC_PER_USEC;
    if (!last_cut_short && stale_share * 100 < (double)TOLERATED_PERCENT(steps)) return;
    int64_t now_nsec = clock_monotonic_nsec();
    if (now_nsec < fast_began_nsec + 2 * limit_nsec) return;
    fast_began_nsec = now_nsec;
    sampling_cycle(limit_nsec);
}

/* ---- the loop's hook ---- */

bool expire_slice(void) {
    if (!active || !keyspace_may_expire()) return false;
    if (algorithm == ALGORITHM_SAMPLING) {
        sampling_fast_cycle();
        return false;
    }
    int64_t now_msec = clock_cached_msec();
    bool more = next_due_earliest() <= now_msec && expire_step(loop_work_nsec());
    if (!more) arm_timer(now_msec);
    return more;
}
