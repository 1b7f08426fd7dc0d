/* SPDX-License-Identifier: BSD-3-Clause
 * The cron: a timer of the loop, hz times a second.
 *
 * No run takes long: it looks at a share of the clients, does a bounded number of steps of table
 * work, and reads counters. With dynamic-hz the rate is doubled until it suits the number of
 * clients, so that the share of clients per run stays small.
 *
 * Rates (instantaneous_*) are the mean over RATE_SAMPLES samples, RATE_MSEC apart.
 */
#include "server/cron.h"

#include "aof/aof.h"
#include "base/clock.h"
#include "command/call.h"
#include "io/child.h"
#include "io/loop.h"
#include "metric/metric.h"
#include "net/batch.h"
#include "net/client.h"
#include "net/reply.h"
#include "option/option.h"
#include "process/watchdog.h"
#include "replication/link.h"
#include "replication/migrate.h"
#include "replication/own_keys.h"
#include "replication/primary.h"
#include "save/snapshot.h"
#include "store/expire.h"
#include "store/keyspace.h"

#define HZ_MIN 1
#define HZ_MAX 500
/* How many clients a run looks after before dynamic-hz raises the rate: as 6.2. */
#define CLIENTS_PER_RUN 200
/* Splits and merges of deferred table work a run, and each time that the loop would sleep. A step
 * moves a handful of pointers: some 100 ns. */
#define MAINTAIN_STEPS_RUN 256
#define MAINTAIN_STEPS_IDLE 32
/* At most so many steps a millisecond when the loop would sleep. Memory is then given back evenly,
 * at some 50 MB a second, and an otherwise idle core stays at least half idle. */
#define MAINTAIN_STEPS_PER_MSEC 800
/* Table work rests so long after a child, because another child often follows at once, and no page
 * should change for it. Commands that use a table, and the cron, do a little of the work
 * meanwhile. */
#define TABLES_REST_MSEC 2000
#define RATE_SAMPLES 16
#define RATE_MSEC 100
/* How old samples of memory may be: to ask the system and the allocator costs tens of
 * microseconds. */
#define MEMORY_SAMPLE_MSEC 100

struct rate {
    uint64_t (*read)(void);
    uint64_t last;
    uint64_t samples[RATE_SAMPLES]; /* a second */
};

static struct loop_timer timer;
static int64_t configured_hz, hz;
static bool dynamic_hz, paused;
/* The deferred table work that was done in this millisecond. */
static struct {
    struct loop *loop;
    struct loop_timer timer;
    int64_t msec, rest_until_msec;
    unsigned steps;
} tables;
static struct cron_memory memory;
static int64_t memory_sampled_nsec, rates_sampled_nsec;
static unsigned rate_index;
static struct rate commands = {.read = call_count};
static struct rate input = {.read = batch_bytes_read};
static struct rate output = {.read = reply_bytes_written};
static const struct cron_parts *parts;
static struct rate *const rates[] = {&commands, &input, &output};

/* ---- rates ---- */

static void sample_rates(void) {
    int64_t now = clock_monotonic_nsec(), passed = now - rates_sampled_nsec;
    if (passed < RATE_MSEC * 1000000) return;
    rates_sampled_nsec = now;
    rate_index = (rate_index + 1) % RATE_SAMPLES;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        uint64_t value = rates[i]->read();
        /* CONFIG RESETSTAT sets the counter back. */
        uint64_t more = value >= rates[i]->last ? value - rates[i]->last : value;
        rates[i]->last = value;
        rates[i]->samples[rate_index] = (uint64_t)((double)more * 1e9 / (double)passed + 0.5);
    }
}

static uint64_t mean_of(const struct rate *rate) {
    uint64_t sum = 0;
    for (int i = 0; i < RATE_SAMPLES; i++) sum += rate->samples[i];
    return sum / RATE_SAMPLES;
}

static void reset_rates(void) {
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        rates[i]->last = rates[i]->read();
        memset(rates[i]->samples, 0, sizeof(rates[i]->samples));
    }
}

static void print_rate(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%llu", (unsigned long long)mean_of(row->context));
}
static void print_kilobytes_rate(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%.2f", (double)mean_of(row->context) / 1024);
}

/* ---- memory ---- */

void cron_note_memory(void) {
    size_t used = memory_used_total();
    if (used > memory.peak) memory.peak = used;
}

const struct cron_memory *cron_memory(void) {
    int64_t now = clock_monotonic_nsec();
    cron_note_memory();
    if (!memory_sampled_nsec || now - memory_sampled_nsec > MEMORY_SAMPLE_MSEC * 1000000) {
        memory_sampled_nsec = now;
        memory.rss = memory_rss();
        memory_allocator_stats(&memory.allocator);
    }
    return &memory;
}

/* ---- the run ---- */

static int64_t period_msec(void) { return 1000 / hz; }

static void set_hz(int64_t wanted) {
    hz = wanted > HZ_MAX ? HZ_MAX : wanted;
    watchdog_set_turn(period_msec());
}

static bool apply_hz(const struct option_row *row, char *reason, size_t reason_size) {
    if (configured_hz < HZ_MIN) configured_hz = HZ_MIN;
    if (configured_hz > HZ_MAX) configured_hz = HZ_MAX;
    set_hz(configured_hz);
    return true;
}

static void adapt_hz(void) {
    int64_t suits = configured_hz;
    while (dynamic_hz && suits < HZ_MAX && client_count() / (size_t)suits > CLIENTS_PER_RUN)
        suits *= 2;
    set_hz(suits);
}

void cron_pause(bool pause) { paused = pause; }

static void cron_data(int64_t hz_now) {
    expire_cron(hz_now);
    keyspace_maintain(MAINTAIN_STEPS_RUN);
    snapshot_cron();
    migrate_cron();
    aof_cron();
    link_cron();
    own_keys_cron();
    primary_cron();
}

const struct cron_parts cron_of_data = {.data = cron_data};

static int64_t cron_run(struct loop_timer *t) {
    watchdog_reset();
    if (paused) return period_msec();
    adapt_hz();
    client_cron();
    if (parts->data) parts->data(hz);
    sample_rates();
    return period_msec();
}

void cron_within(void) {
    cron_note_memory();
    sample_rates();
}

/* Only wakes the loop. */
static int64_t wake_for_tables(struct loop_timer *t) { return LOOP_TIMER_END; }

static void rest_after_child(const struct child_kind *kind) {
    tables.rest_until_msec = clock_monotonic_msec() + TABLES_REST_MSEC;
}

const struct child_observer cron_child_observer = {.gone = rest_after_child};

bool cron_idle_step(void) {
    if (!keyspace_maintain(0)) return false;
    int64_t now_msec = clock_monotonic_msec();
    if (now_msec < tables.rest_until_msec) return false; /* the cron wakes the loop */
    if (now_msec != tables.msec) {
        tables.msec = now_msec;
        tables.steps = 0;
    }
    if (tables.steps >= MAINTAIN_STEPS_PER_MSEC) {
        loop_timer_start(tables.loop, &tables.timer, 1);
        return false;
    }
    tables.steps += MAINTAIN_STEPS_IDLE;
    return keyspace_maintain(MAINTAIN_STEPS_IDLE);
}

static const struct option_row option_rows[] = {
    {.name = "hz",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "process",
     .place = 40,
     .fallback = "10",
     .variable = &configured_hz,
     .low = 0,
     .high = INT32_MAX,
     .apply = apply_hz,
     .help =
         "How often a second background tasks run: closing idle clients, table work, statistics. 1 "
         "to 500; a value outside becomes the nearest. Expiry does not depend on it."},
    OPTION_BOOL("dynamic-hz", &dynamic_hz, true, OPTION_MUTABLE, "process", 50,
                "Raise hz while there are many clients."),
};

static void print_hz(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%lld", (long long)(parts && parts->hz_shown ? parts->hz_shown() : hz));
}

static const struct metric_row metric_rows[] = {
    {.section = "Server",
     .place = 190,
     .name = "hz",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_hz,
     .help = "How often a second the cron runs now."},
    {.section = "Server",
     .place = 200,
     .name = "configured_hz",
     .measure = METRIC_GAUGE,
     .type = METRIC_INT64,
     .variable = &configured_hz,
     .help = "The option hz."},
    {.section = "Stats",
     .place = 30,
     .name = "instantaneous_ops_per_sec",
     .measure = METRIC_GAUGE,
     .type = METRIC_FUNCTION,
     .print = print_rate,
     .context = &commands,
     .help = "Commands a second, over the last 1.6 seconds."},
    {.section = "Stats",
     .place = 60,
     .name = "instantaneous_input_kbps",
     .measure = METRIC_KIB_RATE,
     .type = METRIC_FUNCTION,
     .print = print_kilobytes_rate,
     .context = &input,
     .help = "KiB read from clients a second."},
    {.section = "Stats",
     .place = 70,
     .name = "instantaneous_output_kbps",
     .measure = METRIC_KIB_RATE,
     .type = METRIC_FUNCTION,
     .print = print_kilobytes_rate,
     .context = &output,
     .help = "KiB written to clients a second."},
};

void cron_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    metric_register_reset(reset_rates);
    set_hz(configured_hz);
}

void cron_open(struct loop *loop, const struct cron_parts *new_parts) {
    parts = new_parts;
    timer.callback = cron_run;
    tables.loop = loop;
    tables.timer.callback = wake_for_tables;
    rates_sampled_nsec = clock_monotonic_nsec();
    loop_timer_start(loop, &timer, 1);
}
