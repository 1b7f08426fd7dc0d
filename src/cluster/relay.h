/* SPDX-License-Identifier: BSD-3-Clause
 * PUBLISH reaches the subscribers at all nodes: what a client publishes here goes to the other
 * nodes over the bus. Theirs is delivered by cluster/carry_out.h, to this node's clients only.
 */
#ifndef EVENKEEL_CLUSTER_RELAY_H
#define EVENKEEL_CLUSTER_RELAY_H

struct pubsub_observer;

/* Sends each message to the other nodes, and counts no receivers, as in 6.2; does nothing where
 * cluster mode is off. For server/wiring. */
extern const struct pubsub_observer cluster_relay;
#endif
