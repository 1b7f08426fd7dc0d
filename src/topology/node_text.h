/* SPDX-License-Identifier: BSD-3-Clause
 * The line of a node, as CLUSTER NODES shows it and nodes.conf keeps it, and nodes.conf as a whole:
 * both ways between text and struct cluster. No files here.
 *
 *     id host:port@busport flags primary|- ping-sent pong-received epoch connected|disconnected
 *     slot|first-last|[slot->-id]|[slot-<-id] ...
 *
 * The format is that of Redis 6.2. Times are unix ms.
 */
#ifndef EVENKEEL_TOPOLOGY_NODE_TEXT_H
#define EVENKEEL_TOPOLOGY_NODE_TEXT_H
#include <stdbool.h>

#include "base/attributes.h"
#include "base/string.h"
#include "topology/nodes.h"

/* Appends the node's line without the newline. `plain`: the reader uses no TLS and is shown the
 * plain port, if there is one. Marks of unconfirmed slots (topology/slots.h) are not shown. */
void cluster_node_print(const struct cluster *c, const struct cluster_node *node, bool plain,
                        struct buffer *out);
/* Appends the lines of all nodes, each with its newline. */
void cluster_nodes_print(const struct cluster *c, bool plain, struct buffer *out);

/* Appends what nodes.conf keeps: the lines of all nodes that are in no handshake, with all marks,
 * and the line of variables. */
void cluster_file_print(const struct cluster *c, struct buffer *out);
/* Reads the text of a nodes.conf. NULL where it cannot be used: `why` then gets a sentence with the
 * number of the line and what is wrong in it. As in 6.2 unknown variables are skipped, each with a
 * warning in the log; what Redis 7 writes behind the ports is left out; a node that is only named
 * (as a primary, by an open slot) is added; pings and answers are dated now. The text comes from
 * outside and may be anything. */
MUST_USE struct cluster *cluster_file_parse(struct slice text, struct buffer *why);
#endif
