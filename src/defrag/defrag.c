/* SPDX-License-Identifier: BSD-3-Clause
 * The options and INFO fields of active defragmentation, which is not built yet (option/missing.h).
 */
#include "store/defrag.h"

#include "metric/row.h"
#include "option/missing.h"

static struct {
    bool enabled;
    int64_t cycle_min, cycle_max, threshold_low, threshold_high, ignore_bytes, scan_fields;
} defrag;

static const struct option_row option_rows[] = {
    MISSING_BOOL(
        "activedefrag", NULL, &defrag.enabled, "no", OPTION_MUTABLE, "defragmentation", 10,
        "Active defragmentation cannot be enabled: it requires a Redis server compiled with a "
        "modified Jemalloc like the one shipped by default with the Redis source distribution",
        "Move values together while the server runs, so that the allocator can give memory back."),
    MISSING_BYTES("active-defrag-ignore-bytes", &defrag.ignore_bytes, "100mb", 1, OPTION_MUTABLE,
                  "defragmentation", 20,
                  "Bytes lost to fragmentation below which nothing is done."),
    MISSING_INT("active-defrag-threshold-lower", NULL, &defrag.threshold_low, "10", 0, 1000,
                OPTION_MUTABLE, "defragmentation", 30,
                "Percent of fragmentation at which the work begins."),
    MISSING_INT("active-defrag-threshold-upper", NULL, &defrag.threshold_high, "100", 0, 1000,
                OPTION_MUTABLE, "defragmentation", 40,
                "Percent of fragmentation at which it takes its largest share."),
    MISSING_INT("active-defrag-cycle-min", NULL, &defrag.cycle_min, "1", 1, 99, OPTION_MUTABLE,
                "defragmentation", 50, "Percent of CPU time at the lower threshold."),
    MISSING_INT("active-defrag-cycle-max", NULL, &defrag.cycle_max, "25", 1, 99, OPTION_MUTABLE,
                "defragmentation", 60, "Percent of CPU time at the upper threshold."),
    MISSING_INT("active-defrag-max-scan-fields", NULL, &defrag.scan_fields, "1000", 1, INT64_MAX,
                OPTION_MUTABLE, "defragmentation", 70,
                "Elements up to which a collection is moved in one go."),
};

static const struct metric_row metric_rows[] = {
    METRIC_NOTHING("Memory", 390, "active_defrag_running"),
    METRIC_NOTHING("Stats", 250, "active_defrag_hits"),
    METRIC_NOTHING("Stats", 260, "active_defrag_misses"),
    METRIC_NOTHING("Stats", 270, "active_defrag_key_hits"),
    METRIC_NOTHING("Stats", 280, "active_defrag_key_misses"),
};

void defrag_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
