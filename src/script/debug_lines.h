/* SPDX-License-Identifier: BSD-3-Clause
 * Lines for the client of a debugging session: gathered while the script runs or a command is
 * answered, sent together as an array of statuses.
 */
#ifndef EVENKEEL_SCRIPT_DEBUG_LINES_H
#define EVENKEEL_SCRIPT_DEBUG_LINES_H
#include <stdbool.h>
#include <stddef.h>

#include "base/string.h"

/* Values and replies are cut to so many bytes, until `maxlen` says otherwise; 6.2's numbers. */
#define DEBUG_LINE_BYTES 256
#define DEBUG_LINE_BYTES_LEAST 60
/* And each line to so many, whatever it shows. */
#define DEBUG_LINE_BYTES_MAX ((size_t)1 << 20)
/* What a script may say between two stops, and what a command may answer; the rest is only
 * counted. */
#define DEBUG_LINES_BYTES_MAX ((size_t)4 << 20)

struct debug_lines {
    struct buffer text;  /* whole lines as they are sent */
    struct buffer line;  /* the one that is being made */
    size_t count;        /* in `text` */
    size_t left_out;     /* by debug_lines_take */
    size_t cut_to;       /* what values and replies are cut to; 0 = DEBUG_LINE_BYTES_MAX */
    bool hint_is_needed; /* the client does not know yet how to set that */
};

void debug_lines_init(struct debug_lines *lines);
void debug_lines_free(struct debug_lines *lines);
/* Bytes that a value or a reply may come to. */
size_t debug_lines_most(const struct debug_lines *lines);

/* A line begins: it is appended to what is returned, and ended by one of the next two. What may be
 * large is appended by debug_line_add, so that no more of it is copied than is shown. */
struct buffer *debug_line_begin(struct debug_lines *lines);
void debug_line_add(struct debug_lines *lines, struct slice text);
void debug_line_end(struct debug_lines *lines);
/* The same for values and replies: cut. */
void debug_line_end_cut(struct debug_lines *lines);
/* A whole line. */
void debug_line(struct debug_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* To be asked before a line that the script has caused, and before one of a number that the client
 * or the script sets: false where there is too much already, and this is counted instead. */
bool debug_lines_take(struct debug_lines *lines);

/* The array, which holds all lines, into `out`; there are none afterwards. */
void debug_lines_finish(struct debug_lines *lines, struct buffer *out);
#endif
