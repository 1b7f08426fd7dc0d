/* SPDX-License-Identifier: BSD-3-Clause
 * Two servers under the same load, measured alternately, and the ratios of their figures.
 *
 * Each round measures both servers, one right after the other, and the order changes from round to
 * round, because a machine's speed drifts by more than two servers differ. Each round gives a ratio
 * for every figure. The result is the median of the ratios, with the least and the greatest.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_COMPARE_H
#define EVENKEEL_BENCHMARK_BENCHMARK_COMPARE_H
#include <stdio.h>

#include "base/attributes.h"
#include "benchmark/benchmark_load.h"
#include "benchmark/benchmark_options.h"
#include "benchmark/benchmark_server.h"

enum benchmark_figure {
    FIGURE_RATE,    /* requests a second */
    FIGURE_AVERAGE, /* latencies, in milliseconds */
    FIGURE_P50,
    FIGURE_P99,
    BENCHMARK_FIGURES
};

/* Medians over the rounds: of each server's figure, and of the ratio of the first server's to the
 * second's. `least` and `most` are ratios, too. */
struct benchmark_ratio {
    double first, second, median, least, most;
};

/* `first` and `second` have one figure for each round. A round in which the second server's figure
 * is 0 has no ratio; where no round has a ratio, median, least and most are 0. O(rounds^2). */
FOR_TESTS struct benchmark_ratio benchmark_ratio_of(const double *first, const double *second,
                                                    unsigned rounds);
void benchmark_compare_csv_names(FILE *out);
/* Runs the load's request on both servers, options->rounds times each, and prints the result. False
 * with a reason. */
MUST_USE bool benchmark_compare(FILE *out, const char *title, struct benchmark_load *load,
                                const struct benchmark_server *first,
                                const struct benchmark_server *second,
                                const struct benchmark_options *options,
                                char reason[LOAD_REASON_CHARS]);
#endif
