/* SPDX-License-Identifier: BSD-3-Clause
 * The options of the append only file, as they stand.
 */
#ifndef EVENKEEL_AOF_AOF_OPTIONS_H
#define EVENKEEL_AOF_AOF_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum aof_fsync { AOF_FSYNC_NO, AOF_FSYNC_ALWAYS, AOF_FSYNC_EVERYSEC };

struct aof_options {
    char *filename;
    int fsync; /* enum aof_fsync */
    bool enabled;
    bool no_fsync_on_rewrite;
    bool load_truncated; /* a file whose last command is cut off is loaded up to there */
    bool preamble;       /* a file that is written anew begins with a snapshot */
    bool incremental_fsync;
    bool write_thread; /* replies wait for a thread that writes, always */
    int64_t rewrite_percentage, rewrite_min_bytes;
    int64_t queue_bytes_max, queue_age_max_msec;
};

/* Once, at start. `switched` makes true what CONFIG SET has made of appendonly; false with a reason
 * puts it back. */
void aof_options_register(bool (*switched)(char *reason, size_t reason_size));
const struct aof_options *aof_options(void);
#endif
