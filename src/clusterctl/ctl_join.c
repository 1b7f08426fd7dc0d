/* SPDX-License-Identifier: BSD-3-Clause
 * --cluster add-node and del-node.
 */
#include <string.h>

#include "clusterctl/ctl_check.h"
#include "clusterctl/ctl_commands.h"
#include "clusterctl/ctl_talk.h"

/* --- add-node --------------------------------------------------------------------------------- */

/* Finds the primary of the new replica. False, said why, where there is none. */
static bool choose_primary(const struct ctl_run *r, struct ctl_node **primary) {
    const char *id = r->options->primary_id;
    *primary = NULL;
    if (!r->options->as_replica) return true;
    *primary = id ? ctl_cluster_find(&r->cluster, id) : ctl_cluster_poorest(&r->cluster, NULL);
    if (!*primary || !ctl_node_is_primary(*primary)) {
        ctl_say(CTL_BAD, "[ERR] No such master ID %s\n", id ? id : "");
        return false;
    }
    if (!id) ctl_say(CTL_PLAIN, "Automatically selected master %s\n", (*primary)->name);
    return true;
}

static bool is_fit(struct ctl_node *node) {
    if (!ctl_node_connect(node, "")) {
        ctl_say(CTL_BAD, "[ERR] Sorry, can't connect to node %s\n", node->name);
        return false;
    }
    return ctl_node_check_mode(node) && ctl_node_load(node) && ctl_node_check_empty(node);
}

static bool join_node(struct ctl_run *r, struct ctl_node *node, struct ctl_node *primary) {
    const struct ctl_node *first = r->cluster.nodes[0];
    ctl_say(CTL_INFO, ">>> Send CLUSTER MEET to node %s to make it join the cluster.\n",
            node->name);
    if (!ctl_node_order(node, "CLUSTER MEET %s %d", first->host, first->port)) return false;
    if (primary) {
        ctl_talk_pause();
        if (!ctl_cluster_await_join(&r->cluster)) return false;
        ctl_say(CTL_INFO, ">>> Configure node as replica of %s.\n", primary->name);
        if (!ctl_node_order(node, "CLUSTER REPLICATE %s", primary->self.id)) return false;
    }
    ctl_say(CTL_GOOD, "[OK] New node added correctly.\n");
    return true;
}

int ctl_add_node(struct ctl_run *r) {
    char host[CTL_HOST_CHARS];
    int port;
    struct ctl_node *primary = NULL;
    if (!ctl_address_parse(slice_of(r->words[0]), host, &port)) return 1; /* ctl_run has checked */
    struct ctl_node *node = ctl_node_create(host, port, r->cluster.login);
    ctl_say(CTL_INFO, ">>> Adding node %s to cluster %s:%d\n", node->name, r->host, r->port);
    bool good = ctl_cluster_load(&r->cluster, r->host, r->port) && ctl_check_cluster(r, 0).good &&
                choose_primary(r, &primary) && is_fit(node);
    if (!good) {
        ctl_node_free(node);
        return 1;
    }
    ctl_cluster_add(&r->cluster, node);
    return !join_node(r, node, primary);
}

/* --- del-node --------------------------------------------------------------------------------- */

/* Makes the other nodes forget the node; its replicas get another primary first. */
static bool forget_node(struct ctl_run *r, const struct ctl_node *gone) {
    ctl_say(CTL_INFO, ">>> Sending CLUSTER FORGET messages to the cluster...\n");
    for (size_t i = 0; i < r->cluster.count; i++) {
        struct ctl_node *node = r->cluster.nodes[i];
        if (node == gone) continue;
        if (!strcmp(node->self.primary, gone->self.id)) {
            struct ctl_node *primary = ctl_cluster_poorest(&r->cluster, gone);
            if (!primary) continue;
            ctl_say(CTL_INFO, ">>> %s as replica of %s\n", node->name, primary->name);
            if (!ctl_node_order(node, "CLUSTER REPLICATE %s", primary->self.id)) return false;
            primary->replicas++;
        }
        /* A node that does not know the node has nothing to forget. */
        if (ctl_node_ask_line(node, "CLUSTER FORGET %s", gone->self.id) ||
            strstr(node->error, "Unknown node"))
            continue;
        ctl_node_say_error(node);
        return false;
    }
    return true;
}

int ctl_del_node(struct ctl_run *r) {
    const char *id = r->words[1];
    ctl_say(CTL_INFO, ">>> Removing node %s from cluster %s:%d\n", id, r->host, r->port);
    if (!ctl_cluster_load(&r->cluster, r->host, r->port)) return 1;
    struct ctl_node *node = ctl_cluster_find(&r->cluster, id);
    if (!node) {
        ctl_say(CTL_BAD, "[ERR] No such node ID %s\n", id);
        return 1;
    }
    if (ctl_slots_count(&node->self.slots)) {
        ctl_say(CTL_BAD, "[ERR] Node %s is not empty! Reshard data away and try again.\n",
                node->name);
        return 1;
    }
    if (!forget_node(r, node)) return 1;
    ctl_say(CTL_INFO, ">>> Sending CLUSTER RESET SOFT to the deleted node.\n");
    return !ctl_node_order(node, "CLUSTER RESET SOFT");
}
