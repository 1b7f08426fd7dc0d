/* SPDX-License-Identifier: BSD-3-Clause
 * Two servers under the same load in turn, and the ratios of their figures.
 *
 * A machine's speed drifts by more than two servers differ. So each round measures both, one right
 * after the other, the order changing from round to round; what is compared is a round's pair, and
 * what is told is the ratios' median, with the least and the greatest.
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

/* Medians over the rounds; of the ratios, first server to second, the least and greatest too. */
struct benchmark_ratio {
    double first, second, median, least, most;
};

/* `first` and `second` hold a figure of each round. O(rounds^2). Rounds in which the second is 0
 * have no ratio; where none has one, all three are 0. */
FOR_TESTS struct benchmark_ratio benchmark_ratio_of(const double *first, const double *second,
                                                    unsigned rounds);
void benchmark_compare_csv_names(FILE *out);
/* Runs the load's request on both servers, options->rounds times each, and prints. False with a
 * reason. */
MUST_USE bool benchmark_compare(FILE *out, const char *title, struct benchmark_load *load,
                                const struct benchmark_server *first,
                                const struct benchmark_server *second,
                                const struct benchmark_options *options,
                                char reason[BENCHMARK_REASON_CHARS]);
#endif
