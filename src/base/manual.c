/* SPDX-License-Identifier: BSD-3-Clause
 * Manual pages.
 *
 * Invariant: no text reaches roff as a command. A line never begins with a dot or an apostrophe, a
 * backslash has no meaning, and a hyphen stays the ASCII character, so that it can be copied.
 */
#include "base/manual.h"

#include "base/string.h"
#include "base/version.h"

static void append_plain(struct buffer *out, const char *text) {
    if (*text == '.' || *text == '\'') buffer_append_c_string(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            buffer_append_c_string(out, "\\e");
        else if (*text == '-')
            buffer_append_c_string(out, "\\-");
        else
            buffer_append_char(out, *text);
    }
}

static void append_line(struct buffer *out, const char *text) {
    append_plain(out, text);
    buffer_append_char(out, '\n');
}

static void append_bold(struct buffer *out, const char *text) {
    buffer_append_c_string(out, "\\fB");
    append_plain(out, text);
    buffer_append_c_string(out, "\\fR");
}

/* The length of the first sentence without its dot. A dot ends it only before a blank or the text's
 * end, so not one within a number. */
static size_t first_sentence(const char *text) {
    size_t end = 0;
    while (text[end] && !(text[end] == '.' && (text[end + 1] == ' ' || !text[end + 1]))) end++;
    return end;
}

void manual_begin(struct buffer *out, const struct manual *page) {
    buffer_printf(out,
                  ".\\\" SPDX-License-Identifier: BSD-3-Clause\n"
                  ".\\\" Made from the program's own table: %s\n"
                  ".TH %s 1 \"\" \"Evenkeel " EVENKEEL_VERSION
                  "\"\n.SH NAME\n%s \\- %.*s\n.SH SYNOPSIS\n\\fB%s\\fR ",
                  page->maker, page->program, page->program, (int)first_sentence(page->summary),
                  page->summary, page->program);
    append_line(out, page->synopsis);
    buffer_append_c_string(out, ".SH DESCRIPTION\n");
    append_line(out, page->summary);
}

void manual_heading(struct buffer *out, const char *title) {
    buffer_printf(out, ".SH \"%s\"\n", title);
}

void manual_subheading(struct buffer *out, const char *title) {
    buffer_printf(out, ".SS \"%s\"\n", title);
}

void manual_word(struct buffer *out, const struct manual_word *word) {
    buffer_append_c_string(out, ".TP\n");
    append_bold(out, word->name);
    if (word->other) {
        buffer_append_c_string(out, ", ");
        append_bold(out, word->other);
    }
    if (word->argument) {
        buffer_append_c_string(out, " \\fI");
        append_plain(out, word->argument);
        buffer_append_c_string(out, "\\fR");
    }
    buffer_append_char(out, '\n');
    append_line(out, word->help);
}

void manual_end(struct buffer *out, const struct manual *page) {
    if (!page->examples) return;
    buffer_append_c_string(out, ".SH EXAMPLES\n.nf\n");
    for (const char *const *line = page->examples; *line; line++) append_line(out, *line);
    buffer_append_c_string(out, ".fi\n");
}
