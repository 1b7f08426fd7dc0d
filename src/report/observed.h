/* SPDX-License-Identifier: BSD-3-Clause
 * Whether anything reports each call: one number, so that a server without such a report pays one
 * test a command for all of them.
 */
#ifndef EVENKEEL_REPORT_OBSERVED_H
#define EVENKEEL_REPORT_OBSERVED_H
#include <stdbool.h>
#include <stdint.h>

enum observed_by {
    OBSERVED_BY_MONITOR = 1 << 0, /* monitor_before and monitor_after are to be called */
    OBSERVED_BY_TRACE = 1 << 1,   /* trace_call is to be called where trace_may_want says so */
};

/* Side by side, so that one address leads to both. Main thread only. */
struct observed_now {
    unsigned by;       /* the reports that are on: enum observed_by */
    uint64_t hash_max; /* the trace's: the largest hash of a sampled key */
};
extern struct observed_now observed_now;
/* Called by a report when it begins and when it ends. */
void observed_set(enum observed_by report, bool on);
/* Called by the trace, before it begins. */
void observed_set_hash_max(uint64_t hash_max);
#endif
