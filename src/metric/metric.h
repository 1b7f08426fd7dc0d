/* SPDX-License-Identifier: BSD-3-Clause
 * The metric engine: makes INFO from rows, and knows no metric.
 *
 * A module declares rows beside its counters; a row carries section and place, so that 6.2's order
 * holds when a section spans folders. Reading a metric must be cheap: a counter or O(1) arithmetic.
 */
#ifndef EVENKEEL_METRIC_METRIC_H
#define EVENKEEL_METRIC_METRIC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"

enum metric_type {
    METRIC_UINT64,  /* uint64_t * */
    METRIC_INT64,   /* int64_t * */
    METRIC_STRING,  /* const char *const * */
    METRIC_FUNCTION /* print writes the value */
};

/* What a value is for programs that scrape (metric/exposition.h): its kind, and the unit in which
 * it is kept. A scrape has base units: seconds, bytes, ratios. */
enum metric_measure {
    METRIC_UNSTATED,  /* refused: every row says its measure */
    METRIC_INFO_ONLY, /* not scraped: a text, or what scraped rows tell better */
    METRIC_LABEL,     /* a text that is a label of evenkeel_instance_info */
    METRIC_STATE,     /* a text; scraped as 1 where it is "ok", "up" or "yes", else as 0 */
    METRIC_GAUGE,     /* a number that goes up and down */
    METRIC_BYTES,     /* gauges with a unit, down to METRIC_KIB_RATE */
    METRIC_SECONDS,
    METRIC_MSEC,
    METRIC_USEC,
    METRIC_PERCENT,
    METRIC_KIB_RATE, /* KiB a second */
    METRIC_COUNTER,  /* a number that only grows, until CONFIG RESETSTAT or a restart */
    METRIC_COUNTER_BYTES,
    METRIC_COUNTER_SECONDS,
    METRIC_COUNTER_MSEC,
    METRIC_COUNTER_USEC,
    METRIC_HISTOGRAM_USEC, /* of families only; its sum is in us */
    METRIC_FAMILIES,       /* the row's `families` are scraped instead of its text */
};

/* A label; the value may hold any bytes. */
struct metric_label {
    const char *name;
    struct slice value;
};
#define METRIC_LABELS_MAX 4

/* One sample of a family. */
struct metric_sample {
    struct metric_label labels[METRIC_LABELS_MAX]; /* those with a name, from the first */
    uint64_t value;                                /* in the unit of the family's measure */
    /* For METRIC_HISTOGRAM_USEC: counts of `buckets` buckets, not cumulative; bucket i ends at
     * `first_bound` << i us, the last one never. `value` is the sum of what was counted. */
    const uint64_t *counts;
    unsigned buckets;
    uint64_t first_bound;
    char text[64]; /* room for a label's value that is made for this sample */
};

/* Whether a family has a sample at an index. */
enum metric_presence { METRIC_PRESENT, METRIC_ABSENT, METRIC_END };

/* Samples of one meaning that differ by their labels; no two of them have the same labels. */
struct metric_family {
    const char *name; /* without prefix, unit and _total: "command_calls" */
    enum metric_measure measure;
    const char *help;
    /* Fills in the sample at `index`, which begins at 0 and grows by 1 until METRIC_END. The sample
     * was zeroed; what it borrows stays valid until the next call. O(index) at most. */
    enum metric_presence (*sample)(const struct metric_family *family, size_t index,
                                   struct metric_sample *sample);
    const void *context; /* distinguishes families with the same function */
};

struct metric_row {
    const char *section; /* "Server", as shown behind "# " */
    int place;           /* order within the section: 6.2's field number times 10 */
    const char *name;
    enum metric_measure measure;
    enum metric_type type;
    const void *variable;
    const void *context; /* distinguishes rows with the same functions */
    /* The value without name and line end. */
    void (*print)(const struct metric_row *row, struct buffer *out);
    /* Writes whole lines ("db0:keys=1...\r\n"), none when there is nothing: for fields whose names
     * depend on data. `name` then names the pattern in the reference ("db<N>"). */
    void (*print_lines)(const struct metric_row *row, struct buffer *out);
    const struct metric_family *families; /* for METRIC_FAMILIES; ends with a NULL name */
    bool (*present)(void);                /* NULL = always */
    bool reset;                           /* CONFIG RESETSTAT zeroes `variable` (uint64_t) */
    const char *help;
};

/* For rows whose value is always 0. */
extern const int64_t metric_zero;
/* Rows are borrowed until they are unregistered. Returns false if the section of one of them has a
 * row of its name already; then none of the rows is taken. */
MUST_USE bool metric_try_register(const struct metric_row *rows, size_t count);
/* Ends the process: rows of the server's own are refused only by our fault. */
_Noreturn void metric_refused(const struct metric_row *rows);
/* At start. */
static inline void metric_register(const struct metric_row *rows, size_t count) {
    if (!metric_try_register(rows, count)) metric_refused(rows);
}
/* Takes registered rows away while the server runs. Their sections stay, with what rows they have
 * left. O(rows of their sections). */
FOR_TESTS void metric_unregister(const struct metric_row *rows, size_t count);
/* Called by CONFIG RESETSTAT after the rows' own reset. */
void metric_register_reset(void (*reset)(void));
void metric_reset_all(void);

/* The row at `index` of the section at `section`, both from 0 on, in the order of INFO all; NULL
 * behind the section's last row. */
const struct metric_row *metric_row_at(size_t section, size_t index);
size_t metric_section_count(void);
/* A number that differs after rows were registered or reset: what was found by index before is
 * somewhere else now. */
uint64_t metric_generation(void);
/* Appends the value of a row that has `print` or `variable`, as INFO shows it. */
void metric_print_value(const struct metric_row *row, struct buffer *out);

/* Sections are shown in the order in which they are declared here, before or after their rows are
 * registered; one that has rows but was never declared comes last and is not standard. Only
 * sections with `standard` are part of plain INFO; "all" and "everything" take the rest too. A
 * section that prints no field is still shown with its heading, as 6.2. */
void metric_declare_section(const char *name, bool standard);
/* From now on rows of sections that are not declared are passed over. */
void metric_close_sections(void);
/* INFO's text for "default", "all", "everything" or one section's name (case ignored); empty for
 * an unknown name. */
void metric_print(struct slice section, struct buffer *out);
/* Appends a part of a field's name that comes from outside: characters with a meaning in INFO's
 * text (#, : and line ends) become "_". */
void metric_append_name(struct buffer *out, const char *name);
/* The reference page in Markdown. */
void metric_write_reference(struct buffer *out);
/* Forgets all rows, sections and reset functions; for leak-free ends of tests. */
FOR_TESTS void metric_forget_all(void);

/* A histogram of durations in powers of two: bucket i counts values in [2^i, 2^(i+1)) microseconds,
 * bucket 0 also what is below 1. */
#define HISTOGRAM_BUCKETS 32
struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total, maximum_usec, sum_usec;
};
static inline void histogram_add(struct histogram *h, uint64_t usec) {
    unsigned bucket = usec < 2 ? 0 : 63 - (unsigned)__builtin_clzll(usec);
    if (bucket >= HISTOGRAM_BUCKETS) bucket = HISTOGRAM_BUCKETS - 1;
    h->counts[bucket]++;
    h->total++;
    h->sum_usec += usec;
    if (usec > h->maximum_usec) h->maximum_usec = usec;
}
void histogram_clear(struct histogram *h);
/* Makes the sample of a family of METRIC_HISTOGRAM_USEC; the histogram is borrowed. */
void metric_sample_histogram(struct metric_sample *s, const struct histogram *h);
/* Upper bound of the bucket that holds the quantile (0..1), 0 where empty. The last bucket has no
 * bound of its own: its answer is the maximum. */
uint64_t histogram_quantile_usec(const struct histogram *h, double quantile);
/* "1=12,2=40,4=3": lower bound of each non-empty bucket and its count. */
void histogram_print(const struct histogram *h, struct buffer *out);
#endif
