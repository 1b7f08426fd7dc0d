/* SPDX-License-Identifier: BSD-3-Clause
 * Handshakes and forgotten ids. meet.h has the idea.
 *
 * Invariant: `forgotten` has each id once; those whose time is over go when the next one comes.
 */
#include "bus/meet.h"

#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "topology/nodes.h"

/* A handshake has at least so much time, whatever the node timeout. */
#define HANDSHAKE_MSEC_MIN 1000

static struct {
    struct forgotten_id {
        struct cluster_id id;
        int64_t at_msec;
    } * ids;
    size_t count;
} forgotten;

/* ---- Handshakes ---- */

static bool is_foreign(const struct cluster_node *node) {
    return !cluster_node_has(node, CLUSTER_NODE_MEET);
}

/* The handshake with the node at this address; NULL = none is under way. */
static struct cluster_node *handshake_find(const struct cluster *c,
                                           const struct cluster_address *address) {
    for (size_t i = 0; i < c->count; i++) {
        struct cluster_node *node = c->nodes[i];
        if (cluster_node_has(node, CLUSTER_NODE_HANDSHAKE) &&
            node->address.bus_port == address->bus_port &&
            strcmp(node->address.host, address->host) == 0)
            return node;
    }
    return NULL;
}

static bool handshake_fits(const struct cluster *c, bool for_stranger) {
    size_t all = 0, strangers = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (!cluster_node_has(c->nodes[i], CLUSTER_NODE_HANDSHAKE)) continue;
        all++;
        strangers += is_foreign(c->nodes[i]);
    }
    return all < CLUSTER_HANDSHAKES_MAX &&
           (!for_stranger || strangers < CLUSTER_STRANGERS_HANDSHAKES_MAX);
}

void cluster_handshake_begin(struct cluster *c, const struct cluster_address *address,
                             unsigned flags) {
    bool for_stranger = !(flags & CLUSTER_NODE_MEET);
    if (!*address->host || !address->bus_port) return;
    struct cluster_node *under_way = handshake_find(c, address);
    if (under_way && (for_stranger || !is_foreign(under_way))) return;
    if (under_way) cluster_drop(c, under_way);
    if (!handshake_fits(c, for_stranger)) return;
    struct cluster_id id = cluster_id_draw();
    struct cluster_node *node = cluster_add(c, &id, CLUSTER_NODE_HANDSHAKE | flags);
    if (node)
        node->address = *address;
    else
        log_warning("A node at %s:%u is not met: this one knows as many nodes as it can.",
                    address->host, address->port);
}

bool cluster_handshake_is_over(const struct cluster_node *node, int64_t now_msec,
                               int64_t timeout_msec) {
    int64_t limit = timeout_msec > HANDSHAKE_MSEC_MIN ? timeout_msec : HANDSHAKE_MSEC_MIN;
    return now_msec < node->created_msec || now_msec - node->created_msec > limit;
}

/* ---- Forgotten ids ---- */

static bool is_past(const struct forgotten_id *f, int64_t now_msec) {
    return now_msec - f->at_msec >= CLUSTER_FORGET_MSEC || now_msec < f->at_msec;
}

void cluster_forget_id(const struct cluster_id *id, int64_t now_msec) {
    size_t kept = 0;
    for (size_t i = 0; i < forgotten.count; i++) {
        struct forgotten_id *f = &forgotten.ids[i];
        if (!is_past(f, now_msec) && strcmp(f->id.text, id->text) != 0) forgotten.ids[kept++] = *f;
    }
    size_t size = (kept + 1) * sizeof(struct forgotten_id);
    forgotten.ids = memory_realloc(forgotten.ids, size, MEMORY_OTHER);
    forgotten.ids[kept] = (struct forgotten_id){.id = *id, .at_msec = now_msec};
    forgotten.count = kept + 1;
}

bool cluster_is_forgotten(const struct cluster_id *id, int64_t now_msec) {
    for (size_t i = 0; i < forgotten.count; i++)
        if (strcmp(forgotten.ids[i].id.text, id->text) == 0)
            return !is_past(&forgotten.ids[i], now_msec);
    return false;
}

void cluster_forgotten_clear(void) {
    memory_free(forgotten.ids, MEMORY_OTHER);
    memset(&forgotten, 0, sizeof(forgotten));
}
