/* SPDX-License-Identifier: BSD-3-Clause
 * The sections of INFO and the rows in them.
 *
 * Modules register their rows in the order in which they are started. A row's place in its section,
 * and not that order, decides where the row is printed. Printing visits only the rows of the
 * sections that were asked for.
 *
 * Invariants:
 *   1. The first `declared_count` sections were declared, in the order in which they are shown; the
 *      other sections were created by their first row.
 *   2. A section's rows are ordered by place, equal places by registration.
 *
 * Rows are borrowed until they are unregistered; their tables belong to MEMORY_OTHER. Main thread
 * only.
 */
#include "metric/metric.h"

#include <inttypes.h>

#include "base/panic.h"

struct metric_section {
    const char *name;
    bool standard;
    const struct metric_row **rows;
    size_t count, capacity;
};

const int64_t metric_zero = 0;

static struct metric_section *sections;
static size_t section_count, section_capacity, declared_count;
static void (**resets)(void);
static size_t reset_count, reset_capacity;
static uint64_t generation;
static bool sections_closed; /* there are the declared ones only */

/* --- registration --- */

static struct metric_section *section_find(struct slice name) {
    for (size_t i = 0; i < section_count; i++) {
        if (slice_equal_nocase(slice_of(sections[i].name), name)) return &sections[i];
    }
    return NULL;
}

static struct metric_section *section_get(const char *name) {
    struct metric_section *section = section_find(slice_of(name));
    if (section) return section;
    if (section_count == section_capacity) {
        section_capacity = section_capacity ? section_capacity * 2 : 16;
        sections = memory_realloc(sections, section_capacity * sizeof(*sections), MEMORY_OTHER);
    }
    section = &sections[section_count++];
    *section = (struct metric_section){.name = name};
    return section;
}

void metric_declare_section(const char *name, bool standard) {
    struct metric_section *section = section_get(name), declared = *section;
    size_t index = (size_t)(section - sections);
    declared.standard = standard;
    if (index < declared_count) {
        sections[index] = declared;
        return;
    }
    memmove(sections + declared_count + 1, sections + declared_count,
            (index - declared_count) * sizeof(*sections));
    sections[declared_count++] = declared;
}

void metric_close_sections(void) { sections_closed = true; }

static void row_insert(const struct metric_row *row) {
    if (sections_closed && !section_find(slice_of(row->section))) return;
    struct metric_section *section = section_get(row->section);
    ASSERT(row->help && row->name && row->measure != METRIC_UNSTATED);
    ASSERT((row->measure == METRIC_FAMILIES) == (row->families != NULL));
    ASSERT(row->print_lines ||
           (row->type == METRIC_FUNCTION ? row->print != NULL : row->variable != NULL));
    ASSERT(!row->reset || (row->type == METRIC_UINT64 && row->variable));
    if (section->count == section->capacity) {
        section->capacity = section->capacity ? section->capacity * 2 : 16;
        section->rows =
            memory_realloc(section->rows, section->capacity * sizeof(*section->rows), MEMORY_OTHER);
    }
    size_t at = section->count++;
    for (; at > 0 && section->rows[at - 1]->place > row->place; at--) {
        section->rows[at] = section->rows[at - 1];
    }
    section->rows[at] = row;
}

static bool same_name(const struct metric_row *a, const struct metric_row *b) {
    return slice_equal_nocase(slice_of(a->section), slice_of(b->section)) &&
           slice_equal(slice_of(a->name), slice_of(b->name));
}

/* Returns whether a registered row has the row's name. */
static bool name_is_taken(const struct metric_row *row) {
    const struct metric_section *section = section_find(slice_of(row->section));
    for (size_t i = 0; section && i < section->count; i++)
        if (same_name(section->rows[i], row)) return true;
    return false;
}

bool metric_try_register(const struct metric_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (name_is_taken(&rows[i])) return false;
        for (size_t before = 0; before < i; before++)
            if (same_name(&rows[before], &rows[i])) return false;
    }
    for (size_t i = 0; i < count; i++) row_insert(&rows[i]);
    generation++;
    return true;
}

void metric_refused(const struct metric_row *rows) {
    PANIC("the rows of metrics that begin with '%s' are refused: a name is taken", rows->name);
}

void metric_unregister(const struct metric_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct metric_section *section = section_find(slice_of(rows[i].section));
        size_t at = 0;
        while (section && at < section->count && section->rows[at] != &rows[i]) at++;
        ASSERT(section && at < section->count);
        memmove(&section->rows[at], &section->rows[at + 1],
                (section->count - at - 1) * sizeof(*section->rows));
        section->count--;
    }
    generation++;
}

void metric_forget_all(void) {
    for (size_t i = 0; i < section_count; i++) memory_free(sections[i].rows, MEMORY_OTHER);
    memory_free(sections, MEMORY_OTHER);
    memory_free(resets, MEMORY_OTHER);
    sections = NULL;
    resets = NULL;
    section_count = section_capacity = declared_count = reset_count = reset_capacity = 0;
    sections_closed = false;
}

/* --- reset --- */

void metric_register_reset(void (*reset)(void)) {
    if (reset_count == reset_capacity) {
        reset_capacity = reset_capacity ? reset_capacity * 2 : 8;
        resets = memory_realloc(resets, reset_capacity * sizeof(*resets), MEMORY_OTHER);
    }
    resets[reset_count++] = reset;
}

void metric_reset_all(void) {
    generation++;
    for (size_t i = 0; i < section_count; i++) {
        for (size_t j = 0; j < sections[i].count; j++) {
            const struct metric_row *row = sections[i].rows[j];
            if (row->reset) *(uint64_t *)row->variable = 0;
        }
    }
    for (size_t i = 0; i < reset_count; i++) resets[i]();
}

/* --- for scrapes --- */

size_t metric_section_count(void) { return section_count; }
uint64_t metric_generation(void) { return generation; }

const struct metric_row *metric_row_at(size_t section, size_t index) {
    ASSERT_COMPARE(section, <, section_count);
    return index < sections[section].count ? sections[section].rows[index] : NULL;
}

/* --- INFO --- */

void metric_print_value(const struct metric_row *row, struct buffer *out) {
    switch (row->type) {
    case METRIC_UINT64: buffer_printf(out, "%" PRIu64, *(const uint64_t *)row->variable); break;
    case METRIC_INT64: buffer_printf(out, "%" PRId64, *(const int64_t *)row->variable); break;
    case METRIC_STRING: {
        const char *text = *(const char *const *)row->variable;
        if (text) buffer_append_c_string(out, text);
        break;
    }
    case METRIC_FUNCTION: row->print(row, out);
    }
}

static void print_section(const struct metric_section *section, struct buffer *out) {
    buffer_printf(out, "# %s\r\n", section->name);
    for (size_t i = 0; i < section->count; i++) {
        const struct metric_row *row = section->rows[i];
        if (row->present && !row->present()) continue;
        if (row->print_lines) {
            row->print_lines(row, out);
            continue;
        }
        buffer_printf(out, "%s:", row->name);
        metric_print_value(row, out);
        buffer_append_c_string(out, "\r\n");
    }
}

void metric_print(struct slice section, struct buffer *out) {
    bool all = slice_is(section, "all") || slice_is(section, "everything");
    bool standard = slice_is(section, "default");
    if (!all && !standard) {
        const struct metric_section *found = section_find(section);
        if (found) print_section(found, out);
        return;
    }
    size_t start = out->length;
    for (size_t i = 0; i < section_count; i++) {
        if (!all && !sections[i].standard) continue;
        if (out->length > start) buffer_append_c_string(out, "\r\n");
        print_section(&sections[i], out);
    }
}

void metric_append_name(struct buffer *out, const char *name) {
    for (; *name; name++) buffer_append_char(out, strchr("#:\r\n", *name) ? '_' : *name);
}

/* --- the reference page --- */

static const char *type_name(const struct metric_row *row) {
    if (row->print_lines) return "lines";
    if (row->type == METRIC_UINT64) return row->reset ? "counter" : "number";
    return row->type == METRIC_INT64 ? "number" : "text";
}

/* Appends the text of a cell of a Markdown table; a bar is escaped, because it would end the
 * cell. */
static void append_cell(struct buffer *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|') buffer_append_char(out, '\\');
        buffer_append_char(out, *text);
    }
}

static const char reference_head[] =
    "# INFO fields\n\n"
    "Made by `redis-server --describe-metrics`. `CONFIG RESETSTAT` sets counters to 0.\n"
    "Sections marked * are shown only by `INFO all` and by their own name.\n";

void metric_write_reference(struct buffer *out) {
    buffer_append_c_string(out, reference_head);
    for (size_t i = 0; i < section_count; i++) {
        const struct metric_section *section = &sections[i];
        buffer_printf(out, "\n## %s%s\n\n", section->name, section->standard ? "" : " *");
        if (section->count == 0) buffer_append_c_string(out, "No fields yet.\n");
        if (section->count > 0) {
            buffer_append_c_string(
                out, "| field | type | shown | meaning |\n| --- | --- | --- | --- |\n");
        }
        for (size_t j = 0; j < section->count; j++) {
            const struct metric_row *row = section->rows[j];
            buffer_printf(out, "| `%s` | %s | %s | ", row->name, type_name(row),
                          row->present ? "sometimes" : "always");
            append_cell(out, row->help);
            buffer_append_c_string(out, " |\n");
        }
    }
}
