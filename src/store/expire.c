/* SPDX-License-Identifier: BSD-3-Clause
 * Active expiry: takes due keys from the index by deadline, a slice at a time.
 *
 * The loop calls expire_slice before it waits. A slice ends when nothing is due, or after
 * EXPIRE_SLICE_USEC; the clock is read once for each EXPIRE_KEYS_PER_CLOCK keys. Where keys remain
 * the loop does not sleep and the next slice follows the next turn, so that commands and expiry
 * alternate and neither waits longer than one slice or one batch for the other. No live key is ever
 * looked at.
 */
#include "store/expire.h"

#include "base/clock.h"
#include "metric/latency.h"
#include "metric/metric.h"
#include "store/keyspace.h"

/* 6.2's number of keys a loop looks at; reading the clock this seldom costs a thousandth. */
#define EXPIRE_KEYS_PER_CLOCK 20

static bool active = true, paused;
static int next_database;
static uint64_t slices_cut_short, cycle_nsec;

static void print_cycle_msec(struct buffer *out) {
    buffer_printf(out, "%llu", (unsigned long long)(cycle_nsec / 1000000));
}

static void print_stale_percentage(struct buffer *out) {
    size_t due = 0, volatiles = 0;
    for (int i = 0; i < keyspace_databases(); i++) {
        due += keyspace_due(keyspace_at(i), clock_cached_msec());
        volatiles += keyspace_count_volatile(keyspace_at(i));
    }
    buffer_printf(out, "%.2f", volatiles ? 100.0 * (double)due / (double)volatiles : 0.0);
}

static void reset_cycle(void) { cycle_nsec = 0; }

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 130,
     .name = "expired_stale_perc",
     .type = METRIC_FUNCTION,
     .print = print_stale_percentage,
     .help = "Share of the keys with a deadline that are due and not yet deleted."},
    {.section = "Stats",
     .place = 140,
     .name = "expired_time_cap_reached_count",
     .type = METRIC_UINT64,
     .variable = &slices_cut_short,
     .reset = true,
     .help = "Slices of active expiry that ended for their time limit."},
    {.section = "Stats",
     .place = 150,
     .name = "expire_cycle_cpu_milliseconds",
     .type = METRIC_FUNCTION,
     .print = print_cycle_msec,
     .help = "Time spent in active expiry."},
};

void expire_register(void) {
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(reset_cycle);
}

void expire_set_active(bool on) { active = on; }

void expire_set_paused(bool on) {
    paused = on;
    keyspace_hold_expiry(on);
}

/* One database until nothing is due or time is up; false when time is up. */
static bool expire_database(struct keyspace *ks, int64_t now_msec, int64_t end_nsec) {
    bool more = true;
    while (more) {
        keyspace_expire_due(ks, now_msec, EXPIRE_KEYS_PER_CLOCK, &more);
        if (more && clock_monotonic_nsec() >= end_nsec) return false;
    }
    return true;
}

bool expire_slice(void) {
    if (!active || paused) return false;
    int64_t now_msec = clock_cached_msec();
    int64_t begin_nsec = 0;
    bool in_time = true;
    for (int visited = 0; in_time && visited < keyspace_databases(); visited++) {
        if (next_database >= keyspace_databases()) next_database = 0;
        struct keyspace *ks = keyspace_at(next_database);
        if (keyspace_next_deadline(ks) <= now_msec) {
            if (!begin_nsec) begin_nsec = clock_monotonic_nsec();
            in_time = expire_database(ks, now_msec, begin_nsec + EXPIRE_SLICE_USEC * 1000);
        }
        if (in_time) next_database++;
    }
    if (begin_nsec) {
        int64_t passed_nsec = clock_monotonic_nsec() - begin_nsec;
        cycle_nsec += (uint64_t)passed_nsec;
        latency_note("expire-cycle", passed_nsec / 1000000);
    }
    if (!in_time) slices_cut_short++;
    return !in_time;
}
