/* SPDX-License-Identifier: BSD-3-Clause
 * Lines of reports.
 */
#include "process/report_line.h"

#include <stdio.h>

void report_line_write(void (*write)(const char *text), const char *format, va_list arguments) {
    char text[REPORT_LINE_BYTES_MAX];
    size_t most = sizeof(text) - 2; /* without the line end and the NUL */
    int length = vsnprintf(text, most + 1, format, arguments);
    if (length < 0) return;
    size_t end = (size_t)length < most ? (size_t)length : most;
    text[end] = '\n';
    text[end + 1] = 0;
    write(text);
}
