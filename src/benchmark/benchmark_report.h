/* SPDX-License-Identifier: BSD-3-Clause
 * What redis-benchmark prints of a run, in the forms of 6.2.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_REPORT_H
#define EVENKEEL_BENCHMARK_BENCHMARK_REPORT_H
#include <stdio.h>

#include "benchmark/benchmark_load.h"
#include "benchmark/benchmark_options.h"
#include "benchmark/benchmark_server.h"

double benchmark_report_rate(const struct benchmark_result *result);

/* CSV: the line of names, and one a test. */
void benchmark_report_csv_names(FILE *out);
/* The first field: the title between quotes, a quote in it doubled. */
void benchmark_report_csv_title(FILE *out, const char *title);
void benchmark_report_csv(FILE *out, const char *title, const struct benchmark_result *result,
                          const struct benchmark_options *options);
/* -q: one line. */
void benchmark_report_line(FILE *out, const char *title, const struct benchmark_result *result,
                           const struct benchmark_options *options);
/* All: how it was measured, both distributions, the summary. */
void benchmark_report_whole(FILE *out, const char *title, const struct benchmark_result *result,
                            const struct benchmark_options *options,
                            const struct benchmark_server *server);
#endif
