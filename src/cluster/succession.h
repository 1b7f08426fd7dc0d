/* SPDX-License-Identifier: BSD-3-Clause
 * How a shard gets another primary, and a primary another replica: this node's votes, elections,
 * manual failovers, moves to orphaned primaries, and its writes while it doubts its role.
 *
 * The rules are those of topology/ (vote, election, manual_failover, replica_migration,
 * standstill). Here they get their facts from replication and from options, and are carried out:
 * messages are sent, roles are taken, writes are held.
 */
#ifndef EVENKEEL_CLUSTER_SUCCESSION_H
#define EVENKEEL_CLUSTER_SUCCESSION_H
#include <stdbool.h>
#include <stdint.h>

#include "bus/message.h"
#include "topology/view.h"

/* At start; the cluster is borrowed for as long as the process lives. */
void cluster_succession_open(struct cluster *c);
/* For server/wiring, a hook of the loop that is called when it has woken: finds out whether this
 * node stood still. Before any request is served. O(1). */
void cluster_succession_turn(void);
/* To be called each CLUSTER_TICK_MSEC, after suspicion was judged; `now_msec` is wall time. */
void cluster_succession_tick(int64_t now_msec);
/* To be called before the loop sleeps, behind the judgement of the state: goes on with what
 * messages and commands have begun. O(1) where nothing is under way. */
void cluster_succession_step(void);

/* A message of a node that is known and in no handshake has come, of any type. Before the type's
 * own function. `answers`: it is a PONG that has come over this node's own link. */
void cluster_succession_header(struct cluster_node *sender, const struct cluster_message *m,
                               bool answers);
/* AUTH_REQUEST, AUTH_ACK and MFSTART have come. */
void cluster_succession_request(struct cluster_node *candidate, const struct cluster_message *m);
void cluster_succession_ack(struct cluster_node *voter, const struct cluster_message *m);
void cluster_succession_mfstart(const struct cluster_node *replica);
/* This node's role, or its primary, has changed: what was under way ends. */
void cluster_succession_role_changed(void);

/* CLUSTER FAILOVER of a replica whose primary is known: begins, by asking the primary, or with
 * `force` at once; the rest follows by messages. */
void cluster_succession_begin(bool force);
/* CLUSTER FAILOVER TAKEOVER: takes the primary's place at once, under a new epoch that nobody has
 * voted for. */
void cluster_succession_take_over(void);
#endif
