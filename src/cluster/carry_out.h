/* SPDX-License-Identifier: BSD-3-Clause
 * Makes true what a message has brought about (bus/intake.h): answers, links that close,
 * another role, slots whose keys go.
 *
 * Messages are served in nested turns, too, in the midst of a script or a load. What concerns keys
 * and replication waits until the turn is at its end.
 */
#ifndef EVENKEEL_CLUSTER_CARRY_OUT_H
#define EVENKEEL_CLUSTER_CARRY_OUT_H
#include "bus/message.h"
#include "topology/view.h"

struct cluster_link;

/* The cluster is borrowed for as long as the bus is open. */
void cluster_carry_out_open(struct cluster *c);
/* A message has come: for struct cluster_bus_hooks. */
void cluster_carry_out_received(struct cluster_link *link, const struct cluster_message *m);
/* Called before the loop sleeps: takes the role, drops the keys of slots that are lost. */
void cluster_carry_out_step(void);
#endif
