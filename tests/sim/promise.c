/* SPDX-License-Identifier: BSD-3-Clause
 * What WAIT has promised. promise.h has the idea.
 */
#include "sim/promise.h"

#include "sim/history.h"
#include "sim/network.h"
#include "sim/world.h"

static struct promise {
    long long number;
    unsigned starts, full_syncs; /* of the node when it was taken */
} table[NODES_MAX][PROMISE_WRITERS_MAX];
static uint64_t taken;

/* A node's link to the primary, or what will be one. */
static bool is_of_replica(const struct link *l, int primary) {
    return l->state != LINK_FREE && l->ends[0].node != OUTSIDE && l->ends[1].node == primary &&
           l->ends[1].port == network_port(primary) && !l->ends[1].closed;
}

struct candidates promise_candidates(int primary) {
    struct candidates c = {.clear = true, .links_made = network->node_links_made};
    for (int i = 0; i < network->links_end; i++) {
        const struct link *l = &network->links[i];
        if (!is_of_replica(l, primary)) continue;
        unsigned node = 1u << l->ends[0].node;
        /* One that is on its way was made before, and may be counted in the answer. */
        c.clear = c.clear && l->state == LINK_OPEN && !l->ends[0].closed && !(c.nodes & node);
        c.nodes |= node;
        c.links++;
    }
    for (int node = 0; node < NODES_MAX; node++) {
        c.then[node].starts = world->nodes[node].starts;
        c.then[node].full_syncs = history_full_syncs(node);
    }
    return c;
}

void promise_take(const struct candidates *asked, long long counted, int writer, long long number) {
    if (!asked->clear || asked->links == 0 || counted < asked->links) return;
    if (network->node_links_made != asked->links_made) return;
    taken++;
    for (int node = 0; node < NODES_MAX; node++)
        if (asked->nodes & 1u << node)
            table[node][writer] =
                (struct promise){number, asked->then[node].starts, asked->then[node].full_syncs};
}

long long promise_of(int node, int writer) {
    const struct promise *p = &table[node][writer];
    bool holds =
        p->starts == world->nodes[node].starts && p->full_syncs == history_full_syncs(node);
    return holds ? p->number : 0;
}

void promise_forget(int writer) {
    for (int node = 0; node < NODES_MAX; node++) table[node][writer].number = 0;
}

uint64_t promises(void) { return taken; }
