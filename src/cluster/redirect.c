/* SPDX-License-Identifier: BSD-3-Clause
 * Redirects clients that wait for keys.
 *
 * 6.2 looks at each waiting client once a second. Here they are looked at when the cluster's state
 * has changed, at the end of that turn, because a wait can lose its slot only by a change; a herd
 * of them is looked at over several turns. A change while a look is under way begins another one.
 * While the cluster is down, each turn looks, because reads may be let in then, and no wait of them
 * stays.
 *
 * A wait ends with an error, and its connection stays:
 *
 *   the cluster is down (reads from it would wait for a write that may never come)  -CLUSTERDOWN
 *   nobody owns the slot                                                            -CLUSTERDOWN
 *   another node owns the slot, and this node is not importing it                   -MOVED
 *
 * except that a READONLY client which only reads waits on at a replica of the owner. All keys of a
 * wait are in one slot.
 */
#include "cluster/redirect.h"

#include "cluster/client_modes.h"
#include "cluster/route.h"
#include "command/command.h"
#include "exec/blocked.h"
#include "net/client.h"
#include "store/key.h"

static const struct cluster *here; /* NULL = cluster mode is off */
static uint64_t seen_changes;
static bool seen_ok;
static size_t left; /* waits that were there at the last change and were not looked at since */

void cluster_redirect_open(const struct cluster *c) { here = c; }

static bool ask_wait(const struct client *c, const struct key *key, struct buffer *error) {
    const struct command *command = c->command;
    unsigned flags = client_flags(c, &cluster_client_state), slot = key_slot(key);
    const struct cluster_request request = {.writes = command && command->flags & COMMAND_WRITE,
                                            .reads_replica = flags & CLUSTER_CLIENT_READS};
    struct cluster_node *node;
    enum cluster_route route = cluster_route_waiting(here, slot, &request, &node);
    if (route == CLUSTER_SERVE) return false;
    cluster_route_print(route, slot, node, !client_connection(c), error);
    return true;
}

bool cluster_redirect_step(void) {
    if (!here) return false;
    if (here->changes != seen_changes || here->ok != seen_ok || !here->ok) {
        seen_changes = here->changes;
        seen_ok = here->ok;
        left = blocked_on_keys();
    }
    if (!left) return false;
    size_t count = left < REDIRECT_WAITS_AT_ONCE ? left : REDIRECT_WAITS_AT_ONCE;
    left -= count;
    blocked_review(count, ask_wait);
    return left != 0;
}
