/* SPDX-License-Identifier: BSD-3-Clause
 * The options of the append-only file.
 */
#include "aof/aof_options.h"

#include <stdio.h>
#include <string.h>

#include "io/affinity.h"
#include "option/option.h"

struct affinity_role aof_rewrite_role;
static struct aof_options options;
static bool (*switched)(char *reason, size_t reason_size);

static const struct option_name fsync_names[] = {{"everysec", AOF_FSYNC_EVERYSEC},
                                                 {"always", AOF_FSYNC_ALWAYS},
                                                 {"no", AOF_FSYNC_NO},
                                                 {NULL, 0}};

/* The value of a file or of the command line is applied later, when all is open. */
static bool apply_enabled(const struct option_row *row, char *reason, size_t reason_size) {
    return option_source_now() != OPTION_FROM_CONFIG_SET || switched(reason, reason_size);
}

#define SECTION "append only file"

static const struct option_row rows[] = {
    {.name = "appendonly",
     .type = OPTION_TYPE_BOOL,
     .flags = OPTION_MUTABLE,
     .section = SECTION,
     .place = 10,
     .fallback = "no",
     .variable = &options.enabled,
     .apply = apply_enabled,
     .help = "Log every write to a file that is replayed at start."},
    {.name = "appendfilename",
     .type = OPTION_TYPE_STRING,
     .section = SECTION,
     .place = 20,
     .fallback = "appendonly.aof",
     .variable = &options.filename,
     .check = option_check_filename,
     .help = "The append only file's name, in the folder that dir names."},
    OPTION_ENUM("appendfsync", &options.fsync, "everysec", fsync_names, OPTION_MUTABLE, SECTION, 30,
                "When the append only file is synced to disk: before the reply to each write "
                "(always), every second (everysec), or when the system chooses (no)."),
    OPTION_BOOL("no-appendfsync-on-rewrite", &options.no_fsync_on_rewrite, false, OPTION_MUTABLE,
                SECTION, 40,
                "Do not sync the append only file while a snapshot or a new file is saved in the "
                "background."),
    OPTION_INT("auto-aof-rewrite-percentage", &options.rewrite_percentage, "100", 0, INT32_MAX,
               OPTION_MUTABLE, SECTION, 50,
               "Rewrite the file once it has grown by this percentage; 0 = never."),
    OPTION_BYTES("auto-aof-rewrite-min-size", &options.rewrite_min_bytes, "64mb", 0, INT64_MAX,
                 OPTION_MUTABLE, SECTION, 60, "Do not rewrite a smaller file for its growth."),
    OPTION_BOOL("aof-load-truncated", &options.load_truncated, true, OPTION_MUTABLE, SECTION, 70,
                "Start even if the file's last command is incomplete: cut it off."),
    OPTION_BOOL("aof-use-rdb-preamble", &options.preamble, true, OPTION_MUTABLE, SECTION, 80,
                "Begin a rewritten file with a snapshot."),
    OPTION_BYTES("aof-queue-bytes-max", &options.queue_bytes_max, "256mb", 65536, (int64_t)1 << 40,
                 OPTION_MUTABLE, SECTION, 100,
                 "While the disk is busy with the file, writes wait in memory, up to so many "
                 "bytes. Beyond that, clients that write wait, too."),
    OPTION_INT("aof-queue-age-max", &options.queue_age_max_msec, "2000", 0, 3600000, OPTION_MUTABLE,
               SECTION, 110,
               "How many milliseconds writes may wait in memory while a sync is under way; then "
               "clients that write wait, too. Waiting writes are lost if the process is killed; at "
               "a power cut so are those that the sync was to save."),
    OPTION_BOOL("aof-write-thread", &options.write_thread, false, OPTION_MUTABLE, SECTION, 120,
                "Let another thread do all writes, also with appendfsync everysec and no: the main "
                "thread never waits for the system, but each reply waits for that thread. With no, "
                "that thread does only writes that may take long, and all writes for a second "
                "after one that took long."),
    OPTION_BOOL("aof-rewrite-incremental-fsync", &options.incremental_fsync, true, OPTION_MUTABLE,
                SECTION, 90, "Sync the file of a rewrite in steps, not all at the end."),
    AFFINITY_OPTION("aof_rewrite_cpulist", 50, aof_rewrite_role,
                    "Processors of the child that writes the append only file anew; the main "
                    "thread's if empty."),
};

void aof_options_register(bool (*how)(char *reason, size_t reason_size)) {
    switched = how;
    option_register(rows, sizeof(rows) / sizeof(rows[0]));
}

const struct aof_options *aof_options(void) { return &options; }
