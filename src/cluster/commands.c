/* SPDX-License-Identifier: BSD-3-Clause
 * CLUSTER.
 *
 * Client libraries ask for CLUSTER SLOTS or CLUSTER INFO when they connect, and recognize a single
 * server by the exact text of the refusal.
 */
#include "cluster/commands.h"

#include <limits.h>
#include <stdbool.h>

#include "cluster/node_commands.h"
#include "cluster/reports.h"
#include "cluster/service.h"
#include "cluster/slot_commands.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/row.h"
#include "net/reply.h"

static const char *const help_lines[] = {
    "ADDSLOTS <slot> [<slot> ...]",
    "    Makes this node the owner of slots that have none.",
    "BUMPEPOCH",
    "    Gives this node the greatest config epoch, without a vote.",
    "COUNT-FAILURE-REPORTS <node-id>",
    "    How many other masters do not reach the node.",
    "COUNTKEYSINSLOT <slot>",
    "    How many keys this node has in the slot.",
    "DELSLOTS <slot> [<slot> ...]",
    "    Takes the slots from their owners, as far as this node is concerned.",
    "FAILOVER [FORCE|TAKEOVER]",
    "    Makes this replica the master, in place of its own.",
    "FORGET <node-id>",
    "    Drops a node from those that this node knows.",
    "GETKEYSINSLOT <slot> <count>",
    "    Some keys that this node has in the slot.",
    "FLUSHSLOTS",
    "    Gives up all slots of this node, which must have no keys.",
    "INFO",
    "    State, slots and epochs, a field a line.",
    "KEYSLOT <key>",
    "    The slot of the key.",
    "MEET <ip> <port> [<bus-port>]",
    "    Makes a node known to this one, and to all that it knows.",
    "MYID",
    "    The id of this node.",
    "NODES",
    "    The nodes that this node knows, a line each:",
    "    <id> <ip:port> <flags> <master> <pings> <pongs> <epoch> <link> <slot> ...",
    "REPLICATE <node-id>",
    "    Makes this node a replica of the node.",
    "RESET [HARD|SOFT]",
    "    Forgets slots and other nodes; HARD: the own id and epochs, too.",
    "SET-CONFIG-EPOCH <epoch>",
    "    Sets the config epoch of a node that knows no other.",
    "SETSLOT <slot> (IMPORTING|MIGRATING|STABLE|NODE <node-id>)",
    "    Opens a slot that moves, closes it, or names its owner.",
    "REPLICAS <node-id>",
    "    The replicas of the node, as lines of NODES.",
    "SAVECONFIG",
    "    Writes the nodes' file now.",
    "SLOTS",
    "    Ranges of slots, each with its master and replicas:",
    "    first and last slot, then address, port and id of each node.",
    NULL,
};

static void cluster_help(struct call *call) { reply_help(call, help_lines); }

/* Both bounds count all arguments, CLUSTER and the word included. */
static const struct subcommand subcommands[] = {
    {"addslots", 3, INT_MAX, cluster_addslots},
    {"bumpepoch", 2, 2, cluster_bumpepoch},
    {"count-failure-reports", 3, 3, cluster_count_failure_reports},
    {"countkeysinslot", 3, 3, cluster_count_keys_in_slot},
    {"delslots", 3, INT_MAX, cluster_delslots},
    {"failover", 2, 3, cluster_failover},
    {"flushslots", 2, 2, cluster_flushslots},
    {"forget", 3, 3, cluster_forget},
    {"getkeysinslot", 4, 4, cluster_get_keys_in_slot},
    {"help", 2, 2, cluster_help},
    {"info", 2, 2, cluster_report_info},
    {"keyslot", 3, 3, cluster_keyslot},
    {"meet", 4, 5, cluster_meet},
    {"myid", 2, 2, cluster_myid},
    {"nodes", 2, 2, cluster_report_nodes},
    {"replicas", 3, 3, cluster_report_replicas},
    {"replicate", 3, 3, cluster_replicate},
    {"reset", 2, 3, cluster_reset},
    {"saveconfig", 2, 2, cluster_saveconfig},
    {"set-config-epoch", 3, 3, cluster_set_config_epoch},
    {"setslot", 4, INT_MAX, cluster_setslot},
    {"slaves", 3, 3, cluster_report_replicas},
    {"slots", 2, 2, cluster_report_slots},
};

/* No server sends CLUSTER to its replicas or writes it to its log; and a role that changes here
 * would end the link, or the load, that the call comes from. */
static bool is_repeated(const struct call *call) {
    return call_is_repeated(call) || call->origin == CALL_SCRIPT_AGAIN;
}

static void command_cluster(struct call *call) {
    if (cluster_here() && is_repeated(call))
        reply_error(call->client, "CLUSTER is not accepted from a primary or a log");
    else if (cluster_here())
        subcommand_run(call, subcommands, sizeof(subcommands) / sizeof(subcommands[0]));
    else
        reply_error(call->client, "This instance has cluster support disabled");
}

static struct command rows[] = {
    COMMAND("cluster", command_cluster, -2, ADMIN | BY_CHANCE | COMMAND_STALE, NO_CATEGORY, NO_KEYS,
            "Nodes and slots of a cluster: shows them and changes them, by subcommands."),
};

void cluster_commands_register(void) { command_register(COMMAND_ROWS(rows)); }
