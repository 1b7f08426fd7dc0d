/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes what messages change: a sequence of frames, each behind a byte that says over which link
 * it comes, is taken in by one node. Whatever comes, the view keeps its invariants, the node keeps
 * its id, its own epoch does not fall, and consequences name nodes that there are.
 *
 * Covers: src/bus/intake.c src/bus/meet.c src/bus/message.c src/topology/ownership.c
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/panic.h"
#include "bus/intake.h"
#include "bus/meet.h"
#include "topology/nodes.h"

#define NOW 1000000
#define TIMEOUT 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ids that stand in the corpus: a digit repeated. */
static struct cluster_id id_of(char digit) {
    struct cluster_id id = {""};
    memset(id.text, digit, CLUSTER_ID_CHARS);
    return id;
}

static struct cluster_node *add_known(struct cluster *c, char digit, unsigned flags) {
    struct cluster_id id = id_of(digit);
    struct cluster_node *node = cluster_add(c, &id, flags);
    ASSERT(node);
    snprintf(node->address.host, sizeof(node->address.host), "127.0.0.1");
    node->address.port = 7000;
    node->address.bus_port = 17000;
    return node;
}

static struct cluster *make_cluster(void) {
    struct cluster *c = cluster_new();
    struct cluster_id id = id_of('5');
    bool renamed = cluster_rename(c, c->self, &id);
    struct cluster_node *a = add_known(c, 'a', CLUSTER_NODE_PRIMARY);
    struct cluster_node *b = add_known(c, 'b', CLUSTER_NODE_PRIMARY);
    struct cluster_address address = {.host = "127.0.0.1", .port = 7001, .bus_port = 17001};
    ASSERT(renamed);
    cluster_set_replica(c, add_known(c, 'c', 0), a);
    cluster_handshake_begin(c, &address, CLUSTER_NODE_MEET);
    c->current_epoch = a->config_epoch = 5;
    b->config_epoch = 4;
    c->self->config_epoch = 3;
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
        cluster_slot_assign(c, slot, slot % 3 == 0 ? c->self : slot % 3 == 1 ? a : b);
    a->ping_sent_msec = b->ping_sent_msec = 1;
    b->flags |= CLUSTER_NODE_SUSPECTED;
    return c;
}

static bool is_node(const struct cluster *c, const struct cluster_node *node) {
    for (size_t i = 0; i < c->count; i++)
        if (c->nodes[i] == node) return true;
    return false;
}

static void check_consequences(struct cluster *c, const struct cluster_consequences *out) {
    ASSERT(!out->sender || (is_node(c, out->sender) && out->sender != c->self));
    ASSERT(!out->refuter || (is_node(c, out->refuter) && out->sender));
    ASSERT(out->moved_count <= CLUSTER_ACTED_MAX && out->failed_count <= CLUSTER_ACTED_MAX);
    for (unsigned i = 0; i < out->moved_count; i++) ASSERT(is_node(c, out->moved[i]));
    for (unsigned i = 0; i < out->failed_count; i++)
        ASSERT(is_node(c, out->failed[i]) && out->failed[i] != c->self);
    if (out->dropped) {
        ASSERT(is_node(c, out->dropped) && cluster_node_has(out->dropped, CLUSTER_NODE_HANDSHAKE));
        cluster_drop(c, out->dropped);
    }
}

static void take_frame(struct cluster *c, uint8_t way, struct slice frame) {
    const struct cluster_intake_rules rules = {
        .now_msec = NOW, .node_timeout_msec = TIMEOUT, .may_follow = way & 0x40};
    struct cluster_consequences out;
    struct cluster_message m;
    const char *why;
    if (cluster_message_type_of(frame) == CLUSTER_MESSAGE_TYPES) return;
    if (!cluster_message_parse(frame, &m, &why)) return;
    struct cluster_node *node = c->nodes[(way & 0x3f) % c->count];
    bool own = way & 0x80 && node != c->self;
    const struct cluster_link_facts link = {
        .own = own, .node = own ? node : NULL, .peer = "127.0.0.1", .local = "127.0.0.1"};
    cluster_intake(c, &m, &link, &rules, &out);
    check_consequences(c, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct cluster *c = make_cluster();
    struct cluster_id own = c->self->id;
    size_t at = 0, length;
    while (at < size) {
        uint8_t way = data[at++];
        struct slice rest = {(const char *)data + at, size - at};
        uint64_t current_epoch = c->current_epoch;
        if (cluster_message_frame(rest, CLUSTER_STRANGER_BYTES_MAX, &length) != CLUSTER_FRAME_WHOLE)
            break;
        char *frame = memory_alloc(length, MEMORY_OTHER); /* a read behind it is seen */
        memcpy(frame, rest.bytes, length);
        take_frame(c, way, (struct slice){frame, length});
        memory_free(frame, MEMORY_OTHER);
        cluster_check(c);
        ASSERT(strcmp(own.text, c->self->id.text) == 0 && c->current_epoch >= current_epoch);
        at += length;
    }
    cluster_free(c);
    cluster_forgotten_clear();
    return 0;
}
