/* SPDX-License-Identifier: BSD-3-Clause
 * The route of a call: the decision, and its words.
 *
 *   step  condition, the first that holds                             verdict
 *   ----  ----------------------------------------------------------  --------------------------
 *         the call names no key                                       served
 *   1     nobody owns the slot of the first key                       -CLUSTERDOWN, not served
 *   2     another key is in another slot                              -CROSSSLOT
 *   3     the state is fail, and reads are not allowed then           -CLUSTERDOWN
 *   4     the state is fail, and the command writes (EXEC does not)   -CLUSTERDOWN, only reads
 *   5     the slot is open here, and the command is MIGRATE           served
 *   6     ours and migrating: no key is here / some are / all are     -ASK / -TRYAGAIN / step 8
 *   7     importing, and asked for: two keys and one is absent / else -TRYAGAIN / served
 *   8     READONLY, we replicate the owner, nothing writes            served
 *   9     another node owns the slot / we do                          -MOVED / served
 *
 * Step 6 differs from 6.2, which sends the client away as soon as one key is absent, although other
 * keys are here. The target would answer -TRYAGAIN then: so the answer is given at once.
 *
 * Invariants
 *  1. The decision changes nothing, and reads nothing but its arguments.
 *  2. A node is named exactly with CLUSTER_ASK and CLUSTER_MOVED, and is never this node.
 */
#include "cluster/route.h"

#include "base/panic.h"
#include "base/string.h"
#include "topology/slots.h"

static bool is_migrating(const struct cluster *c, unsigned slot) {
    return c->owners[slot] == c->self && c->migrating_to[slot] && !cluster_slot_is_held(c, slot);
}

static bool is_importing(const struct cluster *c, unsigned slot) {
    return c->importing_from[slot] && c->owners[slot] != c->self;
}

/* Whether this node may answer reads of the slot from its copy. */
static bool may_read_copy(const struct cluster *c, unsigned slot,
                          const struct cluster_request *request) {
    return request->reads_replica && !request->writes && !request->queued_writes &&
           !cluster_node_is_primary(c->self) && c->self->primary == c->owners[slot];
}

/* Steps 6 to 9. */
static enum cluster_route route_to_node(const struct cluster *c, const struct cluster_keys *keys,
                                        const struct cluster_request *request,
                                        struct cluster_node **node) {
    unsigned slot = keys->slot;
    if (is_migrating(c, slot) && keys->absent) {
        if (keys->present) return CLUSTER_TRY_AGAIN;
        *node = c->migrating_to[slot];
        return CLUSTER_ASK;
    }
    if (is_importing(c, slot) && request->asking)
        return keys->count > 1 && keys->absent ? CLUSTER_TRY_AGAIN : CLUSTER_SERVE;
    if (c->owners[slot] == c->self || may_read_copy(c, slot, request)) return CLUSTER_SERVE;
    *node = c->owners[slot];
    return CLUSTER_MOVED;
}

enum cluster_route cluster_route(const struct cluster *c, const struct cluster_keys *keys,
                                 const struct cluster_request *request,
                                 struct cluster_node **node) {
    unsigned slot = keys->slot;
    *node = NULL;
    if (!keys->count) return CLUSTER_SERVE;
    ASSERT(slot < KEY_SLOTS);
    if (!c->owners[slot]) return CLUSTER_UNOWNED;
    if (keys->cross_slot) return CLUSTER_CROSS_SLOT;
    if (!c->ok && !request->reads_when_down) return CLUSTER_DOWN;
    if (!c->ok && request->writes) return CLUSTER_READS_ONLY;
    bool open = is_migrating(c, slot) || is_importing(c, slot);
    if (open && request->migrates) return CLUSTER_SERVE;
    return route_to_node(c, keys, request, node);
}

enum cluster_route cluster_route_waiting(const struct cluster *c, unsigned slot,
                                         const struct cluster_request *request,
                                         struct cluster_node **node) {
    *node = NULL;
    if (!c->ok) return CLUSTER_DOWN;
    if (c->importing_from[slot]) return CLUSTER_SERVE;
    if (!c->owners[slot]) return CLUSTER_UNOWNED;
    if (c->owners[slot] == c->self || may_read_copy(c, slot, request)) return CLUSTER_SERVE;
    *node = c->owners[slot];
    return CLUSTER_MOVED;
}

static void print_node(const char *word, unsigned slot, const struct cluster_node *node, bool plain,
                       struct buffer *out) {
    const struct cluster_address *address = &node->address;
    unsigned port = plain && address->plain_port ? address->plain_port : address->port;
    buffer_printf(out, "-%s %u %s:%u", word, slot, address->host, port);
}

void cluster_route_print(enum cluster_route route, unsigned slot, const struct cluster_node *node,
                         bool plain, struct buffer *out) {
    switch (route) {
    case CLUSTER_SERVE: PANIC("a call that is served has no refusal");
    case CLUSTER_UNOWNED: buffer_append_c_string(out, "-CLUSTERDOWN Hash slot not served"); break;
    case CLUSTER_CROSS_SLOT:
        buffer_append_c_string(out, "-CROSSSLOT Keys in request don't hash to the same slot");
        break;
    case CLUSTER_DOWN: buffer_append_c_string(out, "-CLUSTERDOWN The cluster is down"); break;
    case CLUSTER_READS_ONLY:
        buffer_append_c_string(out,
                               "-CLUSTERDOWN The cluster is down and only accepts read commands");
        break;
    case CLUSTER_TRY_AGAIN:
        buffer_append_c_string(out, "-TRYAGAIN Multiple keys request during rehashing of slot");
        break;
    case CLUSTER_ASK: print_node("ASK", slot, node, plain, out); break;
    case CLUSTER_MOVED: print_node("MOVED", slot, node, plain, out); break;
    }
}
