/* SPDX-License-Identifier: BSD-3-Clause
 * Figures as rows: the source of a row's raw value, and how two raw values become a figure.
 *
 * A raw value is a number of INFO, or a sum or difference of several. Between two readings a
 * counter grows; a figure is one of these:
 *
 *   gauge   the raw value itself
 *   rate    the growth, divided by the time between the readings
 *   share   the growth of a counter of time, as percent of the time between the readings
 *   ratio   the growth of one field, as percent of the growth of two fields together
 *
 * Invariants
 *  1. An unknown figure is NaN, never 0.
 *  2. The time between two readings is taken from the server's clock (server_time_usec), because
 *     its counters were read at that time. If INFO lacks the field, the time between the replies is
 *     taken. The server reads its clock after the tool sends INFO and before the reply arrives,
 *     which bounds the time between two readings; a time outside of these bounds means that the
 *     server's clock was set.
 *  3. `since` sums only samples that began after the mark, `before` only samples that ended before
 *     it and at most FIGURES_BEFORE_SECONDS earlier.
 *  4. The fallbacks for Redis 6.2 compute as 6.2 does: the memory that counts toward maxmemory is
 *     used_memory without mem_not_counted_for_evict.
 */
#include "tools/figures.h"

#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"

/* Two clocks may drift apart by this share without having been set. It is far above the rate at
 * which NTP slews a clock. */
#define CLOCK_DRIFT 0.01
#define CLOCK_SLACK_SECONDS 0.01

enum kind {
    KIND_GAUGE,
    KIND_RATE,
    KIND_SHARE_USEC,    /* the share of a time in microseconds */
    KIND_SHARE_SECONDS, /* the share of the sum of two times in seconds */
    KIND_RATIO,         /* the field's growth as percent of the growth of both fields */
    KIND_OPS,           /* a rate, without the tool's own commands */
    KIND_COUNTED,       /* the memory that counts toward maxmemory */
    KIND_OVERSHOOT,     /* the memory above maxmemory */
    KIND_KEYS,          /* the keys of all databases */
    KIND_PROBE_P50,
    KIND_PROBE_P99,
    KIND_PROBE_MAX,
};

struct row {
    struct figure_row shown;
    enum kind kind;
    const char *field, *second;
};

#define GAUGE(name, label, unit, field, help) \
    { {name, label, unit, help}, KIND_GAUGE, field, NULL }
#define RATE(name, label, field, help) \
    { {name, label, FIGURE_PER_SECOND, help}, KIND_RATE, field, NULL }
#define SHARE(name, label, field, help) \
    { {name, label, FIGURE_PERCENT, help}, KIND_SHARE_USEC, field, NULL }

/* The most useful figures first, because a small screen shows only the first rows. */
static const struct row rows[] = {
    {{"ops_per_sec", "commands", FIGURE_PER_SECOND,
      "Commands of others; our probes are taken off."},
     KIND_OPS,
     "total_commands_processed",
     NULL},
    {{"probe_p50_usec", "PING p50", FIGURE_USEC, "Half of the probes took no longer."},
     KIND_PROBE_P50,
     NULL,
     NULL},
    {{"probe_p99_usec", "PING p99", FIGURE_USEC, "99 percent of the probes took no longer."},
     KIND_PROBE_P99,
     NULL,
     NULL},
    {{"probe_max_usec", "PING max", FIGURE_USEC, "The longest probe."}, KIND_PROBE_MAX, NULL, NULL},
    {{"off_cpu_percent", "off CPU", FIGURE_PERCENT,
      "Share of time in which the main thread wanted to run and did not."},
     KIND_SHARE_USEC,
     "main_thread_off_cpu_usec",
     NULL},
    {{"main_thread_cpu_percent", "main thread CPU", FIGURE_PERCENT,
      "Processor time of the thread that runs commands."},
     KIND_SHARE_SECONDS,
     "used_cpu_user_main_thread",
     "used_cpu_sys_main_thread"},
    RATE("evicted_per_sec", "evicted keys", "evicted_keys", "Keys evicted."),
    SHARE("eviction_percent", "evicting", "eviction_cpu_usec_total",
          "Share of time that eviction took; maxmemory-eviction-cpu-budget bounds it."),
    RATE("budget_exhausted_per_sec", "budget spent", "eviction_budget_exhausted_count",
         "Turns of the event loop in which the budget stopped eviction."),
    {{"overshoot_bytes", "over maxmemory", FIGURE_BYTES,
      "Counted bytes over maxmemory; computed where the server does not tell."},
     KIND_OVERSHOOT,
     "maxmemory_overshoot_bytes",
     NULL},
    {{"counted_bytes", "counted memory", FIGURE_BYTES,
      "Bytes that count toward maxmemory; computed where the server does not tell."},
     KIND_COUNTED,
     "mem_counted_for_eviction",
     NULL},
    GAUGE("used_bytes", "used memory", FIGURE_BYTES, "used_memory", "Bytes the server holds."),
    GAUGE("clients_bytes", "client memory", FIGURE_BYTES, "mem_clients_normal",
          "Bytes that normal clients hold."),
    GAUGE("rss_bytes", "resident memory", FIGURE_BYTES, "used_memory_rss",
          "Bytes the process takes of the machine."),
    RATE("expired_per_sec", "expired keys", "expired_keys", "Keys deleted at their deadline."),
    GAUGE("due_backlog", "due, not deleted", FIGURE_COUNT, "expire_due_backlog",
          "Keys whose deadline has passed and that are still there."),
    GAUGE("stale_percent", "stale keys", FIGURE_PERCENT, "expired_stale_perc",
          "Their share of all keys with a deadline, as the server estimates it."),
    GAUGE("tables_owing", "tables owing", FIGURE_COUNT, "hashtables_owing",
          "Hash tables that owe growing or shrinking."),
    GAUGE("tables_bytes", "table memory", FIGURE_BYTES, "mem_overhead_hashtables",
          "Bytes of the databases' tables, without the keys."),
    {{"keys", "keys", FIGURE_COUNT, "Keys of all databases."}, KIND_KEYS, NULL, NULL},
    {{"hit_percent", "hits", FIGURE_PERCENT, "Lookups that found their key."},
     KIND_RATIO,
     "keyspace_hits",
     "keyspace_misses"},
    GAUGE("clients", "clients", FIGURE_COUNT, "connected_clients", "Connections, ours among them."),
    GAUGE("overshoot_peak_bytes", "overshoot peak", FIGURE_BYTES, "maxmemory_overshoot_peak_bytes",
          "The most over maxmemory since CONFIG RESETSTAT."),
    RATE("ceiling_hits_per_sec", "ceiling hits", "maxmemory_ceiling_hits",
         "Commands that found memory above maxmemory-ceiling."),
    RATE("evicted_clients_per_sec", "evicted clients", "evicted_clients",
         "Clients disconnected for what they held."),
    GAUGE("expire_lag_p99_usec", "expiry lag p99", FIGURE_USEC, "expire_lag_usec_p99",
          "From deadline to deletion, 99 percent of keys, since CONFIG RESETSTAT."),
    GAUGE("lazyfree_bytes", "to be freed", FIGURE_BYTES, "lazyfree_pending_bytes",
          "Bytes handed to the background for freeing."),
    GAUGE("save_percent", "save under way", FIGURE_PERCENT, "current_fork_perc",
          "How far it is, in percent of its keys; 0 where there is none."),
    RATE("save_keys_per_sec", "keys saved", "current_save_keys_processed",
         "Keys a second that the save under way saves."),
    {{"walk_copied_bytes_per_sec", "copied for a save", FIGURE_BYTES,
      "Bytes a second that a save without a child copies."},
     KIND_RATE,
     "walk_copied_bytes",
     NULL},
    GAUGE("walk_waiting_bytes", "copied, not saved", FIGURE_BYTES, "walk_waiting_bytes",
          "Bytes that it has copied and not written yet."),
    RATE("walk_writers_held_per_sec", "writers held", "walk_writers_held",
         "Writes that had to wait for it."),
    SHARE("walk_percent", "time: saving", "walk_main_thread_usec",
          "Share of the main thread's time that it takes; snapshot-cpu-budget bounds it."),
    SHARE("commands_percent", "time: commands", "main_thread_commands_usec",
          "Share of the main thread's time: running commands."),
    SHARE("expiry_percent", "time: expiry", "main_thread_expiry_usec",
          "Share of the main thread's time: expiry."),
    SHARE("freeing_percent", "time: freeing", "main_thread_freeing_usec",
          "Share of the main thread's time: freeing."),
    SHARE("tables_percent", "time: tables", "main_thread_tables_usec",
          "Share of the main thread's time: resizing tables."),
    SHARE("io_percent", "time: I/O", "main_thread_io_usec",
          "Share of the main thread's time: reading and writing."),
    SHARE("idle_percent", "time: idle", "main_thread_idle_usec",
          "Share of the main thread's time: waiting."),
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= FIGURES_MAX, "FIGURES_MAX is too small");

/* The fields of INFO that are read in addition to the rows' own. */
static const char *const other_fields[] = {"server_time_usec", "used_memory",
                                           "mem_not_counted_for_evict", "maxmemory"};
#define FIELDS_MAX (2 * FIGURES_MAX + sizeof(other_fields) / sizeof(other_fields[0]))

struct reading {
    double raw[FIGURES_MAX], raw_second[FIGURES_MAX];
    double server_usec; /* NaN if INFO has no server_time_usec */
    int64_t asked_nsec, now_nsec;
    uint64_t own_commands;
};

struct sample {
    int64_t begin_nsec, end_nsec;
    double values[FIGURES_MAX];
};

/* The means of samples. A sample that misses a figure does not count in that figure's mean. */
struct mean {
    double sum[FIGURES_MAX];
    uint64_t count[FIGURES_MAX], samples;
};

/* A field of INFO that a figure is made of. */
struct field {
    const char *name;
    double value; /* NaN if INFO lacks the field, or the field is no number */
    bool found;
};

/* The fields in the order of their names, with their values from the last INFO. */
struct fields {
    struct field at[FIELDS_MAX];
    size_t count;
    double keys; /* the number of keys in all databases */
};

struct figures {
    struct fields fields;
    struct reading last;
    bool has_last, marked;
    uint64_t samples;
    struct sample history[FIGURES_HISTORY_SAMPLES]; /* a ring; sample n is at n modulo its size */
    int64_t mark_nsec;
    struct mean before, since;
};

static int compare_fields(const void *a, const void *b) {
    return strcmp(((const struct field *)a)->name, ((const struct field *)b)->name);
}

static void add_field(struct fields *fields, const char *name) {
    if (!name) return;
    for (size_t i = 0; i < fields->count; i++) {
        if (!strcmp(fields->at[i].name, name)) return;
    }
    ASSERT(fields->count < FIELDS_MAX);
    fields->at[fields->count++] = (struct field){.name = name};
}

struct figures *figures_create(void) {
    struct figures *f = memory_zalloc(sizeof(*f), MEMORY_OTHER);
    for (size_t i = 0; i < ROWS; i++) {
        add_field(&f->fields, rows[i].field);
        add_field(&f->fields, rows[i].second);
    }
    for (size_t i = 0; i < sizeof(other_fields) / sizeof(other_fields[0]); i++) {
        add_field(&f->fields, other_fields[i]);
    }
    qsort(f->fields.at, f->fields.count, sizeof(f->fields.at[0]), compare_fields);
    return f;
}
void figures_free(struct figures *f) { memory_free(f, MEMORY_OTHER); }
size_t figures_count(void) { return ROWS; }

const struct figure_row *figures_row(size_t index) {
    ASSERT(index < ROWS);
    return &rows[index].shown;
}

bool figures_is_gauge(size_t index) {
    ASSERT(index < ROWS);
    enum kind kind = rows[index].kind;
    return kind == KIND_GAUGE || kind == KIND_COUNTED || kind == KIND_OVERSHOOT ||
           kind == KIND_KEYS;
}

bool figures_find(struct slice info, const char *field, struct slice *value) {
    size_t length = strlen(field);
    const char *line = info.bytes, *end = info.bytes + info.length;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        if ((size_t)(stop - line) > length && line[length] == ':' && !memcmp(line, field, length)) {
            line += length + 1;
            if (stop > line && stop[-1] == '\r') stop--;
            *value = (struct slice){line, (size_t)(stop - line)};
            return true;
        }
        line = stop + 1;
    }
    return false;
}

/* Returns the field of that name; NULL if no figure needs it. */
static struct field *find_field(struct fields *fields, struct slice name) {
    size_t low = 0, high = fields->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct field *field = &fields->at[middle];
        int order = slice_compare(name, slice_of(field->name));
        if (!order) return field;
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

static double number_of(struct fields *fields, const char *name) {
    const struct field *field = name ? find_field(fields, slice_of(name)) : NULL;
    return field ? field->value : NAN;
}

/* Adds the K of a line "dbN:keys=K,..." to the number of keys. */
static void count_keys(struct fields *fields, struct slice line) {
    const char *at = memmem(line.bytes, line.length, ":keys=", 6);
    if (!at) return;
    at += 6;
    size_t digits = 0;
    while (at + digits < line.bytes + line.length && isdigit((uint8_t)at[digits])) digits++;
    uint64_t count;
    if (number_parse_uint64(at, digits, &count)) fields->keys += (double)count;
}

/* Takes a line of INFO, without its end. If a field occurs twice, its first value counts. */
static void take_line(struct fields *fields, struct slice line) {
    const char *colon = memchr(line.bytes, ':', line.length);
    if (!colon) return;
    size_t length = (size_t)(colon - line.bytes);
    if (length > 2 && !memcmp(line.bytes, "db", 2) && isdigit((uint8_t)line.bytes[2])) {
        count_keys(fields, line);
    }
    struct field *field = find_field(fields, (struct slice){line.bytes, length});
    if (!field || field->found) return;
    double value;
    size_t digits = line.length - length - 1;
    field->found = true;
    if (number_parse_double(colon + 1, digits, &value) && isfinite(value)) field->value = value;
}

/* Reads all fields in one pass, so that the cost is linear for any text. */
static void read_fields(struct fields *fields, struct slice info) {
    fields->keys = 0;
    for (size_t i = 0; i < fields->count; i++) {
        fields->at[i].value = NAN;
        fields->at[i].found = false;
    }
    const char *line = info.bytes, *end = info.bytes + info.length;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        size_t length = (size_t)(stop - line);
        if (length && stop[-1] == '\r') length--;
        take_line(fields, (struct slice){line, length});
        line = stop + 1;
    }
}

static double counted_of(struct fields *fields) {
    double counted = number_of(fields, "mem_counted_for_eviction");
    if (!isnan(counted)) return counted;
    return number_of(fields, "used_memory") - number_of(fields, "mem_not_counted_for_evict");
}

static double overshoot_of(struct fields *fields) {
    double told = number_of(fields, "maxmemory_overshoot_bytes");
    double limit = number_of(fields, "maxmemory");
    if (!isnan(told) || isnan(limit)) return told;
    double over = counted_of(fields) - limit;
    return limit == 0 || over < 0 ? 0 : over;
}

static double raw_of(const struct row *row, struct fields *fields) {
    switch (row->kind) {
    case KIND_COUNTED: return counted_of(fields);
    case KIND_OVERSHOOT: return overshoot_of(fields);
    case KIND_KEYS: return fields->keys;
    default: return number_of(fields, row->field);
    }
}

/* Returns the growth of a counter; NaN if it went back, because it was reset then. */
static double counter_growth(double from, double to) { return to < from ? NAN : to - from; }

static double figure_of(size_t i, const struct reading *from, const struct reading *to,
                        const struct figures_measured *measured, double seconds) {
    double grown = counter_growth(from->raw[i], to->raw[i]);
    double second = counter_growth(from->raw_second[i], to->raw_second[i]);
    double value;
    switch (rows[i].kind) {
    case KIND_GAUGE:
    case KIND_COUNTED:
    case KIND_OVERSHOOT:
    case KIND_KEYS: return to->raw[i];
    case KIND_RATE: return grown / seconds;
    case KIND_OPS:
        value = (grown - (double)(to->own_commands - from->own_commands)) / seconds;
        return value < 0 ? 0 : value; /* inexact while probes are unanswered */
    case KIND_SHARE_USEC: return grown / seconds / 1e6 * 100;
    case KIND_SHARE_SECONDS: return (grown + second) / seconds * 100;
    case KIND_RATIO: return grown + second > 0 ? grown / (grown + second) * 100 : NAN;
    case KIND_PROBE_P50: return measured->probes ? measured->probe_p50_usec : NAN;
    case KIND_PROBE_P99: return measured->probes ? measured->probe_p99_usec : NAN;
    case KIND_PROBE_MAX: return measured->probes ? measured->probe_max_usec : NAN;
    }
    return NAN;
}

static double seconds_between(const struct reading *from, const struct reading *to) {
    double seconds = (to->server_usec - from->server_usec) / 1e6;
    double least = (double)(to->asked_nsec - from->now_nsec) / 1e9;
    double most = (double)(to->now_nsec - from->asked_nsec) / 1e9;
    if (seconds > 0 && seconds >= least * (1 - CLOCK_DRIFT) - CLOCK_SLACK_SECONDS &&
        seconds <= most * (1 + CLOCK_DRIFT) + CLOCK_SLACK_SECONDS) {
        return seconds;
    }
    seconds = (double)(to->now_nsec - from->now_nsec) / 1e9;
    return seconds > 0 ? seconds : NAN;
}

static void mean_add(struct mean *mean, const struct sample *sample) {
    mean->samples++;
    for (size_t i = 0; i < ROWS; i++) {
        if (isnan(sample->values[i])) continue;
        mean->sum[i] += sample->values[i];
        mean->count[i]++;
    }
}

static double mean_of(const struct mean *mean, size_t index) {
    return mean->count[index] ? mean->sum[index] / (double)mean->count[index] : NAN;
}

void figures_add(struct figures *f, struct slice info, const struct figures_measured *measured) {
    read_fields(&f->fields, info);
    struct reading now = {.server_usec = number_of(&f->fields, "server_time_usec"),
                          .asked_nsec = measured->asked_nsec,
                          .now_nsec = measured->now_nsec,
                          .own_commands = measured->own_commands};
    for (size_t i = 0; i < ROWS; i++) {
        now.raw[i] = raw_of(&rows[i], &f->fields);
        now.raw_second[i] = number_of(&f->fields, rows[i].second);
    }
    struct sample *sample = &f->history[f->samples % FIGURES_HISTORY_SAMPLES];
    const struct reading *from = f->has_last ? &f->last : &now;
    double seconds = f->has_last ? seconds_between(from, &now) : NAN;
    *sample = (struct sample){.begin_nsec = from->now_nsec, .end_nsec = now.now_nsec};
    for (size_t i = 0; i < ROWS; i++) {
        double value = figure_of(i, from, &now, measured, seconds);
        sample->values[i] = isfinite(value) ? value : NAN;
    }
    if (f->marked && sample->begin_nsec >= f->mark_nsec) mean_add(&f->since, sample);
    f->samples++;
    f->last = now;
    f->has_last = true;
}

void figures_interrupt(struct figures *f) { f->has_last = false; }
uint64_t figures_samples(const struct figures *f) { return f->samples; }

void figures_mark(struct figures *f, int64_t now_nsec) {
    f->before = f->since = (struct mean){.samples = 0};
    f->marked = true;
    f->mark_nsec = now_nsec;
    int64_t earliest = now_nsec - INT64_C(1000000000) * FIGURES_BEFORE_SECONDS;
    uint64_t kept = f->samples < FIGURES_HISTORY_SAMPLES ? f->samples : FIGURES_HISTORY_SAMPLES;
    for (uint64_t i = f->samples - kept; i < f->samples; i++) {
        const struct sample *sample = &f->history[i % FIGURES_HISTORY_SAMPLES];
        /* The sample of a first reading has no length, and no rates. */
        bool whole = sample->begin_nsec < sample->end_nsec;
        if (whole && sample->end_nsec >= earliest && sample->end_nsec <= now_nsec) {
            mean_add(&f->before, sample);
        }
    }
}

void figures_unmark(struct figures *f) { f->marked = false; }
bool figures_marked(const struct figures *f) { return f->marked; }
uint64_t figures_before_samples(const struct figures *f) {
    return f->marked ? f->before.samples : 0;
}
uint64_t figures_since_samples(const struct figures *f) { return f->marked ? f->since.samples : 0; }

double figures_now(const struct figures *f, size_t index) {
    if (!f->samples) return NAN;
    return f->history[(f->samples - 1) % FIGURES_HISTORY_SAMPLES].values[index];
}
double figures_before(const struct figures *f, size_t index) {
    return f->marked ? mean_of(&f->before, index) : NAN;
}
double figures_since(const struct figures *f, size_t index) {
    return f->marked ? mean_of(&f->since, index) : NAN;
}

/* Writes the value with three or more digits, and the name of its step: each step is `step` times
 * the one before. */
static void format_scaled(char out[FIGURES_TEXT_CHARS], double value, double step,
                          const char *const *names, size_t count) {
    size_t at = 0;
    /* The limit is below `step`, because 999.96 would be rounded to 1000. */
    while (at + 1 < count && fabs(value) >= step * 0.9999) {
        value /= step;
        at++;
    }
    int decimals = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;
    if (at == 0 && value == floor(value)) decimals = 0;
    if (fabs(value) >= 1e7) {
        snprintf(out, FIGURES_TEXT_CHARS, "%.1e%s", value, names[at]);
    } else {
        snprintf(out, FIGURES_TEXT_CHARS, "%.*f%s", decimals, value, names[at]);
    }
}

void figures_format(char out[FIGURES_TEXT_CHARS], enum figure_unit unit, double value) {
    static const char *const thousands[] = {"", "k", "M", "G", "T"};
    static const char *const bytes[] = {"B", "K", "M", "G", "T", "P"};
    static const char *const times[] = {"us", "ms", "s"};
    if (isnan(value)) {
        snprintf(out, FIGURES_TEXT_CHARS, "-");
        return;
    }
    switch (unit) {
    case FIGURE_COUNT:
    case FIGURE_PER_SECOND: format_scaled(out, value, 1000, thousands, 5); break;
    case FIGURE_BYTES: format_scaled(out, value, 1024, bytes, 6); break;
    case FIGURE_USEC: format_scaled(out, value, 1000, times, 3); break;
    case FIGURE_PERCENT:
        snprintf(out, FIGURES_TEXT_CHARS, fabs(value) < 1e6 ? "%.1f%%" : "%.1e%%", value);
        break;
    }
}

void figures_csv_header(struct buffer *out) {
    buffer_append_c_string(out, "time");
    for (size_t i = 0; i < ROWS; i++) buffer_printf(out, ",%s", rows[i].shown.name);
    buffer_append_char(out, '\n');
}

void figures_csv_line(const struct figures *f, int64_t wall_usec, struct buffer *out) {
    buffer_printf(out, "%" PRId64 ".%03d", wall_usec / 1000000, (int)(wall_usec / 1000 % 1000));
    for (size_t i = 0; i < ROWS; i++) {
        double value = figures_now(f, i);
        buffer_append_char(out, ',');
        if (isnan(value)) continue;
        /* Whole numbers up to the limit of exact doubles have no decimals, other numbers have
         * three. */
        bool whole = value == floor(value) && fabs(value) < 9e15;
        buffer_printf(out, whole ? "%.0f" : "%.3f", value);
    }
    buffer_append_char(out, '\n');
}
