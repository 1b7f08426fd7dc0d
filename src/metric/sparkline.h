/* SPDX-License-Identifier: BSD-3-Clause
 * A bar chart of characters, as LATENCY GRAPH shows it.
 */
#ifndef EVENKEEL_METRIC_SPARKLINE_H
#define EVENKEEL_METRIC_SPARKLINE_H
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

#define SPARKLINE_LABEL_CHARS 24
/* More columns make several charts, one below the other. */
#define SPARKLINE_WIDTH 80

struct sparkline_column {
    int64_t value;
    char label[SPARKLINE_LABEL_CHARS]; /* printed downwards below the column; may be "" */
};

/* Appends charts of all columns, each four lines high, with an empty line and the labels below. The
 * heights go from the least to the largest of the values, which all charts share. */
void sparkline_append(struct buffer *out, const struct sparkline_column *columns, size_t count);
#endif
