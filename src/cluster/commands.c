/* SPDX-License-Identifier: BSD-3-Clause
 * CLUSTER, READONLY, READWRITE, ASKING of a server that is no node of a cluster.
 *
 * Client libraries ask for CLUSTER SLOTS or CLUSTER INFO when they connect, and recognize a single
 * server by the exact text of the error. READWRITE ends a state that no client can be in here, so
 * it is granted.
 */
#include "cluster/commands.h"

#include "command/call.h"
#include "command/row.h"
#include "net/reply.h"

static void cluster_refuse(struct call *call) {
    reply_error(call->client, "This instance has cluster support disabled");
}

static void command_cluster(struct call *call) { cluster_refuse(call); }
static void command_readonly(struct call *call) { cluster_refuse(call); }
static void command_asking(struct call *call) { cluster_refuse(call); }
static void command_readwrite(struct call *call) { reply_ok(call->client); }

static struct command rows[] = {
    COMMAND("cluster", command_cluster, -2, ADMIN | BY_CHANCE | COMMAND_STALE, NO_CATEGORY, NO_KEYS,
            "Nodes and slots of a cluster: refused, because this server is no node of a cluster."),
    COMMAND("readonly", command_readonly, 1, FAST, ACL_KEYSPACE, NO_KEYS,
            "Lets a connection read from a replica of a cluster: refused, as CLUSTER is."),
    COMMAND("readwrite", command_readwrite, 1, FAST, ACL_KEYSPACE, NO_KEYS,
            "Ends the effect of READONLY; answers OK."),
    COMMAND("asking", command_asking, 1, FAST, ACL_KEYSPACE, NO_KEYS,
            "Lets the next command use a slot that is being moved: refused, as CLUSTER is."),
};

void cluster_commands_register(void) { command_register(COMMAND_ROWS(rows)); }
