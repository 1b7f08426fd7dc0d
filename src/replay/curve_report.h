/* SPDX-License-Identifier: BSD-3-Clause
 * Curves as a table and as CSV.
 */
#ifndef EVENKEEL_REPLAY_CURVE_REPORT_H
#define EVENKEEL_REPLAY_CURVE_REPORT_H
#include "base/string.h"
#include "replay/curve_model.h"

struct curve_report {
    const char *path;
    const struct trace_file_head *head;
    const struct curve_result *result;
    bool is_cut;
    int64_t records, missing;
};

/* Sizes and shares as texts, cut to CURVE_TEXT_CHARS: "1.41M"; "91.20", "-" where it is unknown. */
#define CURVE_TEXT_CHARS 32
void curve_report_size(double bytes, char out[CURVE_TEXT_CHARS]);
void curve_report_share(double share, char out[CURVE_TEXT_CHARS]);
/* Appends what is to be known before the figures are believed, as sentences, each in a line. */
void curve_report_notes(const struct curve_report *r, struct buffer *out);
void curve_report_table(const struct curve_report *r, struct buffer *out);
void curve_report_csv(const struct curve_report *r, struct buffer *out);
#endif
