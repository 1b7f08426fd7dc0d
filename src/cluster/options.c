/* SPDX-License-Identifier: BSD-3-Clause
 * Options of cluster mode.
 */
#include "cluster/options.h"

#include <stdio.h>

#include "option/option.h"
#include "topology/nodes.h"

static struct cluster_options values;
/* The engine's variables of strings, which `values` shows as constants. */
static char *nodes_file, *announced_ip;
static void (*tell_changed)(void);

const struct cluster_options *cluster_options(void) {
    values.file = nodes_file;
    values.announced_ip = announced_ip;
    return &values;
}

void cluster_options_set_observer(void (*changed)(void)) { tell_changed = changed; }

static bool apply_change(const struct option_row *row, char *reason, size_t reason_size) {
    if (tell_changed) tell_changed();
    return true;
}

/* The address stands in lines of nodes.conf and in redirections, between other characters. */
static bool check_address(const struct option_row *row, struct slice value, char *reason,
                          size_t reason_size) {
    if (value.length == 0 || cluster_host_is_valid(value)) return true;
    snprintf(reason, reason_size,
             "argument must be an address or a name of at most %d characters, without blanks",
             CLUSTER_HOST_CHARS);
    return false;
}

#define SWITCH(n, al, var, dflt, pl, h)                                                \
    {                                                                                  \
        .name = (n), .alias = (al), .type = OPTION_TYPE_BOOL, .flags = OPTION_MUTABLE, \
        .section = "cluster", .place = (pl), .fallback = (dflt), .variable = (var),    \
        .apply = apply_change, .help = (h)                                             \
    }
#define COUNT(n, al, var, dflt, pl, h)                                                        \
    {                                                                                         \
        .name = (n), .alias = (al), .type = OPTION_TYPE_INT, .flags = OPTION_MUTABLE,         \
        .section = "cluster", .place = (pl), .fallback = (dflt), .variable = (var), .low = 0, \
        .high = INT32_MAX, .help = (h)                                                        \
    }
#define PORT(n, var, pl, h)                                                                  \
    {                                                                                        \
        .name = (n), .type = OPTION_TYPE_INT, .flags = OPTION_MUTABLE, .section = "cluster", \
        .place = (pl), .fallback = "0", .variable = (var), .low = 0, .high = UINT16_MAX,     \
        .apply = apply_change, .help = (h)                                                   \
    }

static const struct option_row option_rows[] = {
    OPTION_BOOL("cluster-enabled", &values.enabled, false, 0, "cluster", 10,
                "Be a node of a cluster."),
    OPTION_STRING("cluster-config-file", &nodes_file, "nodes.conf", OPTION_FILE_ONLY, "cluster", 20,
                  "The file in which the node keeps its state of the cluster. Each node needs one "
                  "of its own."),
    {.name = "cluster-node-timeout",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "cluster",
     .place = 30,
     .fallback = "15000",
     .variable = &values.node_timeout_ms,
     .low = 0,
     .high = INT64_MAX,
     .apply = apply_change,
     .help = "Milliseconds of silence after which a node counts as failing."},
    COUNT("cluster-replica-validity-factor", "cluster-slave-validity-factor",
          &values.validity_factor, "10", 40,
          "A replica whose data is older than this many node timeouts does not take over; "
          "0 = always."),
    COUNT("cluster-migration-barrier", NULL, &values.migration_barrier, "1", 50,
          "A replica moves to a primary without replicas only if its own primary keeps at "
          "least so many."),
    SWITCH("cluster-allow-replica-migration", NULL, &values.replica_migration, "yes", 60,
           "Replicas may move to a primary that has no replicas, and a primary whose last slot "
           "another node claims becomes that node's replica, as do its own replicas."),
    SWITCH("cluster-require-full-coverage", NULL, &values.full_coverage, "yes", 70,
           "Stop answering while any slot is without a node."),
    SWITCH("cluster-replica-no-failover", "cluster-slave-no-failover", &values.no_failover, "no",
           80, "A replica never takes over by itself."),
    SWITCH("cluster-allow-reads-when-down", NULL, &values.reads_when_down, "no", 90,
           "Answer reads while the cluster is down."),
    OPTION_BYTES(
        "cluster-link-sendbuf-limit", &values.link_sendbuf_limit, "64mb", 0, INT64_MAX,
        OPTION_MUTABLE, "cluster", 95,
        "Bytes that may wait to be sent to one node over the cluster bus; a link with more "
        "is closed, and opened again. One message always has room. 0: no limit."),
    {.name = "cluster-announce-ip",
     .type = OPTION_TYPE_STRING,
     .flags = OPTION_MUTABLE,
     .section = "cluster",
     .place = 100,
     .fallback = "",
     .variable = &announced_ip,
     .check = check_address,
     .apply = apply_change,
     .help = "The address by which clients and other nodes know this one."},
    PORT("cluster-announce-port", &values.announced_port, 110,
         "The port by which clients and other nodes know this one; 0 = its own."),
    PORT("cluster-announce-tls-port", &values.announced_tls_port, 120,
         "With tls-cluster, the TLS port by which clients and other nodes know this one; 0 = its "
         "own."),
    PORT("cluster-announce-bus-port", &values.announced_bus_port, 130,
         "The port of the cluster bus by which other nodes know this one; 0 = its own."),
};

void cluster_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
