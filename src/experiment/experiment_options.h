/* SPDX-License-Identifier: BSD-3-Clause
 * The command line of `redis-lab experiment`.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_OPTIONS_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "tools/tool_connection.h"
#include "tools/tool_options.h"

#define EXPERIMENT_SETS_MAX 16
#define EXPERIMENT_PROFILES_MAX 16
#define EXPERIMENT_STARTS_MAX 16
#define EXPERIMENT_STOPS_MAX 8

/* All texts are borrowed from the command line. */
struct experiment_options {
    struct tool_connection connection;
    const char *sets[EXPERIMENT_SETS_MAX]; /* "name=value,value ..." */
    unsigned set_count;
    const char *profiles[EXPERIMENT_PROFILES_MAX]; /* files */
    unsigned profile_count;
    const char *starts[EXPERIMENT_STARTS_MAX]; /* commands of servers; none = the server runs */
    unsigned start_count;
    const char *stops[EXPERIMENT_STOPS_MAX]; /* "p99>50ms" */
    unsigned stop_count;
    const char *against;    /* "host:port" or a socket's path; NULL = no second server */
    const char *each_block; /* a command for the begin of each block; NULL = none */
    const char *tests;      /* of redis-benchmark, which the load sends; NULL = none */
    char *const *command;   /* the load's own command; 0 words = none */
    int command_count;
    const char *goal;       /* the figure that decides; NULL = the latency's p99 */
    const char *csv, *html; /* files; NULL = none */
    double block_s, settle_s;
    int64_t rounds, seed, interval_msec, probe_msec; /* seed 0: one is drawn */
    int64_t rate;      /* requests of the load a second; 0 = none by options */
    const char *trace; /* a recorded trace, which the load repeats; NULL = none */
    const char *pace_text;
    double pace; /* of the trace, above 0 */
    int64_t clients, threads, pipeline, value_bytes;
    int64_t keyspace; /* -1: requests have no random numbers */
    bool resp3, grid, json, help;
};

extern const struct tool_options experiment_tool_options;

/* Whether the tool sends a load. */
static inline bool experiment_options_send(const struct experiment_options *o) {
    return o->rate || o->trace;
}

/* Sets the defaults, then parses the words after "experiment". False with a reason. */
MUST_USE bool experiment_options_read(struct experiment_options *o, int count, char *const *words,
                                      char reason[TOOL_REASON_CHARS]);
#endif
