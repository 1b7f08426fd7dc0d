/* SPDX-License-Identifier: BSD-3-Clause
 * The output of redis-benchmark about a run, in the formats of 6.2.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_REPORT_H
#define EVENKEEL_BENCHMARK_BENCHMARK_REPORT_H
#include <stdio.h>

#include "benchmark/benchmark_load.h"
#include "benchmark/benchmark_options.h"
#include "benchmark/benchmark_server.h"

/* Requests a second. */
double benchmark_report_rate(const struct load_result *result);

/* Warns where batches were sent late because the load itself could not keep up with its rate: the
 * figures say less about the server then. Prints nothing otherwise. */
void benchmark_report_late(FILE *out, const struct load_result *result);
/* Warns where a cluster's nodes have redirected requests. Prints nothing otherwise. */
void benchmark_report_redirected(FILE *out, const struct load_result *result);
/* Prints the first line of CSV output: the columns' names. */
void benchmark_report_csv_names(FILE *out);
/* Prints the first field of a CSV line: the title in quotes, with each quote in it doubled. */
void benchmark_report_csv_title(FILE *out, const char *title);
/* Prints the CSV line of a test. */
void benchmark_report_csv(FILE *out, const char *title, const struct load_result *result,
                          const struct benchmark_options *options);
/* Prints one line, for -q. */
void benchmark_report_line(FILE *out, const char *title, const struct load_result *result,
                           const struct benchmark_options *options);
/* Prints the full report: the run's settings, both distributions, the summary. */
void benchmark_report_whole(FILE *out, const char *title, const struct load_result *result,
                            const struct benchmark_options *options,
                            const struct benchmark_server *server);
#endif
