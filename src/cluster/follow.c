/* SPDX-License-Identifier: BSD-3-Clause
 * The replication of a node. follow.h has the idea.
 */
#include "cluster/follow.h"

#include <string.h>

#include "replication/link.h"
#include "replication/role.h"
#include "store/slot_drop.h"

static const struct cluster *own_cluster;

void cluster_follow_open(const struct cluster *c) { own_cluster = c; }

/* The address of the primary, for the link's transport. False: it is not known. */
static bool primary_address(const char **host, int *port) {
    const struct cluster_node *primary = own_cluster->self->primary;
    if (!primary || !*primary->address.host) return false;
    const struct cluster_address *a = &primary->address;
    *host = a->host;
    *port = !link_transport() && a->plain_port ? a->plain_port : a->port;
    return *port != 0;
}

const struct role_manager cluster_follow_manager = {
    .refuses_replicaof = "REPLICAOF not allowed in cluster mode.",
    .refuses_failover =
        "FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.",
    .primary_at_start = primary_address,
};

bool cluster_follow_is_current(void) {
    const char *host;
    int port;
    return link_is_replica() && primary_address(&host, &port) && strcmp(host, link_host()) == 0 &&
           port == link_port();
}

void cluster_follow(void) {
    const char *host;
    int port;
    /* A replica's keys are its primary's to remove. */
    if (!cluster_node_is_primary(own_cluster->self)) slot_drop_cancel();
    if (cluster_node_is_primary(own_cluster->self))
        link_stop_following();
    else if (!cluster_follow_is_current() && primary_address(&host, &port))
        link_follow(host, port);
}
