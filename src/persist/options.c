/* SPDX-License-Identifier: BSD-3-Clause
 * What configurations and tools know of persistence before it is built: options are kept or refused
 * (option/missing.h), and the fields of INFO say what is true of a server that saves nothing.
 */
#include "persist/options.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "metric/row.h"
#include "option/missing.h"
#include "store/keyspace.h"

/* ---- options ---- */

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

/* Pairs of numbers, added to what earlier lines gave; no word adds none. */
static bool save_pairs_parse(const struct slice *words, size_t count) {
    struct save_point parsed[SAVE_POINTS_MAX];
    size_t kept = option_is_repeated() ? save_point_count : 0;
    if (count % 2 != 0 || kept + count / 2 > SAVE_POINTS_MAX) return false;
    for (size_t i = 0; i < count / 2; i++) {
        if (!save_point_parse(words[2 * i], words[2 * i + 1], &parsed[i])) return false;
    }
    memcpy(save_points + kept, parsed, count / 2 * sizeof(parsed[0]));
    save_point_count = kept + count / 2;
    return true;
}

/* save "900 1": one word with blanks in it. */
static bool save_word_parse(struct slice word) {
    struct buffer storage;
    struct slice *inner;
    buffer_init(&storage, MEMORY_OTHER);
    int count = string_split_words(word, &storage, &inner);
    bool parsed = count > 1 && save_pairs_parse(inner, (size_t)count);
    if (count >= 0) memory_free(inner, MEMORY_OTHER);
    buffer_free(&storage);
    return parsed;
}

static bool save_parse(const struct option_row *row, const struct slice *words, size_t count,
                       char *reason, size_t reason_size) {
    bool line =
        option_source_now() == OPTION_FROM_FILE || option_source_now() == OPTION_FROM_COMMAND_LINE;
    if (count == 1 && words[0].length == 0) { /* "" takes all away */
        save_point_count = 0;
        return true;
    }
    if (save_pairs_parse(words, count)) return true;
    if (!line) return false;
    if (count == 1 && save_word_parse(words[0])) return true;
    if (count != 2) { /* '""' and the like: 6.2 passes over it, and only the default is gone */
        if (!option_is_repeated()) save_point_count = 0;
        return true;
    }
    snprintf(reason, reason_size, "Invalid save parameters");
    return false;
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

static const struct option_row option_rows[] = {
    {MISSING("save", NULL, OPTION_TYPE_CUSTOM, NULL, "3600 1 300 100 60 10000",
             OPTION_MUTABLE | OPTION_MULTI, "snapshots", 10, NULL,
             "Save points: seconds and changes, in pairs. A snapshot is due after so many seconds "
             "in which so many keys changed. An empty text is none."),
     .parse = save_parse, .print = save_print, .rewrite = save_rewrite},
    MISSING_BOOL("stop-writes-on-bgsave-error", NULL, &rdb.stop_writes, "yes", OPTION_MUTABLE,
                 "snapshots", 20, NULL,
                 "Refuse writes after a snapshot that failed, until one succeeds."),
    MISSING_BOOL("rdbcompression", NULL, &rdb.compression, "yes", OPTION_MUTABLE, "snapshots", 30,
                 NULL, "Compress long strings in snapshots."),
    MISSING_BOOL("rdbchecksum", NULL, &rdb.checksum, "yes", 0, "snapshots", 40, NULL,
                 "Write and check a checksum at the end of a snapshot."),
    MISSING_ENUM(
        "sanitize-dump-payload", &rdb.sanitize, "no", sanitize_names, OPTION_MUTABLE, "snapshots",
        50, NULL,
        "Check all of a snapshot's or RESTORE's encoded values before use; clients: only those "
        "that clients send."),
    {MISSING("dbfilename", NULL, OPTION_TYPE_STRING, &rdb.filename, "dump.rdb", OPTION_MUTABLE,
             "snapshots", 60, NULL, "The snapshot's file name, in the folder that dir names."),
     .check = filename_check},
    MISSING_BOOL("rdb-del-sync-files", NULL, &rdb.delete_sync_files, "no", OPTION_MUTABLE,
                 "snapshots", 70, NULL,
                 "Remove snapshots made for replicas where persistence is off."),
    MISSING_BOOL("rdb-save-incremental-fsync", NULL, &rdb.incremental_fsync, "yes", OPTION_MUTABLE,
                 "snapshots", 80, NULL,
                 "Sync a snapshot to disk in steps while it is written, not all at the end."),
    MISSING_INT("rdb-key-save-delay", NULL, &rdb.key_save_delay, "0", INT32_MIN, INT32_MAX,
                OPTION_MUTABLE | OPTION_HIDDEN, "snapshots", 90,
                "For tests: microseconds to wait after each key that is saved."),
    MISSING_INT("key-load-delay", NULL, &rdb.key_load_delay, "0", INT32_MIN, INT32_MAX,
                OPTION_MUTABLE | OPTION_HIDDEN, "snapshots", 100,
                "For tests: microseconds to wait after each key that is loaded."),

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

bool persist_options_compress(void) { return rdb.compression; }

void persist_options_announce(void) {
    if (save_point_count == 0) return;
    log_warning(
        "Snapshots are not built yet: the save points are kept, but nothing will be saved.");
}

/* ---- INFO ---- */

static int64_t started_sec;
static const int64_t minus_one = -1;
static const char *const ok = "ok";

static void print_changes(struct buffer *out) {
    buffer_printf(out, "%" PRIu64, keyspace_changes());
}
static void print_started(struct buffer *out) { buffer_printf(out, "%" PRId64, started_sec); }
static void print_zero_fraction(struct buffer *out) { buffer_append_c_string(out, "0.00"); }
static void print_aof(struct buffer *out) { buffer_printf(out, "%zu", memory_used(MEMORY_AOF)); }

static const struct metric_row metric_rows[] = {
    METRIC_NOTHING("Persistence", 10, "loading"),
    METRIC_NOTHING("Persistence", 20, "current_cow_size"),
    METRIC_NOTHING("Persistence", 30, "current_cow_size_age"),
    METRIC_PRINT("Persistence", 40, "current_fork_perc", print_zero_fraction,
                 "Always 0: not built yet."),
    METRIC_NOTHING("Persistence", 50, "current_save_keys_processed"),
    METRIC_NOTHING("Persistence", 60, "current_save_keys_total"),
    METRIC_PRINT("Persistence", 70, "rdb_changes_since_last_save", print_changes,
                 "Changes since the start: nothing is saved yet."),
    METRIC_NOTHING("Persistence", 80, "rdb_bgsave_in_progress"),
    METRIC_PRINT("Persistence", 90, "rdb_last_save_time", print_started,
                 "When the server started: nothing is saved yet."),
    METRIC_TEXT("Persistence", 100, "rdb_last_bgsave_status", ok, "ok."),
    METRIC_NUMBER("Persistence", 110, "rdb_last_bgsave_time_sec", &minus_one, "-1: never."),
    METRIC_NUMBER("Persistence", 120, "rdb_current_bgsave_time_sec", &minus_one, "-1: none."),
    METRIC_NOTHING("Persistence", 130, "rdb_last_cow_size"),
    METRIC_NOTHING("Persistence", 140, "aof_enabled"),
    METRIC_NOTHING("Persistence", 150, "aof_rewrite_in_progress"),
    METRIC_NOTHING("Persistence", 160, "aof_rewrite_scheduled"),
    METRIC_NUMBER("Persistence", 170, "aof_last_rewrite_time_sec", &minus_one, "-1: never."),
    METRIC_NUMBER("Persistence", 180, "aof_current_rewrite_time_sec", &minus_one, "-1: none."),
    METRIC_TEXT("Persistence", 190, "aof_last_bgrewrite_status", ok, "ok."),
    METRIC_TEXT("Persistence", 200, "aof_last_write_status", ok, "ok."),
    METRIC_NOTHING("Persistence", 210, "aof_last_cow_size"),
    METRIC_NOTHING("Stats", 210, "latest_fork_usec"),
    METRIC_NOTHING("Stats", 220, "total_forks"),
    METRIC_NOTHING("Stats", 340, "dump_payload_sanitizations"),
    METRIC_PRINT("Memory", 370, "mem_aof_buffer", print_aof,
                 "Bytes of the append only file's buffers."),
};

void persist_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
    started_sec = clock_wall_usec() / 1000000;
}
