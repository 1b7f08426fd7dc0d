/* SPDX-License-Identifier: BSD-3-Clause
 * The gate of a cluster's node: calls whose keys this node does not serve are redirected.
 */
#ifndef EVENKEEL_CLUSTER_GATE_H
#define EVENKEEL_CLUSTER_GATE_H
#include <stdbool.h>

#include "base/attributes.h"

struct buffer;
struct call;
struct gate;

extern struct gate cluster_gate; /* for server/wiring */

/* Whether this node serves all keys of a call; of EXEC, all keys of all queued calls
 * (gate_each_call). If not, `refusal` gets the error ("-MOVED ..."). */
typedef bool cluster_serves(const struct call *call, struct buffer *refusal);
/* Sets the gate's test and switches the gate on. NULL: all keys are served, and the gate is off. */
FOR_TESTS void cluster_gate_set(cluster_serves *how);
#endif
