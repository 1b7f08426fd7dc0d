/* SPDX-License-Identifier: BSD-3-Clause
 * The present values of the append-only file's options.
 */
#ifndef EVENKEEL_AOF_AOF_OPTIONS_H
#define EVENKEEL_AOF_AOF_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct affinity_role;

enum aof_fsync { AOF_FSYNC_NO, AOF_FSYNC_ALWAYS, AOF_FSYNC_EVERYSEC };

struct aof_options {
    char *filename;
    int fsync; /* enum aof_fsync */
    bool enabled;
    bool no_fsync_on_rewrite;
    bool load_truncated; /* a file whose last command is incomplete is loaded up to there */
    bool preamble;       /* a rewritten file begins with a snapshot */
    bool incremental_fsync;
    bool write_thread; /* a thread does all writing, and replies wait for it */
    int64_t rewrite_percentage, rewrite_min_bytes;
    int64_t queue_bytes_max, queue_age_max_msec;
};

/* Where the child runs that writes the file anew. */
extern struct affinity_role aof_rewrite_role;

/* Registers the options. Once, at start. `switched` applies a change of appendonly by CONFIG SET;
 * where it returns false with a reason, the old value comes back. */
void aof_options_register(bool (*switched)(char *reason, size_t reason_size));
const struct aof_options *aof_options(void);
#endif
