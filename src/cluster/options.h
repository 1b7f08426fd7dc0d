/* SPDX-License-Identifier: BSD-3-Clause
 * The options of cluster mode.
 */
#ifndef EVENKEEL_CLUSTER_OPTIONS_H
#define EVENKEEL_CLUSTER_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

/* The present values. */
struct cluster_options {
    bool enabled;               /* cluster-enabled */
    const char *file;           /* cluster-config-file */
    int64_t node_timeout_ms;    /* cluster-node-timeout */
    int64_t validity_factor;    /* cluster-replica-validity-factor; 0 = data is never too old */
    int64_t migration_barrier;  /* cluster-migration-barrier */
    bool replica_migration;     /* cluster-allow-replica-migration */
    bool full_coverage;         /* cluster-require-full-coverage */
    bool no_failover;           /* cluster-replica-no-failover */
    bool reads_when_down;       /* cluster-allow-reads-when-down */
    int64_t link_sendbuf_limit; /* cluster-link-sendbuf-limit, bytes; 0 = none */
    const char *announced_ip;   /* cluster-announce-ip; "" = not set */
    /* cluster-announce-port ...; 0 = not set */
    int64_t announced_port, announced_tls_port, announced_bus_port;
};
const struct cluster_options *cluster_options(void);

/* Registers the rows. Once, at start. */
void cluster_options_register(void);
/* Sets the function that is called when an option has changed that other nodes, or texts about this
 * node, show, or that decides on the cluster's state. Before that nothing is called. */
void cluster_options_set_observer(void (*changed)(void));
#endif
