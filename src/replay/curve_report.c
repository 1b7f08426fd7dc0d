/* SPDX-License-Identifier: BSD-3-Clause
 * The curves as text.
 */
#include "replay/curve_report.h"

#include <inttypes.h>
#include <math.h>

#include "base/number.h"

/* 1,023 petabytes; more would be printed as a bare number. */
#define SIZE_SHOWN_MAX (UINT64_C(1023) << 50)

void curve_report_size(double bytes, char out[CURVE_TEXT_CHARS]) {
    uint64_t whole = bytes < 0 ? 0 : bytes > SIZE_SHOWN_MAX ? SIZE_SHOWN_MAX : (uint64_t)bytes;
    number_format_bytes_human(out, CURVE_TEXT_CHARS, whole);
}

void curve_report_share(double share, char out[CURVE_TEXT_CHARS]) {
    if (isnan(share)) {
        snprintf(out, CURVE_TEXT_CHARS, "-");
    } else {
        snprintf(out, CURVE_TEXT_CHARS, "%.2f", 100 * share);
    }
}

static void append_server_notes(const struct curve_report *r, struct buffer *out) {
    const struct curve_result *result = r->result;
    int64_t all = result->traced_hits + result->traced_misses;
    char size[CURVE_TEXT_CHARS];
    if (all)
        buffer_printf(out, "In the trace %.2f %% of %" PRId64 " reads were hits",
                      100.0 * (double)result->traced_hits / (double)all, all);
    if (all && r->head->maxmemory > 0) {
        curve_report_size((double)r->head->maxmemory, size);
        buffer_printf(out, ", with maxmemory %s, %s", size, r->head->policy);
    }
    if (all) buffer_append_c_string(out, ".\n");
    if (r->head->overhead_bytes < 0) return;
    curve_report_size((double)r->head->overhead_bytes, size);
    buffer_printf(
        out,
        "Sizes are of keys and values; maxmemory needs the server's own memory on top: it "
        "took %s with %" PRId64 " keys.\n",
        size, r->head->keys < 0 ? 0 : r->head->keys);
}

void curve_report_notes(const struct curve_report *r, struct buffer *out) {
    const struct curve_result *result = r->result;
    double all = result->reads + result->first_reads;
    char size[CURVE_TEXT_CHARS];
    curve_report_size(result->peak_bytes, size);
    buffer_printf(out,
                  "%s: %" PRId64 " requests of one key in %" PRId64 ", of %s; %" PRIu64
                  " keys, all together %s.\n",
                  r->path, r->records, r->head->sample, r->head->server, result->keys, size);
    if (r->is_cut)
        buffer_append_c_string(out, "The trace is cut: what was recorded last is missing.\n");
    if (r->missing)
        buffer_printf(out, "%" PRId64 " requests are missing in the trace.\n", r->missing);
    append_server_notes(r, out);
    if (result->first_reads > 0)
        buffer_printf(
            out,
            "%.2f %% of the reads were the first of a key that was there before, and count "
            "neither as hit nor as miss.\n",
            100 * result->first_reads / all);
    if (result->kept_share < 1)
        buffer_printf(out, "One in %.0f of the trace's keys is simulated (--keys).\n",
                      1 / result->kept_share);
    if (result->unknown)
        buffer_printf(out, "%" PRId64 " requests are of commands that are not simulated.\n",
                      result->unknown);
}

void curve_report_table(const struct curve_report *r, struct buffer *out) {
    char text[CURVE_TEXT_CHARS];
    curve_report_notes(r, out);
    buffer_append_c_string(
        out,
        "\nhit %        exact  allkeys  allkeys  allkeys volatile volatile volatile volatile       "
        "no\n"
        "     size      lru      lru      lfu   random      lru      lfu   random      ttl "
        "eviction\n");
    for (unsigned i = 0; i < r->result->point_count; i++) {
        const struct curve_point *point = &r->result->points[i];
        curve_report_size(point->bytes, text);
        buffer_printf(out, "%9s", i + 1 < r->result->point_count ? text : "all keys");
        curve_report_share(point->exact_lru_share, text);
        buffer_printf(out, "%9s", text);
        for (unsigned p = 0; p < CURVE_POLICIES; p++) {
            curve_report_share(point->hit_share[p], text);
            buffer_printf(out, "%9s", text);
        }
        buffer_append_char(out, '\n');
    }
}

static void append_csv_line(struct buffer *out, const char *policy, double bytes, double share) {
    buffer_printf(out, "%s,%.0f,", policy, bytes);
    if (!isnan(share)) buffer_printf(out, "%.6f", share);
    buffer_append_char(out, '\n');
}

void curve_report_csv(const struct curve_report *r, struct buffer *out) {
    buffer_append_c_string(out, "policy,size_bytes,hit_ratio\n");
    for (unsigned i = 0; i < r->result->point_count; i++) {
        const struct curve_point *point = &r->result->points[i];
        append_csv_line(out, "exact-lru", point->bytes, point->exact_lru_share);
        for (unsigned p = 0; p < CURVE_POLICIES; p++)
            append_csv_line(out, curve_policy_name((enum curve_policy)p), point->bytes,
                            point->hit_share[p]);
    }
}
