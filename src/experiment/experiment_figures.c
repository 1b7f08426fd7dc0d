/* SPDX-License-Identifier: BSD-3-Clause
 * The rows, their names, and limits.
 */
#include "experiment/experiment_figures.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/panic.h"
#include "base/string.h"

static const struct figure_row load_rows[EXPERIMENT_LOAD_FIGURES] = {
    [EXPERIMENT_P50] = {"p50_usec", "latency p50", FIGURE_USEC,
                        "Half of the requests took no longer."},
    [EXPERIMENT_P99] = {"p99_usec", "latency p99", FIGURE_USEC,
                        "99 percent of the requests took no longer."},
    [EXPERIMENT_P999] = {"p999_usec", "latency p99.9", FIGURE_USEC,
                         "99.9 percent of the requests took no longer."},
    [EXPERIMENT_MAX] = {"max_usec", "latency max", FIGURE_USEC, "The longest request."},
    [EXPERIMENT_REQUESTS] = {"requests_per_sec", "requests", FIGURE_PER_SECOND,
                             "Requests of the load that were answered."},
    [EXPERIMENT_ERRORS] = {"errors_per_sec", "errors", FIGURE_PER_SECOND,
                           "Error replies to the load."},
    [EXPERIMENT_LATE] = {"late_percent", "sent late", FIGURE_PERCENT,
                         "Requests that this tool sent too late by its own fault."},
};

/* Figures of which less, or more, is better; of all others neither can be said. */
static const char *const less_is_better[] = {
    "p50_usec",
    "p99_usec",
    "p999_usec",
    "max_usec",
    "errors_per_sec",
    "probe_p50_usec",
    "probe_p99_usec",
    "probe_max_usec",
    "off_cpu_percent",
    "main_thread_cpu_percent",
    "overshoot_bytes",
    "overshoot_peak_bytes",
    "clients_bytes",
    "rss_bytes",
    "due_backlog",
    "stale_percent",
    "tables_owing",
    "ceiling_hits_per_sec",
    "lazyfree_bytes",
    "evicted_clients_per_sec",
    "expire_lag_p99_usec",
    "walk_writers_held_per_sec",
    "eviction_percent",
    "expiry_percent",
    "walk_percent",
};
static const char *const more_is_better[] = {"requests_per_sec", "ops_per_sec", "hit_percent"};

static const struct {
    const char *name, *of_load, *of_probe;
} short_names[] = {
    {"p50", "p50_usec", "probe_p50_usec"},  {"p99", "p99_usec", "probe_p99_usec"},
    {"p99.9", "p999_usec", NULL},           {"p999", "p999_usec", NULL},
    {"max", "max_usec", "probe_max_usec"},  {"ops", "requests_per_sec", "ops_per_sec"},
    {"hits", "hit_percent", "hit_percent"},
};
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

unsigned experiment_figure_count(void) {
    return EXPERIMENT_LOAD_FIGURES + (unsigned)figures_count();
}

const struct figure_row *experiment_figure_row(unsigned index) {
    ASSERT(index < experiment_figure_count());
    return index < EXPERIMENT_LOAD_FIGURES ? &load_rows[index]
                                           : figures_row(index - EXPERIMENT_LOAD_FIGURES);
}

static bool is_listed(const char *name, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], name)) return true;
    return false;
}

int experiment_figure_better(unsigned index) {
    const char *name = experiment_figure_row(index)->name;
    if (is_listed(name, less_is_better, COUNT_OF(less_is_better))) return -1;
    return is_listed(name, more_is_better, COUNT_OF(more_is_better)) ? 1 : 0;
}

bool experiment_figure_is_share(unsigned index) {
    return experiment_figure_row(index)->unit == FIGURE_PERCENT;
}

static int find_row_named(struct slice name) {
    for (unsigned i = 0; i < experiment_figure_count(); i++)
        if (slice_is(name, experiment_figure_row(i)->name)) return (int)i;
    return -1;
}

int experiment_figure_find(const char *name, size_t length, bool has_load) {
    struct slice wanted = {name, length};
    for (size_t i = 0; i < COUNT_OF(short_names); i++) {
        if (!slice_is(wanted, short_names[i].name)) continue;
        const char *row = has_load ? short_names[i].of_load : short_names[i].of_probe;
        return row ? find_row_named(slice_of(row)) : -1;
    }
    return find_row_named(wanted);
}

/* --- limits ----------------------------------------------------------------------------------- */

struct limit_unit {
    const char *suffix;
    enum figure_unit of;
    double factor;
};
static const struct limit_unit limit_units[] = {
    {"us", FIGURE_USEC, 1},       {"usec", FIGURE_USEC, 1},     {"ms", FIGURE_USEC, 1e3},
    {"msec", FIGURE_USEC, 1e3},   {"s", FIGURE_USEC, 1e6},      {"%", FIGURE_PERCENT, 1},
    {"b", FIGURE_BYTES, 1},       {"k", FIGURE_BYTES, 1e3},     {"kb", FIGURE_BYTES, 1024},
    {"m", FIGURE_BYTES, 1e6},     {"mb", FIGURE_BYTES, 0x1p20}, {"g", FIGURE_BYTES, 1e9},
    {"gb", FIGURE_BYTES, 0x1p30},
};

/* A number and its unit, in the unit of the figure. */
static bool parse_limit_value(struct slice text, enum figure_unit unit, double *value) {
    size_t digits = text.length;
    while (digits && !isdigit((uint8_t)text.bytes[digits - 1]) && text.bytes[digits - 1] != '.')
        digits--;
    if (!number_parse_double(text.bytes, digits, value)) return false;
    struct slice suffix = {text.bytes + digits, text.length - digits};
    if (!suffix.length) return true;
    for (size_t i = 0; i < COUNT_OF(limit_units); i++) {
        if (limit_units[i].of != unit || !slice_is(suffix, limit_units[i].suffix)) continue;
        *value *= limit_units[i].factor;
        return true;
    }
    return false;
}

bool experiment_limit_parse(struct experiment_limit *limit, const char *text, bool has_load,
                            char *reason, size_t reason_size) {
    size_t length = strcspn(text, "<>");
    int figure = experiment_figure_find(text, length, has_load);
    if (!text[length]) {
        snprintf(reason, reason_size, "--stop-if wants figure>limit or figure<limit: %.100s", text);
        return false;
    }
    if (figure < 0) {
        snprintf(reason, reason_size, "--stop-if: no figure is called %.*s",
                 length > 100 ? 100 : (int)length, text);
        return false;
    }
    *limit = (struct experiment_limit){
        .figure = (unsigned)figure, .above = text[length] == '>', .text = text};
    if (parse_limit_value(slice_of(text + length + 1), experiment_figure_row(limit->figure)->unit,
                          &limit->limit))
        return true;
    snprintf(reason, reason_size,
             "--stop-if: the limit is no number with a unit of the figure: %.100s", text);
    return false;
}

bool experiment_limit_is_passed(const struct experiment_limit *limit, double value) {
    if (isnan(value)) return false;
    return limit->above ? value > limit->limit : value < limit->limit;
}
