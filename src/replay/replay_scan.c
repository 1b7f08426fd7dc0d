/* SPDX-License-Identifier: BSD-3-Clause
 * One pass over the file.
 */
#include "replay/replay_scan.h"

#include "trace_file/trace_file_reader.h"

static void count_left_out(struct replay_scan *scan, const struct trace_file_record *record) {
    char name[TRACE_FILE_WORD_CHARS];
    string_show(record->arguments[0].text, name, sizeof(name));
    for (unsigned i = 0; i < REPLAY_LEFT_OUT_MAX; i++) {
        struct replay_left_out *l = &scan->left_out[i];
        if (!l->count) snprintf(l->name, sizeof(l->name), "%s", name);
        if (strcmp(l->name, name) != 0) continue;
        l->count++;
        return;
    }
}

static void note_record(struct replay_scan *scan, const struct trace_file_record *record) {
    const struct replay_command *command;
    enum replay_verdict verdict = replay_request_judge(record, &command);
    if (!scan->records++) scan->database = record->database;
    if (record->database > scan->database_most) scan->database_most = record->database;
    scan->has_databases |= record->database != scan->database;
    scan->verdicts[verdict]++;
    if (verdict != REPLAY_SENDS) {
        count_left_out(scan, record);
        return;
    }
    if (scan->verdicts[verdict] == 1) scan->first_usec = scan->last_usec = record->wall_usec;
    if (record->wall_usec > scan->last_usec) scan->last_usec = record->wall_usec;
}

bool replay_scan_file(const char *path, struct replay_scan *scan,
                      char reason[TRACE_FILE_REASON_CHARS]) {
    struct trace_file_record record;
    enum trace_file_status status;
    *scan = (struct replay_scan){0};
    struct trace_file_reader *reader = trace_file_open(path, reason);
    if (!reader) return false;
    scan->head = *trace_file_head(reader);
    while ((status = trace_file_next(reader, &record)) == TRACE_FILE_HAS_RECORD)
        note_record(scan, &record);
    scan->is_cut = status == TRACE_FILE_IS_CUT;
    if (status == TRACE_FILE_IS_WHOLE) scan->end = *trace_file_end(reader);
    bool good = status != TRACE_FILE_IS_BAD && scan->verdicts[REPLAY_SENDS];
    if (status == TRACE_FILE_IS_BAD) {
        snprintf(reason, TRACE_FILE_REASON_CHARS, "%s", trace_file_read_error(reader));
    } else if (!good) {
        snprintf(reason, TRACE_FILE_REASON_CHARS,
                 scan->records ? "the trace has no request that can be replayed"
                               : "the trace has no requests");
    }
    trace_file_close(reader);
    return good;
}
