/* SPDX-License-Identifier: BSD-3-Clause
 * What configurations and tools know of the append only file and of what snapshots do not do yet:
 * options are kept or refused (option/missing.h), and the fields of INFO say what is true of a
 * server that has none.
 */
#include "persist/options.h"

#include "metric/row.h"
#include "option/missing.h"
#include "persist/aof_options.h"

/* ---- options ---- */

static struct {
    bool delete_sync_files;
    int sanitize;
} rdb;
static const struct option_name sanitize_names[] = {
    {"no", 0}, {"yes", 1}, {"clients", 2}, {NULL, 0}};
static const struct option_row option_rows[] = {
    MISSING_ENUM(
        "sanitize-dump-payload", &rdb.sanitize, "no", sanitize_names, OPTION_MUTABLE, "snapshots",
        50, NULL,
        "Check all of a snapshot's or RESTORE's encoded values before use; clients: only those "
        "that clients send."),
    MISSING_BOOL("rdb-del-sync-files", NULL, &rdb.delete_sync_files, "no", OPTION_MUTABLE,
                 "snapshots", 70, NULL,
                 "Remove snapshots made for replicas where persistence is off."),
};

/* ---- INFO ---- */

static const int64_t minus_one = -1;
static const char *const ok = "ok";

static void print_aof(struct buffer *out) { buffer_printf(out, "%zu", memory_used(MEMORY_AOF)); }

static const struct metric_row metric_rows[] = {
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
    aof_options_register();
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
