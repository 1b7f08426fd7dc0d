/* SPDX-License-Identifier: BSD-3-Clause
 * The figures of `redis-lab watch`: from two readings of INFO, and what was measured beside them,
 * to one sample; and the means before and since a mark.
 *
 * Works with any server that knows INFO: a figure whose fields are missing is NaN.
 */
#ifndef EVENKEEL_LAB_WATCH_FIGURES_H
#define EVENKEEL_LAB_WATCH_FIGURES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* The time before a mark that its means are of. */
#define FIGURES_BEFORE_SECONDS 10
/* More samples than that are not kept for it (at ten samples a second it is just enough). */
#define FIGURES_HISTORY_SAMPLES 101
/* Of the rows in watch_figures.c; asserted there. */
#define FIGURES_MAX 48
/* Of a figure's text as figures_format writes it, and a NUL. */
#define FIGURES_TEXT_CHARS 24

enum figure_unit { FIGURE_COUNT, FIGURE_PER_SECOND, FIGURE_BYTES, FIGURE_USEC, FIGURE_PERCENT };

struct figure_row {
    const char *name;  /* the column in CSV, with its unit */
    const char *label; /* on the screen, at most FIGURES_LABEL_CHARS */
    enum figure_unit unit;
    const char *help;
};
#define FIGURES_LABEL_CHARS 18

/* What the tool measured itself since the sample before. */
struct figures_measured {
    int64_t asked_nsec;    /* monotonic, when INFO was sent */
    int64_t now_nsec;      /* the same clock, when its reply had come */
    uint64_t own_commands; /* sent before INFO was, on the present connections */
    uint64_t probes;       /* answered since the sample before */
    double probe_p50_usec, probe_p99_usec, probe_max_usec; /* of those; read where probes > 0 */
};

struct figures;
struct figures *figures_create(void);
void figures_free(struct figures *f);

size_t figures_count(void);
const struct figure_row *figures_row(size_t index);

/* Takes a reading: INFO's text (several sections' texts, one behind the other). Rates are NaN in
 * the first one, and where a counter has gone back. O(text). */
void figures_add(struct figures *f, struct slice info, const struct figures_measured *measured);
/* The server may be another one now: the next reading is a first one again. */
void figures_interrupt(struct figures *f);
/* Readings so far; rates are there from the second on. */
uint64_t figures_samples(const struct figures *f);

/* From now on `before` is the mean of the last FIGURES_BEFORE_SECONDS up to `now_nsec`, `since`
 * that of what comes. The sample that is under way belongs to neither. */
void figures_mark(struct figures *f, int64_t now_nsec);
/* Forgets the mark. */
void figures_unmark(struct figures *f);
bool figures_marked(const struct figures *f);
/* Samples in the means; one that misses a figure still counts. */
uint64_t figures_before_samples(const struct figures *f);
uint64_t figures_since_samples(const struct figures *f);

/* NaN where there is none, or where it is no finite number. */
double figures_now(const struct figures *f, size_t index);
double figures_before(const struct figures *f, size_t index);
double figures_since(const struct figures *f, size_t index);

/* For the screen: "-" for NaN, a unit where there is one, at most 9 characters. */
void figures_format(char out[FIGURES_TEXT_CHARS], enum figure_unit unit, double value);
/* "time" and the names; then the wall time in seconds and the present values, nothing between two
 * commas where a figure is missing. A line end follows. */
void figures_csv_header(struct buffer *out);
void figures_csv_line(const struct figures *f, int64_t wall_usec, struct buffer *out);
/* The value of a field in INFO's text; false where it has no such field. */
bool figures_find(struct slice info, const char *field, struct slice *value);
#endif
