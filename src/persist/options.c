/* SPDX-License-Identifier: BSD-3-Clause
 * What configurations and tools know of the append only file and of what snapshots do not do yet:
 * options are kept or refused (option/missing.h), and the fields of INFO say what is true of a
 * server that has none.
 */
#include "persist/options.h"

#include "metric/row.h"
#include "option/missing.h"

/* ---- options ---- */

static struct {
    bool delete_sync_files;
    int sanitize;
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

static bool filename_check(const struct option_row *row, struct slice value, char *reason,
                           size_t reason_size) {
    if (value.length == 0 || !memchr(value.bytes, '/', value.length)) return true;
    snprintf(reason, reason_size, "%s can't be a path, just a filename", row->name);
    return false;
}

static const struct option_row option_rows[] = {
    MISSING_ENUM(
        "sanitize-dump-payload", &rdb.sanitize, "no", sanitize_names, OPTION_MUTABLE, "snapshots",
        50, NULL,
        "Check all of a snapshot's or RESTORE's encoded values before use; clients: only those "
        "that clients send."),
    MISSING_BOOL("rdb-del-sync-files", NULL, &rdb.delete_sync_files, "no", OPTION_MUTABLE,
                 "snapshots", 70, NULL,
                 "Remove snapshots made for replicas where persistence is off."),
    MISSING_BOOL("appendonly", NULL, &aof.enabled, "no", OPTION_MUTABLE, "append only file", 10,
                 "the append only file is not built yet",
                 "Log every write to a file that is replayed at start."),
    {MISSING("appendfilename", NULL, OPTION_TYPE_STRING, &aof.filename, "appendonly.aof", 0,
             "append only file", 20, NULL,
             "The append only file's name, in the folder that dir names."),
     .check = filename_check},
    MISSING_ENUM(
        "appendfsync", &aof.fsync, "everysec", fsync_names, OPTION_MUTABLE, "append only file", 30,
        NULL,
        "When the append only file is synced to disk: after every write, every second, or when "
        "the system likes."),
    MISSING_BOOL("no-appendfsync-on-rewrite", NULL, &aof.no_fsync_on_rewrite, "no", OPTION_MUTABLE,
                 "append only file", 40, NULL,
                 "Do not sync while a child process writes a snapshot or a new file."),
    MISSING_INT("auto-aof-rewrite-percentage", NULL, &aof.rewrite_percentage, "100", 0, INT32_MAX,
                OPTION_MUTABLE, "append only file", 50,
                "Write the file anew once it has grown by this share; 0 = never."),
    MISSING_BYTES("auto-aof-rewrite-min-size", &aof.rewrite_min_bytes, "64mb", 0, OPTION_MUTABLE,
                  "append only file", 60, "Do not write a smaller file anew."),
    MISSING_BOOL("aof-load-truncated", NULL, &aof.load_truncated, "yes", OPTION_MUTABLE,
                 "append only file", 70, NULL,
                 "Start although the file's last command is cut off."),
    MISSING_BOOL("aof-use-rdb-preamble", NULL, &aof.preamble, "yes", OPTION_MUTABLE,
                 "append only file", 80, NULL,
                 "Begin a file that is written anew with a snapshot."),
    MISSING_BOOL("aof-rewrite-incremental-fsync", NULL, &aof.incremental_fsync, "yes",
                 OPTION_MUTABLE, "append only file", 90, NULL,
                 "Sync a file that is written anew in steps, not all at the end."),
};

/* ---- INFO ---- */

static const int64_t minus_one = -1;
static const char *const ok = "ok";

static void print_aof(struct buffer *out) { buffer_printf(out, "%zu", memory_used(MEMORY_AOF)); }

static const struct metric_row metric_rows[] = {
    METRIC_NOTHING("Persistence", 10, "loading"),
    METRIC_NOTHING("Persistence", 140, "aof_enabled"),
    METRIC_NOTHING("Persistence", 150, "aof_rewrite_in_progress"),
    METRIC_NOTHING("Persistence", 160, "aof_rewrite_scheduled"),
    METRIC_NUMBER("Persistence", 170, "aof_last_rewrite_time_sec", &minus_one, "-1: never."),
    METRIC_NUMBER("Persistence", 180, "aof_current_rewrite_time_sec", &minus_one, "-1: none."),
    METRIC_TEXT("Persistence", 190, "aof_last_bgrewrite_status", ok, "ok."),
    METRIC_TEXT("Persistence", 200, "aof_last_write_status", ok, "ok."),
    METRIC_NOTHING("Persistence", 210, "aof_last_cow_size"),
    METRIC_NOTHING("Stats", 340, "dump_payload_sanitizations"),
    METRIC_PRINT("Memory", 370, "mem_aof_buffer", print_aof,
                 "Bytes of the append only file's buffers."),
};

void persist_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
