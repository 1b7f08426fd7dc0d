/* SPDX-License-Identifier: BSD-3-Clause
 * CLUSTER MYID, MEET, FORGET, REPLICATE, FAILOVER, RESET, SET-CONFIG-EPOCH, BUMPEPOCH,
 * COUNT-FAILURE-REPORTS, SAVECONFIG.
 *
 * What asks other nodes (MEET, FAILOVER) is answered when it has begun.
 */
#include "cluster/node_commands.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "bus/bus.h"
#include "bus/meet.h"
#include "cluster/answers.h"
#include "cluster/follow.h"
#include "cluster/options.h"
#include "cluster/service.h"
#include "cluster/succession.h"
#include "command/arguments.h"
#include "command/call.h"
#include "exec/edit.h"
#include "exec/effects.h"
#include "exec/flush.h"
#include "net/reply.h"
#include "store/keyspace.h"
#include "topology/epochs.h"
#include "topology/failure.h"
#include "topology/slots.h"

void cluster_myid(struct call *call) {
    reply_bulk(call->client, (struct slice){cluster_here()->self->id.text, CLUSTER_ID_CHARS});
}

void cluster_saveconfig(struct call *call) { cluster_reply_saved_now(call, "OK"); }

/* ---- nodes ---- */

/* False after the error "Invalid TCP <which> port specified: <argument>". */
static bool parse_port(const struct call *call, int index, const char *refusal, int64_t *port) {
    struct slice text = call->argv[index];
    if (number_parse_int64(text.bytes, text.length, port)) return true;
    cluster_reply_naming(call, refusal, index);
    return false;
}

static bool port_is_valid(int64_t port) { return port > 0 && port <= UINT16_MAX; }

/* Writes the address, which is a number, in its usual form. */
static bool read_numeric_address(struct slice text, char host[CLUSTER_HOST_CHARS + 1]) {
    unsigned char address[sizeof(struct in6_addr)];
    char copy[CLUSTER_HOST_CHARS + 1];
    if (text.length > CLUSTER_HOST_CHARS || memchr(text.bytes, 0, text.length)) return false;
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    int family = inet_pton(AF_INET, copy, address) == 1    ? AF_INET
                 : inet_pton(AF_INET6, copy, address) == 1 ? AF_INET6
                                                           : AF_UNSPEC;
    return family != AF_UNSPEC && inet_ntop(family, address, host, CLUSTER_HOST_CHARS + 1);
}

void cluster_meet(struct call *call) {
    int64_t port, bus_port;
    if (!parse_port(call, 3, "Invalid TCP base port specified: ", &port)) return;
    bus_port = port_is_valid(port) ? port + CLUSTER_BUS_PORT_OFFSET : 0;
    if (call->argc == 5 && !parse_port(call, 4, "Invalid TCP bus port specified: ", &bus_port))
        return;
    struct cluster_address address = {.host = ""};
    if (read_numeric_address(call->argv[2], address.host) && port_is_valid(port) &&
        port_is_valid(bus_port)) {
        address.port = (uint16_t)port;
        address.bus_port = (uint16_t)bus_port;
        cluster_handshake_begin(cluster_here(), &address, CLUSTER_NODE_MEET);
        reply_ok(call->client);
        return;
    }
    struct slice host = call->argv[2], text = call->argv[3];
    struct buffer refusal;
    buffer_init(&refusal, MEMORY_OTHER);
    buffer_append_c_string(&refusal, "Invalid node address specified: ");
    buffer_append(&refusal, host.bytes, strnlen(host.bytes, host.length));
    buffer_append_char(&refusal, ':');
    buffer_append(&refusal, text.bytes, text.length);
    reply_error_slice(call->client, buffer_slice(&refusal));
    buffer_free(&refusal);
}

void cluster_forget(struct call *call) {
    struct cluster *c = cluster_here();
    struct cluster_node *node = cluster_argument_node(call, 2, "Unknown node ");
    if (!node) return;
    if (node == c->self) {
        reply_error(call->client, "I tried hard but I can't forget myself...");
    } else if (node == c->self->primary) {
        reply_error(call->client, "Can't forget my master!");
    } else {
        cluster_forget_id(&node->id, clock_wall_msec());
        cluster_drop(c, node);
        cluster_reply_changed(call);
    }
}

void cluster_count_failure_reports(struct call *call) {
    struct cluster_node *node = cluster_argument_node(call, 2, "Unknown node ");
    if (!node) return;
    reply_integer(call->client, (int64_t)cluster_reports_count(node, clock_wall_msec(),
                                                               cluster_options()->node_timeout_ms));
}

/* ---- roles ---- */

/* Whether the node has neither slots nor keys, so that nothing is lost when it becomes a replica.
 */
static bool is_empty(const struct cluster *c) {
    return !c->self->slot_count && !keyspace_count(keyspace_at(0));
}

void cluster_replicate(struct call *call) {
    struct cluster *c = cluster_here();
    struct cluster_node *node = cluster_argument_node(call, 2, "Unknown node ");
    if (!node) return;
    if (node == c->self) {
        reply_error(call->client, "Can't replicate myself");
    } else if (!cluster_node_is_primary(node)) {
        reply_error(call->client, "I can only replicate a master, not a replica.");
    } else if (cluster_node_is_primary(c->self) && !is_empty(c)) {
        reply_error(call->client,
                    "To set a master the node must be empty and without assigned slots.");
    } else {
        cluster_slots_close(c);
        cluster_set_replica(c, c->self, node);
        cluster_reply_changed(call);
        cluster_follow();
        cluster_succession_role_changed();
    }
}

void cluster_failover(struct call *call) {
    const struct cluster_node *self = cluster_here()->self, *primary = self->primary;
    bool force = call->argc == 3 && argument_is(call, 2, "force");
    bool takeover = call->argc == 3 && argument_is(call, 2, "takeover");
    if (call->argc == 3 && !force && !takeover) {
        reply_syntax_error(call->client);
    } else if (cluster_node_is_primary(self)) {
        reply_error(call->client, "You should send CLUSTER FAILOVER to a replica");
    } else if (!primary) {
        reply_error(call->client, "I'm a replica but my master is unknown to me");
    } else if (call->argc == 2 && (cluster_node_has(primary, CLUSTER_NODE_FAILED) ||
                                   !primary->link || !cluster_link_is_up(primary->link))) {
        reply_error(call->client, "Master is down or failed, please use CLUSTER FAILOVER FORCE");
    } else if (takeover) {
        cluster_succession_take_over();
        cluster_reply_when_saved(call, "OK");
    } else {
        cluster_succession_begin(force);
        reply_ok(call->client);
    }
}

/* ---- RESET ---- */

/* The log and the replicas get FLUSHALL in place of the request. */
static void drop_all_keys(const struct call *call) {
    const struct slice flush = SLICE("FLUSHALL");
    flush_begins(FLUSH_ALL);
    for (int i = 0; i < keyspace_databases(); i++)
        edit_count(edit_flush(keyspace_at(i), LAZYFREE_LATER));
    flush_done(FLUSH_ALL);
    edit_count(1);
    effect_add(call->keyspace, EFFECT_BOTH, 1, &flush);
}

static void forget_others(struct cluster *c) {
    for (size_t i = c->count; i-- > 0;)
        if (c->nodes[i] != c->self) cluster_drop(c, c->nodes[i]);
}

static void forget_identity(struct cluster *c) {
    struct cluster_id id;
    c->current_epoch = c->last_vote_epoch = c->self->config_epoch = 0;
    log_warning("configEpoch set to 0 via CLUSTER RESET HARD");
    do id = cluster_id_draw();
    while (!cluster_rename(c, c->self, &id));
    log_notice("Node hard reset, now I'm %s", c->self->id.text);
}

void cluster_reset(struct call *call) {
    struct cluster *c = cluster_here();
    bool hard = call->argc == 3 && argument_is(call, 2, "hard");
    if (call->argc == 3 && !hard && !argument_is(call, 2, "soft")) {
        reply_syntax_error(call->client);
        return;
    }
    bool was_primary = cluster_node_is_primary(c->self);
    if (was_primary && keyspace_count(keyspace_at(0))) {
        reply_error(call->client,
                    "CLUSTER RESET can't be called with master nodes containing keys");
        return;
    }
    cluster_slots_close(c);
    if (!was_primary) {
        cluster_set_primary(c, c->self);
        cluster_follow();
        cluster_succession_role_changed();
        drop_all_keys(call);
    }
    cluster_slots_release(c, c->self);
    forget_others(c);
    if (hard) forget_identity(c);
    cluster_reply_changed(call);
}

/* ---- epochs ---- */

void cluster_set_config_epoch(struct call *call) {
    struct cluster *c = cluster_here();
    int64_t epoch;
    if (!argument_int64(call, 2, &epoch, NULL)) return;
    if (epoch < 0) {
        reply_error_format(call->client, "Invalid config epoch specified: %" PRId64, epoch);
    } else if (c->count > 1) {
        reply_error(call->client,
                    "The user can assign a config epoch only when the node does not "
                    "know any other node.");
    } else if (c->self->config_epoch) {
        reply_error(call->client, "Node config epoch is already non-zero");
    } else {
        c->self->config_epoch = (uint64_t)epoch;
        if (c->current_epoch < c->self->config_epoch) c->current_epoch = c->self->config_epoch;
        log_warning("configEpoch set to %" PRId64 " via CLUSTER SET-CONFIG-EPOCH", epoch);
        cluster_reply_when_saved(call, "OK");
    }
}

void cluster_bumpepoch(struct call *call) {
    struct cluster *c = cluster_here();
    char text[CLUSTER_STATUS_CHARS + 1];
    bool bumped = cluster_epoch_bump(c);
    snprintf(text, sizeof(text), "%s %" PRIu64, bumped ? "BUMPED" : "STILL", c->self->config_epoch);
    if (bumped)
        cluster_reply_when_saved(call, text);
    else
        reply_status(call->client, text);
}
