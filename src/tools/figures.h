/* SPDX-License-Identifier: BSD-3-Clause
 * The figures of `redis-lab watch`. Two readings of INFO and the tool's own measurements make one
 * sample; samples make the means before and since a mark.
 *
 * Works with any server that has INFO: a figure whose fields are missing is NaN.
 */
#ifndef EVENKEEL_TOOLS_FIGURES_H
#define EVENKEEL_TOOLS_FIGURES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* The means before a mark cover at most this time. */
#define FIGURES_BEFORE_SECONDS 10
/* The most samples that are kept for these means: just enough for ten samples a second. */
#define FIGURES_HISTORY_SAMPLES 101
/* The most rows in watch_figures.c; asserted there. */
#define FIGURES_MAX 48
/* The size of a figure's text as figures_format writes it, with its NUL. */
#define FIGURES_TEXT_CHARS 24

enum figure_unit { FIGURE_COUNT, FIGURE_PER_SECOND, FIGURE_BYTES, FIGURE_USEC, FIGURE_PERCENT };

struct figure_row {
    const char *name;  /* the column in CSV, with its unit */
    const char *label; /* the text on the screen, at most FIGURES_LABEL_CHARS */
    enum figure_unit unit;
    const char *help;
};
#define FIGURES_LABEL_CHARS 18

/* The tool's own measurements since the sample before. */
struct figures_measured {
    int64_t asked_nsec;    /* when INFO was sent (monotonic clock) */
    int64_t now_nsec;      /* when the reply to INFO had arrived (monotonic clock) */
    uint64_t own_commands; /* the tool's commands before INFO, on the present connections */
    uint64_t probes;       /* how many probes were answered since the sample before */
    double probe_p50_usec, probe_p99_usec, probe_max_usec; /* of these probes; unused if none */
};

struct figures;
struct figures *figures_create(void);
void figures_free(struct figures *f);

size_t figures_count(void);
const struct figure_row *figures_row(size_t index);
/* Whether the figure is a state at the time of a reading, and not what happened between two. */
bool figures_is_gauge(size_t index);

/* Takes a reading: INFO's text, or the texts of several sections one after the other. Rates are NaN
 * in the first reading, and if a counter went back. O(text). */
void figures_add(struct figures *f, struct slice info, const struct figures_measured *measured);
/* Makes the next reading a first one again, because the server may be another one now. */
void figures_interrupt(struct figures *f);
/* The number of readings so far; rates exist from the second one on. */
uint64_t figures_samples(const struct figures *f);

/* Sets the mark: `before` becomes the mean of the FIGURES_BEFORE_SECONDS up to `now_nsec`, `since`
 * the mean of all later samples. The sample that is under way belongs to neither. */
void figures_mark(struct figures *f, int64_t now_nsec);
/* Forgets the mark. */
void figures_unmark(struct figures *f);
bool figures_marked(const struct figures *f);
/* The number of samples in the means; a sample that misses a figure counts, too. */
uint64_t figures_before_samples(const struct figures *f);
uint64_t figures_since_samples(const struct figures *f);

/* Return a figure's present value and its two means; NaN if there is no finite value. */
double figures_now(const struct figures *f, size_t index);
double figures_before(const struct figures *f, size_t index);
double figures_since(const struct figures *f, size_t index);

/* Writes a figure for the screen: "-" for NaN, with its unit if it has one, at most 9 characters.
 */
void figures_format(char out[FIGURES_TEXT_CHARS], enum figure_unit unit, double value);
/* figures_csv_header appends "time" and the figures' names; figures_csv_line appends the wall time
 * in seconds and the present values. A missing figure is an empty field. Both append a line end. */
void figures_csv_header(struct buffer *out);
void figures_csv_line(const struct figures *f, int64_t wall_usec, struct buffer *out);
/* Finds a field's value in INFO's text; returns false if the text has no such field. */
bool figures_find(struct slice info, const char *field, struct slice *value);
#endif
