/* SPDX-License-Identifier: BSD-3-Clause
 * The operator of a cluster with replicas: tells replicas to take over, and asks all nodes what
 * they know and have.
 *
 * At rest all nodes name the same roles, epochs and slots, the cluster's state is ok everywhere,
 * and a replica has what its primary has.
 */
#ifndef EVENKEEL_TESTS_SIM_KEEPER_H
#define EVENKEEL_TESTS_SIM_KEEPER_H
#include <stdbool.h>
#include <stdint.h>

/* Each `failover_nsec` on average a replica is told to take over; 0: never. */
void keeper_start(int64_t failover_nsec);
/* No more orders. From now on nodes are asked for their digests, too. */
void keeper_settle(void);
/* Whether the nodes agreed about roles and epochs when they were asked last, after keeper_settle.
 */
bool keeper_sees_roles(void);
/* And about slots, the cluster's state was ok, and each replica had what its primary had. */
bool keeper_sees_equal(void);
/* Whether the node is of the cluster. */
bool keeper_has(int node);
/* Says of each node what is wrong with it: with roles, or anything. */
void keeper_describe(char *out, unsigned long size, bool only_roles);
#endif
