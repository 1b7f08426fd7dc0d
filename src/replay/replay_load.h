/* SPDX-License-Identifier: BSD-3-Clause
 * The load of a replay: a trace file as a source for load/, and what came back.
 *
 * One thread sends. A request is due as long after the begin as it was recorded after the first
 * one, divided by the pace; its latency counts from then. With pace 0 each connection sends its
 * next requests when those before are answered.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_LOAD_H
#define EVENKEEL_REPLAY_REPLAY_LOAD_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "load/load_late.h"
#include "load/load_latency.h"
#include "replay/replay_scan.h"
#include "tools/tool_connection.h"

#define REPLAY_ERROR_KINDS_MAX 8
#define REPLAY_ERROR_CHARS 80
/* The largest request, and the bytes that its buffer has grown to. */
#define REPLAY_MEMORY_LEAST ((size_t)4 * REPLAY_REQUEST_BYTES_MAX)

struct replay_settings {
    const char *path;
    const struct replay_scan *scan;
    const struct tool_connection *server;
    double pace;         /* 0 = as fast as the server answers */
    unsigned clients;    /* connections */
    unsigned pipeline;   /* requests sent at once, with pace 0 */
    double seconds;      /* 0 = to the end of the trace */
    bool preloads;       /* keys that were there were created before */
    bool fills;          /* a key that was there and is missing is created: GET, MGET ... */
    size_t memory_bytes; /* of the requests under way; at least REPLAY_MEMORY_LEAST */
    struct replay_overhead overhead; /* of strings on the server */
};

struct replay_result {
    uint64_t answered, errors, lost, unanswered; /* requests */
    uint64_t fills;
    uint64_t over_memory; /* requests that were left out, because too much was under way */
    uint64_t unfilled;    /* keys that were not created for the same reason */
    uint64_t shrunk; /* keys that were created with REPLAY_REQUEST_BYTES_MAX: more was recorded */
    uint64_t hits, misses; /* requests whose answer tells, by replay_command.nil_is_miss */
    uint64_t first_seen;   /* of these, in neither: the first of a key that was there before */
    struct load_latency latency;
    struct load_late_figures late;
    double seconds;
    struct {
        char text[REPLAY_ERROR_CHARS];
        uint64_t count;
    } error_kinds[REPLAY_ERROR_KINDS_MAX]; /* the last one has all that found no place */
    bool server_is_gone;                   /* no connection could be made any more */
};

struct replay_preloaded {
    uint64_t keys;
    uint64_t shrunk; /* of them, those of which more than REPLAY_REQUEST_BYTES_MAX was recorded */
};

/* Creates the keys that were there before their first request in the trace, with the recorded sizes
 * and times to live. False with a reason; `*preloaded` is set in both cases. */
MUST_USE bool replay_load_preload(const struct replay_settings *settings,
                                  struct replay_preloaded *preloaded,
                                  char reason[TRACE_FILE_REASON_CHARS]);
/* Sends the trace, until its end or a signal (tools/tool_end.h). False with a reason. `*result` is
 * large: it should not be on a stack. */
MUST_USE bool replay_load_run(const struct replay_settings *settings, struct replay_result *result,
                              char reason[TRACE_FILE_REASON_CHARS]);
#endif
