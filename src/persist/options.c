/* SPDX-License-Identifier: BSD-3-Clause
 * What configurations and tools know of what snapshots do not do yet: options are kept or refused
 * (option/missing.h), and the fields of INFO say what is true without it.
 */
#include "persist/options.h"

#include "metric/row.h"
#include "option/missing.h"

/* ---- options ---- */

static struct { int sanitize; } rdb;
static const struct option_name sanitize_names[] = {
    {"no", 0}, {"yes", 1}, {"clients", 2}, {NULL, 0}};

static const struct option_row option_rows[] = {
    MISSING_ENUM(
        "sanitize-dump-payload", &rdb.sanitize, "no", sanitize_names, OPTION_MUTABLE, "snapshots",
        50, NULL,
        "Check all of a snapshot's or RESTORE's encoded values before use; clients: only those "
        "that clients send."),
};

/* ---- INFO ---- */

static const struct metric_row metric_rows[] = {
    METRIC_NOTHING("Stats", 340, "dump_payload_sanitizations"),
};

void persist_options_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
