/* SPDX-License-Identifier: BSD-3-Clause
 * The commands of --cluster. Each returns the exit status, and has said why if it is not 0. The
 * address of a node of the cluster is in `r`, unless a command says otherwise.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_COMMANDS_H
#define EVENKEEL_CLUSTERCTL_CTL_COMMANDS_H

struct ctl_run;

/* Makes a cluster of the nodes that the words name (host:port each), which must be empty. */
int ctl_create(struct ctl_run *r);
/* Moves slots from some primaries to one, as many as the options or the user say. */
int ctl_reshard(struct ctl_run *r);
/* Moves slots so that each primary has its part by weight. */
int ctl_rebalance(struct ctl_run *r);
/* Joins a node (word 0), as a primary or a replica, to the cluster of another (word 1). */
int ctl_add_node(struct ctl_run *r);
/* Removes the node with the id of word 1. */
int ctl_del_node(struct ctl_run *r);
/* Sends the words behind the address to all nodes, and shows the replies. */
int ctl_call(struct ctl_run *r);
/* Sets cluster-node-timeout at all nodes. */
int ctl_set_timeout(struct ctl_run *r);
/* Moves the keys of a server that is no node into the cluster. */
int ctl_import(struct ctl_run *r);
/* Fetches a snapshot of each primary into the folder of word 1, and writes nodes.json there. */
int ctl_backup(struct ctl_run *r);
#endif
