/* SPDX-License-Identifier: BSD-3-Clause
 * The route of a call: whether this node may serve its keys, and if not, what the client is told.
 *
 * The order of the tests is 6.2's, and so are the words. The decision is a pure function of the
 * cluster's state and of what the call asks for; cluster/gate.c finds that out of the call.
 */
#ifndef EVENKEEL_CLUSTER_ROUTE_H
#define EVENKEEL_CLUSTER_ROUTE_H
#include <stdbool.h>

#include "topology/nodes.h"

enum cluster_route {
    CLUSTER_SERVE,
    CLUSTER_UNOWNED,    /* -CLUSTERDOWN Hash slot not served */
    CLUSTER_CROSS_SLOT, /* -CROSSSLOT */
    CLUSTER_DOWN,       /* -CLUSTERDOWN The cluster is down */
    CLUSTER_READS_ONLY, /* -CLUSTERDOWN ... only accepts read commands */
    CLUSTER_TRY_AGAIN,  /* -TRYAGAIN */
    CLUSTER_ASK,        /* -ASK, to `node` */
    CLUSTER_MOVED,      /* -MOVED, to `node` */
};

/* The keys of a call; of EXEC, of all queued calls. Filled by cluster/gate.c. */
struct cluster_keys {
    unsigned slot;   /* of the first key */
    unsigned count;  /* distinct keys: 0, 1, or 2 for more */
    bool cross_slot; /* a key is in another slot than the first */
    /* Only filled where the slot is open (cluster_slot_is_open): */
    unsigned absent, present; /* keys that do not exist, or are due; and that do */
};
/* What else decides. */
struct cluster_request {
    bool writes;          /* the command writes; of EXEC: never */
    bool queued_writes;   /* EXEC: any queued command writes */
    bool migrates;        /* the command is MIGRATE */
    bool asking;          /* ASKING came before it, or it is RESTORE-ASKING */
    bool reads_replica;   /* READONLY was said */
    bool reads_when_down; /* cluster-allow-reads-when-down */
};

/* Whether the slot is migrating or being imported here, so that it matters which keys exist. */
static inline bool cluster_slot_is_open(const struct cluster *c, unsigned slot) {
    return c->open_marks && (c->migrating_to[slot] || c->importing_from[slot]);
}
/* Decides. `*node` is set for CLUSTER_ASK and CLUSTER_MOVED. O(1). */
enum cluster_route cluster_route(const struct cluster *c, const struct cluster_keys *keys,
                                 const struct cluster_request *request, struct cluster_node **node);
/* Decides about a client that waits for a key of the slot: of `request` only `writes` and
 * `reads_replica` count. `*node` is set for CLUSTER_MOVED. O(1). */
enum cluster_route cluster_route_waiting(const struct cluster *c, unsigned slot,
                                         const struct cluster_request *request,
                                         struct cluster_node **node);
/* Appends the refusal in the form of reply_error, for a client that uses TLS or not (`plain`). */
void cluster_route_print(enum cluster_route route, unsigned slot, const struct cluster_node *node,
                         bool plain, struct buffer *out);
#endif
