/* SPDX-License-Identifier: BSD-3-Clause
 * One run of redis-benchmark: a request, sent again and again over many connections and threads.
 *
 * Closed loop: a connection sends its next batch when the last is answered. A latency counts from
 * the sending.
 * Open loop (rate above 0): batches are due at fixed times, whatever the server does. One that no
 * connection is free for waits, and its latency counts from when it was due: so a server that
 * stands still for a second shows all the requests of that second as late, not one for each
 * connection.
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
    uint64_t requests;                   /* in all; of no meaning where duration_nsec is not 0 */
    int64_t duration_nsec, warmup_nsec;  /* 0 = none; what is sent in the warm-up is not counted */
    uint64_t rate;                       /* requests a second; 0 = closed loop */
    uint64_t keyspace;                   /* of random places */
    uint64_t seed;
};

/* How it stands, for who watches. */
struct benchmark_progress {
    uint64_t requests, latency_sum_nsec;
    double seconds; /* since the start of what counts */
};

struct benchmark_result {
    uint64_t requests;
    double seconds; /* from the end of the warm-up to the last reply */
    struct benchmark_latency latency;
    char reason[BENCHMARK_REASON_CHARS]; /* of a failure */
};

/* `watch` is called four times a second, NULL = not. False with result->reason. */
MUST_USE bool benchmark_load_run(const struct benchmark_load *load, struct benchmark_result *result,
                                 void (*watch)(const struct benchmark_progress *progress));
/* Opens the connections, says so to `opened`, and keeps them until they end. Returns only on
 * failure, with result->reason. */
void benchmark_load_idle(const struct benchmark_load *load, struct benchmark_result *result,
                         void (*opened)(unsigned clients));
#endif
