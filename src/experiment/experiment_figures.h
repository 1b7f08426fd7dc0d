/* SPDX-License-Identifier: BSD-3-Clause
 * The figures of an experiment as rows: those of the load that the tool sends, then those of
 * tools/figures.h.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_FIGURES_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_FIGURES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "tools/figures.h"

/* Figures of the load, by their index; all of them are unknown where the tool sends none. */
enum experiment_load_figure {
    EXPERIMENT_P50,
    EXPERIMENT_P99,
    EXPERIMENT_P999,
    EXPERIMENT_MAX,
    EXPERIMENT_REQUESTS,
    EXPERIMENT_ERRORS,
    EXPERIMENT_LATE,
    EXPERIMENT_LOAD_FIGURES,
};
#define EXPERIMENT_FIGURES_MAX (EXPERIMENT_LOAD_FIGURES + FIGURES_MAX)

unsigned experiment_figure_count(void);
const struct figure_row *experiment_figure_row(unsigned index);
/* -1: less is better; 1: more is better; 0: neither. */
int experiment_figure_better(unsigned index);
/* Whether the figure is compared as it is, and not by its ratio: shares and counts near 0. */
bool experiment_figure_is_share(unsigned index);
/* The index of a name: that of a row, or p50, p99, p99.9, max of the latency, which is that of the
 * load if there is one (`has_load`) and that of the probe otherwise. -1 = there is none. */
int experiment_figure_find(const char *name, size_t length, bool has_load);

/* A limit at which the experiment ends. */
struct experiment_limit {
    unsigned figure;
    bool above; /* ends when the figure is above the limit; otherwise, when it is below */
    double limit;
    const char *text; /* as the user gave it */
};
/* Parses "p99>50ms". False with a reason. */
MUST_USE bool experiment_limit_parse(struct experiment_limit *limit, const char *text,
                                     bool has_load, char *reason, size_t reason_size);
/* Whether the value of the limit's figure has passed it; an unknown value has not. */
bool experiment_limit_is_passed(const struct experiment_limit *limit, double value);
#endif
