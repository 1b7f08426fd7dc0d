/* SPDX-License-Identifier: BSD-3-Clause
 * The nodes of a cluster under load (--cluster).
 */
#ifndef EVENKEEL_BENCHMARK_BENCHMARK_CLUSTER_H
#define EVENKEEL_BENCHMARK_BENCHMARK_CLUSTER_H
#include <stdio.h>

#include "base/attributes.h"
#include "benchmark/benchmark_server.h"

/* Asks the server, which benchmark_server_ask has reached, for its cluster. Fills in the nodes,
 * which are the primaries that have slots, their targets and the map of slots, and asks each node
 * for its configuration. False with a reason. */
MUST_USE bool benchmark_cluster_find(struct benchmark_server *s,
                                     const struct benchmark_options *options,
                                     char reason[LOAD_REASON_CHARS]);
/* Prints the nodes. */
void benchmark_cluster_print(FILE *out, const struct benchmark_server *s);
#endif
