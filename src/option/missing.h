/* SPDX-License-Identifier: BSD-3-Clause
 * Rows for options of Redis 6.2 whose features are not built yet, so that its configurations load.
 *
 * Such a row either refuses values that would need its feature, with a sentence that names the
 * missing feature (`why`). Or, where `why` is NULL, it keeps any value, which changes nothing as
 * long as the feature is missing: a time limit of replication, say. CONFIG GET shows every value in
 * 6.2's form. The rows stand in the folder that will own them; with the feature they become rows
 * like any other.
 */
#ifndef EVENKEEL_OPTION_MISSING_H
#define EVENKEEL_OPTION_MISSING_H
#include "option/option.h"

#define MISSING(n, al, ty, var, dflt, fl, sect, pl, why, h)                             \
    .name = (n), .alias = (al), .type = (ty), .variable = (var), .fallback = (dflt),    \
    .flags = (fl) | OPTION_MISSING, .section = (sect), .place = (pl), .refusal = (why), \
    .help = (h)
#define MISSING_BOOL(n, al, var, dflt, fl, sect, pl, why, h) \
    { MISSING(n, al, OPTION_TYPE_BOOL, var, dflt, fl, sect, pl, why, h) }
#endif
