/* SPDX-License-Identifier: BSD-3-Clause
 * Lines for the client of a debugging session. They are gathered while the script runs or a command
 * is answered, and sent together as an array of statuses.
 */
#ifndef EVENKEEL_SCRIPT_DEBUG_LINES_H
#define EVENKEEL_SCRIPT_DEBUG_LINES_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

/* Values and replies are cut to so many bytes unless the command `maxlen` sets another limit, not
 * below the least one; the numbers are 6.2's. */
#define DEBUG_LINE_BYTES 256
#define DEBUG_LINE_BYTES_LEAST 60
/* Every line is cut to so many bytes, whatever it shows. */
#define DEBUG_LINE_BYTES_MAX ((size_t)1 << 20)
/* A script may show so many bytes of lines between two stops, and a command may answer so many;
 * further lines are only counted. */
#define DEBUG_LINES_BYTES_MAX ((size_t)4 << 20)

struct debug_lines {
    struct buffer text;  /* whole lines as they are sent */
    struct buffer line;  /* the one that is being made */
    size_t count;        /* in `text` */
    size_t left_out;     /* lines that debug_lines_take has refused */
    size_t cut_to;       /* bytes of a value or a reply; 0 = DEBUG_LINE_BYTES_MAX */
    bool hint_is_needed; /* the client has not been told of `maxlen` yet */
};

void debug_lines_init(struct debug_lines *lines);
void debug_lines_free(struct debug_lines *lines);
/* The most bytes of a value or a reply. */
size_t debug_lines_most(const struct debug_lines *lines);

/* Begins a line: the caller appends its text to the buffer that is returned, and ends it by
 * debug_line_end or debug_line_end_cut. A text that may be large is appended by debug_line_add, so
 * that only the part that is shown is copied. */
struct buffer *debug_line_begin(struct debug_lines *lines);
void debug_line_add(struct debug_lines *lines, struct slice text);
void debug_line_end(struct debug_lines *lines);
/* Ends a line that shows a value or a reply, and cuts it. */
void debug_line_end_cut(struct debug_lines *lines);
/* Adds a whole line. */
void debug_line(struct debug_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* To be asked before each line that the script causes, and before each of a series whose length the
 * client or the script decides. False, and the line is counted, if there are too many bytes
 * already.
 */
bool debug_lines_take(struct debug_lines *lines);

/* Writes the array of all lines into `out`, and removes the lines. */
void debug_lines_finish(struct debug_lines *lines, struct buffer *out);
#endif
