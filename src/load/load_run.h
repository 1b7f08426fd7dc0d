/* SPDX-License-Identifier: BSD-3-Clause
 * A load: streams of requests that threads send until a count, a time, a signal or the end of the
 * requests ends them.
 *
 *     all threads connect | the load begins | warm-up | what is counted | drain | results
 *
 * The first stream decides when the load ends: when nothing is left to send of it in a thread, the
 * thread's other streams stop, too. Then all that is under way is still answered, within the
 * drain's time if it has one, so that the slowest replies are not missing from the latencies.
 */
#ifndef EVENKEEL_LOAD_LOAD_RUN_H
#define EVENKEEL_LOAD_LOAD_RUN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "load/load_late.h"
#include "load/load_latency.h"
#include "load/load_stream.h"

struct load_result {
    int64_t began_nsec; /* when the load began, by the monotonic clock */
    uint64_t requests;  /* answered without an error, and counted */
    uint64_t errors;    /* error replies, counted */
    double seconds;     /* from the end of the warm-up to the last reply */
    double cpu_share;   /* the greatest part of its time for which a thread used a processor */
    uint64_t lost;      /* connections that ended by themselves */
    uint64_t refused;   /* connections that could not be made again, at the first or a later try */
    uint64_t renewed;   /* by renew_nsec */
    uint64_t most_waiting;          /* batches in a thread's line at once, at most */
    struct load_late_figures late;  /* open loops */
    struct load_latency latency;    /* of `requests`, all streams together */
    char reason[LOAD_REASON_CHARS]; /* why the load failed */
};

/* Runs the load and waits for its end. False with result->reason. A load that was ended by `stop`
 * has not failed. Each host name among the targets is looked up once for all connections. To be
 * called by one thread at a time. */
MUST_USE bool load_run(const struct load *load, struct load_result *result);
#endif
