/* SPDX-License-Identifier: BSD-3-Clause
 * A first reading of a whole trace file: whether it is sound, and what is in it. So a damaged file
 * is refused before anything is sent.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_SCAN_H
#define EVENKEEL_REPLAY_REPLAY_SCAN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "replay/replay_request.h"

/* The commands that most requests are left out of: so many are named. */
#define REPLAY_LEFT_OUT_MAX 8

struct replay_scan {
    struct trace_file_head head;
    struct trace_file_end end; /* of a whole file */
    bool is_cut;
    int64_t records;
    int64_t verdicts[REPLAY_VERDICTS]; /* records by what replay_request_judge says */
    int64_t first_usec, last_usec;     /* of records that are sent */
    uint32_t database, database_most;  /* of the first record; the highest of all */
    bool has_databases;                /* there are others */
    struct replay_left_out {
        char name[TRACE_FILE_WORD_CHARS];
        int64_t count;
    } left_out[REPLAY_LEFT_OUT_MAX]; /* the first ones that were met */
};

/* Reads the file. False with a reason: it cannot be read, is damaged, or has no request that can be
 * sent. O(file). */
MUST_USE bool replay_scan_file(const char *path, struct replay_scan *scan,
                               char reason[TRACE_FILE_REASON_CHARS]);
#endif
