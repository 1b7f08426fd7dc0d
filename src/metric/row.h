/* SPDX-License-Identifier: BSD-3-Clause
 * Short forms of INFO's rows: section, place, name, value, help.
 */
#ifndef EVENKEEL_METRIC_ROW_H
#define EVENKEEL_METRIC_ROW_H
#include "metric/metric.h"

#define METRIC_NUMBER(s, p, n, var, h)                                                      \
    {                                                                                       \
        .section = (s), .place = (p), .name = (n), .type = METRIC_INT64, .variable = (var), \
        .help = (h)                                                                         \
    }
#define METRIC_TEXT(s, p, n, var, h)                                                          \
    {                                                                                         \
        .section = (s), .place = (p), .name = (n), .type = METRIC_STRING, .variable = &(var), \
        .help = (h)                                                                           \
    }
#define METRIC_PRINT(s, p, n, fn, h)                                                       \
    {                                                                                      \
        .section = (s), .place = (p), .name = (n), .type = METRIC_FUNCTION, .print = (fn), \
        .help = (h)                                                                        \
    }
/* One of several rows that `fn` prints; it finds `ctx` in the row. */
#define METRIC_PRINT_OF(s, p, n, fn, ctx, h)                                               \
    {                                                                                      \
        .section = (s), .place = (p), .name = (n), .type = METRIC_FUNCTION, .print = (fn), \
        .context = (ctx), .help = (h)                                                      \
    }
/* A number of a feature that is not built: 0. */
#define METRIC_NOTHING(s, p, n) METRIC_NUMBER(s, p, n, &metric_zero, "Always 0: not built yet.")
#endif
