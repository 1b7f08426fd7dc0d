/* SPDX-License-Identifier: BSD-3-Clause
 * What this node says to others: each message of the bus, made of what the node knows.
 *
 * A header that shows an epoch which is not on disk yet leaves when it is (topology/nodes_file.h):
 * a node never says an epoch that it would have forgotten after a crash. Messages that follow wait
 * with it, because a link keeps their order.
 *
 * Nothing is sent to a node without a link; that is no error, because each message is either
 * repeated or asked for again.
 */
#ifndef EVENKEEL_BUS_COMPOSE_H
#define EVENKEEL_BUS_COMPOSE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "bus/message.h"
#include "topology/view.h"

struct cluster_link;

/* What a header says besides the view. */
struct cluster_own_facts {
    uint64_t offset; /* of this node's stream; 0 = its data is not its primary's yet */
    unsigned marks;  /* enum cluster_message_marks */
};
/* Sets the function that fills the facts in, whenever a header is made; before that they are 0. */
void cluster_compose_set_facts(void (*facts)(struct cluster_own_facts *facts));

/* PING, PONG or MEET over the link, with gossip. A PING, or a MEET, over an own link becomes the
 * node's pending ping, unless one is pending. */
void cluster_say_ping(struct cluster *c, struct cluster_link *link, enum cluster_message_type type);
/* PONG to all nodes: what this node claims has changed. */
void cluster_say_pong_to_all(struct cluster *c);
/* PONG to all nodes after this node has taken slots from another one, and a PING to that one, whose
 * answer may confirm them (topology/ownership.h). Without a link to it the first PING of the next
 * link is the one. */
void cluster_say_taken(struct cluster *c, struct cluster_node *from);
/* PONG to the other replicas of this node's primary, and to the primary. */
void cluster_say_pong_to_shard(struct cluster *c);
/* AUTH_REQUEST to all nodes. `force`: vote although the primary works. */
void cluster_say_auth_request(struct cluster *c, bool force);
/* AUTH_ACK, not before `version` of nodes.conf, which has the vote, is on disk. */
void cluster_say_auth_ack(struct cluster *c, struct cluster_node *to, uint64_t version);
/* MFSTART to the primary. */
void cluster_say_mfstart(struct cluster *c, struct cluster_node *to);
/* FAIL about a node, to all. */
void cluster_say_fail(struct cluster *c, const struct cluster_node *about);
/* UPDATE over the link: who owns the slots of `about`, a primary. */
void cluster_say_update(struct cluster *c, struct cluster_link *link,
                        const struct cluster_node *about);
/* PUBLISH to all nodes. Returns to how many it is sent: none, with a line in the log, where channel
 * and text have more than CLUSTER_TEXTS_BYTES_MAX. */
size_t cluster_say_publish(struct cluster *c, struct slice channel, struct slice text);
#endif
