/* SPDX-License-Identifier: BSD-3-Clause
 * The directive of Sentinel, which a server refuses, as 6.2 does.
 */
#include "sentinel/options.h"

#include <stdio.h>

#include "option/missing.h"

static bool directive_refuse(const struct option_row *row, const struct slice *words, size_t count,
                             char *reason, size_t reason_size) {
    if (count > 0) snprintf(reason, reason_size, "%s", row->refusal);
    return false;
}

static const struct option_row option_rows[] = {
    {MISSING("sentinel", NULL, OPTION_TYPE_CUSTOM, NULL, NULL,
             OPTION_FILE_ONLY | OPTION_MULTI | OPTION_HIDDEN, "sentinel", 10,
             "sentinel directive while not in sentinel mode", "A directive of Sentinel."),
     .parse = directive_refuse},
};

void sentinel_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
