/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of cluster mode, which is not built yet (option/missing.h).
 */
#include "cluster/options.h"

#include "metric/row.h"
#include "option/missing.h"

static struct {
    bool enabled, full_coverage, no_failover, reads_when_down, migration;
    int64_t node_timeout_ms, validity_factor, barrier, port, bus_port, tls_port;
    char *announce_ip, *nodes_file;
} cluster;

static const struct option_row option_rows[] = {
    MISSING_BOOL("cluster-enabled", NULL, &cluster.enabled, "no", 0, "cluster", 10,
                 "cluster mode is not built yet", "Be a node of a cluster."),
    MISSING_STRING("cluster-config-file", NULL, &cluster.nodes_file, "nodes.conf", OPTION_FILE_ONLY,
                   "cluster", 20, NULL,
                   "The file in which the node keeps its state of the cluster."),
    MISSING_INT("cluster-node-timeout", NULL, &cluster.node_timeout_ms, "15000", 0, INT64_MAX,
                OPTION_MUTABLE, "cluster", 30,
                "Milliseconds of silence after which a node counts as failing."),
    MISSING_INT(
        "cluster-replica-validity-factor", "cluster-slave-validity-factor",
        &cluster.validity_factor, "10", 0, INT32_MAX, OPTION_MUTABLE, "cluster", 40,
        "A replica whose data is older than this many node timeouts does not take over; 0 = "
        "always."),
    MISSING_INT("cluster-migration-barrier", NULL, &cluster.barrier, "1", 0, INT32_MAX,
                OPTION_MUTABLE, "cluster", 50,
                "A replica moves to a primary without replicas only if its own primary keeps at "
                "least so many."),
    MISSING_BOOL("cluster-allow-replica-migration", NULL, &cluster.migration, "yes", OPTION_MUTABLE,
                 "cluster", 60, NULL, "Replicas may move to a primary that has no replicas."),
    MISSING_BOOL("cluster-require-full-coverage", NULL, &cluster.full_coverage, "yes",
                 OPTION_MUTABLE, "cluster", 70, NULL,
                 "Stop answering while any slot is without a node."),
    MISSING_BOOL("cluster-replica-no-failover", "cluster-slave-no-failover", &cluster.no_failover,
                 "no", OPTION_MUTABLE, "cluster", 80, NULL,
                 "A replica never takes over by itself."),
    MISSING_BOOL("cluster-allow-reads-when-down", NULL, &cluster.reads_when_down, "no",
                 OPTION_MUTABLE, "cluster", 90, NULL, "Answer reads while the cluster is down."),
    MISSING_STRING("cluster-announce-ip", NULL, &cluster.announce_ip, "", OPTION_MUTABLE, "cluster",
                   100, NULL, "The address by which other nodes know this one."),
    MISSING_INT("cluster-announce-port", NULL, &cluster.port, "0", 0, 65535, OPTION_MUTABLE,
                "cluster", 110, "The port by which other nodes know this one; 0 = its own."),
    MISSING_INT("cluster-announce-tls-port", NULL, &cluster.tls_port, "0", 0, 65535, OPTION_MUTABLE,
                "cluster", 120, "The TLS port by which other nodes know this one; 0 = its own."),
    MISSING_INT("cluster-announce-bus-port", NULL, &cluster.bus_port, "0", 0, 65535, OPTION_MUTABLE,
                "cluster", 130,
                "The port of the cluster bus by which other nodes know this one; 0 = its own."),
};

static const struct metric_row metric_rows[] = {
    METRIC_NOTHING("Cluster", 10, "cluster_enabled"),
    METRIC_NOTHING("Clients", 20, "cluster_connections"),
};

void cluster_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
