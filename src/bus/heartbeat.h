/* SPDX-License-Identifier: BSD-3-Clause
 * The tick of the bus: whom this node connects to, whom it pings, which handshakes and links end,
 * and who is suspected.
 */
#ifndef EVENKEEL_BUS_HEARTBEAT_H
#define EVENKEEL_BUS_HEARTBEAT_H
#include <stdint.h>

#include "topology/view.h"

struct cluster_link;

/* So many links are opened in a tick at most; the next one goes on. */
#define CLUSTER_CONNECTS_MAX 128

/* To be called each CLUSTER_TICK_MSEC, when the sockets of the bus have been read. `now_msec` is
 * wall time; `late_msec` is by how much later than that the tick comes, because this node was busy
 * or stopped: pings that wait for an answer are given as much time more. O(nodes). */
void cluster_heartbeat_tick(struct cluster *c, int64_t now_msec, int64_t late_msec,
                            int64_t timeout_msec);
/* An own link has connected: for struct cluster_bus_hooks. Says MEET or PING. */
void cluster_heartbeat_connected(struct cluster_link *link);
/* The cluster is borrowed for as long as the bus is open. */
void cluster_heartbeat_open(struct cluster *c);
#endif
