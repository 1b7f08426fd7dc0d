/* SPDX-License-Identifier: BSD-3-Clause
 * What a message changes. Changes the view (topology/view.h) at once, and tells the caller what
 * else is to be done. No sockets, no files, no keys: cluster/carry_out.h does as it is told here.
 */
#ifndef EVENKEEL_BUS_INTAKE_H
#define EVENKEEL_BUS_INTAKE_H
#include <stdbool.h>
#include <stdint.h>

#include "bus/message.h"
#include "topology/slots.h"
#include "topology/view.h"

/* Of the link over which the message came. */
struct cluster_link_facts {
    bool own;                  /* this node has opened it */
    struct cluster_node *node; /* of an own link */
    const char *peer, *local;  /* hosts of both ends; "" = not known */
};

/* What else decides. */
struct cluster_intake_rules {
    int64_t now_msec;          /* wall time */
    int64_t node_timeout_msec; /* cluster-node-timeout */
    bool may_follow;           /* cluster-allow-replica-migration */
};

/* Of a message so many nodes are acted upon at most; those left over are judged by the next tick or
 * told again by the next gossip. */
#define CLUSTER_ACTED_MAX 16

enum cluster_action {
    CLUSTER_ACT_PONG = 1 << 0,         /* answer over the link */
    CLUSTER_ACT_CLOSE = 1 << 1,        /* close the link */
    CLUSTER_ACT_FOLLOW = 1 << 2,       /* this node's role, its primary or its address changed */
    CLUSTER_ACT_ROLE_CHANGED = 1 << 3, /* this node's role or primary changed */
    CLUSTER_ACT_PONG_TO_SHARD = 1 << 4 /* this primary has a new epoch */
};

struct cluster_consequences {
    unsigned actions;
    struct cluster_node *sender;  /* known, and in no handshake; else NULL: only `actions` and
                                     `dropped` may say anything */
    struct cluster_node *dropped; /* a handshake that is over: the link's node */
    struct cluster_node *refuter; /* the sender is to be told what this node owns: UPDATE */
    /* Claims slots that were taken from it: all are to be told of a new epoch, it above all. */
    struct cluster_node *contender;
    struct cluster_node *failed[CLUSTER_ACTED_MAX]; /* have failed now: FAIL */
    struct cluster_node *moved[CLUSTER_ACTED_MAX];  /* own links to them lead to a past address */
    unsigned failed_count, moved_count;
    unsigned lost_count; /* slots whose keys are to go */
    unsigned char lost[CLUSTER_BITMAP_BYTES];
};

/* Takes the message in. Of types without a say about the view (PUBLISH, AUTH_..., MFSTART, MODULE)
 * only the header counts. O(slots + entries x log nodes). */
void cluster_intake(struct cluster *c, const struct cluster_message *m,
                    const struct cluster_link_facts *link, const struct cluster_intake_rules *rules,
                    struct cluster_consequences *out);
#endif
