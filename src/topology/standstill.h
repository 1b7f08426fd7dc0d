/* SPDX-License-Identifier: BSD-3-Clause
 * The gap rule: a primary that has stood still for long (it was stopped, its machine was) does not
 * know whether it still is the primary, and must not write before it has asked.
 *
 * While it stood still its replica may have been elected. Requests that came meanwhile lie in its
 * sockets, and would be answered before the messages that say so: those writes would be lost. So
 * after a gap between two turns that is longer than the node timeout, and 500 ms, a primary holds
 * writes until a majority of the voters, this node among them, has answered a ping that was sent
 * since. The answers may overtake the message that tells of a new owner; but they have its epoch,
 * so where the current epoch has risen meanwhile the writes are held a little longer.
 */
#ifndef EVENKEEL_TOPOLOGY_STANDSTILL_H
#define EVENKEEL_TOPOLOGY_STANDSTILL_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "topology/view.h"

/* Zeroed at start. */
struct cluster_standstill {
    bool doubts;                       /* writes are to be held */
    bool has_turned;                   /* the two times below are set */
    int64_t turn_msec, turn_wall_msec; /* when the last turn began */
    uint64_t epoch;                    /* the current one when the doubts began */
    int64_t confirmed_msec;            /* since when a majority has answered; 0 = it has not */
};

/* Called when a turn begins, with both clocks, because a clock may stand still with its machine.
 * True: this primary has stood still. It doubts from now on, and the voters are to be asked anew:
 * no answer that is read from a socket of before counts. O(1) without a gap. */
MUST_USE bool cluster_standstill_turn(struct cluster_standstill *s, struct cluster *c,
                                      int64_t now_msec, int64_t wall_msec, int64_t timeout_msec);
/* A node has answered a ping that was sent since the doubts began. */
void cluster_standstill_hear(const struct cluster_standstill *s, struct cluster_node *node);
/* Ends the doubts where a majority has answered, or this node is no primary with slots any more.
 * O(nodes) while there are doubts. To be called when an answer was heard, and on each tick. */
void cluster_standstill_judge(struct cluster_standstill *s, const struct cluster *c,
                              int64_t now_msec);
#endif
