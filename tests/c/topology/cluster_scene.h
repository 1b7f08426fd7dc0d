/* SPDX-License-Identifier: BSD-3-Clause
 * Small clusters for tests: nodes whose ids are one digit repeated, so that a test names a node by
 * a letter.
 */
#ifndef EVENKEEL_TESTS_CLUSTER_SCENE_H
#define EVENKEEL_TESTS_CLUSTER_SCENE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "topology/nodes.h"
#include "topology/slots.h"

/* The id of which each digit is `digit`. */
static inline struct cluster_id scene_id(char digit) {
    struct cluster_id id = {""};
    memset(id.text, digit, CLUSTER_ID_CHARS);
    return id;
}

static inline struct cluster_node *scene_find(const struct cluster *c, char digit) {
    return cluster_find(c, slice_of(scene_id(digit).text));
}

/* A node at 127.0.0.1, whose client port is 7000 and a small number that tells nodes apart. */
static inline struct cluster_node *scene_add(struct cluster *c, char digit, unsigned flags) {
    struct cluster_id id = scene_id(digit);
    struct cluster_node *node = cluster_add(c, &id, flags);
    assert_non_null(node);
    snprintf(node->address.host, sizeof(node->address.host), "127.0.0.1");
    node->address.port = (uint16_t)(7000 + digit % 32);
    node->address.bus_port = (uint16_t)(node->address.port + CLUSTER_BUS_PORT_OFFSET);
    return node;
}

/* A cluster in which this node, a primary, has the id of which each digit is `digit`. */
static inline struct cluster *scene_cluster(char digit) {
    struct cluster *c = cluster_new();
    struct cluster_id id = scene_id(digit);
    assert_true(cluster_rename(c, c->self, &id));
    return c;
}

static inline void scene_give(struct cluster *c, struct cluster_node *node, unsigned first,
                              unsigned last) {
    for (unsigned slot = first; slot <= last; slot++) cluster_slot_assign(c, slot, node);
}
#endif
