/* SPDX-License-Identifier: BSD-3-Clause
 * A node of the cluster, as this program reaches it: its address, its connection, what it says of
 * itself.
 */
#ifndef EVENKEEL_CLUSTERCTL_CTL_NODE_H
#define EVENKEEL_CLUSTERCTL_CTL_NODE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "clusterctl/ctl_view.h"
#include "peer/peer_reply.h"

#define CTL_NAME_CHARS (CTL_HOST_CHARS + 8)

struct peer_client;
struct tool_connection;

struct ctl_node {
    char host[CTL_HOST_CHARS];
    int port;
    char name[CTL_NAME_CHARS]; /* "host:port" */
    struct peer_client *client;
    const struct tool_connection *login; /* borrowed: password, user, TLS */
    struct ctl_line self;                /* what the node last said of itself */
    unsigned replicas;                   /* nodes that say that they replicate this one */
    char error[256];                     /* of the last ctl_node_ask that failed: one line */
};

/* Creates a node that is not connected. */
MUST_USE struct ctl_node *ctl_node_create(const char *host, int port,
                                          const struct tool_connection *login);
/* Closes and frees the node. NULL is harmless. */
void ctl_node_free(struct ctl_node *node);
/* Connects and greets. Returns false with a message on standard error, which ends with `dot` and a
 * line end. */
MUST_USE bool ctl_node_connect(struct ctl_node *node, const char *dot);
/* Sends a request and waits for its reply, which is valid until the next call. Returns NULL if
 * there is none, or if it is an error: node->error has it, fit to be shown. */
const struct peer_reply *ctl_node_ask(struct ctl_node *node, const struct slice *words,
                                      size_t count);
/* Sends the words of a text that is formatted, and parted at blanks. Returns as ctl_node_ask. */
const struct peer_reply *ctl_node_ask_line(struct ctl_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sends a request by ctl_node_ask_line, and says the error. Returns whether there was none. */
MUST_USE bool ctl_node_order(struct ctl_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sends a request whose reply may be an error. Returns NULL only if there is no reply. */
const struct peer_reply *ctl_node_call(struct ctl_node *node, const struct slice *words,
                                       size_t count);
/* Says "Node h:p replied with error:" and the node's last error. */
void ctl_node_say_error(const struct ctl_node *node);

/* Asks CLUSTER NODES. Returns false, having said why, if there is no sound reply. */
MUST_USE bool ctl_node_view(struct ctl_node *node, struct ctl_view *view);
/* Asks whether the node is one of a cluster; says so if not. */
MUST_USE bool ctl_node_check_mode(struct ctl_node *node);
/* Sets `self` from the node's own view. Returns false, having said why, on failure. */
MUST_USE bool ctl_node_load(struct ctl_node *node);
/* Whether the node is no replica. */
static inline bool ctl_node_is_primary(const struct ctl_node *node) {
    return !(node->self.flags & CTL_REPLICA);
}
/* The number of keys that the node has in a slot; -1 if it does not say, which is said. */
int64_t ctl_node_count_keys(struct ctl_node *node, unsigned slot);
/* The number of keys that the node has; -1 if it does not say, which is said. */
int64_t ctl_node_count_all_keys(struct ctl_node *node);
/* Whether the node knows no other node and has no key; says so if not. */
MUST_USE bool ctl_node_check_empty(struct ctl_node *node);
#endif
