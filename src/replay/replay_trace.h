/* SPDX-License-Identifier: BSD-3-Clause
 * A trace file as the requests of an open loop: when each request is due, and the requests.
 *
 * An open loop asks for due times ahead of the requests, because batches wait in line where no
 * connection is free. So the file is read twice at the same time: one reader gives due times, the
 * other one requests. Both pass over the same records.
 *
 * Where the trace repeats, its first request follows its last one by the mean distance between two
 * of its requests.
 */
#ifndef EVENKEEL_REPLAY_REPLAY_TRACE_H
#define EVENKEEL_REPLAY_REPLAY_TRACE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "replay/replay_scan.h"
#include "tools/tool_connection.h"

struct trace_file_reader;

struct replay_trace_settings {
    const char *path;
    const struct replay_scan *scan; /* of the file, borrowed until the trace is closed */
    double pace;                    /* above 0: twice as fast is 2; 0: no due times are asked for */
    bool repeats;                   /* begins again at its end; wants a scan that spans some time */
};

/* A reader's place. */
struct replay_cursor {
    struct trace_file_reader *reader;
    uint64_t passes; /* how often the trace has begun again */
    int64_t taken;   /* records of this pass that are sent */
};

struct replay_trace {
    struct replay_trace_settings settings;
    struct replay_cursor times, requests;
    double interval_nsec; /* from the begin of a pass to the begin of the next one */
    int64_t due_nsec;
};

/* Opens the file, which replay_scan_file has found sound. False with a reason; the trace is to be
 * closed in both cases. */
MUST_USE bool replay_trace_open(struct replay_trace *t,
                                const struct replay_trace_settings *settings,
                                char reason[TRACE_FILE_REASON_CHARS]);
/* Harmless for a zeroed trace. */
void replay_trace_close(struct replay_trace *t);
/* When the next request is due, in nanoseconds since the load began; never before the request
 * before it. LOAD_NEVER: none follows, because the trace is over or its file has changed. */
int64_t replay_trace_due(struct replay_trace *t);
/* Reads the next request, which is valid until the next call. False where none follows. */
MUST_USE bool replay_trace_next(struct replay_trace *t, struct trace_file_record *record,
                                const struct replay_command **command);

/* Reads a pace, from 0.001 to 1000. False where the text is none. */
MUST_USE bool replay_pace_parse(const char *text, double *pace);

/* Whether each request needs a SELECT before it: the trace is of several databases, and the login
 * names no database that takes all requests instead. */
bool replay_trace_selects(const struct replay_scan *scan, const struct tool_connection *login);
/* Lets the login select the database of a trace that is of one database, unless the login names a
 * database already. */
void replay_trace_login(const struct replay_scan *scan, struct tool_connection *login);
#endif
