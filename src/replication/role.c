/* SPDX-License-Identifier: BSD-3-Clause
 * The role. role.h has the idea.
 *
 * What depends on the role is applied in one place (role_update), whenever the link or an option
 * changes.
 */
#include "replication/role.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "command/arguments.h"
#include "command/call.h"
#include "command/row.h"
#include "exec/gates.h"
#include "exec/memory_limit.h"
#include "metric/row.h"
#include "net/client.h"
#include "net/reply.h"
#include "option/option.h"
#include "replication/apply.h"
#include "replication/failover.h"
#include "replication/history.h"
#include "replication/link.h"
#include "replication/own_keys.h"
#include "replication/receive.h"
#include "replication/replica.h"
#include "save/disk_gate.h"
#include "store/keyspace.h"

static bool serve_stale, read_only, ignores_maxmemory, announced;
static int64_t priority;
static struct keyspace_holder holder = {.elsewhere = true}; /* the primary decides what expires */
static const struct role_observer *const no_observers[] = {NULL};
static const struct role_observer *const *observers = no_observers;
static void (*describe)(struct client *c, struct buffer *out);
static bool was_replica;
static const struct role_manager *manager;

/* ---- what follows ---- */

static void tell_role(bool replica) {
    was_replica = replica;
    for (const struct role_observer *const *o = observers; *o; o++) (*o)->became(replica);
}

static void role_update(void) {
    bool replica = link_is_replica();
    gate_set(&role_gate_read_only, replica && read_only);
    gate_set(&role_gate_stale, replica && link_state() != LINK_UP && !serve_stale);
    keyspace_hold_expiry(&holder, replica);
    memory_limit_set_exempt(replica && ignores_maxmemory);
    disk_gate_set_replica(replica);
    own_keys_notice(replica && !read_only);
    if (!replica) own_keys_forget();
    if (replica != was_replica) tell_role(replica);
}

const struct link_observer role_link_observer = {.changed = role_update};

void role_set_observers(const struct role_observer *const *list) { observers = list; }

/* ---- who says it ---- */

const struct role_manager role_by_option = {.primary_at_start = link_primary_by_option};

void role_set_manager(const struct role_manager *who) {
    manager = who;
    link_set_by_option(manager == &role_by_option);
    failover_set_refusal(manager->refuses_failover);
}

void role_open(void (*append)(struct client *c, struct buffer *out)) {
    const char *host;
    int port;
    describe = append;
    bool follows = manager->primary_at_start(&host, &port);
    was_replica = !follows; /* so that all observers are told */
    link_start_as(follows ? host : NULL, follows ? port : 0);
}

/* ---- gates ---- */

/* Asked of queued commands, too: a transaction may have made this server a replica. */
struct gate role_gate_read_only = {
    .origins = GATE_FROM(CALL_NETWORK) | GATE_FROM(CALL_QUEUED) | GATE_FROM_CODE,
    .stops = gate_call_writes,
    .refusal = "-READONLY You can't write against a read only replica."};

static bool not_for_stale(const struct call *call) {
    return gate_flags_lacking(call) & COMMAND_STALE;
}

struct gate role_gate_stale = {
    .origins = GATE_FROM(CALL_NETWORK),
    .stops = not_for_stale,
    .refusal = "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."};

/* ---- REPLICAOF ---- */

/* `host` NULL: this server became a primary. */
static void log_request(const struct call *call, const char *host, int port) {
    struct buffer text = {.class = MEMORY_OTHER};
    buffer_append_c_string(&text, "");
    if (describe) describe(call->client, &text);
    if (host)
        log_notice("REPLICAOF %s:%d enabled (user request from '%s')", host, port, text.bytes);
    else
        log_notice("MASTER MODE enabled (user request from '%s')", text.bytes);
    buffer_free(&text);
}

/* A host is written into the configuration and the log, so it must be one word. */
static bool is_host(struct slice text) {
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] <= ' ' || text.bytes[i] >= 0x7f) return false;
    return text.length > 0;
}

static void become_primary(const struct call *call) {
    if (!link_is_replica()) return;
    link_stop_following();
    log_request(call, NULL, 0);
}

/* False after a reply that is not OK. */
static bool role_become_replica(const struct call *call) {
    struct client *c = call->client;
    int64_t port;
    if (c->flags & (CLIENT_STREAMED | CLIENT_PRIMARY)) {
        reply_error(c, "Command is not valid when client is a replica.");
        return false;
    }
    if (!argument_int64(call, 2, &port, NULL)) return false;
    if (!is_host(call->argv[1]) || port < 0 || port > UINT16_MAX) {
        reply_error(c, "Invalid master host or port");
        return false;
    }
    char *host = slice_dup_c_string(call->argv[1], MEMORY_OTHER);
    bool same = link_is_replica() && slice_is(call->argv[1], link_host()) && link_port() == port;
    if (same) {
        log_notice(
            "REPLICAOF would result into synchronization with the master we are already connected "
            "with. No operation performed.");
        reply_status(c, "OK Already connected to specified master");
    } else {
        link_follow(host, (int)port);
        log_request(call, host, (int)port);
    }
    memory_free(host, MEMORY_OTHER);
    return !same;
}

static void command_replicaof(struct call *call) {
    if (manager->refuses_replicaof) {
        reply_error(call->client, manager->refuses_replicaof);
        return;
    }
    if (failover_is_under_way()) {
        reply_error(call->client, "REPLICAOF not allowed while failing over.");
        return;
    }
    if (argument_is(call, 1, "no") && argument_is(call, 2, "one"))
        become_primary(call);
    else if (!role_become_replica(call))
        return;
    reply_ok(call->client);
}

/* ---- ROLE ---- */

static void reply_replica(struct client *c, const struct replica *r) {
    struct buffer text = {.class = MEMORY_OTHER};
    reply_array(c, 3);
    replica_append_address(r, &text);
    reply_bulk(c, buffer_slice(&text));
    buffer_free(&text);
    reply_bulk_integer(c, r->port);
    reply_bulk_integer(c, r->acknowledged < 0 ? 0 : r->acknowledged);
}

static void reply_primary_role(struct client *c) {
    int64_t count = 0;
    REPLICA_FOR_EACH(r, REPLICA_ONLINE) count++;
    reply_array(c, 3);
    reply_bulk_c_string(c, "master");
    reply_integer(c, history_place());
    reply_array(c, count);
    REPLICA_FOR_EACH(r, REPLICA_ONLINE) reply_replica(c, r);
}

static void reply_replica_role(struct client *c) {
    static const char *const names[] = {
        [LINK_NONE] = "none",        [LINK_WAITS] = "connect",
        [LINK_LOOKS_UP] = "connect", [LINK_CONNECTING] = "connecting",
        [LINK_GREETS] = "handshake", [LINK_RECEIVES] = "sync",
        [LINK_UP] = "connected",
    };
    reply_array(c, 5);
    reply_bulk_c_string(c, "slave");
    reply_bulk_c_string(c, link_host());
    reply_integer(c, link_port());
    reply_bulk_c_string(c, names[link_state()]);
    reply_integer(c, link_state() == LINK_UP ? history_place() : -1);
}

static void command_role(struct call *call) {
    if (link_is_replica())
        reply_replica_role(call->client);
    else
        reply_primary_role(call->client);
}

/* ---- rows ---- */

static struct command rows[] = {
    COMMAND("replicaof", command_replicaof, 3, ADMIN | NO_SCRIPT | COMMAND_STALE, NO_CATEGORY,
            NO_KEYS, "Makes this server a replica of another one; NO ONE: a primary."),
    COMMAND("slaveof", command_replicaof, 3, ADMIN | NO_SCRIPT | COMMAND_STALE, NO_CATEGORY,
            NO_KEYS, "The old name of REPLICAOF."),
    COMMAND("role", command_role, 1, NO_SCRIPT | ANYTIME | FAST, ACL_DANGEROUS, NO_KEYS,
            "The role of this server in replication, its primary or its replicas."),
};

static bool apply_rule(const struct option_row *row, char *reason, size_t reason_size) {
    role_update();
    return true;
}

#define RULE(n, al, sect, pl, var, h)                                                  \
    {                                                                                  \
        .name = (n), .alias = (al), .type = OPTION_TYPE_BOOL, .flags = OPTION_MUTABLE, \
        .section = (sect), .place = (pl), .fallback = "yes", .variable = (var),        \
        .apply = apply_rule, .help = (h)                                               \
    }

static const struct option_row option_rows[] = {
    RULE("replica-ignore-maxmemory", "slave-ignore-maxmemory", "memory", 50, &ignores_maxmemory,
         "A replica leaves eviction to its primary."),
    RULE("replica-serve-stale-data", "slave-serve-stale-data", "replication", 40, &serve_stale,
         "Answer from old data while the link to the primary is down."),
    RULE("replica-read-only", "slave-read-only", "replication", 50, &read_only,
         "A replica refuses writes of its clients."),
    {.name = "replica-priority",
     .alias = "slave-priority",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MUTABLE,
     .section = "replication",
     .place = 140,
     .fallback = "100",
     .variable = &priority,
     .low = 0,
     .high = INT32_MAX,
     .help = "Sentinel promotes the replica with the lowest number; 0 = never this one."},
    OPTION_BOOL("replica-announced", &announced, true, OPTION_MUTABLE, "replication", 150,
                "Let Sentinel tell clients of this replica."),
};

/* ---- INFO ---- */

static bool link_is_down(void) { return link_is_replica() && link_state() != LINK_UP; }

static void print_role(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, link_is_replica() ? "slave" : "master");
}
static void print_host(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, link_host());
}
static void print_port(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", link_port());
}
static void print_status(const struct metric_row *row, struct buffer *out) {
    buffer_append_c_string(out, link_state() == LINK_UP ? "up" : "down");
}
static void print_silent(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, link_silent_sec());
}
static void print_receives(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", link_state() == LINK_RECEIVES);
}
static void print_place(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, link_may_continue() ? history_place() : 0);
}
static void print_read_place(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, link_may_continue() ? apply_read_place() : 0);
}
static void print_down(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%" PRId64, link_down_sec());
}
static void print_read_only(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", read_only);
}
static void print_announced(const struct metric_row *row, struct buffer *out) {
    buffer_printf(out, "%d", announced);
}

#define OF_REPLICA(p, n, m, fn, if_, h)                                       \
    {                                                                         \
        .section = "Replication", .place = (p), .name = (n), .measure = (m),  \
        .type = METRIC_FUNCTION, .print = (fn), .present = (if_), .help = (h) \
    }

static const struct metric_row metric_rows[] = {
    METRIC_PRINT("Replication", 10, "role", METRIC_LABEL, print_role,
                 "master, or slave: a replica."),
    OF_REPLICA(11, "master_host", METRIC_LABEL, print_host, link_is_replica,
               "On a replica: the host of its primary."),
    OF_REPLICA(12, "master_port", METRIC_LABEL, print_port, link_is_replica,
               "On a replica: the port of its primary."),
    OF_REPLICA(13, "master_link_status", METRIC_STATE, print_status, link_is_replica,
               "up while the primary's stream is received."),
    OF_REPLICA(14, "master_last_io_seconds_ago", METRIC_SECONDS, print_silent, link_is_replica,
               "Seconds since the primary was last heard of; -1: no link."),
    OF_REPLICA(15, "master_sync_in_progress", METRIC_GAUGE, print_receives, link_is_replica,
               "1 while a full copy is received."),
    OF_REPLICA(16, "slave_read_repl_offset", METRIC_GAUGE, print_read_place, link_is_replica,
               "The offset up to which the primary's stream was received, applied or not."),
    OF_REPLICA(16, "slave_repl_offset", METRIC_GAUGE, print_place, link_is_replica,
               "The offset up to which the primary's stream is applied."),
    OF_REPLICA(18, "master_link_down_since_seconds", METRIC_SECONDS, print_down, link_is_down,
               "Seconds since the link was lost; -1: there was none."),
    {.section = "Replication",
     .place = 19,
     .name = "slave_priority",
     .measure = METRIC_GAUGE,
     .type = METRIC_INT64,
     .variable = &priority,
     .present = link_is_replica,
     .help = "The option replica-priority."},
    OF_REPLICA(19, "slave_read_only", METRIC_GAUGE, print_read_only, link_is_replica,
               "The option replica-read-only."),
    OF_REPLICA(19, "replica_announced", METRIC_GAUGE, print_announced, link_is_replica,
               "The option replica-announced."),
};

void role_register(void) {
    command_register(COMMAND_ROWS(rows));
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    link_register();
    receive_register();
    own_keys_register();
}
