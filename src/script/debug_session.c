/* SPDX-License-Identifier: BSD-3-Clause
 * A debugging session's script, its lines and its breakpoints.
 */
#include "script/debug_session.h"

#include <string.h>

#include "script/sandbox.h"

/* Empty lines at the end of the text are not counted. */
static void find_lines(struct debug_session *s, struct slice text) {
    size_t newlines = 0;
    while (text.length && text.bytes[text.length - 1] == '\n') text.length--;
    if (!text.length || text.length > SANDBOX_TEXT_BYTES_MAX) return;
    for (size_t i = 0; i < text.length; i++) newlines += text.bytes[i] == '\n';
    s->text = text;
    s->line_begins = memory_alloc((newlines + 1) * sizeof(*s->line_begins), MEMORY_OTHER);
    s->line_begins[s->line_count++] = 0;
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] == '\n') s->line_begins[s->line_count++] = (uint32_t)(i + 1);
}

/* Returns the text of a line, which must exist; the first is 1. */
static struct slice line_at(const struct debug_session *s, int line) {
    size_t begin = s->line_begins[line - 1];
    size_t end = line < s->line_count ? s->line_begins[line] - 1 : s->text.length;
    return (struct slice){s->text.bytes + begin, end - begin};
}

void debug_session_open(struct debug_session *s, struct client *c, struct slice text,
                        bool (*interrupted)(void)) {
    s->text = (struct slice){NULL, 0};
    s->line_begins = NULL;
    s->line_count = s->breakpoint_count = s->line = 0;
    s->stepping = true;
    s->asked = false;
    dialog_open(&s->dialog, c, interrupted);
    debug_lines_init(&s->lines);
    find_lines(s, text);
}

void debug_session_close(struct debug_session *s) {
    dialog_close(&s->dialog);
    debug_lines_free(&s->lines);
    memory_free(s->line_begins, MEMORY_OTHER);
}

bool debug_session_send(struct debug_session *s) {
    struct buffer out;
    buffer_init(&out, MEMORY_OTHER);
    debug_lines_finish(&s->lines, &out);
    bool heard = dialog_write(&s->dialog, buffer_slice(&out));
    buffer_free(&out);
    return heard;
}

/* ---- breakpoints ---- */

static int *find_breakpoint(const struct debug_session *s, int64_t line) {
    for (int i = 0; i < s->breakpoint_count; i++)
        if (s->breakpoints[i] == line) return (int *)&s->breakpoints[i];
    return NULL;
}

bool debug_session_breaks_at(const struct debug_session *s, int line) {
    return find_breakpoint(s, line) != NULL;
}

enum debug_breakpoint debug_session_set(struct debug_session *s, int64_t line) {
    if (line < 1 || line > s->line_count || find_breakpoint(s, line)) return DEBUG_BREAKPOINT_WRONG;
    if (s->breakpoint_count == DEBUG_BREAKPOINTS_MAX) return DEBUG_BREAKPOINTS_TOO_MANY;
    s->breakpoints[s->breakpoint_count++] = (int)line;
    return DEBUG_BREAKPOINT_SET;
}

bool debug_session_unset(struct debug_session *s, int64_t line) {
    int *found = find_breakpoint(s, line);
    if (!found) return false;
    int *end = s->breakpoints + s->breakpoint_count--;
    memmove(found, found + 1, (size_t)(end - found - 1) * sizeof(*found));
    return true;
}

/* ---- lines ---- */

void debug_session_show_line(struct debug_session *s, int line) {
    struct buffer *out = debug_line_begin(&s->lines);
    bool exists = line >= 1 && line <= s->line_count;
    buffer_printf(out, "%s%s%-3d ", line == s->line ? "->" : "  ",
                  debug_session_breaks_at(s, line) ? "#" : " ", line);
    debug_line_add(&s->lines, exists ? line_at(s, line) : SLICE("<out of range source code line>"));
    debug_line_end(&s->lines);
}

void debug_session_show_lines(struct debug_session *s, int64_t around, int64_t beside) {
    int64_t first = around - beside, last = around + beside;
    if (first < 1) first = 1;
    if (last > s->line_count) last = s->line_count;
    for (int64_t line = first; line <= last; line++)
        if (debug_lines_take(&s->lines)) debug_session_show_line(s, (int)line);
}
