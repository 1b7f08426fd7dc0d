/* SPDX-License-Identifier: BSD-3-Clause
 * The results of an experiment as texts.
 */
#ifndef EVENKEEL_EXPERIMENT_EXPERIMENT_REPORT_H
#define EVENKEEL_EXPERIMENT_EXPERIMENT_REPORT_H
#include "base/string.h"
#include "experiment/experiment_record.h"

/* Appends the table for the terminal, with the verdict. */
void experiment_report_table(const struct experiment_record *r, struct buffer *out);
/* Appends the verdict: one to four sentences in one line. */
void experiment_report_verdict(const struct experiment_record *r, struct buffer *out);
/* Appends one JSON object in one line, with a line end. */
void experiment_report_json(const struct experiment_record *r, struct buffer *out);
/* Appends a line of names, and a line for each block. */
void experiment_report_csv(const struct experiment_record *r, struct buffer *out);
/* Appends how one arm differs from another: "-42.1% [-50.3%, -31.0%]". */
void experiment_report_change(const struct experiment_record *r, unsigned figure, unsigned from,
                              unsigned to, struct buffer *out);
/* Whether the figure belongs in the table and on the page: the goal, what stands out, and the usual
 * ones that are known. */
bool experiment_report_shows(const struct experiment_record *r, unsigned figure);
#endif
