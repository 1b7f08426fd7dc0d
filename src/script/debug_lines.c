/* SPDX-License-Identifier: BSD-3-Clause
 * Lines of a debugging session. They are sent as an array, whose count comes before its first
 * element, so they are kept until the whole array is sent.
 */
#include "script/debug_lines.h"

#define CUT_MARK " ..."

void debug_lines_init(struct debug_lines *lines) {
    *lines = (struct debug_lines){.cut_to = DEBUG_LINE_BYTES, .hint_is_needed = true};
    buffer_init(&lines->text, MEMORY_OTHER);
    buffer_init(&lines->line, MEMORY_OTHER);
}

void debug_lines_free(struct debug_lines *lines) {
    buffer_free(&lines->text);
    buffer_free(&lines->line);
}

size_t debug_lines_most(const struct debug_lines *lines) {
    return lines->cut_to ? lines->cut_to : DEBUG_LINE_BYTES_MAX;
}

struct buffer *debug_line_begin(struct debug_lines *lines) {
    buffer_clear(&lines->line);
    return &lines->line;
}

void debug_line_add(struct debug_lines *lines, struct slice text) {
    size_t length = lines->line.length;
    size_t room = length < DEBUG_LINE_BYTES_MAX ? DEBUG_LINE_BYTES_MAX + 1 - length : 0;
    buffer_append(&lines->line, text.bytes, text.length < room ? text.length : room);
}

/* Returns true if the line was longer. */
static bool cut_line(struct buffer *line, size_t most) {
    if (line->length <= most) return false;
    line->length = most;
    buffer_append_c_string(line, CUT_MARK);
    return true;
}

/* A line is sent as a status, so characters that would end the status become blanks. */
static void add_line(struct debug_lines *lines) {
    struct buffer *line = &lines->line;
    for (size_t i = 0; i < line->length; i++)
        if (line->bytes[i] == '\r' || line->bytes[i] == '\n') line->bytes[i] = ' ';
    buffer_append_char(&lines->text, '+');
    if (line->length) buffer_append(&lines->text, line->bytes, line->length);
    buffer_append(&lines->text, "\r\n", 2);
    lines->count++;
}

void debug_line_end(struct debug_lines *lines) {
    cut_line(&lines->line, DEBUG_LINE_BYTES_MAX);
    add_line(lines);
}

void debug_line_end_cut(struct debug_lines *lines) {
    bool is_cut = cut_line(&lines->line, debug_lines_most(lines));
    add_line(lines);
    if (!is_cut || !lines->hint_is_needed) return;
    lines->hint_is_needed = false;
    debug_line(lines, "<hint> The line above was cut. 'maxlen 0' shows such lines whole.");
}

void debug_line(struct debug_lines *lines, const char *format, ...) {
    va_list arguments;
    struct buffer *line = debug_line_begin(lines);
    va_start(arguments, format);
    buffer_vprintf(line, format, arguments);
    va_end(arguments);
    debug_line_end(lines);
}

bool debug_lines_take(struct debug_lines *lines) {
    if (lines->text.length < DEBUG_LINES_BYTES_MAX) return true;
    lines->left_out++;
    return false;
}

void debug_lines_finish(struct debug_lines *lines, struct buffer *out) {
    if (lines->left_out) debug_line(lines, "<hint> %zu more lines were left out.", lines->left_out);
    buffer_printf(out, "*%zu\r\n", lines->count);
    if (lines->text.length) buffer_append(out, lines->text.bytes, lines->text.length);
    buffer_free(&lines->text);
    lines->count = lines->left_out = 0;
}
