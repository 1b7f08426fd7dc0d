/* SPDX-License-Identifier: BSD-3-Clause
 * A cluster made by hand for the tests of the route: this node, the node that it replicates in some
 * of them, and a third one.
 */
#ifndef EVENKEEL_TESTS_CLUSTER_BY_HAND_H
#define EVENKEEL_TESTS_CLUSTER_BY_HAND_H
#include <string.h>

#include "base/memory.h"
#include "topology/nodes.h"
#include "topology/slots.h"

static struct cluster_node me, primary, other;
static struct cluster *here;

static inline void by_hand_init_node(struct cluster_node *node, const char *host, uint16_t port) {
    *node = (struct cluster_node){.flags = CLUSTER_NODE_PRIMARY,
                                  .address = {.port = port, .plain_port = (uint16_t)(port + 1)}};
    memcpy(node->address.host, host, strlen(host));
}

/* The cluster is ok; nobody owns a slot; all nodes are primaries. */
static inline void by_hand_reset(void) {
    struct cluster *c = here ? here : memory_alloc(sizeof(*here), MEMORY_OTHER);
    uint64_t changes = here ? here->changes + 1 : 0;
    by_hand_init_node(&me, "10.0.0.1", 7001);
    by_hand_init_node(&primary, "10.0.0.2", 7002);
    by_hand_init_node(&other, "::1", 7003);
    other.address.plain_port = 0;
    *c = (struct cluster){.self = &me, .ok = true, .changes = changes};
    here = c;
}

static inline void by_hand_become_replica(void) {
    me.flags = CLUSTER_NODE_REPLICA;
    me.primary = &primary;
    here->changes++;
}

static inline void by_hand_own(unsigned slot, struct cluster_node *owner) {
    cluster_slot_assign(here, slot, owner);
}

static inline void by_hand_mark(struct cluster_node **marks, unsigned slot,
                                struct cluster_node *node) {
    if (marks == here->migrating_to)
        cluster_slot_set_migrating(here, slot, node);
    else
        cluster_slot_set_importing(here, slot, node);
}
#endif
