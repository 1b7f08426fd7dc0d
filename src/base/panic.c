/* SPDX-License-Identifier: BSD-3-Clause
 * The end of the process: a line, the hook's report, abort().
 *
 * All of base/ asserts, so this file includes nothing else of it: the log is given to it by
 * panic_set_writer.
 *
 * Invariants:
 * 1. The hook runs at most once in a process. A failure inside it, in the same thread, aborts at
 *    once; a failure in another thread waits for the first one's abort, so that its report is
 *    not cut off.
 * 2. Nothing here allocates: memory may be what failed.
 */
#include "base/panic.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DETAIL_BYTES_MAX 1024
#define LINE_BYTES_MAX (DETAIL_BYTES_MAX + 256) /* with title, file and line */

static void (*line_writer)(const char *line);
static void (*report_hook)(const char *title, const char *detail, const char *file, int line);
static atomic_bool in_progress;
static __thread bool reported_here;

void panic_set_writer(void (*write)(const char *line)) { line_writer = write; }

void panic_set_hook(void (*hook)(const char *title, const char *detail, const char *file,
                                 int line)) {
    report_hook = hook;
}

static void write_line(const char *title, const char *detail, const char *file, int number) {
    char line[LINE_BYTES_MAX];
    snprintf(line, sizeof(line), "%s: %s (%s:%d)", title, detail, file, number);
    if (line_writer)
        line_writer(line);
    else
        dprintf(STDERR_FILENO, "%s\n", line);
}

__attribute__((noreturn, cold)) static void end_process(const char *title, const char *detail,
                                                        const char *file, int line) {
    if (reported_here) abort();
    reported_here = true;
    if (atomic_exchange(&in_progress, true)) {
        for (;;) pause();
    }
    write_line(title, detail, file, line);
    if (report_hook != NULL) report_hook(title, detail, file, line);
    abort();
}

void panic_assert_failed(const char *expression, const char *file, int line) {
    char detail[DETAIL_BYTES_MAX];
    snprintf(detail, sizeof(detail), "%s does not hold", expression);
    end_process("ASSERTION FAILED", detail, file, line);
}

void panic_compare_failed(const char *expression, long long a, long long b, const char *file,
                          int line) {
    char detail[DETAIL_BYTES_MAX];
    snprintf(detail, sizeof(detail), "%s does not hold with %lld and %lld", expression, a, b);
    end_process("ASSERTION FAILED", detail, file, line);
}

void panic(const char *file, int line, const char *format, ...) {
    char detail[DETAIL_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    end_process("Guru Meditation", detail, file, line);
}
