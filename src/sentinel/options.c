/* SPDX-License-Identifier: BSD-3-Clause
 * The directive of Sentinel, which a server refuses, as 6.2 does.
 */
#include "sentinel/options.h"

#include <stdio.h>

#include "option/option.h"

static bool directive_refuse(const struct option_row *row, const struct slice *words, size_t count,
                             char *reason, size_t reason_size) {
    if (count > 0) snprintf(reason, reason_size, "sentinel directive while not in sentinel mode");
    return false;
}

static const struct option_row option_rows[] = {
    {.name = "sentinel",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_FILE_ONLY | OPTION_MULTI | OPTION_HIDDEN,
     .section = "sentinel",
     .place = 10,
     .parse = directive_refuse,
     .help = "Directives of a Sentinel, which a server refuses; docs/sentinel-options.md has "
             "them."},
};

void sentinel_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
}
