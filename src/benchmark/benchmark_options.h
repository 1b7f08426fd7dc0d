/* SPDX-License-Identifier: BSD-3-Clause
 * The command line of redis-benchmark.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_OPTIONS_H
#define EVENKEEL_BENCHMARK_BENCHMARK_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "tools/tool_connection.h"
#include "tools/tool_options.h"

struct benchmark_options {
    struct tool_connection connection;
    int64_t clients, requests, value_bytes, keep_alive, pipeline;
    int64_t threads;  /* 0 = not chosen */
    int64_t keyspace; /* -1: requests have no random numbers */
    int64_t decimals; /* of milliseconds in the report; at least 3, as in 6.2 */
    int64_t rate, rounds, seed;
    double duration_s, warmup_s; /* 0 = none */
    const char *tests, *compare;
    bool resp3, errors, quiet, csv, loops, idle, tracking, cluster, from_stdin;
    bool help, version;
};

extern const struct tool_options benchmark_tool_options;

void benchmark_options_init(struct benchmark_options *o);
/* Parses the words after the program's name. Returns the number of words that are options; the
 * words after them are a command of the user's. -1 with a reason. */
MUST_USE int benchmark_options_read(struct benchmark_options *o, int count, char *const *words,
                                    char reason[TOOL_REASON_CHARS]);
#endif
