/* SPDX-License-Identifier: BSD-3-Clause
 * A line of a report that is made in a signal handler or in a broken process.
 */
#ifndef EVENKEEL_PROCESS_REPORT_LINE_H
#define EVENKEEL_PROCESS_REPORT_LINE_H
#include <stdarg.h>

#define REPORT_LINE_BYTES_MAX 512

/* Formats the arguments as vprintf does and hands the text with its line end to `write`. A line
 * above REPORT_LINE_BYTES_MAX is cut. Allocates nothing. */
void report_line_write(void (*write)(const char *text), const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
#endif
