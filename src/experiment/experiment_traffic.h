/* SPDX-License-Identifier: BSD-3-Clause
 * The requests of an experiment's load, at a constant rate: tests of redis-benchmark that take
 * turns, or one command of the user's.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_TRAFFIC_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_TRAFFIC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "load/load_stream.h"

struct experiment_options;
struct experiment_traffic;

/* Makes the requests that the options ask for. NULL with a reason. */
MUST_USE struct experiment_traffic *experiment_traffic_create(
    const struct experiment_options *options, uint64_t seed, char *reason, size_t reason_size);
void experiment_traffic_free(struct experiment_traffic *traffic);
/* The source for a stream; each stream needs traffic of its own. */
struct load_source experiment_traffic_source(struct experiment_traffic *traffic);
#endif
