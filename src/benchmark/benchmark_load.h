/* SPDX-License-Identifier: BSD-3-Clause
 * One run of redis-benchmark: a request that many connections and threads send again and again,
 * as a stream of load/load_run.h.
 *
 * Closed loop: a connection sends its next batch when the batch before is answered. Open loop (rate
 * above 0): batches are due at fixed times, whatever the server does.
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_LOAD_H
#define EVENKEEL_BENCHMARK_BENCHMARK_LOAD_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "benchmark/benchmark_request.h"
#include "benchmark/benchmark_slots.h"
#include "load/load_run.h"

struct benchmark_server;

struct benchmark_load {
    const struct load_target *targets; /* connections are divided among them */
    unsigned target_count;
    struct benchmark_slots *slots; /* of a cluster, whose nodes the targets are; NULL = none */
    const struct benchmark_request *request;
    unsigned clients, threads, pipeline; /* each at least 1 */
    bool reconnects;                     /* after each batch */
    uint64_t requests;                   /* in all; ignored where duration_nsec is not 0 */
    int64_t duration_nsec, warmup_nsec;  /* 0 = none; what starts in the warm-up is not counted */
    uint64_t rate;                       /* requests a second; 0 = closed loop */
    uint64_t keyspace;                   /* random numbers are below it */
    uint64_t seed;
};

/* Sets the targets: the server, or the nodes of its cluster, which are borrowed. */
void benchmark_load_aim(struct benchmark_load *load, const struct benchmark_server *server);
/* Runs the load and waits for its end. `watch` is called as load_run calls it; NULL = no callback.
 * False with result->reason. */
MUST_USE bool benchmark_load_run(const struct benchmark_load *load, struct load_result *result,
                                 void (*watch)(void *unused, const struct load_progress *progress));
/* Opens the connections, and keeps them open without load; `watch` learns that they are open.
 * Returns only on failure (a connection that ends is one), with result->reason. */
void benchmark_load_idle(const struct benchmark_load *load, struct load_result *result,
                         void (*watch)(void *unused, const struct load_progress *progress));
#endif
