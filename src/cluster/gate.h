/* SPDX-License-Identifier: BSD-3-Clause
 * The gate of a cluster's node: calls whose keys this node does not serve are redirected.
 */
#ifndef EVENKEEL_CLUSTER_GATE_H
#define EVENKEEL_CLUSTER_GATE_H
#include <stdbool.h>

struct cluster;
struct gate;

extern struct gate cluster_gate; /* for server/wiring */

/* Switches the gate on, for calls by keys of this cluster's slots; in a partitioned keyspace only.
 * `reads_when_down` is the variable of cluster-allow-reads-when-down. Both are borrowed for as long
 * as the process lives. */
void cluster_gate_open(const struct cluster *c, const bool *reads_when_down);
#endif
