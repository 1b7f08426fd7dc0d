/* SPDX-License-Identifier: BSD-3-Clause
 * The documents made from the option rows: an example redis.conf, the reference page, and the
 * server's part of the manual.
 *
 * The scope says which sections they have, and how they begin.
 *
 * The documents show the rows and not the values of the variables, so that every server makes the
 * same texts. A lint compares them with the files in the tree.
 *
 * In redis.conf every option has its help as a comment, and below it a commented line with its
 * default. The line of a directive whose default cannot be written into a file has the form of its
 * words (`words` of the row), or ends in "...".
 */
#include <inttypes.h>

#include "base/manual.h"
#include "option/option.h"
#include "option/option_internal.h"

#define TEXT_COLUMNS 78
#define HEADING_COLUMNS 72

static const char missing_refused[] = " Not built yet: only the default is accepted.";
static const char missing_kept[] = " Not built yet: the value is kept and changes nothing.";

static const char reference_table[] =
    "\n\n| option | values | default | changes at run time | meaning |\n"
    "| --- | --- | --- | --- | --- |\n";

/* A walk over the rows that the documents have: those of one section after those of the section
 * before it, in the scope's order. Begins as {0}. */
struct document_walk {
    size_t section, row;
};

/* Returns the next row, or NULL at the end. */
static const struct option_row *walk_next(struct document_walk *walk) {
    const char *const *sections = option_scope()->sections;
    if (!sections) return walk->row < option_count() ? option_at(walk->row++) : NULL;
    for (; sections[walk->section]; walk->section++, walk->row = 0) {
        while (walk->row < option_count()) {
            const struct option_row *row = option_at(walk->row++);
            if (strcmp(row->section, sections[walk->section]) == 0) return row;
        }
    }
    return NULL;
}

static const char *missing_note(const struct option_row *row) {
    if (!(row->flags & OPTION_MISSING)) return "";
    return row->refusal ? missing_refused : missing_kept;
}

static bool same_section(const struct option_row *a, const struct option_row *b) {
    return slice_equal(slice_of(a->section), slice_of(b->section));
}

static void append_title(struct buffer *out, const char *section) {
    buffer_append_char(out, (char)toupper((unsigned char)section[0]));
    buffer_append_c_string(out, section + 1);
}

/* --- redis.conf --- */

/* Appends the words of `text` as comment lines of at most TEXT_COLUMNS; a longer word gets a line
 * of its own. */
static void append_comment(struct buffer *out, struct slice text) {
    size_t column = 0;
    for (size_t at = 0; at < text.length;) {
        size_t end = at;
        while (end < text.length && text.bytes[end] != ' ') end++;
        if (column > 0 && column + 1 + (end - at) > TEXT_COLUMNS) {
            buffer_append_char(out, '\n');
            column = 0;
        }
        buffer_append_c_string(out, column == 0 ? "# " : " ");
        buffer_append(out, text.bytes + at, end - at);
        column += (column == 0 ? 2 : 1) + (end - at);
        at = end + (end < text.length);
    }
    buffer_append_char(out, '\n');
}

/* Returns whether the row has a default that can be written into a file. A custom row's empty text
 * cannot, because a line needs a word. */
static bool has_example(const struct option_row *row) {
    return row->fallback && (row->type != OPTION_TYPE_CUSTOM || row->fallback[0]);
}

static void append_example(struct buffer *out, const struct option_row *row) {
    struct buffer help;
    buffer_init(&help, MEMORY_OTHER);
    buffer_printf(&help, "%s%s", row->help, missing_note(row));
    append_comment(out, buffer_slice(&help));
    buffer_free(&help);
    buffer_printf(out, "# %s ", row->name);
    if (has_example(row)) {
        option_append_fallback(row, out);
    } else {
        buffer_append_c_string(out, row->words ? row->words : "...");
    }
    buffer_append_c_string(out, "\n\n");
}

static void append_heading(struct buffer *out, const char *section) {
    size_t start = out->length;
    buffer_append_c_string(out, "# --- ");
    append_title(out, section);
    buffer_append_char(out, ' ');
    while (out->length - start < HEADING_COLUMNS) buffer_append_char(out, '-');
    buffer_append_c_string(out, "\n\n");
}

void option_write_example(struct buffer *out) {
    buffer_append_c_string(out, option_scope()->example_head);
    const struct option_row *previous = NULL;
    struct document_walk walk = {0};
    for (const struct option_row *row; (row = walk_next(&walk));) {
        if (row->flags & OPTION_HIDDEN) continue;
        if (!previous || !same_section(previous, row)) append_heading(out, row->section);
        append_example(out, row);
        previous = row;
    }
}

/* --- the reference page --- */

/* Appends the text of a cell of a Markdown table; a bar is escaped, because it would end the
 * cell. */
static void append_cell(struct buffer *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|') buffer_append_char(out, '\\');
        buffer_append_char(out, *text);
    }
}

static void append_bound(struct buffer *out, const struct option_row *row, int64_t bound) {
    if (bound == INT64_MAX) {
        buffer_append_c_string(out, "2^63-1");
    } else if (row->type == OPTION_TYPE_INT) {
        buffer_printf(out, "%" PRId64, bound);
    } else if (row->type == OPTION_TYPE_OCTAL) {
        buffer_printf(out, "%" PRIo64, bound);
    } else {
        option_append_bytes(out, bound);
    }
}

static void append_range(struct buffer *out, const struct option_row *row, const char *type) {
    buffer_printf(out, "%s, ", type);
    append_bound(out, row, row->low < 0 && row->type != OPTION_TYPE_INT ? 0 : row->low);
    buffer_append_c_string(out, " to ");
    append_bound(out, row, row->high);
}

static void append_type(struct buffer *out, const struct option_row *row) {
    switch (row->type) {
    case OPTION_TYPE_BOOL: buffer_append_c_string(out, "yes or no"); break;
    case OPTION_TYPE_INT: append_range(out, row, "number"); break;
    case OPTION_TYPE_BYTES: append_range(out, row, "bytes"); break;
    case OPTION_TYPE_OCTAL: append_range(out, row, "octal"); break;
    case OPTION_TYPE_BYTES_OR_PERCENT:
        append_range(out, row, "bytes");
        buffer_printf(out, ", or 0%% to %" PRId64 "%%", -row->low);
        break;
    case OPTION_TYPE_ENUM:
        for (const struct option_name *name = row->names; name->name; name++) {
            buffer_printf(out, "%s%s", name == row->names ? "" : ", ", name->name);
        }
        break;
    case OPTION_TYPE_STRING: buffer_append_c_string(out, "text"); break;
    case OPTION_TYPE_CUSTOM:
        buffer_append_c_string(out, row->words ? row->words : "words");
        if (row->flags & OPTION_MULTI) buffer_append_c_string(out, ", repeatable");
    }
}

static const char *change_note(const struct option_row *row) {
    if (row->flags & OPTION_FILE_ONLY) return "file only";
    return row->flags & OPTION_MUTABLE ? "yes" : "at start";
}

static void append_reference(struct buffer *out, const struct option_row *row) {
    buffer_printf(out, "| `%s`", row->name);
    if (row->alias) buffer_printf(out, " (alias `%s`)", row->alias);
    buffer_append_c_string(out, " | ");
    append_type(out, row);
    buffer_append_c_string(out, " | ");
    if (has_example(row)) {
        struct buffer fallback;
        buffer_init(&fallback, MEMORY_OTHER);
        option_append_fallback(row, &fallback);
        buffer_append_char(out, '`');
        append_cell(out, fallback.bytes);
        buffer_append_char(out, '`');
        buffer_free(&fallback);
    }
    buffer_printf(out, " | %s | ", change_note(row));
    append_cell(out, row->help);
    buffer_append_c_string(out, missing_note(row));
    buffer_append_c_string(out, " |\n");
}

void option_write_reference(struct buffer *out) {
    buffer_append_c_string(out, option_scope()->reference_head);
    const struct option_row *previous = NULL;
    struct document_walk walk = {0};
    for (const struct option_row *row; (row = walk_next(&walk));) {
        if (!previous || !same_section(previous, row)) {
            buffer_append_c_string(out, "\n## ");
            append_title(out, row->section);
            buffer_append_c_string(out, reference_table);
        }
        append_reference(out, row);
        previous = row;
    }
}

/* --- the manual page --- */

static void append_manual(struct buffer *out, const struct option_row *row) {
    struct buffer values, help;
    buffer_init(&values, MEMORY_OTHER);
    buffer_init(&help, MEMORY_OTHER);
    append_type(&values, row);
    buffer_printf(&help, "%s%s", row->help, missing_note(row));
    if (has_example(row)) {
        buffer_append_c_string(&help, " Default: ");
        option_append_fallback(row, &help);
        buffer_append_char(&help, '.');
    }
    if (row->flags & OPTION_MUTABLE)
        buffer_append_c_string(&help, " CONFIG SET changes it while the server runs.");
    manual_word(out, &(struct manual_word){row->name, row->alias, values.bytes, help.bytes});
    buffer_free(&help);
    buffer_free(&values);
}

void option_write_manual(struct buffer *out) {
    const struct option_row *previous = NULL;
    struct document_walk walk = {0};
    for (const struct option_row *row; (row = walk_next(&walk));) {
        if (row->flags & OPTION_HIDDEN) continue;
        if (!previous || !same_section(previous, row)) {
            struct buffer title;
            buffer_init(&title, MEMORY_OTHER);
            append_title(&title, row->section);
            manual_subheading(out, title.bytes);
            buffer_free(&title);
        }
        append_manual(out, row);
        previous = row;
    }
}
