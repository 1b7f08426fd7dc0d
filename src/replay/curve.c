/* SPDX-License-Identifier: BSD-3-Clause
 * One pass over the file, then table, CSV and page.
 */
#include "replay/curve.h"

#include <errno.h>
#include <fcntl.h>

#include "base/memory.h"
#include "base/system.h"
#include "io/file.h"
#include "replay/curve_options.h"
#include "replay/curve_page.h"
#include "replay/curve_report.h"
#include "trace_file/trace_file_reader.h"

#define FILE_MODE 0644

static struct curve_options options;
static struct curve_result result;
static char failure[TOOL_REASON_CHARS];

static int complain_of_curve(int status) {
    fprintf(stderr, "redis-lab curve: %s\n", failure);
    return status;
}

static bool write_file(const char *path, const struct buffer *text) {
    int fd = system_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    bool good = fd >= 0 && file_write(fd, buffer_slice(text), NULL);
    if (!good) snprintf(failure, sizeof(failure), "%.200s: %s", path, strerror(errno));
    if (fd >= 0) system_close(fd);
    return good;
}

static bool write_reports(const struct curve_report *report) {
    struct buffer text = {.class = MEMORY_OTHER};
    bool good = true;
    curve_report_table(report, &text);
    if (fwrite(text.bytes, 1, text.length, stdout) != text.length || fflush(stdout)) {
        snprintf(failure, sizeof(failure), "standard output: %s", strerror(errno));
        good = false;
    }
    if (options.csv) {
        buffer_clear(&text);
        curve_report_csv(report, &text);
        good = write_file(options.csv, &text) && good;
    }
    if (options.html) {
        buffer_clear(&text);
        curve_page_write(report, &text);
        good = write_file(options.html, &text) && good;
    }
    buffer_free(&text);
    return good;
}

/* Reads the whole trace into the model, and reports. Returns an exit status. */
static int compute_curves(struct trace_file_reader *reader) {
    const struct trace_file_head *head = trace_file_head(reader);
    const struct curve_settings settings = {
        .sample = head->sample,
        .keys_max = (uint32_t)options.keys,
        .samples = (unsigned)options.samples,
        .server_evicts = head->maxmemory != 0 && strcmp(head->policy, "noeviction") != 0,
        .sizes = options.sizes,
        .size_count = options.size_count};
    struct curve_report report = {.path = options.file, .head = head, .result = &result};
    struct trace_file_record record;
    enum trace_file_status status;
    struct curve_model *model = curve_model_create(&settings);
    for (; (status = trace_file_next(reader, &record)) == TRACE_FILE_HAS_RECORD; report.records++)
        curve_model_take(model, &record);
    curve_model_finish(model, &result);
    curve_model_free(model);
    report.is_cut = status == TRACE_FILE_IS_CUT;
    if (status == TRACE_FILE_IS_WHOLE) report.missing = trace_file_end(reader)->missing;
    if (status == TRACE_FILE_IS_BAD) {
        snprintf(failure, sizeof(failure), "%s", trace_file_read_error(reader));
    } else if (result.reads <= 0) {
        snprintf(failure, sizeof(failure),
                 "the trace has no reads of which a hit ratio can be told");
    } else if (write_reports(&report)) {
        return CURVE_EXIT_GOOD;
    }
    return complain_of_curve(CURVE_EXIT_FAILED);
}

int curve_run(int count, char **words) {
    char why[TRACE_FILE_REASON_CHARS], reason[TOOL_REASON_CHARS];
    if (!curve_options_read(&options, count, words, reason)) {
        snprintf(failure, sizeof(failure), "%.400s (--help lists the options)", reason);
        return complain_of_curve(CURVE_EXIT_USAGE);
    }
    if (options.help) {
        tool_options_print_help(&curve_tool_options, stdout);
        return fflush(stdout) != 0;
    }
    struct trace_file_reader *reader = trace_file_open(options.file, why);
    if (!reader) {
        snprintf(failure, sizeof(failure), "%s", why);
        return complain_of_curve(CURVE_EXIT_FAILED);
    }
    int status = compute_curves(reader);
    trace_file_close(reader);
    return status;
}
