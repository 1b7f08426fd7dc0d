/* SPDX-License-Identifier: BSD-3-Clause
 * The buffer of the trace.
 *
 * A ring of records, each in one piece: where a record does not fit behind the newest one before
 * the ring's end, a filler (a head whose `bytes` is 0) takes that space, and the record stands at
 * the beginning. A record that finds no room drops the oldest ones. The ring is allocated with the
 * first record and freed when trace-sample becomes 0, so that a server that is not traced holds no
 * keys of a former trace.
 *
 * Invariants
 *  1. `used` bytes from `tail` on, fillers included, are records from the oldest to the newest;
 *     `head` stands behind them.
 *  2. Offsets and lengths are multiples of 8.
 *  3. OBSERVED_BY_TRACE is set exactly while trace-sample is above 0.
 */
#include "report/trace.h"

#include "base/panic.h"
#include "command/command_keys.h"
#include "metric/row.h"
#include "option/option.h"
#include "report/observed.h"

static int64_t sample_one_in, buffer_bytes;
static struct {
    char *bytes; /* NULL = no record was made since the ring was freed */
    size_t size, head, tail, used, records;
} ring;
static struct buffer scratch = {.class = MEMORY_OTHER};
static uint64_t last_id, recorded, dropped, without_keys;

/* ---- options and metrics ---- */

static void free_ring(void) {
    memory_free(ring.bytes, MEMORY_OTHER);
    memset(&ring, 0, sizeof(ring));
    buffer_free(&scratch);
}

static bool apply_sample(const struct option_row *row, char *reason, size_t reason_size) {
    observed_set_hash_max(sample_one_in ? UINT64_MAX / (uint64_t)sample_one_in : 0);
    observed_set(OBSERVED_BY_TRACE, sample_one_in > 0);
    if (!sample_one_in) free_ring();
    return true;
}

static bool apply_buffer_size(const struct option_row *row, char *reason, size_t reason_size) {
    dropped += ring.records;
    free_ring();
    return true;
}

static const struct option_row option_rows[] = {
    {.name = "trace-sample",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "trace",
     .place = 10,
     .fallback = "0",
     .variable = &sample_one_in,
     .low = 0,
     .high = INT32_MAX,
     .apply = apply_sample,
     .help = "Requests of one key in so many are kept for TRACE READ: command, keys, sizes of all "
             "else, never a value. 1: of all keys; 0: of none."},
    {.name = "trace-buffer-size",
     .type = OPTION_TYPE_BYTES,
     .flags = OPTION_MUTABLE,
     .section = "trace",
     .place = 20,
     .fallback = "1mb",
     .variable = &buffer_bytes,
     .low = 65536,
     .high = 64 << 20,
     .apply = apply_buffer_size,
     .help = "Memory for requests that TRACE READ has not fetched yet; above it the oldest are "
             "dropped and counted. 1mb holds some 12,000 requests of short keys: a second at a "
             "million requests a second and trace-sample 100. Allocated only while trace-sample is "
             "not 0."},
};

static void print_ring(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%zu", ring.size);
}

static const struct metric_row metric_rows[] = {
    {.section = "Stats",
     .place = 1300,
     .name = "trace_recorded_total",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &recorded,
     .reset = true,
     .help = "Requests that the trace has recorded."},
    {.section = "Stats",
     .place = 1310,
     .name = "trace_dropped_total",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &dropped,
     .reset = true,
     .help = "Requests of sampled keys that were not read in time, or were too large, and so are "
             "missing in the trace."},
    {.section = "Stats",
     .place = 1320,
     .name = "trace_without_keys_total",
     .measure = METRIC_COUNTER,
     .type = METRIC_UINT64,
     .variable = &without_keys,
     .reset = true,
     .help = "Requests without keys while trace-sample was set; a trace has none of them."},
    METRIC_PRINT("Memory", 1300, "mem_trace_buffer", METRIC_BYTES, print_ring,
                 "Bytes that the buffer of the trace holds."),
};

void trace_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}

struct trace_status trace_status(void) {
    return (struct trace_status){.sample = sample_one_in,
                                 .buffer_bytes = buffer_bytes,
                                 .waiting = ring.records,
                                 .waiting_bytes = ring.used,
                                 .next_id = last_id + 1,
                                 .recorded = recorded,
                                 .dropped = dropped,
                                 .without_keys = without_keys};
}

/* ---- the ring ---- */

static struct trace_record *record_at(size_t offset) {
    return (struct trace_record *)(void *)(ring.bytes + offset);
}

static void leave_tail(size_t bytes) {
    ring.tail += bytes;
    ring.used -= bytes;
    if (ring.tail == ring.size) ring.tail = 0;
}

/* Moves the tail over a filler. */
static void skip_filler(void) {
    if (ring.used && !record_at(ring.tail)->bytes) leave_tail(ring.size - ring.tail);
}

const struct trace_record *trace_oldest(void) {
    skip_filler();
    return ring.used ? record_at(ring.tail) : NULL;
}

void trace_take(void) {
    const struct trace_record *oldest = trace_oldest();
    ASSERT(oldest);
    leave_tail(oldest->bytes);
    ring.records--;
    if (!ring.used) ring.head = ring.tail = 0;
}

void trace_reset(void) { ring.head = ring.tail = ring.used = ring.records = 0; }

/* Bytes of the filler that a record of so many bytes needs before it. */
static size_t filler_before(size_t bytes) {
    size_t behind = ring.size - ring.head;
    return bytes > behind ? behind : 0;
}

static void put_record(const struct trace_record *record) {
    if (!ring.bytes) {
        ring.size = (size_t)buffer_bytes & ~(size_t)7;
        ring.bytes = memory_alloc(ring.size, MEMORY_OTHER);
    }
    while (ring.size - ring.used < filler_before(record->bytes) + record->bytes) {
        trace_take();
        dropped++;
    }
    size_t filler = filler_before(record->bytes);
    if (filler) {
        record_at(ring.head)->bytes = 0;
        ring.used += filler;
        ring.head = 0;
    }
    memcpy(ring.bytes + ring.head, record, record->bytes);
    ring.head = (ring.head + record->bytes) % ring.size;
    ring.used += record->bytes;
    ring.records++;
    recorded++;
}

void trace_call(const struct call *call) {
    if (!command_has_keys(call->command)) {
        without_keys++;
        return;
    }
    if (!trace_record_wants(call)) return;
    buffer_clear(&scratch);
    enum trace_append appended = trace_record_append(call, observed_now.hash_max, &scratch);
    if (appended == TRACE_NOT_SAMPLED) return;
    uint64_t id = ++last_id;
    if (appended == TRACE_TOO_LARGE) {
        dropped++;
        return;
    }
    struct trace_record *record = (struct trace_record *)(void *)scratch.bytes;
    record->id = id;
    put_record(record);
}
