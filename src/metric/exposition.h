/* SPDX-License-Identifier: BSD-3-Clause
 * The metric rows as text that Prometheus reads: exposition format 0.0.4.
 *
 * A page is made in steps, so that its maker decides how long each step lasts. What is consistent:
 * a family's heading, one row's value, and one sample of a family (a whole histogram with its sum
 * and count) are of one moment. A page that is made in one step is of one moment as a whole. If
 * rows are registered or reset between two steps, the page begins anew, so no family comes twice.
 */
#ifndef EVENKEEL_METRIC_EXPOSITION_H
#define EVENKEEL_METRIC_EXPOSITION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "metric/metric.h"

#define EXPOSITION_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* A page in the making. Zeroed before the first step. */
struct exposition {
    bool begun;
    uint64_t generation;
    size_t section, row, family, sample;
    bool headed; /* HELP and TYPE of the present family are written */
};

/* Appends to the page until it is complete, which returns true, or until `until_nsec`
 * (clock_monotonic_nsec) has passed; at least one row or sample is appended. `page` holds what
 * earlier steps have made, and nothing else. */
MUST_USE bool exposition_step(struct exposition *e, struct buffer *page, int64_t until_nsec);
/* The name under which a row or family of this name and measure is scraped:
 * "evenkeel_eviction_cpu_seconds_total" for "eviction_cpu_usec_total". */
FOR_TESTS void exposition_append_name(struct buffer *out, const char *name,
                                      enum metric_measure measure);
/* The reference page in Markdown: every scraped metric, its kind, and where INFO has it. */
void exposition_write_reference(struct buffer *out);
#endif
