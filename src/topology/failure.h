/* SPDX-License-Identifier: BSD-3-Clause
 * Whether a node fails: what this node sees, what the others report, and when they agree.
 *
 *               a ping without answer for T         a majority of voters reports it, or
 *                                                   FAIL says so (from either state)
 *     working -----------------------> suspected ---------------------------------> failed
 *        ^                                 |                                          |
 *        '------------ an answer ----------+---- an answer, and it has no slots, or --'
 *                                                2T have passed since it failed
 *
 * T is cluster-node-timeout. Voters are primaries with slots. A report is valid for 2T. Times are
 * wall time in ms, as in the nodes.
 */
#ifndef EVENKEEL_TOPOLOGY_FAILURE_H
#define EVENKEEL_TOPOLOGY_FAILURE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "topology/view.h"

/* Notes that `by` does not reach the node. True: it had not said so, or its report was withdrawn.
 */
bool cluster_report_add(struct cluster_node *about, struct cluster_node *by, int64_t now_msec);
/* Withdraws its report. True: there was one. */
bool cluster_report_withdraw(struct cluster_node *about, const struct cluster_node *by);
/* Forgets reports that are too old, and returns how many are left. */
size_t cluster_reports_count(struct cluster_node *about, int64_t now_msec, int64_t timeout_msec);

/* Suspects the node where a ping has no answer for T, and nothing else has come from it since. To
 * be called when all that has arrived was read. True: it is suspected now, and was not. */
bool cluster_failure_suspect(struct cluster *c, struct cluster_node *node, int64_t now_msec,
                             int64_t timeout_msec);
/* Declares a suspected node as failed where a majority of the voters reports it, this node among
 * them if it is one. True: it has failed now, and the others are to be told (FAIL). */
MUST_USE bool cluster_failure_judge(struct cluster *c, struct cluster_node *node, int64_t now_msec,
                                    int64_t timeout_msec);
/* Believes the sender of a FAIL. True: the node had not failed. False for this node itself. */
bool cluster_failure_believe(struct cluster *c, struct cluster_node *node,
                             const struct cluster_node *sender, int64_t now_msec);
/* Takes note that the node has answered a ping. True: it was suspected or failed, and is not any
 * more. */
bool cluster_failure_end(struct cluster *c, struct cluster_node *node, int64_t now_msec,
                         int64_t timeout_msec);
#endif
