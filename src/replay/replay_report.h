/* SPDX-License-Identifier: BSD-3-Clause
 * The result of a replay as text.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_REPORT_H
#define EVENKEEL_REPLAY_REPLAY_REPORT_H
#include "replay/replay_load.h"

/* What INFO of the server counted while the trace was replayed, all clients' requests; -1 = the
 * server does not tell. */
struct replay_server_counts {
    int64_t hits, misses, evicted, expired;
};

struct replay_report {
    const struct replay_settings *settings;
    const struct replay_result *result;
    struct replay_server_counts counts;
    struct replay_preloaded preloaded;
};

void replay_report_table(const struct replay_report *r, struct buffer *out);
/* Appends one JSON object in one line, with a line end. */
void replay_report_json(const struct replay_report *r, struct buffer *out);
#endif
