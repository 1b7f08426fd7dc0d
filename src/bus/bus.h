/* SPDX-License-Identifier: BSD-3-Clause
 * The sockets of the cluster's bus: links to other nodes, whole frames in, whole frames out.
 *
 * A node opens one link to each node that it knows (own links: it pings over them, and the answers
 * come back), and accepts one from each node that knows it (incoming links). What a message means
 * is not known here: the hooks are told of each message that has come whole and could be parsed.
 *
 * Messages are taken in turns, one of each link, and a turn of the loop takes a bounded share of
 * them, so that a herd of nodes does not keep the clients away.
 *
 * The other end may be anybody. A frame is bounded before memory is taken for it, and a link whose
 * bytes are no bus closes. A link whose queue of bytes to be sent passes
 * cluster-link-sendbuf-limit closes, and sooner where the node is not known. Each closes with a
 * line in the log and is counted.
 */
#ifndef EVENKEEL_BUS_BUS_H
#define EVENKEEL_BUS_BUS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "bus/message.h"
#include "topology/view.h"

struct child_observer;
struct connection_transport;
struct loop;
struct socket_peer;

/* ---- parcels: frames that wait to be sent ---- */

/* The bytes of one frame, which several links may send. */
struct cluster_parcel;
/* Takes the bytes of a message of this type; the buffer is empty afterwards. The parcel leaves no
 * sooner than `version` of nodes.conf is on disk (topology/nodes_file.h; 0: at once). The caller
 * has a reference, and drops it. */
MUST_USE struct cluster_parcel *cluster_parcel_new(enum cluster_message_type type,
                                                   struct buffer *bytes, uint64_t version);
/* Gives a reference back. */
void cluster_parcel_drop(struct cluster_parcel *parcel);

/* ---- links ---- */

/* Opens this node's own link to the node, whose address is known and which has none. The hook
 * `connected` is called when it stands. Where it cannot be opened the node's `link` is NULL
 * afterwards; the next tick tries again. */
void cluster_link_open(struct cluster_node *node);
/* Closes a link, at any time, within the hooks, too. The node's pointer to it becomes NULL. */
void cluster_link_close(struct cluster_link *link);
/* Sends the parcel behind all that was sent over the link before, and counts it. Takes a reference
 * of its own. The link may close later, but not within this call. */
void cluster_link_send(struct cluster_link *link, struct cluster_parcel *parcel);

/* Whether messages can be sent: an own link has connected. */
bool cluster_link_is_up(const struct cluster_link *link);
/* Whether this node has opened it. */
bool cluster_link_is_own(const struct cluster_link *link);
/* Of an own link its node; of an incoming one the node that has sent over it, as far as it is known
 * (cluster_link_set_sender). NULL = not known. */
struct cluster_node *cluster_link_node(const struct cluster_link *link);
/* Notes that an incoming link is this node's. Another incoming link of the node's stays open, but
 * belongs to nobody. */
void cluster_link_set_sender(struct cluster_link *link, struct cluster_node *node);
/* When it was opened: wall time in ms. */
int64_t cluster_link_opened_msec(const struct cluster_link *link);
/* The address of the other end, or of this one; false where the system does not say. */
MUST_USE bool cluster_link_peer(const struct cluster_link *link, struct socket_peer *peer);
MUST_USE bool cluster_link_local(const struct cluster_link *link, struct socket_peer *local);

/* ---- the bus as a whole ---- */

/* What the bus asks of its owner. No function is NULL. */
struct cluster_bus_hooks {
    /* The transport of links; NULL = plain sockets. */
    const struct connection_transport *(*transport)(void);
    /* Bytes that may wait to be sent over one link (cluster-link-sendbuf-limit); 0 = no limit. */
    int64_t (*sendbuf_limit)(void);
    /* An own link has connected. */
    void (*connected)(struct cluster_link *link);
    /* A message has come, whose bytes are valid during the call. The hook may close any link. */
    void (*received)(struct cluster_link *link, const struct cluster_message *m);
};
/* Adds the listener's kind, before listen_open; links work from now on. All are borrowed for as
 * long as the bus is open. */
void cluster_bus_open(struct loop *loop, struct cluster *c, const struct cluster_bus_hooks *hooks);
/* From now on links are accepted. Before that they are only where this node is a replica: a primary
 * that loads its data must look as if it failed, so that a replica takes over, as in 6.2. */
void cluster_bus_accept(void);
/* Closes all links. */
void cluster_bus_close(void);
extern const struct child_observer cluster_bus_child_observer; /* for server/wiring */
/* Begins a turn's share of messages, and takes those that earlier turns have left. Returns whether
 * messages are left again, so that the loop must not sleep. Called once a turn, also in nested
 * turns, before what messages bring about is carried out. O(1) where none was left. */
bool cluster_bus_take(void);
/* Called before the loop sleeps: lets links send what has waited for the disk. O(1) where nothing
 * waits. */
void cluster_bus_step(void);

/* Messages by type since the start, incoming ones also where they were ignored; and, of now, links
 * and the bytes that they hold. */
struct cluster_bus_counts {
    uint64_t sent[CLUSTER_MESSAGE_TYPES], received[CLUSTER_MESSAGE_TYPES];
    uint64_t unknown;    /* messages of another version or type, which were ignored */
    uint64_t malformed;  /* links closed, because their bytes were no bus */
    uint64_t overflowed; /* links closed, because their queue had passed its limit */
    uint64_t links;      /* both ways, those that connect or shake hands included */
    uint64_t input_bytes, output_bytes; /* a parcel counts once for each link that is to send it */
};
const struct cluster_bus_counts *cluster_bus_counts(void);
#endif
