/* SPDX-License-Identifier: BSD-3-Clause
 * Two readers of one file, each with its place.
 *
 * Invariants
 *  1. A pass has as many requests as the scan has counted. So a file that grows gives the requests
 *     that the scan saw, and one that shrinks or is damaged meanwhile ends the trace.
 *  2. Due times never fall, although wall time may.
 */
#include "replay/replay_trace.h"

#include "base/number.h"
#include "load/load_stream.h"
#include "trace_file/trace_file_reader.h"

/* Due times of a trace with absurd ones: some thirty years. */
#define DUE_NSEC_MAX 1e18
#define PACE_LEAST 0.001
#define PACE_MOST 1000

/* The interval of a trace that repeats. */
static double interval_of_pass(const struct replay_trace_settings *s) {
    double usec = (double)(s->scan->last_usec - s->scan->first_usec);
    int64_t sent = s->scan->verdicts[REPLAY_SENDS];
    return sent > 1 ? usec * 1000 / s->pace * (double)sent / (double)(sent - 1) : 0;
}

bool replay_trace_open(struct replay_trace *t, const struct replay_trace_settings *settings,
                       char reason[TRACE_FILE_REASON_CHARS]) {
    *t = (struct replay_trace){.settings = *settings};
    if (settings->repeats && settings->scan->last_usec <= settings->scan->first_usec) {
        snprintf(reason, TRACE_FILE_REASON_CHARS,
                 "the trace cannot be repeated: all its requests are of one moment");
        return false;
    }
    if (settings->pace > 0) {
        t->interval_nsec = interval_of_pass(settings);
        t->times.reader = trace_file_open(settings->path, reason);
        if (!t->times.reader) return false;
    }
    t->requests.reader = trace_file_open(settings->path, reason);
    return t->requests.reader != NULL;
}

void replay_trace_close(struct replay_trace *t) {
    trace_file_close(t->times.reader);
    trace_file_close(t->requests.reader);
    t->times.reader = t->requests.reader = NULL;
}

/* Reads up to the next record that is sent. False where none follows. */
static bool advance_cursor(const struct replay_trace *t, struct replay_cursor *c,
                           struct trace_file_record *record,
                           const struct replay_command **command) {
    if (c->taken == t->settings.scan->verdicts[REPLAY_SENDS]) {
        if (!t->settings.repeats || !trace_file_rewind(c->reader)) return false;
        c->passes++;
        c->taken = 0;
    }
    while (trace_file_next(c->reader, record) == TRACE_FILE_HAS_RECORD) {
        if (replay_request_judge(record, command) != REPLAY_SENDS) continue;
        c->taken++;
        return true;
    }
    return false;
}

int64_t replay_trace_due(struct replay_trace *t) {
    struct trace_file_record record;
    const struct replay_command *command;
    if (!advance_cursor(t, &t->times, &record, &command)) return LOAD_NEVER;
    double usec = (double)(record.wall_usec - t->settings.scan->first_usec);
    double nsec = usec * 1000 / t->settings.pace + (double)t->times.passes * t->interval_nsec;
    /* Wall time may go back by any amount, too: no 64 bits would hold that. */
    nsec = nsec > DUE_NSEC_MAX ? DUE_NSEC_MAX : nsec > 0 ? nsec : 0;
    if ((int64_t)nsec > t->due_nsec) t->due_nsec = (int64_t)nsec;
    return t->due_nsec;
}

bool replay_trace_next(struct replay_trace *t, struct trace_file_record *record,
                       const struct replay_command **command) {
    return advance_cursor(t, &t->requests, record, command);
}

bool replay_pace_parse(const char *text, double *pace) {
    double number;
    bool good = number_parse_double(text, strlen(text), &number) && number >= PACE_LEAST &&
                number <= PACE_MOST;
    if (good) *pace = number;
    return good;
}

bool replay_trace_selects(const struct replay_scan *scan, const struct tool_connection *login) {
    return scan->has_databases && !login->database;
}

void replay_trace_login(const struct replay_scan *scan, struct tool_connection *login) {
    if (!scan->has_databases && !login->database) login->database = scan->database;
}
