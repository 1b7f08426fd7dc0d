/* SPDX-License-Identifier: BSD-3-Clause
 * Short forms of INFO's rows: section, place, name, measure, value, help.
 */
#ifndef EVENKEEL_METRIC_ROW_H
#define EVENKEEL_METRIC_ROW_H
#include "metric/metric.h"

#define METRIC_NUMBER(s, p, n, m, var, h)                                                \
    {                                                                                    \
        .section = (s), .place = (p), .name = (n), .measure = (m), .type = METRIC_INT64, \
        .variable = (var), .help = (h)                                                   \
    }
#define METRIC_TEXT(s, p, n, m, var, h)                                                   \
    {                                                                                     \
        .section = (s), .place = (p), .name = (n), .measure = (m), .type = METRIC_STRING, \
        .variable = &(var), .help = (h)                                                   \
    }
#define METRIC_PRINT(s, p, n, m, fn, h)                                                     \
    {                                                                                       \
        .section = (s), .place = (p), .name = (n), .measure = (m), .type = METRIC_FUNCTION, \
        .print = (fn), .help = (h)                                                          \
    }
/* One of several rows that `fn` prints; it finds `ctx` in the row. */
#define METRIC_PRINT_OF(s, p, n, m, fn, ctx, h)                                             \
    {                                                                                       \
        .section = (s), .place = (p), .name = (n), .measure = (m), .type = METRIC_FUNCTION, \
        .print = (fn), .context = (ctx), .help = (h)                                        \
    }
/* A number of a feature that is not built: 0. */
#define METRIC_NOTHING(s, p, n) \
    METRIC_NUMBER(s, p, n, METRIC_INFO_ONLY, &metric_zero, "Always 0: not built yet.")
#endif
