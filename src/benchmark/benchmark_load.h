/* SPDX-License-Identifier: BSD-3-Clause
 * One run of redis-benchmark: a request that many connections and threads send again and again.
 *
 * Closed loop: a connection sends its next batch when the batch before is answered. A latency
 * counts from the time of sending. Open loop (rate above 0): batches are due at fixed times,
 * whatever the server does. A batch for which no connection is free waits, and its latency counts
 * from its due time. So a server that stalls for a second shows all requests of that second as
 * late, not only one for each connection.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_LOAD_H
#define EVENKEEL_BENCHMARK_BENCHMARK_LOAD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "benchmark/benchmark_client.h"
#include "benchmark/benchmark_latency.h"
#include "benchmark/benchmark_request.h"

struct benchmark_load {
    struct benchmark_target target;
    const struct benchmark_request *request;
    unsigned clients, threads, pipeline; /* each at least 1 */
    bool reconnects;                     /* after each batch */
    uint64_t requests;                   /* in all; ignored where duration_nsec is not 0 */
    int64_t duration_nsec, warmup_nsec;  /* 0 = none; what starts in the warm-up is not counted */
    uint64_t rate;                       /* requests a second; 0 = closed loop */
    uint64_t keyspace;                   /* random numbers are below it */
    uint64_t seed;
};

/* A run's progress, for the `watch` callback. */
struct benchmark_progress {
    uint64_t requests, latency_sum_nsec;
    double seconds; /* since the end of the warm-up */
};

struct benchmark_result {
    uint64_t requests;
    double seconds; /* from the end of the warm-up to the last reply */
    struct benchmark_latency latency;
    char reason[BENCHMARK_REASON_CHARS]; /* why the run failed */
};

/* Runs the load and waits for its end. `watch` is called four times a second; NULL = no callback.
 * False with result->reason. */
MUST_USE bool benchmark_load_run(const struct benchmark_load *load, struct benchmark_result *result,
                                 void (*watch)(const struct benchmark_progress *progress));
/* Opens the connections, calls `opened` with their number, and keeps them open without load.
 * Returns only on failure (a connection that ends is one), with result->reason. */
void benchmark_load_idle(const struct benchmark_load *load, struct benchmark_result *result,
                         void (*opened)(unsigned clients));
#endif
