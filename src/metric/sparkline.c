/* SPDX-License-Identifier: BSD-3-Clause
 * Charts of vertical bars, made of characters.
 *
 * A character cell has three heights, "_", "o" and "#", so that a chart of four lines shows twelve
 * heights. A column has one such cell, with "|" below it and blanks above it. This is the form of
 * 6.2, whose output tests/unit/latency.tcl compares.
 */
#include "metric/sparkline.h"

#define LINES 4
#define CELL_HEIGHTS 3
#define HEIGHTS (LINES * CELL_HEIGHTS)

static const char cell_of_height[CELL_HEIGHTS] = {'_', 'o', '#'};

struct range {
    int64_t low, high;
};

static struct range range_of(const struct sparkline_column *columns, size_t count) {
    struct range r = {columns[0].value, columns[0].value};
    for (size_t i = 1; i < count; i++) {
        if (columns[i].value < r.low) r.low = columns[i].value;
        if (columns[i].value > r.high) r.high = columns[i].value;
    }
    return r;
}

/* Returns the height of a value's bar, 0 to HEIGHTS - 1. */
static int height_of(int64_t value, struct range r) {
    if (r.high == r.low) return 0;
    int height = (int)((double)(value - r.low) * HEIGHTS / (double)(r.high - r.low));
    return height < HEIGHTS ? height : HEIGHTS - 1;
}

/* Returns the character of a column at `line`, counted from the bottom. */
static char cell_at(int height, int line) {
    int top = height / CELL_HEIGHTS;
    if (line > top) return ' ';
    return line < top ? '|' : cell_of_height[height % CELL_HEIGHTS];
}

static void append_labels(struct buffer *out, const struct sparkline_column *columns,
                          size_t count) {
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(columns[i].label);
        if (length > longest) longest = length;
    }
    for (size_t line = 0; line < longest; line++) {
        for (size_t i = 0; i < count; i++) {
            bool ended = strlen(columns[i].label) <= line;
            buffer_append_char(out, ended ? ' ' : columns[i].label[line]);
        }
        buffer_append_char(out, '\n');
    }
}

static void append_chart(struct buffer *out, const struct sparkline_column *columns, size_t count,
                         struct range r) {
    for (int line = LINES - 1; line >= 0; line--) {
        for (size_t i = 0; i < count; i++)
            buffer_append_char(out, cell_at(height_of(columns[i].value, r), line));
        buffer_append_char(out, '\n');
    }
    for (size_t i = 0; i < count; i++) buffer_append_char(out, ' ');
    buffer_append_char(out, '\n');
    append_labels(out, columns, count);
}

void sparkline_append(struct buffer *out, const struct sparkline_column *columns, size_t count) {
    if (!count) return;
    struct range r = range_of(columns, count);
    for (size_t done = 0; done < count; done += SPARKLINE_WIDTH) {
        size_t width = count - done < SPARKLINE_WIDTH ? count - done : SPARKLINE_WIDTH;
        if (done) buffer_append_char(out, '\n');
        append_chart(out, columns + done, width, r);
    }
}
