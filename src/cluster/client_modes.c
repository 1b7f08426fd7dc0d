/* SPDX-License-Identifier: BSD-3-Clause
 * ASKING, READONLY and READWRITE: the state that a client keeps for cluster/gate.
 *
 * ASKING holds for the next request, whatever that is, also if it is refused. If that is MULTI,
 * ASKING holds until the transaction has ended. Between MULTI and EXEC it is queued as any command
 * is, and so holds only for scripts behind it in the queue. READONLY holds until READWRITE or
 * RESET.
 *
 * A server that is no node of a cluster refuses all but READWRITE, which ends a state that no
 * client can be in there. Client libraries recognize such a server by the exact text of the error.
 */
#include "cluster/client_modes.h"

#include "command/call.h"
#include "command/row.h"
#include "exec/client_flags.h"
#include "exec/run.h"
#include "net/client.h"
#include "net/reply.h"
#include "store/keyspace.h"

/* A flag is shown by CLIENT LIST for READONLY only, as in 6.2. */
struct client_state cluster_client_state = {
    .name = "cluster",
    .flags = 2,
    .letters = " r",
    .reset_flags = CLUSTER_CLIENT_ASKS | CLUSTER_CLIENT_READS,
};

static void set_mode(struct call *call, enum cluster_client_flags flag) {
    if (!keyspace_is_of_cluster()) {
        reply_error(call->client, "This instance has cluster support disabled");
        return;
    }
    client_set_flags(call->client, &cluster_client_state, flag, true);
    reply_ok(call->client);
}

static void command_asking(struct call *call) { set_mode(call, CLUSTER_CLIENT_ASKS); }
static void command_readonly(struct call *call) { set_mode(call, CLUSTER_CLIENT_READS); }

static void command_readwrite(struct call *call) {
    client_set_flags(call->client, &cluster_client_state, CLUSTER_CLIENT_READS, false);
    reply_ok(call->client);
}

static void end_asking(const struct call *call) {
    if (call->command && call->command->handler == command_asking) return;
    if (client_in_transaction(call->client)) return;
    client_set_flags(call->client, &cluster_client_state, CLUSTER_CLIENT_ASKS, false);
}

const struct run_observer cluster_run_observer = {
    .of = &cluster_client_state, .flags = CLUSTER_CLIENT_ASKS, .request_ended = end_asking};

static struct command rows[] = {
    COMMAND("readonly", command_readonly, 1, FAST, ACL_KEYSPACE, NO_KEYS,
            "Lets the client read from this replica in a cluster."),
    COMMAND("readwrite", command_readwrite, 1, FAST, ACL_KEYSPACE, NO_KEYS,
            "Ends the effect of READONLY; answers OK."),
    COMMAND("asking", command_asking, 1, FAST, ACL_KEYSPACE, NO_KEYS,
            "Lets the next command use a slot that this node of a cluster is importing."),
};

void cluster_client_modes_register(void) { command_register(COMMAND_ROWS(rows)); }
