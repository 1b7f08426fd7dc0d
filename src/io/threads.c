/* SPDX-License-Identifier: BSD-3-Clause
 * What configurations and tools know of I/O threads before they are built (option/missing.h).
 */
#include "io/threads.h"

#include "metric/row.h"
#include "option/missing.h"

static int64_t threads;
static bool do_reads;

static const struct option_row option_rows[] = {
    {MISSING("io-threads", NULL, OPTION_TYPE_INT, &threads, "1", 0, "threads", 10,
             "I/O threads are not built yet",
             "Threads that read, parse and write; 1 = the main thread."),
     .low = 1, .high = 128},
    MISSING_BOOL("io-threads-do-reads", NULL, &do_reads, "no", 0, "threads", 20, NULL,
                 "I/O threads read and parse too, and not only write."),
};

static const struct metric_row metric_rows[] = {
    METRIC_NOTHING("Server", 240, "io_threads_active"),
    METRIC_NOTHING("Stats", 370, "io_threaded_reads_processed"),
    METRIC_NOTHING("Stats", 380, "io_threaded_writes_processed"),
};

void threads_register(void) {
    option_register(option_rows, sizeof(option_rows) / sizeof(option_rows[0]));
    metric_register(metric_rows, sizeof(metric_rows) / sizeof(metric_rows[0]));
}
