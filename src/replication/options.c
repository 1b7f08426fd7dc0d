/* SPDX-License-Identifier: BSD-3-Clause
 * What configurations and tools know of being a replica, which is not built: options are kept or
 * refused (option/missing.h), and the fields of INFO say what is true of a primary.
 */
#include "replication/options.h"

#include <stdio.h>

#include "base/number.h"
#include "metric/row.h"
#include "option/missing.h"

/* ---- options ---- */

static struct {
    bool serve_stale, read_only, lazy_flush, announced, ignores_maxmemory;
    int diskless_load;
    int64_t priority, announce_port;
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
    MISSING_ENUM(
        "repl-diskless-load", &replication.diskless_load, "disabled", diskless_names,
        OPTION_MUTABLE, "replication", 80, NULL,
        "Load a full copy straight from the connection: never, where no data is, or beside the "
        "old data."),
    MISSING_INT("replica-priority", "slave-priority", &replication.priority, "100", 0, INT32_MAX,
                OPTION_MUTABLE, "replication", 140,
                "Sentinel promotes the replica of the lowest number; 0 = never this one."),
    MISSING_BOOL("replica-announced", NULL, &replication.announced, "yes", OPTION_MUTABLE,
                 "replication", 150, NULL, "Sentinel tells clients of this replica."),
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
    METRIC_TEXT("Replication", 50, "master_failover_state", no_failover, "no-failover."),
    METRIC_NOTHING("Stats", 240, "slave_expires_tracked_keys"),
};

void replication_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
