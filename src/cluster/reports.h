/* SPDX-License-Identifier: BSD-3-Clause
 * What a node tells of its cluster: CLUSTER NODES, SLOTS, INFO, REPLICAS, and fields of INFO.
 *
 * Clients ask for NODES and SLOTS when they connect and after each redirection, all of them at once
 * where slots move. So the text of NODES is kept until the cluster changes.
 */
#ifndef EVENKEEL_CLUSTER_REPORTS_H
#define EVENKEEL_CLUSTER_REPORTS_H

struct call;

/* Registers the fields of INFO. Once, at start. */
void cluster_reports_register(void);

/* The handlers of the subcommands. */
void cluster_report_nodes(struct call *call);
void cluster_report_slots(struct call *call);
void cluster_report_info(struct call *call);
void cluster_report_replicas(struct call *call);
#endif
