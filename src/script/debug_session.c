/* SPDX-License-Identifier: BSD-3-Clause
 * A session's script, its lines and breakpoints.
 */
#include "script/debug_session.h"

#include <string.h>

/* Empty lines at the end are none. */
static void split(struct debug_session *s) {
    const char *at = s->text.bytes, *end = at + s->text.length;
    size_t count = 0;
    while (at < end && end[-1] == '\n') end--;
    for (const char *c = at; c < end; c++) count += *c == '\n';
    if (at == end) return;
    s->sources = memory_alloc((count + 1) * sizeof(*s->sources), MEMORY_OTHER);
    while (at <= end) {
        const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (!newline) newline = end;
        s->sources[s->source_count++] = (struct slice){at, (size_t)(newline - at)};
        at = newline + 1;
    }
}

void debug_session_open(struct debug_session *s, struct client *c, struct slice text,
                        bool (*interrupted)(void)) {
    s->sources = NULL;
    s->source_count = s->breakpoint_count = s->line = 0;
    s->stepping = true;
    s->asked = false;
    dialog_open(&s->dialog, c, interrupted);
    debug_lines_init(&s->lines);
    buffer_init(&s->text, MEMORY_OTHER);
    buffer_append(&s->text, text.bytes, text.length);
    split(s);
}

void debug_session_close(struct debug_session *s) {
    dialog_close(&s->dialog);
    debug_lines_free(&s->lines);
    memory_free(s->sources, MEMORY_OTHER);
    buffer_free(&s->text);
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
    if (line < 1 || line > s->source_count || find_breakpoint(s, line))
        return DEBUG_BREAKPOINT_WRONG;
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
    bool exists = line >= 1 && line <= s->source_count;
    struct slice text = exists ? s->sources[line - 1] : SLICE("<out of range source code line>");
    buffer_printf(out, "%s%s%-3d ", line == s->line ? "->" : "  ",
                  debug_session_breaks_at(s, line) ? "#" : " ", line);
    buffer_append(out, text.bytes, text.length);
    debug_line_end(&s->lines);
}

void debug_session_show_lines(struct debug_session *s, int64_t around, int64_t beside) {
    for (int line = 1; line <= s->source_count; line++)
        if (line >= around - beside && line <= around + beside) debug_session_show_line(s, line);
}
