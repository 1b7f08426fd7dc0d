/* SPDX-License-Identifier: BSD-3-Clause
 * Table and JSON of a replay.
 */
#include "replay/replay_report.h"

#include <inttypes.h>

#define USEC_A_MSEC 1000.0

static const char *const left_out_reasons[REPLAY_VERDICTS] = {
    [REPLAY_UNKNOWN] = "commands that are never replayed",
    [REPLAY_NO_VALUES] = "arguments that cannot be made up",
    [REPLAY_TOO_LARGE] = "larger than 16 MB",
};
static const char *const left_out_names[REPLAY_VERDICTS] = {[REPLAY_UNKNOWN] = "unknown",
                                                            [REPLAY_NO_VALUES] = "no_values",
                                                            [REPLAY_TOO_LARGE] = "too_large"};
static const struct {
    const char *name;
    double share;
} percentiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};
#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

/* What is to be known of a trace before its figures are believed: where it comes from, whether it
 * is cut, what is missing. */
static void append_trace_notes(const char *path, const struct replay_scan *scan,
                               struct buffer *out) {
    buffer_printf(out, "%s: %" PRId64 " requests of one key in %" PRId64, path, scan->records,
                  scan->head.sample);
    if (scan->verdicts[REPLAY_SENDS])
        buffer_printf(out, ", %.1f s", (double)(scan->last_usec - scan->first_usec) / 1e6);
    buffer_printf(out, ", of %s%s\n", scan->head.server, scan->head.hashed ? ", keys hashed" : "");
    if (scan->is_cut) {
        buffer_append_c_string(out, "The trace is cut: what was recorded last is missing.\n");
        return;
    }
    if (scan->end.ending == TRACE_FILE_SERVER_LOST)
        buffer_append_c_string(out, "The recording ended when the server was lost.\n");
    if (scan->end.ending == TRACE_FILE_DISK_FULL)
        buffer_append_c_string(out, "The recording ended when the disk was full.\n");
    if (scan->end.missing)
        buffer_printf(out, "%" PRId64 " requests are missing in the trace.\n", scan->end.missing);
}

static void append_left_out(const struct replay_scan *scan, struct buffer *out) {
    for (unsigned v = 0; v < REPLAY_VERDICTS; v++)
        if (v != REPLAY_SENDS && scan->verdicts[v])
            buffer_printf(out, "left out    %" PRId64 ": %s\n", scan->verdicts[v],
                          left_out_reasons[v]);
    if (!scan->left_out[0].count) return;
    buffer_append_c_string(out, "            ");
    for (unsigned i = 0; i < REPLAY_LEFT_OUT_MAX && scan->left_out[i].count; i++)
        buffer_printf(out, "%s%s %" PRId64, i ? ", " : "", scan->left_out[i].name,
                      scan->left_out[i].count);
    buffer_append_char(out, '\n');
}

static void append_latency(const struct replay_report *r, struct buffer *out) {
    const struct load_latency *l = &r->result->latency;
    buffer_append_c_string(out, "latency    ");
    for (size_t i = 0; i < PERCENTILES; i++)
        buffer_printf(out, " %s %.3f ms ", percentiles[i].name,
                      (double)load_latency_usec_at(l, percentiles[i].share) / USEC_A_MSEC);
    buffer_printf(out, " max %.3f ms%s\n", (double)l->most_usec / USEC_A_MSEC,
                  r->settings->pace > 0 ? ", from the due time" : ", from the sending");
}

static void append_lateness(const struct replay_report *r, struct buffer *out) {
    const struct load_late_figures *late = &r->result->late;
    if (r->settings->pace <= 0) return;
    buffer_printf(out,
                  "late        %" PRIu64 " of %" PRIu64
                  " requests were sent more than 5 ms after they were due, at most %.1f ms%s\n",
                  late->late, late->handled, (double)late->most_nsec / 1e6,
                  late->late * 100 > late->handled ? ": this machine did not keep up" : "");
}

static void append_hits(const struct replay_report *r, struct buffer *out) {
    const struct replay_result *result = r->result;
    uint64_t all = result->hits + result->misses;
    if (all)
        buffer_printf(out, "hits        %.2f %% of %" PRIu64 " reads whose answer tells\n",
                      100.0 * (double)result->hits / (double)all, all);
    if (result->first_seen)
        buffer_printf(out,
                      "            %" PRIu64
                      " more were the first of a key that was there before: "
                      "neither (--preload)\n",
                      result->first_seen);
    if (result->fills)
        buffer_printf(out, "filled      %" PRIu64 " keys after a miss\n", result->fills);
    int64_t looks = r->counts.hits + r->counts.misses;
    if (r->counts.hits >= 0 && r->counts.misses >= 0 && looks > 0)
        buffer_printf(out,
                      "server      %" PRId64 " hits, %" PRId64 " misses (%.2f %%), %" PRId64
                      " evicted, %" PRId64 " expired, of all its clients\n",
                      r->counts.hits, r->counts.misses,
                      100.0 * (double)r->counts.hits / (double)looks, r->counts.evicted,
                      r->counts.expired);
}

/* What the tool did not do because it would have taken too much memory. */
static void append_memory_notes(const struct replay_report *r, struct buffer *out) {
    const struct replay_result *result = r->result;
    uint64_t shrunk = result->shrunk + r->preloaded.shrunk;
    if (result->over_memory)
        buffer_printf(out, "left out    %" PRIu64 ": too much was under way (--memory)\n",
                      result->over_memory);
    if (result->unfilled)
        buffer_printf(out, "not filled  %" PRIu64 " keys: too much was under way (--memory)\n",
                      result->unfilled);
    if (shrunk)
        buffer_printf(
            out, "shrunk      %" PRIu64 " keys, which were recorded with more, to 16 MB\n", shrunk);
}

void replay_report_table(const struct replay_report *r, struct buffer *out) {
    const struct replay_result *result = r->result;
    double seconds = result->seconds > 0 ? result->seconds : 1;
    append_trace_notes(r->settings->path, r->settings->scan, out);
    if (r->settings->preloads)
        buffer_printf(out, "preloaded   %" PRIu64 " keys\n", r->preloaded.keys);
    buffer_printf(out, "answered    %" PRIu64 " requests in %.1f s, %.0f/s\n", result->answered,
                  result->seconds, (double)result->answered / seconds);
    append_latency(r, out);
    append_lateness(r, out);
    append_hits(r, out);
    if (result->errors) buffer_printf(out, "errors      %" PRIu64 "\n", result->errors);
    for (unsigned i = 0; i < REPLAY_ERROR_KINDS_MAX; i++)
        if (result->error_kinds[i].count)
            buffer_printf(out, "            %" PRIu64 ": %s\n", result->error_kinds[i].count,
                          result->error_kinds[i].text);
    if (result->lost)
        buffer_printf(out, "lost        %" PRIu64 ": the connection ended first\n", result->lost);
    if (result->unanswered)
        buffer_printf(out, "unanswered  %" PRIu64 " at the end\n", result->unanswered);
    append_memory_notes(r, out);
    append_left_out(r->settings->scan, out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void append_json_text(struct buffer *out, const char *text) {
    buffer_append_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') buffer_append_char(out, '\\');
        buffer_append_char(out, (unsigned char)*text < ' ' ? '.' : *text);
    }
    buffer_append_char(out, '"');
}

void replay_report_json(const struct replay_report *r, struct buffer *out) {
    const struct replay_result *result = r->result;
    const struct replay_scan *scan = r->settings->scan;
    buffer_append_c_string(out, "{\"trace\":");
    append_json_text(out, r->settings->path);
    buffer_printf(
        out,
        ",\"records\":%" PRId64 ",\"sample\":%" PRId64 ",\"cut\":%s,\"missing\":%" PRId64
        ",\"pace\":%g,\"preloaded\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"seconds\":%.3f",
        scan->records, scan->head.sample, scan->is_cut ? "true" : "false", scan->end.missing,
        r->settings->pace, r->preloaded.keys, result->answered, result->seconds);
    buffer_append_c_string(out, ",\"latency_usec\":{");
    for (size_t i = 0; i < PERCENTILES; i++)
        buffer_printf(out, "\"%s\":%" PRIu64 ",", percentiles[i].name,
                      load_latency_usec_at(&result->latency, percentiles[i].share));
    buffer_printf(out, "\"max\":%" PRIu64 "}", result->latency.most_usec);
    if (r->settings->pace > 0)
        buffer_printf(
            out, ",\"late\":{\"sent\":%" PRIu64 ",\"late\":%" PRIu64 ",\"max_usec\":%" PRId64 "}",
            result->late.handled, result->late.late, result->late.most_nsec / 1000);
    buffer_printf(out,
                  ",\"hits\":%" PRIu64 ",\"misses\":%" PRIu64 ",\"first_seen\":%" PRIu64
                  ",\"fills\":%" PRIu64,
                  result->hits, result->misses, result->first_seen, result->fills);
    if (r->counts.hits >= 0)
        buffer_printf(out,
                      ",\"server\":{\"hits\":%" PRId64 ",\"misses\":%" PRId64
                      ",\"evicted\":%" PRId64 ",\"expired\":%" PRId64 "}",
                      r->counts.hits, r->counts.misses, r->counts.evicted, r->counts.expired);
    buffer_printf(out,
                  ",\"over_memory\":%" PRIu64 ",\"unfilled\":%" PRIu64 ",\"shrunk\":%" PRIu64
                  ",\"errors\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"unanswered\":%" PRIu64
                  ",\"error_kinds\":[",
                  result->over_memory, result->unfilled, result->shrunk + r->preloaded.shrunk,
                  result->errors, result->lost, result->unanswered);
    for (unsigned i = 0; i < REPLAY_ERROR_KINDS_MAX && result->error_kinds[i].count; i++) {
        buffer_append_c_string(out, i ? ",{\"text\":" : "{\"text\":");
        append_json_text(out, result->error_kinds[i].text);
        buffer_printf(out, ",\"count\":%" PRIu64 "}", result->error_kinds[i].count);
    }
    buffer_append_c_string(out, "],\"left_out\":{");
    const char *comma = "";
    for (unsigned v = 0; v < REPLAY_VERDICTS; v++) {
        if (v == REPLAY_SENDS) continue;
        buffer_printf(out, "%s\"%s\":%" PRId64, comma, left_out_names[v], scan->verdicts[v]);
        comma = ",";
    }
    buffer_append_c_string(out, "}}\n");
}
