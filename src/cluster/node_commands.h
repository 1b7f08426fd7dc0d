/* SPDX-License-Identifier: BSD-3-Clause
 * Handlers of CLUSTER's subcommands about nodes, roles and epochs.
 */
#ifndef EVENKEEL_CLUSTER_NODE_COMMANDS_H
#define EVENKEEL_CLUSTER_NODE_COMMANDS_H

struct call;

void cluster_myid(struct call *call);
void cluster_meet(struct call *call);
void cluster_forget(struct call *call);
void cluster_replicate(struct call *call);
void cluster_failover(struct call *call);
void cluster_reset(struct call *call);
void cluster_set_config_epoch(struct call *call);
void cluster_bumpepoch(struct call *call);
void cluster_count_failure_reports(struct call *call);
void cluster_saveconfig(struct call *call);
#endif
