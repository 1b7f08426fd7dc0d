/* SPDX-License-Identifier: BSD-3-Clause
 * What configurations and tools know of replication before it is built: options are kept or refused
 * (option/missing.h), and the fields of INFO say what is true of a primary without replicas.
 */
#include "replication/options.h"

#include <stdio.h>

#include "base/number.h"
#include "metric/row.h"
#include "option/missing.h"

/* ---- options ---- */

static struct {
    bool serve_stale, read_only, lazy_flush, announced, diskless_sync, no_tcp_nodelay,
        ignores_maxmemory;
    int diskless_load;
    int64_t priority, announce_port, diskless_delay, timeout, ping_period, backlog_ttl;
    int64_t min_replicas, min_replicas_lag;
    char *announce_ip, *user, *password;
} replication;

static const struct option_name diskless_names[] = {
    {"disabled", 0}, {"on-empty-db", 1}, {"swapdb", 2}, {NULL, 0}};

static bool replicaof_parse(const struct option_row *row, const struct slice *words, size_t count,
                            char *reason, size_t reason_size) {
    int64_t port;
    if (option_source_now() == OPTION_FROM_DEFAULT) return true;
    if (count != 2) return false;
    if (slice_is(words[0], "no") && slice_is(words[1], "one")) return true;
    bool port_is_good =
        number_parse_int64(words[1].bytes, words[1].length, &port) && port >= 0 && port <= 65535;
    snprintf(reason, reason_size, "%s", port_is_good ? row->refusal : "Invalid master port");
    return false;
}

/* It is never set: CONFIG GET shows an empty text. */
static void nothing_print(const struct option_row *row, struct buffer *out) {}

static const struct option_row option_rows[] = {
    MISSING_BOOL("replica-ignore-maxmemory", "slave-ignore-maxmemory",
                 &replication.ignores_maxmemory, "yes", OPTION_MUTABLE, "memory", 50, NULL,
                 "A replica leaves eviction to its primary."),
    {MISSING("replicaof", "slaveof", OPTION_TYPE_CUSTOM, NULL, "", 0 | OPTION_ALIAS_FIRST,
             "replication", 10, "replication is not built yet",
             "Host and port of the primary to copy from."),
     .parse = replicaof_parse, .print = nothing_print},
    MISSING_STRING("masterauth", NULL, &replication.password, "", OPTION_MUTABLE | OPTION_SECRET,
                   "replication", 20, NULL, "The password that the primary asks for."),
    MISSING_STRING("masteruser", NULL, &replication.user, "", OPTION_MUTABLE | OPTION_SECRET,
                   "replication", 30, NULL, "The user that masterauth belongs to."),
    MISSING_BOOL("replica-serve-stale-data", "slave-serve-stale-data", &replication.serve_stale,
                 "yes", OPTION_MUTABLE, "replication", 40, NULL,
                 "Answer from old data while the primary cannot be reached."),
    MISSING_BOOL("replica-read-only", "slave-read-only", &replication.read_only, "yes",
                 OPTION_MUTABLE, "replication", 50, NULL,
                 "A replica refuses writes of its clients."),
    MISSING_BOOL("repl-diskless-sync", NULL, &replication.diskless_sync, "no", OPTION_MUTABLE,
                 "replication", 60, NULL,
                 "Send a full copy straight from the child process, without a file."),
    MISSING_INT("repl-diskless-sync-delay", NULL, &replication.diskless_delay, "5", 0, INT32_MAX,
                OPTION_MUTABLE, "replication", 70,
                "Seconds to wait for more replicas before such a copy begins."),
    MISSING_ENUM(
        "repl-diskless-load", &replication.diskless_load, "disabled", diskless_names,
        OPTION_MUTABLE, "replication", 80, NULL,
        "Load a full copy straight from the connection: never, where no data is, or beside the "
        "old data."),
    MISSING_INT("repl-ping-replica-period", "repl-ping-slave-period", &replication.ping_period,
                "10", 1, INT32_MAX, OPTION_MUTABLE, "replication", 90,
                "Seconds between the primary's pings to its replicas."),
    MISSING_INT("repl-timeout", NULL, &replication.timeout, "60", 1, INT32_MAX, OPTION_MUTABLE,
                "replication", 100,
                "Seconds of silence after which the other side counts as gone."),
    MISSING_BOOL("repl-disable-tcp-nodelay", NULL, &replication.no_tcp_nodelay, "no",
                 OPTION_MUTABLE, "replication", 110, NULL,
                 "Let the system gather small packets to replicas: less traffic, more delay."),
    MISSING_INT("repl-backlog-ttl", NULL, &replication.backlog_ttl, "3600", 0, INT64_MAX,
                OPTION_MUTABLE, "replication", 130,
                "Seconds without replicas after which the backlog is freed; 0 = never."),
    MISSING_INT("replica-priority", "slave-priority", &replication.priority, "100", 0, INT32_MAX,
                OPTION_MUTABLE, "replication", 140,
                "Sentinel promotes the replica of the lowest number; 0 = never this one."),
    MISSING_BOOL("replica-announced", NULL, &replication.announced, "yes", OPTION_MUTABLE,
                 "replication", 150, NULL, "Sentinel tells clients of this replica."),
    {MISSING("min-replicas-to-write", "min-slaves-to-write", OPTION_TYPE_INT,
             &replication.min_replicas, "0", OPTION_MUTABLE, "replication", 160,
             "replication is not built yet: there are no replicas",
             "Refuse writes while fewer replicas than this are connected and up to date."),
     .low = 0, .high = INT32_MAX},
    MISSING_INT("min-replicas-max-lag", "min-slaves-max-lag", &replication.min_replicas_lag, "10",
                0, INT32_MAX, OPTION_MUTABLE, "replication", 170,
                "Seconds of lag up to which a replica counts as up to date."),
    MISSING_STRING("replica-announce-ip", "slave-announce-ip", &replication.announce_ip, "",
                   OPTION_MUTABLE, "replication", 180, NULL,
                   "The address by which the primary and Sentinel know this replica."),
    MISSING_INT("replica-announce-port", "slave-announce-port", &replication.announce_port, "0", 0,
                65535, OPTION_MUTABLE, "replication", 190,
                "The port by which they know it; 0 = its own."),
    MISSING_BOOL("replica-lazy-flush", "slave-lazy-flush", &replication.lazy_flush, "no",
                 OPTION_MUTABLE, "replication", 200, NULL,
                 "Free a replica's old data in the background before a full copy is loaded."),
};

/* ---- INFO ---- */

static const char *const master = "master";
static const char *const no_failover = "no-failover";

static const struct metric_row metric_rows[] = {
    METRIC_TEXT("Replication", 10, "role", master, "master: a server that replicates no other."),
    METRIC_NOTHING("Replication", 20, "connected_slaves"),
    METRIC_TEXT("Replication", 50, "master_failover_state", no_failover, "no-failover."),
    METRIC_NOTHING("Stats", 90, "sync_full"),
    METRIC_NOTHING("Stats", 100, "sync_partial_ok"),
    METRIC_NOTHING("Stats", 110, "sync_partial_err"),
    METRIC_NOTHING("Stats", 240, "slave_expires_tracked_keys"),
    METRIC_NOTHING("Memory", 350, "mem_clients_slaves"),
};

void replication_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
