/* SPDX-License-Identifier: BSD-3-Clause
 * The requests of an experiment's load: from options, at a constant rate (tests of redis-benchmark
 * that take turns, or one command of the user's), or from a recorded trace, as they were due then.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_TRAFFIC_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_TRAFFIC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "load/load_stream.h"

struct experiment_options;
struct replay_scan;
struct tool_connection;
struct experiment_traffic;

/* Makes the requests that the options ask for. `scan` is of options->trace, where that is given,
 * and is borrowed until the traffic is freed. `login` is that of the load's connections, to which
 * the caller applies replay_trace_login. NULL with a reason. */
MUST_USE struct experiment_traffic *experiment_traffic_create(
    const struct experiment_options *options, const struct replay_scan *scan,
    const struct tool_connection *login, uint64_t seed, char *reason, size_t reason_size);
void experiment_traffic_free(struct experiment_traffic *traffic);
/* The source for a stream; each stream needs traffic of its own. */
struct load_source experiment_traffic_source(struct experiment_traffic *traffic);
/* The requests at the begin of each batch that only prepare the connection: SELECT of a trace. */
unsigned experiment_traffic_helpers(const struct experiment_traffic *traffic);
/* How often the trace was through. To be called when the load has ended. */
uint64_t experiment_traffic_passes(const struct experiment_traffic *traffic);
#endif
