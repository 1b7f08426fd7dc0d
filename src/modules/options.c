/* SPDX-License-Identifier: BSD-3-Clause
 * Options and INFO fields of modules, which are not built yet (option/missing.h).
 */
#include "modules/options.h"

#include <stdio.h>

#include "metric/row.h"
#include "option/missing.h"

static bool directive_refuse(const struct option_row *row, const struct slice *words, size_t count,
                             char *reason, size_t reason_size) {
    if (count > 0) snprintf(reason, reason_size, "%s", row->refusal);
    return false;
}

static const struct option_row option_rows[] = {
    {MISSING("loadmodule", NULL, OPTION_TYPE_CUSTOM, NULL, NULL, OPTION_FILE_ONLY | OPTION_MULTI,
             "modules", 10, "modules are not built yet",
             "The path of a module, and its arguments."),
     .parse = directive_refuse},
};

static const struct metric_row metric_rows[] = {
    METRIC_NOTHING("Persistence", 220, "module_fork_in_progress"),
    METRIC_NOTHING("Persistence", 230, "module_fork_last_cow_size"),
};

void modules_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
