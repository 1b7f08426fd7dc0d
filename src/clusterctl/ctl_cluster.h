/* SPDX-License-Identifier: BSD-3-Clause
 * The nodes of a cluster, found through one of them.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_CLUSTER_H
#define EVENKEEL_CLUSTERCTL_CTL_CLUSTER_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "clusterctl/ctl_node.h"

struct tool_connection;

struct ctl_cluster {
    struct ctl_node **nodes; /* the first is the one that was asked */
    size_t count;
    unsigned unreachable_primaries;
    const struct tool_connection *login; /* borrowed */
};

/* An empty cluster. */
void ctl_cluster_init(struct ctl_cluster *c, const struct tool_connection *login);
void ctl_cluster_free(struct ctl_cluster *c);
/* Adds a node, which then belongs to the cluster. */
void ctl_cluster_add(struct ctl_cluster *c, struct ctl_node *node);
/* Connects to the node, and to all nodes that it knows and that can be reached. Returns false,
 * having said why, if the first node is of no use. Drops the nodes of before. */
MUST_USE bool ctl_cluster_load(struct ctl_cluster *c, const char *host, int port);
/* The node with this id, in any case of letters; NULL = none. */
struct ctl_node *ctl_cluster_find(const struct ctl_cluster *c, const char *id);
/* The primary whose id begins with `prefix`; NULL = none, or `prefix` is empty. */
struct ctl_node *ctl_cluster_find_primary(const struct ctl_cluster *c, const char *prefix);
/* The primary with the fewest replicas, other than `but`; NULL = there is none. */
struct ctl_node *ctl_cluster_poorest(const struct ctl_cluster *c, const struct ctl_node *but);
/* Whether the views of all nodes say the same about who owns which slots. A
 * node that does not answer has no view that agrees. */
MUST_USE bool ctl_cluster_agrees(const struct ctl_cluster *c);
/* Waits, with a dot each second, until the views of all nodes agree. Returns false after an
 * interrupt. */
MUST_USE bool ctl_cluster_await_join(const struct ctl_cluster *c);
/* Says what a node is, each line behind `indent`. */
void ctl_cluster_say_node(const struct ctl_node *node, const char *indent);
void ctl_cluster_say_nodes(const struct ctl_cluster *c);
#endif
