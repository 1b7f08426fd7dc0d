/* SPDX-License-Identifier: BSD-3-Clause
 * Loading: what clients, the log and INFO are told while the databases are filled.
 *
 *   (none) --loading_begin--> under way --loading_end--> (none)
 *                                 |                        ^
 *                                 | the server is to stop  |
 *                                 `----> cut short --------'
 *
 * Invariants:
 *  1. loading_gate is on, and expiry held, exactly while a load is under way.
 *  2. The data that a load has left after it was cut short is not saved: every saver asks
 *     loading_is_cut_short. It becomes true at most once, because the process ends then.
 *  3. Turns are made only by loading_advance and loading_look: between keys or while one is being
 *     read, when no entry is held.
 *
 * Turns come by bytes, as in 6.2, and by time, because clients should not wait for a slow disk or
 * for a value that takes long to build. The clock is read once per LOOK_BYTES.
 */
#include "rdb/loading.h"

#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/stream.h"
#include "command/call.h"
#include "command/command.h"
#include "exec/gates.h"
#include "exec/run.h"
#include "metric/metric.h"
#include "option/option.h"
#include "store/keyspace.h"

/* Bytes between two readings of the clock: some hundred microseconds of loading. */
#define LOOK_BYTES 65536
/* How often the log reports progress. */
#define SAY_NSEC INT64_C(5000000000)
#define MSEC_NSEC INT64_C(1000000)

static int64_t turn_bytes;
static struct keyspace_holder holder;   /* keys stay: a later part of the log may name them */
static volatile sig_atomic_t under_way; /* a signal handler asks */
static bool cut_short;
static const struct loading_observer *const no_observers[] = {NULL};
static const struct loading_observer *const *observers = no_observers;

static struct {
    const char *what;
    uint64_t total, done, memory;
    uint64_t ahead, ahead_fetched;       /* read ahead in all; of the present source */
    uint64_t turned_bytes, looked_bytes; /* bytes_passed at the last turn, and look at the clock */
    int64_t begun_nsec, turned_nsec, said_nsec;
    int64_t begun_sec; /* wall time */
    void (*rest)(void *argument);
    void *rest_argument;
} load;

bool loading_is_under_way(void) { return under_way; }

bool loading_is_cut_short(void) { return cut_short; }

void loading_set_observers(const struct loading_observer *const *list) { observers = list; }

/* ---- how far ---- */

/* The share that is loaded, 0 to 1. Where the number of bytes is not known, it is guessed from the
 * memory that the data took, and such a guess stays below 1, as in 6.2. */
static double share_done(void) {
    if (load.total) return (double)load.done / (double)load.total;
    double share = load.memory ? (double)load.done / (double)load.memory : 0;
    return share < 0.9999 ? share : 0.9999;
}

/* Guessed as in 6.2, from the mean rate so far; 1 until a second has passed. */
static int64_t seconds_left(void) {
    int64_t passed = clock_wall_usec() / 1000000 - load.begun_sec;
    uint64_t total = load.total ? load.total : load.memory;
    uint64_t left = total > load.done ? total - load.done : !load.total;
    if (passed <= 0) return 1;
    double seconds = (double)passed * (double)left / ((double)load.done + 1);
    return seconds < (double)INT64_MAX ? (int64_t)seconds : INT64_MAX;
}

static void say_progress(void) {
    if (load.total || load.memory)
        log_notice("Loading the %s: %" PRIu64 " MB, %.1f%%, about %" PRId64 " seconds left",
                   load.what, load.done >> 20, share_done() * 100, seconds_left());
    else
        log_notice("Loading the %s: %" PRIu64 " MB", load.what, load.done >> 20);
}

/* ---- turns ---- */

/* Bytes that took time: those that were read ahead are read again. */
static uint64_t bytes_passed(void) { return load.done + load.ahead; }

static void loading_turn(int64_t now_nsec) {
    load.turned_bytes = bytes_passed();
    if (now_nsec - load.said_nsec >= SAY_NSEC) {
        load.said_nsec = now_nsec;
        say_progress();
    }
    if (load.rest) load.rest(load.rest_argument);
    for (const struct loading_observer *const *o = observers; *o; o++)
        if ((*o)->before_turn) (*o)->before_turn();
    if (!run_turn_within()) cut_short = true;
    load.turned_nsec = clock_monotonic_nsec();
}

void loading_set_rest(void (*rest)(void *argument), void *argument) {
    load.rest = rest;
    load.rest_argument = argument;
}

void loading_look(void) {
    if (!under_way || cut_short) return;
    int64_t now_nsec = clock_monotonic_nsec();
    load.looked_bytes = bytes_passed();
    bool due = bytes_passed() - load.turned_bytes >= (uint64_t)turn_bytes;
    if (due || now_nsec - load.turned_nsec >= LOADING_TURN_MSEC * MSEC_NSEC) loading_turn(now_nsec);
}

void loading_advance(uint64_t bytes_done) {
    if (!under_way) return;
    load.done = bytes_done;
    if (bytes_passed() - load.looked_bytes >= LOOK_BYTES ||
        bytes_passed() - load.turned_bytes >= (uint64_t)turn_bytes)
        loading_look();
}

static void advance_by(struct source *in, void *argument) {
    loading_advance(source_offset(in));
    if (cut_short) source_refuse(in, "the server is to stop");
}

static void advance_ahead(struct source *in, void *argument) {
    load.ahead += in->fetched - load.ahead_fetched;
    load.ahead_fetched = in->fetched;
    loading_advance(load.done);
    if (cut_short) source_refuse(in, "the server is to stop");
}

static void watch_source(struct source *in, void (*advance)(struct source *in, void *argument)) {
    if (!under_way) return;
    size_t each = turn_bytes < LOOK_BYTES ? (size_t)turn_bytes : LOOK_BYTES;
    source_watch(in, each, advance, NULL);
}

void loading_watch(struct source *in) { watch_source(in, advance_by); }

void loading_watch_ahead(struct source *in) {
    load.ahead_fetched = in->fetched;
    watch_source(in, advance_ahead);
}

/* ---- begin and end ---- */

void loading_begin(const char *what, uint64_t bytes_total) {
    ASSERT(!under_way);
    int64_t now_nsec = clock_monotonic_nsec();
    memset(&load, 0, sizeof(load));
    load.what = what;
    load.total = bytes_total;
    load.begun_nsec = load.turned_nsec = load.said_nsec = now_nsec;
    load.begun_sec = clock_wall_usec() / 1000000;
    under_way = true;
    gate_set(&loading_gate, true);
    keyspace_hold_expiry(&holder, true);
    for (const struct loading_observer *const *o = observers; *o; o++)
        if ((*o)->began) (*o)->began(what);
}

static void tell_ended(bool good) {
    for (const struct loading_observer *const *o = observers; *o; o++)
        if ((*o)->ended) (*o)->ended(good);
}

static void say_end(bool good) {
    log_verbose("Loading the %s %s after %.3f seconds and %" PRIu64 " bytes", load.what,
                good ? "is done" : "was cut short",
                (double)(clock_monotonic_nsec() - load.begun_nsec) / 1e9, load.done);
}

void loading_end(bool good) {
    ASSERT(under_way);
    keyspace_hold_expiry(&holder, false);
    gate_set(&loading_gate, false);
    under_way = false;
    if (good || cut_short) say_end(good); /* else the loader has logged the fault */
    tell_ended(good);
}

void loading_note_memory(uint64_t bytes) { load.memory = bytes; }

/* ---- the gate, the option, INFO ---- */

static bool needs_data(const struct call *call) {
    return gate_flags_lacking(call) & COMMAND_LOADING;
}

struct gate loading_gate = {.origins = GATE_FROM(CALL_NETWORK),
                            .forbids_eviction = true,
                            .stops = needs_data,
                            .refusal = "-LOADING Redis is loading the dataset in memory"};

static const struct option_row option_rows[] = {
    OPTION_BYTES("loading-process-events-interval-bytes", &turn_bytes, "2mb", 1024, INT32_MAX,
                 OPTION_MUTABLE, "snapshots", 110,
                 "While a snapshot or log is loaded, clients are answered after each so many bytes "
                 "of it, or every 50 milliseconds where that is sooner."),
};

static void print_loading(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", (int)under_way);
}
static void print_share(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%.2f", share_done() * 100);
}
static void print_left(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, seconds_left());
}

#define WHILE_LOADING(p, n, m, t, var, fn, h)                                             \
    {                                                                                     \
        .section = "Persistence", .place = (p), .name = (n), .measure = (m), .type = (t), \
        .variable = (var), .print = (fn), .present = loading_is_under_way, .help = (h)    \
    }

static const struct metric_row metric_rows[] = {
    {.section = "Persistence",
     .place = 10,
     .name = "loading",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_loading,
     .help = "1 while a snapshot or log is loaded."},
    WHILE_LOADING(910, "loading_start_time", METRIC_SECONDS, METRIC_INT64, &load.begun_sec, NULL,
                  "While loading: when it began, as Unix time."),
    WHILE_LOADING(920, "loading_total_bytes", METRIC_BYTES, METRIC_UINT64, &load.total, NULL,
                  "While loading: bytes of the file; 0: not known."),
    WHILE_LOADING(930, "loading_rdb_used_mem", METRIC_BYTES, METRIC_UINT64, &load.memory, NULL,
                  "While loading: bytes of memory that the data took when the file was written."),
    WHILE_LOADING(940, "loading_loaded_bytes", METRIC_BYTES, METRIC_UINT64, &load.done, NULL,
                  "While loading: bytes that are loaded."),
    WHILE_LOADING(950, "loading_loaded_perc", METRIC_PERCENT, METRIC_FUNCTION, NULL, print_share,
                  "While loading: the share that is loaded, in percent."),
    WHILE_LOADING(960, "loading_eta_seconds", METRIC_SECONDS, METRIC_FUNCTION, NULL, print_left,
                  "While loading: estimated seconds that are left, at the rate so far."),
};

void loading_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
