/* SPDX-License-Identifier: BSD-3-Clause
 * The options of Redis 6.2 whose features are not built yet, so that its configurations load.
 *
 * A row here either refuses what would need its feature, with a sentence that names what is
 * missing, or keeps a value that changes nothing as long as the feature is missing: a time limit of
 * replication, say. CONFIG GET shows every value in 6.2's form. A feature that is built takes its
 * rows from here to its own folder.
 */
#include "server/options_pending.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/number.h"
#include "base/panic.h"
#include "option/option.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define INT_LOW INT32_MIN
#define INT_HIGH INT32_MAX
#define MUTABLE OPTION_MUTABLE
#define AT_START 0

/* Each row's flags and texts in one line: `why` is the refusal, NULL where values are kept. */
#define PENDING(n, al, ty, var, dflt, fl, sect, pl, why, h)                             \
    .name = (n), .alias = (al), .type = (ty), .variable = (var), .fallback = (dflt),    \
    .flags = (fl) | OPTION_MISSING, .section = (sect), .place = (pl), .refusal = (why), \
    .help = (h)
#define RANGE(lo, hi) .low = (lo), .high = (hi)
#define BOOL(n, al, var, dflt, fl, sect, pl, why, h) \
    { PENDING(n, al, OPTION_TYPE_BOOL, var, dflt, fl, sect, pl, why, h) }
#define INT(n, al, var, dflt, lo, hi, fl, sect, pl, h) \
    { RANGE(lo, hi), PENDING(n, al, OPTION_TYPE_INT, var, dflt, fl, sect, pl, NULL, h) }
#define BYTES(n, var, dflt, lo, fl, sect, pl, h) \
    { RANGE(lo, INT64_MAX), PENDING(n, NULL, OPTION_TYPE_BYTES, var, dflt, fl, sect, pl, NULL, h) }
#define ENUM(n, var, dflt, vals, fl, sect, pl, why, h) \
    { .names = (vals), PENDING(n, NULL, OPTION_TYPE_ENUM, var, dflt, fl, sect, pl, why, h) }
#define STRING(n, al, var, dflt, fl, sect, pl, why, h) \
    { PENDING(n, al, OPTION_TYPE_STRING, var, dflt, fl, sect, pl, why, h) }

/* --- snapshots and the append only file --- */

#define SAVE_POINTS_MAX 256

struct save_point {
    int64_t seconds, changes;
};

static struct save_point save_points[SAVE_POINTS_MAX];
static size_t save_point_count;
static struct {
    bool compression, checksum, stop_writes, delete_sync_files, incremental_fsync;
    int sanitize;
    int64_t key_save_delay, key_load_delay;
    char *filename;
} rdb;
static struct {
    bool enabled, no_fsync_on_rewrite, load_truncated, preamble, incremental_fsync;
    int fsync;
    int64_t rewrite_percentage, rewrite_min_bytes;
    char *filename;
} aof;

static const struct option_name sanitize_names[] = {
    {"no", 0}, {"yes", 1}, {"clients", 2}, {NULL, 0}};
static const struct option_name fsync_names[] = {
    {"everysec", 2}, {"always", 1}, {"no", 0}, {NULL, 0}};

static bool save_point_parse(struct slice seconds, struct slice changes, struct save_point *point) {
    return number_parse_int64(seconds.bytes, seconds.length, &point->seconds) &&
           point->seconds >= 1 &&
           number_parse_int64(changes.bytes, changes.length, &point->changes) &&
           point->changes >= 0;
}

/* Pairs of numbers, added to what earlier lines gave; "" takes all away, no word adds none. */
static bool save_pairs_parse(const struct slice *words, size_t count) {
    struct save_point parsed[SAVE_POINTS_MAX];
    size_t kept = option_is_repeated() ? save_point_count : 0;
    if (count == 1 && words[0].length == 0) {
        save_point_count = 0;
        return true;
    }
    if (count % 2 != 0 || kept + count / 2 > SAVE_POINTS_MAX) return false;
    for (size_t i = 0; i < count / 2; i++) {
        if (!save_point_parse(words[2 * i], words[2 * i + 1], &parsed[i])) return false;
    }
    memcpy(save_points + kept, parsed, count / 2 * sizeof(parsed[0]));
    save_point_count = kept + count / 2;
    return true;
}

static bool save_parse(const struct option_row *row, const struct slice *words, size_t count,
                       char *reason, size_t reason_size) {
    bool parsed, line = option_source_now() == OPTION_FROM_FILE ||
                        option_source_now() == OPTION_FROM_COMMAND_LINE;
    if (line && count == 1 && words[0].length > 0) { /* save "900 1": one word with blanks in it */
        struct buffer storage;
        struct slice *inner;
        buffer_init(&storage, MEMORY_OTHER);
        int inner_count = string_split_words(words[0], &storage, &inner);
        parsed = inner_count > 1 && save_pairs_parse(inner, (size_t)inner_count);
        if (inner_count >= 0) memory_free(inner, MEMORY_OTHER);
        buffer_free(&storage);
    } else {
        parsed = save_pairs_parse(words, count);
    }
    if (!parsed && line) snprintf(reason, reason_size, "Invalid save parameters");
    return parsed;
}

static void save_print(const struct option_row *row, struct buffer *out) {
    for (size_t i = 0; i < save_point_count; i++) {
        buffer_printf(out, "%s%" PRId64 " %" PRId64, i == 0 ? "" : " ", save_points[i].seconds,
                      save_points[i].changes);
    }
}

static void save_rewrite(const struct option_row *row, struct buffer *out) {
    if (save_point_count == 0) buffer_append_c_string(out, "save \"\"\n");
    for (size_t i = 0; i < save_point_count; i++) {
        buffer_printf(out, "save %" PRId64 " %" PRId64 "\n", save_points[i].seconds,
                      save_points[i].changes);
    }
}

static bool filename_check(const struct option_row *row, struct slice value, char *reason,
                           size_t reason_size) {
    if (value.length == 0 || !memchr(value.bytes, '/', value.length)) return true;
    snprintf(reason, reason_size, "%s can't be a path, just a filename", row->name);
    return false;
}

static const struct option_row persistence_rows[] = {
    {PENDING("save", NULL, OPTION_TYPE_CUSTOM, NULL, "3600 1 300 100 60 10000",
             MUTABLE | OPTION_MULTI, "snapshots", 10, NULL,
             "Save points: seconds and changes, in pairs. A snapshot is due after so many seconds "
             "in which so many keys changed. An empty text is none."),
     .parse = save_parse, .print = save_print, .rewrite = save_rewrite},
    BOOL("stop-writes-on-bgsave-error", NULL, &rdb.stop_writes, "yes", MUTABLE, "snapshots", 20,
         NULL, "Refuse writes after a snapshot that failed, until one succeeds."),
    BOOL("rdbcompression", NULL, &rdb.compression, "yes", MUTABLE, "snapshots", 30, NULL,
         "Compress long strings in snapshots."),
    BOOL("rdbchecksum", NULL, &rdb.checksum, "yes", AT_START, "snapshots", 40, NULL,
         "Write and check a checksum at the end of a snapshot."),
    ENUM("sanitize-dump-payload", &rdb.sanitize, "no", sanitize_names, MUTABLE, "snapshots", 50,
         NULL,
         "Check all of a snapshot's or RESTORE's encoded values before use; clients: only those "
         "that clients send."),
    {PENDING("dbfilename", NULL, OPTION_TYPE_STRING, &rdb.filename, "dump.rdb", MUTABLE,
             "snapshots", 60, NULL, "The snapshot's file name, in the folder that dir names."),
     .check = filename_check},
    BOOL("rdb-del-sync-files", NULL, &rdb.delete_sync_files, "no", MUTABLE, "snapshots", 70, NULL,
         "Remove snapshots made for replicas where persistence is off."),
    BOOL("rdb-save-incremental-fsync", NULL, &rdb.incremental_fsync, "yes", MUTABLE, "snapshots",
         80, NULL, "Sync a snapshot to disk in steps while it is written, not all at the end."),
    INT("rdb-key-save-delay", NULL, &rdb.key_save_delay, "0", INT_LOW, INT_HIGH,
        MUTABLE | OPTION_HIDDEN, "snapshots", 90,
        "For tests: microseconds to wait after each key that is saved."),
    INT("key-load-delay", NULL, &rdb.key_load_delay, "0", INT_LOW, INT_HIGH,
        MUTABLE | OPTION_HIDDEN, "snapshots", 100,
        "For tests: microseconds to wait after each key that is loaded."),

    BOOL("appendonly", NULL, &aof.enabled, "no", MUTABLE, "append only file", 10,
         "the append only file is not built yet",
         "Log every write to a file that is replayed at start."),
    {PENDING("appendfilename", NULL, OPTION_TYPE_STRING, &aof.filename, "appendonly.aof", AT_START,
             "append only file", 20, NULL,
             "The append only file's name, in the folder that dir names."),
     .check = filename_check},
    ENUM("appendfsync", &aof.fsync, "everysec", fsync_names, MUTABLE, "append only file", 30, NULL,
         "When the append only file is synced to disk: after every write, every second, or when "
         "the system likes."),
    BOOL("no-appendfsync-on-rewrite", NULL, &aof.no_fsync_on_rewrite, "no", MUTABLE,
         "append only file", 40, NULL,
         "Do not sync while a child process writes a snapshot or a new file."),
    INT("auto-aof-rewrite-percentage", NULL, &aof.rewrite_percentage, "100", 0, INT_HIGH, MUTABLE,
        "append only file", 50, "Write the file anew once it has grown by this share; 0 = never."),
    BYTES("auto-aof-rewrite-min-size", &aof.rewrite_min_bytes, "64mb", 0, MUTABLE,
          "append only file", 60, "Do not write a smaller file anew."),
    BOOL("aof-load-truncated", NULL, &aof.load_truncated, "yes", MUTABLE, "append only file", 70,
         NULL, "Start although the file's last command is cut off."),
    BOOL("aof-use-rdb-preamble", NULL, &aof.preamble, "yes", MUTABLE, "append only file", 80, NULL,
         "Begin a file that is written anew with a snapshot."),
    BOOL("aof-rewrite-incremental-fsync", NULL, &aof.incremental_fsync, "yes", MUTABLE,
         "append only file", 90, NULL,
         "Sync a file that is written anew in steps, not all at the end."),
};

/* --- replication --- */

#define BACKLOG_BYTES_MIN 16384

static struct {
    bool serve_stale, read_only, lazy_flush, announced, diskless_sync, no_tcp_nodelay;
    int diskless_load;
    int64_t priority, announce_port, diskless_delay, timeout, ping_period, backlog_bytes,
        backlog_ttl;
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

static bool backlog_apply(const struct option_row *row, char *reason, size_t reason_size) {
    if (replication.backlog_bytes < BACKLOG_BYTES_MIN)
        replication.backlog_bytes = BACKLOG_BYTES_MIN;
    return true;
}

static const struct option_row replication_rows[] = {
    {PENDING("replicaof", "slaveof", OPTION_TYPE_CUSTOM, NULL, "", AT_START | OPTION_ALIAS_FIRST,
             "replication", 10, "replication is not built yet",
             "Host and port of the primary to copy from."),
     .parse = replicaof_parse, .print = nothing_print},
    STRING("masterauth", NULL, &replication.password, "", MUTABLE | OPTION_SECRET, "replication",
           20, NULL, "The password that the primary asks for."),
    STRING("masteruser", NULL, &replication.user, "", MUTABLE | OPTION_SECRET, "replication", 30,
           NULL, "The user that masterauth belongs to."),
    BOOL("replica-serve-stale-data", "slave-serve-stale-data", &replication.serve_stale, "yes",
         MUTABLE, "replication", 40, NULL,
         "Answer from old data while the primary cannot be reached."),
    BOOL("replica-read-only", "slave-read-only", &replication.read_only, "yes", MUTABLE,
         "replication", 50, NULL, "A replica refuses writes of its clients."),
    BOOL("repl-diskless-sync", NULL, &replication.diskless_sync, "no", MUTABLE, "replication", 60,
         NULL, "Send a full copy straight from the child process, without a file."),
    INT("repl-diskless-sync-delay", NULL, &replication.diskless_delay, "5", 0, INT_HIGH, MUTABLE,
        "replication", 70, "Seconds to wait for more replicas before such a copy begins."),
    ENUM("repl-diskless-load", &replication.diskless_load, "disabled", diskless_names, MUTABLE,
         "replication", 80, NULL,
         "Load a full copy straight from the connection: never, where no data is, or beside the "
         "old data."),
    INT("repl-ping-replica-period", "repl-ping-slave-period", &replication.ping_period, "10", 1,
        INT_HIGH, MUTABLE, "replication", 90,
        "Seconds between the primary's pings to its replicas."),
    INT("repl-timeout", NULL, &replication.timeout, "60", 1, INT_HIGH, MUTABLE, "replication", 100,
        "Seconds of silence after which the other side counts as gone."),
    BOOL("repl-disable-tcp-nodelay", NULL, &replication.no_tcp_nodelay, "no", MUTABLE,
         "replication", 110, NULL,
         "Let the system gather small packets to replicas: less traffic, more delay."),
    {PENDING("repl-backlog-size", NULL, OPTION_TYPE_BYTES, &replication.backlog_bytes, "1mb",
             MUTABLE, "replication", 120, NULL,
             "Bytes of the write stream kept for replicas that come back; at least 16kb."),
     .low = 1, .high = INT64_MAX, .apply = backlog_apply},
    INT("repl-backlog-ttl", NULL, &replication.backlog_ttl, "3600", 0, INT64_MAX, MUTABLE,
        "replication", 130,
        "Seconds without replicas after which the backlog is freed; 0 = never."),
    INT("replica-priority", "slave-priority", &replication.priority, "100", 0, INT_HIGH, MUTABLE,
        "replication", 140,
        "Sentinel promotes the replica of the lowest number; 0 = never this one."),
    BOOL("replica-announced", NULL, &replication.announced, "yes", MUTABLE, "replication", 150,
         NULL, "Sentinel tells clients of this replica."),
    {PENDING("min-replicas-to-write", "min-slaves-to-write", OPTION_TYPE_INT,
             &replication.min_replicas, "0", MUTABLE, "replication", 160,
             "replication is not built yet: there are no replicas",
             "Refuse writes while fewer replicas than this are connected and up to date."),
     .low = 0, .high = INT_HIGH},
    INT("min-replicas-max-lag", "min-slaves-max-lag", &replication.min_replicas_lag, "10", 0,
        INT_HIGH, MUTABLE, "replication", 170,
        "Seconds of lag up to which a replica counts as up to date."),
    STRING("replica-announce-ip", "slave-announce-ip", &replication.announce_ip, "", MUTABLE,
           "replication", 180, NULL,
           "The address by which the primary and Sentinel know this replica."),
    INT("replica-announce-port", "slave-announce-port", &replication.announce_port, "0", 0, 65535,
        MUTABLE, "replication", 190, "The port by which they know it; 0 = its own."),
    BOOL("replica-lazy-flush", "slave-lazy-flush", &replication.lazy_flush, "no", MUTABLE,
         "replication", 200, NULL,
         "Free a replica's old data in the background before a full copy is loaded."),
};

/* --- cluster --- */

static struct {
    bool enabled, full_coverage, no_failover, reads_when_down, migration;
    int64_t node_timeout_ms, validity_factor, barrier, port, bus_port, tls_port;
    char *announce_ip, *nodes_file;
} cluster;

static const struct option_row cluster_rows[] = {
    BOOL("cluster-enabled", NULL, &cluster.enabled, "no", AT_START, "cluster", 10,
         "cluster mode is not built yet", "Be a node of a cluster."),
    STRING("cluster-config-file", NULL, &cluster.nodes_file, "nodes.conf", OPTION_FILE_ONLY,
           "cluster", 20, NULL, "The file in which the node keeps what it knows of the cluster."),
    INT("cluster-node-timeout", NULL, &cluster.node_timeout_ms, "15000", 0, INT64_MAX, MUTABLE,
        "cluster", 30, "Milliseconds of silence after which a node counts as failing."),
    INT("cluster-replica-validity-factor", "cluster-slave-validity-factor",
        &cluster.validity_factor, "10", 0, INT_HIGH, MUTABLE, "cluster", 40,
        "A replica whose data is older than this many node timeouts does not take over; 0 = "
        "always."),
    INT("cluster-migration-barrier", NULL, &cluster.barrier, "1", 0, INT_HIGH, MUTABLE, "cluster",
        50, "A replica moves to a primary without any only while its own keeps this many."),
    BOOL("cluster-allow-replica-migration", NULL, &cluster.migration, "yes", MUTABLE, "cluster", 60,
         NULL, "Replicas may move to a primary that has none."),
    BOOL("cluster-require-full-coverage", NULL, &cluster.full_coverage, "yes", MUTABLE, "cluster",
         70, NULL, "Stop answering while any slot is without a node."),
    BOOL("cluster-replica-no-failover", "cluster-slave-no-failover", &cluster.no_failover, "no",
         MUTABLE, "cluster", 80, NULL, "A replica never takes over by itself."),
    BOOL("cluster-allow-reads-when-down", NULL, &cluster.reads_when_down, "no", MUTABLE, "cluster",
         90, NULL, "Answer reads while the cluster is down."),
    STRING("cluster-announce-ip", NULL, &cluster.announce_ip, "", MUTABLE, "cluster", 100, NULL,
           "The address by which other nodes know this one."),
    INT("cluster-announce-port", NULL, &cluster.port, "0", 0, 65535, MUTABLE, "cluster", 110,
        "The port by which other nodes know this one; 0 = its own."),
    INT("cluster-announce-tls-port", NULL, &cluster.tls_port, "0", 0, 65535, MUTABLE, "cluster",
        120, "The same for its TLS port."),
    INT("cluster-announce-bus-port", NULL, &cluster.bus_port, "0", 0, 65535, MUTABLE, "cluster",
        130, "The same for the port of its cluster bus."),
};

/* --- scripts, modules --- */

static int64_t lua_time_limit_ms;
static bool lua_replicate_commands;

static bool directive_refuse(const struct option_row *row, const struct slice *words, size_t count,
                             char *reason, size_t reason_size) {
    if (count > 0) snprintf(reason, reason_size, "%s", row->refusal);
    return false;
}

static const struct option_row module_rows[] = {
    {PENDING("loadmodule", NULL, OPTION_TYPE_CUSTOM, NULL, NULL, OPTION_FILE_ONLY | OPTION_MULTI,
             "modules", 10, "modules are not built yet",
             "The path of a module, and its arguments."),
     .parse = directive_refuse},
    {PENDING("sentinel", NULL, OPTION_TYPE_CUSTOM, NULL, NULL,
             OPTION_FILE_ONLY | OPTION_MULTI | OPTION_HIDDEN, "sentinel", 10,
             "sentinel directive while not in sentinel mode", "A directive of Sentinel."),
     .parse = directive_refuse},
    INT("lua-time-limit", NULL, &lua_time_limit_ms, "5000", 0, INT64_MAX, MUTABLE, "scripts", 10,
        "Milliseconds after which a script counts as slow and other clients are told BUSY."),
    BOOL("lua-replicate-commands", NULL, &lua_replicate_commands, "yes", MUTABLE | OPTION_HIDDEN,
         "scripts", 20, NULL, "Replicate what a script wrote and not the script."),
};

/* --- values --- */

static bool ignored_parse(const struct option_row *row, const struct slice *words, size_t count,
                          char *reason, size_t reason_size) {
    return count == 1;
}

#define VALUES "small values"
static const struct option_row value_rows[] = {
    {PENDING("list-max-ziplist-entries", NULL, OPTION_TYPE_CUSTOM, NULL, NULL,
             OPTION_FILE_ONLY | OPTION_MULTI | OPTION_HIDDEN, VALUES, 110, NULL,
             "Of old versions; taken and passed over, as by 6.2."),
     .parse = ignored_parse},
    {PENDING("list-max-ziplist-value", NULL, OPTION_TYPE_CUSTOM, NULL, NULL,
             OPTION_FILE_ONLY | OPTION_MULTI | OPTION_HIDDEN, VALUES, 120, NULL,
             "Of old versions; taken and passed over, as by 6.2."),
     .parse = ignored_parse},
};

/* --- memory --- */

static struct { bool replica_ignores; } memory;
static struct {
    bool enabled;
    int64_t cycle_min, cycle_max, threshold_low, threshold_high, ignore_bytes, scan_fields;
} defrag;

static const struct option_row memory_rows[] = {
    BOOL("replica-ignore-maxmemory", "slave-ignore-maxmemory", &memory.replica_ignores, "yes",
         MUTABLE, "memory", 50, NULL, "A replica leaves eviction to its primary."),
    BOOL("activedefrag", NULL, &defrag.enabled, "no", MUTABLE, "defragmentation", 10,
         "Active defragmentation cannot be enabled: it requires a Redis server compiled with a "
         "modified Jemalloc like the one shipped by default with the Redis source distribution",
         "Move values together while the server runs, so that the allocator can give memory back."),
    BYTES("active-defrag-ignore-bytes", &defrag.ignore_bytes, "100mb", 1, MUTABLE,
          "defragmentation", 20, "Bytes lost to fragmentation below which nothing is done."),
    INT("active-defrag-threshold-lower", NULL, &defrag.threshold_low, "10", 0, 1000, MUTABLE,
        "defragmentation", 30, "Percent of fragmentation at which the work begins."),
    INT("active-defrag-threshold-upper", NULL, &defrag.threshold_high, "100", 0, 1000, MUTABLE,
        "defragmentation", 40, "Percent of fragmentation at which it takes its largest share."),
    INT("active-defrag-cycle-min", NULL, &defrag.cycle_min, "1", 1, 99, MUTABLE, "defragmentation",
        50, "Percent of CPU time at the lower threshold."),
    INT("active-defrag-cycle-max", NULL, &defrag.cycle_max, "25", 1, 99, MUTABLE, "defragmentation",
        60, "Percent of CPU time at the upper threshold."),
    INT("active-defrag-max-scan-fields", NULL, &defrag.scan_fields, "1000", 1, INT64_MAX, MUTABLE,
        "defragmentation", 70, "Elements up to which a collection is moved in one go."),
};

/* --- watching the server --- */

static struct {
    int64_t threads;
    bool threaded_reads, gopher;
} host;

static const struct option_row host_rows[] = {
    BOOL("gopher-enabled", NULL, &host.gopher, "no", MUTABLE, "network", 200,
         "the Gopher protocol is not built",
         "Answer inline requests for a path by Gopher's protocol."),
    {PENDING("io-threads", NULL, OPTION_TYPE_INT, &host.threads, "1", AT_START, "threads", 10,
             "I/O threads are not built yet",
             "Threads that read, parse and write; 1 = the main thread."),
     .low = 1, .high = 128},
    BOOL("io-threads-do-reads", NULL, &host.threaded_reads, "no", AT_START, "threads", 20, NULL,
         "I/O threads read and parse too, and not only write."),
};

void options_pending_register(void) {
    option_register(memory_rows, COUNT(memory_rows));
    option_register(value_rows, COUNT(value_rows));
    option_register(persistence_rows, COUNT(persistence_rows));
    option_register(replication_rows, COUNT(replication_rows));
    option_register(cluster_rows, COUNT(cluster_rows));
    option_register(module_rows, COUNT(module_rows));
    option_register(host_rows, COUNT(host_rows));
}

void options_pending_announce(void) {
    if (save_point_count == 0) return;
    log_warning(
        "Snapshots are not built yet: the save points are kept, but nothing will be saved.");
}
