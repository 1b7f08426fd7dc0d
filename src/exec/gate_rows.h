/* SPDX-License-Identifier: BSD-3-Clause
 * The rows of gates that stand beside no other code of exec/, for server/wiring.
 */
#ifndef EVENKEEL_EXEC_GATE_ROWS_H
#define EVENKEEL_EXEC_GATE_ROWS_H
#include <stdbool.h>

#include "exec/gates.h"

struct buffer;
struct call;

/* The client's own state. */
extern const struct gate_row gate_user, gate_closing, gate_subscriber, gate_monitor, gate_queue;
/* Features above exec/. */
extern const struct gate_row gate_disk, gate_cluster;

/* Who says whether this node serves a call's keys; where not, `refusal` gets the error ("-MOVED
 * ..."). NULL: all are served, and GATE_CLUSTER is not on. */
typedef bool gate_serves(const struct call *call, struct buffer *refusal);
void gate_cluster_set(gate_serves *how);
#endif
