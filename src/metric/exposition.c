/* SPDX-License-Identifier: BSD-3-Clause
 * The rows as exposition text. A metric's name is made of the row's: the words that name a unit are
 * taken out, the base unit comes last, and a counter ends in _total and no gauge does. Values are
 * converted as texts, by moving the decimal point, so that no digit is lost.
 *
 * Invariants:
 *   1. A family's lines stand together, behind its HELP and TYPE; a family without a sample has
 *      neither.
 *   2. A line that is begun is ended in the same step.
 *   3. Only printable ASCII is written: other bytes of labels are escaped, so that labels that
 *      differ stay different.
 */
#include "metric/exposition.h"

#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/panic.h"

#define PREFIX "evenkeel_"
#define INFO_FAMILY PREFIX "instance_info"
/* Buckets of a histogram that are shown, besides +Inf: up to 2^24 us, 17 seconds. Longer times are
 * told by +Inf, sum, and count. */
#define BOUND_USEC_MAX (UINT64_C(1) << 24)
/* The clock is read once in so many rows or samples; these take a few microseconds. */
#define PIECES_A_LOOK 4
#define DIGITS_MAX 40

struct unit {
    const char *suffix; /* behind the name; "" = none */
    const char *here;   /* for HELP: the unit, where INFO has another one; "" = it has this one */
    int shift;          /* by so many digits the decimal point moves to the left */
    bool counter;
};

static const struct unit units[] = {
    [METRIC_STATE] = {"", "1: ok, up or yes; ", 0, false},
    [METRIC_GAUGE] = {"", "", 0, false},
    [METRIC_BYTES] = {"_bytes", "", 0, false},
    [METRIC_SECONDS] = {"_seconds", "", 0, false},
    [METRIC_MSEC] = {"_seconds", "in seconds; ", 3, false},
    [METRIC_USEC] = {"_seconds", "in seconds; ", 6, false},
    [METRIC_PERCENT] = {"_ratio", "as a ratio; ", 2, false},
    [METRIC_KIB_RATE] = {"_bytes_per_second", "in bytes a second; ", 0, false},
    [METRIC_COUNTER] = {"", "", 0, true},
    [METRIC_COUNTER_BYTES] = {"_bytes", "", 0, true},
    [METRIC_COUNTER_SECONDS] = {"_seconds", "", 0, true},
    [METRIC_COUNTER_MSEC] = {"_seconds", "in seconds; ", 3, true},
    [METRIC_COUNTER_USEC] = {"_seconds", "in seconds; ", 6, true},
    [METRIC_HISTOGRAM_USEC] = {"_seconds", "in seconds; ", 6, false},
};

static bool is_number(enum metric_measure measure) {
    return measure >= METRIC_STATE && measure < METRIC_FAMILIES;
}

/* ---- names ---- */

static bool word_is_any(struct slice word, const char *const *words) {
    for (; *words; words++)
        if (slice_equal(word, slice_of(*words))) return true;
    return false;
}

void exposition_append_name(struct buffer *out, const char *name, enum metric_measure measure) {
    static const char *const unit_words[] = {"usec",  "msec", "milliseconds", "sec", "seconds",
                                             "bytes", "perc", "kbps",         NULL};
    static const char *const counter_words[] = {"total", "count", NULL};
    const struct unit *unit = &units[measure];
    buffer_append_c_string(out, PREFIX);
    bool first = true;
    while (*name) {
        struct slice word = {name, strcspn(name, "_")};
        name += word.length + (name[word.length] == '_');
        if (*unit->suffix && word_is_any(word, unit_words)) continue;
        if ((unit->counter || !*name) && word_is_any(word, counter_words)) continue;
        if (!first) buffer_append_char(out, '_');
        buffer_append(out, word.bytes, word.length);
        first = false;
    }
    buffer_append_c_string(out, unit->suffix);
    if (unit->counter) buffer_append_c_string(out, "_total");
}

static const char *kind_name(enum metric_measure measure) {
    if (measure == METRIC_HISTOGRAM_USEC) return "histogram";
    return units[measure].counter ? "counter" : "gauge";
}

static void append_heading(struct buffer *out, const char *name, enum metric_measure measure,
                           const char *field, const char *help) {
    buffer_append_c_string(out, "# HELP ");
    exposition_append_name(out, name, measure);
    buffer_append_char(out, ' ');
    for (const char *at = help; *at; at++) {
        if (*at == '\\') buffer_append_char(out, '\\');
        buffer_append_char(out, *at == '\n' ? ' ' : *at);
    }
    buffer_printf(out, " (%sINFO: %s)\n# TYPE ", units[measure].here, field);
    exposition_append_name(out, name, measure);
    buffer_printf(out, " %s\n", kind_name(measure));
}

/* ---- values ---- */

/* Appends a decimal number with its point moved. False, with nothing appended, if the text is no
 * such number; a percent sign may stand behind it. */
static bool append_shifted(struct buffer *out, struct slice text, int shift) {
    char digits[DIGITS_MAX];
    int count = 0, decimals = 0;
    bool negative = text.length && text.bytes[0] == '-', point = false;
    size_t at = negative;
    for (; at < text.length; at++) {
        char c = text.bytes[at];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9' || count == DIGITS_MAX) break;
        digits[count++] = c;
        decimals += point;
    }
    if (at < text.length && text.bytes[at] == '%') at++;
    if (!count || at < text.length) return false;
    decimals += shift;
    int whole = count - decimals; /* negative: so many zeros stand behind the point first */
    while (count > 0 && count > whole && digits[count - 1] == '0') count--;
    if (negative) buffer_append_char(out, '-');
    if (whole <= 0) buffer_append_char(out, '0');
    if (whole > 0) buffer_append(out, digits, (size_t)whole);
    if (count <= (whole > 0 ? whole : 0)) return true;
    buffer_append_char(out, '.');
    for (; whole < 0; whole++) buffer_append_char(out, '0');
    buffer_append(out, digits + whole, (size_t)(count - whole));
    return true;
}

static void append_unsigned(struct buffer *out, uint64_t value, int shift) {
    char text[NUMBER_INT64_CHARS];
    size_t length = number_format_uint64(text, value);
    if (!shift) {
        buffer_append(out, text, length);
        return;
    }
    bool shifted = append_shifted(out, (struct slice){text, length}, shift);
    ASSERT(shifted);
}

/* Appends what a row prints as a number; false, with nothing appended, if it is none. */
static bool append_value(struct buffer *out, struct slice text, enum metric_measure measure) {
    if (measure == METRIC_STATE) {
        bool good = slice_is(text, "ok") || slice_is(text, "up") || slice_is(text, "yes");
        if (text.length) buffer_append_char(out, good ? '1' : '0');
        return text.length;
    }
    if (measure != METRIC_KIB_RATE) return append_shifted(out, text, units[measure].shift);
    double kib;
    if (!number_parse_double(text.bytes, text.length, &kib)) return false;
    buffer_printf(out, "%.0f", kib * 1024);
    return true;
}

/* ---- labels ---- */

/* A byte that is not printable becomes \xNN, and a backslash two, so that different values stay
 * different; of what results, backslashes and quotes are escaped as the format wants. */
static void append_label_value(struct buffer *out, struct slice value) {
    for (size_t i = 0; i < value.length; i++) {
        unsigned char c = (unsigned char)value.bytes[i];
        if (c == '"')
            buffer_append_c_string(out, "\\\"");
        else if (c == '\\')
            buffer_append_c_string(out, "\\\\\\\\");
        else if (c < ' ' || c > '~')
            buffer_printf(out, "\\\\x%02x", c);
        else
            buffer_append_char(out, (char)c);
    }
}

static void append_label(struct buffer *out, const char *name, struct slice value, bool first) {
    buffer_append_char(out, first ? '{' : ',');
    buffer_append_c_string(out, name);
    buffer_append_c_string(out, "=\"");
    append_label_value(out, value);
    buffer_append_char(out, '"');
}

/* ---- families ---- */

static void append_sample_labels(struct buffer *out, const struct metric_sample *s) {
    for (size_t i = 0; i < METRIC_LABELS_MAX && s->labels[i].name; i++)
        append_label(out, s->labels[i].name, s->labels[i].value, i == 0);
}

/* Appends the cumulative buckets of one sample, its sum and its count. */
static void append_histogram(struct buffer *out, const struct metric_family *f,
                             const struct metric_sample *s) {
    struct buffer name = {.class = MEMORY_OTHER}, labels = {.class = MEMORY_OTHER};
    exposition_append_name(&name, f->name, f->measure);
    append_sample_labels(&labels, s);
    uint64_t count = 0;
    for (unsigned i = 0; i < s->buckets; i++) {
        uint64_t bound = s->first_bound << i;
        bool last = i + 1 == s->buckets;
        count += s->counts[i];
        if (!last && bound > BOUND_USEC_MAX) continue;
        buffer_append(out, name.bytes, name.length);
        buffer_append_c_string(out, "_bucket");
        if (labels.length) buffer_append(out, labels.bytes, labels.length);
        buffer_append_c_string(out, labels.length ? ",le=\"" : "{le=\"");
        if (last)
            buffer_append_c_string(out, "+Inf");
        else
            append_unsigned(out, bound, units[f->measure].shift);
        buffer_append_c_string(out, "\"} ");
        append_unsigned(out, count, 0);
        buffer_append_char(out, '\n');
    }
    if (labels.length) buffer_append_char(&labels, '}');
    const char *text = labels.length ? labels.bytes : "";
    buffer_printf(out, "%s_sum%s ", name.bytes, text);
    append_unsigned(out, s->value, units[f->measure].shift);
    buffer_printf(out, "\n%s_count%s ", name.bytes, text);
    append_unsigned(out, count, 0);
    buffer_append_char(out, '\n');
    buffer_free(&name);
    buffer_free(&labels);
}

static void append_sample(struct buffer *out, const struct metric_family *f,
                          const struct metric_sample *s) {
    if (f->measure == METRIC_HISTOGRAM_USEC) {
        append_histogram(out, f, s);
        return;
    }
    exposition_append_name(out, f->name, f->measure);
    append_sample_labels(out, s);
    if (s->labels[0].name) buffer_append_char(out, '}');
    buffer_append_char(out, ' ');
    append_unsigned(out, s->value, units[f->measure].shift);
    buffer_append_char(out, '\n');
}

/* Appends the next sample of the row's families; false behind the last one. */
static bool step_families(struct exposition *e, const struct metric_row *row, struct buffer *page) {
    const struct metric_family *f = &row->families[e->family];
    if (!f->name) return false;
    struct metric_sample s = {0};
    enum metric_presence presence = f->sample(f, e->sample++, &s);
    if (presence == METRIC_END) {
        e->family++;
        e->sample = 0;
        e->headed = false;
    } else if (presence == METRIC_PRESENT) {
        if (!e->headed) append_heading(page, f->name, f->measure, row->name, f->help);
        e->headed = true;
        append_sample(page, f, &s);
    }
    return true;
}

/* ---- rows ---- */

static void append_row(const struct metric_row *row, struct buffer *page) {
    struct buffer text = {.class = MEMORY_OTHER}, value = {.class = MEMORY_OTHER};
    metric_print_value(row, &text);
    if (append_value(&value, buffer_slice(&text), row->measure)) {
        append_heading(page, row->name, row->measure, row->name, row->help);
        exposition_append_name(page, row->name, row->measure);
        buffer_append_char(page, ' ');
        buffer_append(page, value.bytes, value.length);
        buffer_append_char(page, '\n');
    }
    buffer_free(&text);
    buffer_free(&value);
}

static bool is_shown(const struct metric_row *row) { return !row->present || row->present(); }

/* The texts of all rows that are labels, as one sample whose value is 1. */
static void append_instance(struct buffer *page) {
    struct buffer text = {.class = MEMORY_OTHER};
    bool first = true;
    buffer_append_c_string(page, "# HELP " INFO_FAMILY
                                 " Texts of INFO, as labels of a sample that "
                                 "is always 1.\n# TYPE " INFO_FAMILY " gauge\n" INFO_FAMILY);
    for (size_t i = 0; i < metric_section_count(); i++) {
        for (size_t j = 0;; j++) {
            const struct metric_row *row = metric_row_at(i, j);
            if (!row) break;
            if (row->measure != METRIC_LABEL || !is_shown(row)) continue;
            buffer_clear(&text);
            metric_print_value(row, &text);
            append_label(page, row->name, buffer_slice(&text), first);
            first = false;
        }
    }
    buffer_append_c_string(page, first ? " 1\n" : "} 1\n");
    buffer_free(&text);
}

/* Appends one row, or one sample of a row; false when the page is complete. */
static bool step_piece(struct exposition *e, struct buffer *page) {
    if (e->section == metric_section_count()) return false;
    const struct metric_row *row = metric_row_at(e->section, e->row);
    if (!row) {
        e->section++;
        e->row = 0;
        return true;
    }
    bool shown = is_shown(row);
    if (shown && row->measure == METRIC_FAMILIES && step_families(e, row, page)) return true;
    if (shown && is_number(row->measure)) append_row(row, page);
    e->row++;
    e->family = e->sample = 0;
    e->headed = false;
    return true;
}

bool exposition_step(struct exposition *e, struct buffer *page, int64_t until_nsec) {
    if (!e->begun || e->generation != metric_generation()) {
        *e = (struct exposition){.begun = true, .generation = metric_generation()};
        buffer_clear(page);
        append_instance(page);
    }
    for (unsigned pieces = 1; step_piece(e, page); pieces++)
        if (pieces % PIECES_A_LOOK == 0 && clock_monotonic_nsec() >= until_nsec) return false;
    return true;
}

/* ---- the reference page ---- */

static void write_line(struct buffer *out, const char *name, enum metric_measure measure,
                       const struct metric_row *row, const char *help) {
    buffer_append_c_string(out, "| `");
    exposition_append_name(out, name, measure);
    buffer_printf(out, "` | %s | `%s` | ", kind_name(measure), row->name);
    for (; *help; help++) {
        if (*help == '|') buffer_append_char(out, '\\');
        buffer_append_char(out, *help);
    }
    buffer_append_c_string(out, " |\n");
}

static void write_row(struct buffer *out, const struct metric_row *row) {
    if (is_number(row->measure)) write_line(out, row->name, row->measure, row, row->help);
    for (const struct metric_family *f = row->families; f && f->name; f++)
        write_line(out, f->name, f->measure, row, f->help);
}

static const char reference_head[] =
    "# Scraped metrics\n\n"
    "Made by `redis-server --describe-scrape`. [metrics.md](metrics.md) says how they are scraped. "
    "Besides\nthese there is `" INFO_FAMILY
    "`, whose labels are INFO's texts. A row of INFO that "
    "is shown only\nsometimes is scraped only then.\n\n"
    "| metric | type | row of INFO | meaning, in INFO's unit |\n| --- | --- | --- | --- |\n";

void exposition_write_reference(struct buffer *out) {
    buffer_append_c_string(out, reference_head);
    for (size_t i = 0; i < metric_section_count(); i++) {
        for (size_t j = 0;; j++) {
            const struct metric_row *row = metric_row_at(i, j);
            if (!row) break;
            write_row(out, row);
        }
    }
}
