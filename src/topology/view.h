/* SPDX-License-Identifier: BSD-3-Clause
 * What this node knows of its cluster: the nodes, who owns which slot, the epochs.
 *
 * All of it is in one struct cluster. Functions of this folder that decide something take it as an
 * argument, so that a test makes as many clusters as it wants. The server has one
 * (cluster_here in cluster/service.h). topology/nodes.h and topology/slots.h change it.
 *
 * Invariants (cluster_check in topology/nodes.h):
 *  1. There is exactly one node with CLUSTER_NODE_MYSELF: `self`.
 *  2. Nodes are sorted by id, and no two have the same id.
 *  3. A node is a primary, a replica, or neither because its role is not known yet (a handshake,
 *     "noflags"). Only a replica has a `primary`, which may be NULL (not known yet), is never the
 *     node itself, and may be a replica in turn: a walk from primary to primary needs a bound.
 *     `replicas` of a node are the nodes whose `primary` it is.
 *  4. A node's `slot_count` is the number of slots that it owns. `assigned` and `open_marks` are
 *     the numbers of slots with an owner and of marks. `settled` has the bits of the slots that
 *     `self` owns and that do not migrate.
 *  5. Every node that an owner, a mark or a report names is one of the cluster's nodes.
 */
#ifndef EVENKEEL_TOPOLOGY_VIEW_H
#define EVENKEEL_TOPOLOGY_VIEW_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key_slot.h"

#define CLUSTER_ID_CHARS 40   /* lower-case hexadecimal digits */
#define CLUSTER_HOST_CHARS 45 /* of an address; the bus has 46 bytes for it, with a zero */
/* A view has at most so many nodes: 6.2's documentation says 1,000. Strangers' packets can add
 * nodes, so that there must be a bound. */
#define CLUSTER_NODES_MAX 4096
/* The bus listens so many ports above the client's, where no other port is said. */
#define CLUSTER_BUS_PORT_OFFSET 10000

/* The numbers of 6.2's bus. */
enum cluster_node_flags {
    CLUSTER_NODE_PRIMARY = 1 << 0,
    CLUSTER_NODE_REPLICA = 1 << 1,
    CLUSTER_NODE_SUSPECTED = 1 << 2, /* "fail?": this node does not reach it */
    CLUSTER_NODE_FAILED = 1 << 3,    /* "fail": a majority of the primaries did not reach it */
    CLUSTER_NODE_MYSELF = 1 << 4,
    CLUSTER_NODE_HANDSHAKE = 1 << 5,  /* its id is not known yet; the one here was drawn */
    CLUSTER_NODE_NO_ADDRESS = 1 << 6, /* "noaddr": another node answered at its address */
    CLUSTER_NODE_MEET = 1 << 7,       /* MEET is to be sent until it has answered */
    CLUSTER_NODE_MIGRATE_TO = 1 << 8, /* a primary to which replicas may move */
    CLUSTER_NODE_NO_FAILOVER = 1 << 9 /* "nofailover" */
};

struct cluster_id {
    char text[CLUSTER_ID_CHARS + 1];
};

/* Where clients and nodes find a node. Ports are 0 where they are not known. */
struct cluster_address {
    char host[CLUSTER_HOST_CHARS + 1]; /* "" = not known yet */
    uint16_t port;                     /* clients', with tls-cluster the one over TLS */
    uint16_t plain_port;               /* with tls-cluster: the one without TLS; 0 = none */
    uint16_t bus_port;
};

struct cluster_link; /* cluster/bus.h */
struct cluster_node;

/* What another primary says: it does not reach the node. topology/failure.h judges by reports. */
struct cluster_report {
    struct cluster_node *by;
    int64_t heard_msec; /* when it last said so */
};

struct cluster_node {
    struct cluster_id id;
    uint16_t flags;
    struct cluster_address address;
    uint64_t config_epoch; /* of a replica: 0; who shows it shows its primary's */
    struct cluster_node *primary;
    struct cluster_node **replicas;
    size_t replica_count;
    unsigned slot_count;
    /* Wall time in ms, 0 = never. */
    int64_t created_msec;
    int64_t ping_sent_msec;     /* of the ping that has no answer yet; 0 = none is pending */
    int64_t pong_received_msec; /* of the last answer */
    int64_t data_received_msec; /* of the last bytes of any kind */
    /* PINGs over the own link that have no answer yet, which come in order; and how many answers
     * are still to come up to the one that confirms slots that were taken from this node. */
    unsigned pings_open, confirms_after;
    int64_t failed_msec;   /* since when it is FAILED */
    int64_t voted_msec;    /* when this node voted about this primary's successor */
    uint64_t vote_epoch;   /* the last election in which it voted for this node; 0 = none */
    bool has_confirmed;    /* it has answered since this primary stood still (standstill.h) */
    int64_t orphaned_msec; /* since when this primary is without working replicas */
    uint64_t offset;       /* of its stream, as it last said */
    int64_t offset_msec;   /* when it said so */
    struct cluster_link *link, *incoming; /* the bus's; NULL = none */
    struct cluster_report *reports;       /* at most one by each primary */
    size_t report_count;
};

struct cluster {
    struct cluster_node *self;
    struct cluster_node **nodes; /* sorted by id */
    size_t count;
    uint64_t current_epoch;   /* the greatest epoch that this node has seen */
    uint64_t last_vote_epoch; /* in which this node has voted last; 0 = never */
    bool announces_host;      /* the host of `self` is the operator's, not found out */
    bool ok;                  /* cluster_state: the keys may be used */
    /* By slot; NULL = none. Only topology/slots.h changes them. */
    struct cluster_node *owners[KEY_SLOTS];
    struct cluster_node *migrating_to[KEY_SLOTS], *importing_from[KEY_SLOTS];
    /* A bit for each slot, the lowest first: this node owns it, and nothing of it leaves. In a few
     * lines of the processor's cache, because each request looks at it. */
    uint64_t settled[KEY_SLOTS / 64];
    /* A bit for each slot: its migrating mark does not count yet (topology/slots.h). */
    uint64_t held[KEY_SLOTS / 64];
    unsigned assigned;   /* slots that have an owner */
    unsigned open_marks; /* marks, migrating and importing, of all slots */
    /* Counts what texts of the cluster show, and what its file keeps: whoever has made a text of a
     * former count makes it again. cluster_changed. */
    uint64_t changes;
    /* Is told of a node that is about to be freed, when nothing of the cluster names it any more:
     * the node's links are the observer's to close. NULL: nobody is told. */
    void (*leaving)(struct cluster *c, struct cluster_node *node);
};

/* To be called after a change that texts or the file show. The functions of topology/nodes.h and
 * topology/slots.h call it for the changes that they make. */
static inline void cluster_changed(struct cluster *c) { c->changes++; }
#endif
