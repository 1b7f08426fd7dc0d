/* SPDX-License-Identifier: BSD-3-Clause
 * The registry of option rows, and the only function that stores a value in a variable.
 *
 * A set has four tests, each of which may refuse it with a reason:
 *   1. The text must be of the row's type and within its range.
 *   2. A row whose feature is missing accepts only its default.
 *   3. The row's `check` must accept the value.
 *   4. The row's `apply` must succeed with the new value in place, or else the old value is put
 *      back.
 * Before the last test nothing has changed.
 *
 * Invariants:
 *   1. `entries` is ordered by section (in order of first registration), place, and registration.
 *   2. No two rows share a name or an alias, case ignored.
 *   3. The variable of a registered string row is never NULL and owns its text in MEMORY_OTHER. The
 *      text has no NUL byte, and fits into one line of a file when quoted.
 *   4. Every variable holds a value that its row would accept.
 *
 * Rows are borrowed until they are unregistered. Main thread only. Files and their rewriting:
 * config_text.c; the generated documents: option_document.c.
 */
#include "option/option.h"

#include <inttypes.h>

#include "base/number.h"
#include "base/panic.h"
#include "option/option_internal.h"

struct option_entry {
    const struct option_row *row;
    unsigned section;
    bool given;    /* a line of a file or of the command line has set the row */
    bool included; /* a line of an included file has set the row */
};

/* A value that is parsed but not yet stored. */
struct option_value {
    int64_t number;
    struct slice text;
};

static struct option_entry *entries;
static size_t entry_count, entry_capacity;
static const char **sections;
static size_t section_count, section_capacity;

static struct {
    enum option_source source;
    bool repeated;
} now = {OPTION_FROM_DEFAULT, false};

enum option_source option_source_now(void) { return now.source; }
bool option_is_repeated(void) { return now.repeated; }

/* --- the scope --- */

static const struct option_scope whole_scope = {.example_head = "", .reference_head = ""};
static const struct option_scope *scope_now = &whole_scope;

void option_set_scope(const struct option_scope *scope) { scope_now = scope; }
const struct option_scope *option_scope(void) { return scope_now; }

bool option_is_in_scope(const struct option_row *row) {
    const char *const *section = scope_now->sections;
    while (section && *section && strcmp(*section, row->section) != 0) section++;
    return !section || *section;
}

/* --- the registry --- */

static unsigned section_number(const char *section) {
    for (size_t i = 0; i < section_count; i++) {
        if (slice_equal(slice_of(sections[i]), slice_of(section))) return (unsigned)i;
    }
    if (section_count == section_capacity) {
        section_capacity = section_capacity ? section_capacity * 2 : 16;
        sections = memory_realloc(sections, section_capacity * sizeof(*sections), MEMORY_OTHER);
    }
    sections[section_count] = section;
    return (unsigned)section_count++;
}

static bool row_has_name(const struct option_row *row, struct slice name) {
    return slice_equal_nocase(slice_of(row->name), name) ||
           (row->alias && slice_equal_nocase(slice_of(row->alias), name));
}

static struct option_entry *entry_find(struct slice name) {
    for (size_t i = 0; i < entry_count; i++) {
        if (row_has_name(entries[i].row, name)) return &entries[i];
    }
    return NULL;
}

const struct option_row *option_find(struct slice name) {
    struct option_entry *entry = entry_find(name);
    return entry ? entry->row : NULL;
}

/* Whether `name` is the two words with one blank between them, case ignored. */
static bool name_is_pair(const char *name, struct slice first, struct slice second) {
    struct slice text = slice_of(name);
    if (text.length != first.length + 1 + second.length || text.bytes[first.length] != ' ')
        return false;
    struct slice rest = {text.bytes + first.length + 1, second.length};
    text.length = first.length;
    return slice_equal_nocase(text, first) && slice_equal_nocase(rest, second);
}

const struct option_row *option_find_directive(const struct slice *words, size_t count,
                                               size_t *taken) {
    *taken = 2;
    for (size_t i = 0; count > 1 && i < entry_count; i++)
        if (name_is_pair(entries[i].row->name, words[0], words[1])) return entries[i].row;
    *taken = 1;
    return option_find(words[0]);
}

size_t option_count(void) { return entry_count; }

const struct option_row *option_at(size_t index) {
    ASSERT_COMPARE(index, <, entry_count);
    return entries[index].row;
}

size_t option_index_of(const struct option_row *row) {
    for (size_t i = 0; i < entry_count; i++) {
        if (entries[i].row == row) return i;
    }
    PANIC("option '%s' was never registered", row->name);
}

void option_mark_included(const struct option_row *row) {
    entries[option_index_of(row)].included = true;
}

bool option_is_included(size_t index) { return entries[index].included; }

static void entry_insert(const struct option_row *row) {
    unsigned section = section_number(row->section);
    if (entry_count == entry_capacity) {
        entry_capacity = entry_capacity ? entry_capacity * 2 : 64;
        entries = memory_realloc(entries, entry_capacity * sizeof(*entries), MEMORY_OTHER);
    }
    size_t at = entry_count;
    while (at > 0 &&
           (entries[at - 1].section > section ||
            (entries[at - 1].section == section && entries[at - 1].row->place > row->place))) {
        entries[at] = entries[at - 1];
        at--;
    }
    entries[at] = (struct option_entry){.row = row, .section = section};
    entry_count++;
}

static void row_check(const struct option_row *row) {
    bool custom = row->type == OPTION_TYPE_CUSTOM;
    ASSERT(row->name && row->section && row->help);
    ASSERT(custom ? row->parse != NULL : row->variable != NULL && row->fallback != NULL);
    ASSERT(custom || !(row->flags & OPTION_MULTI));
    ASSERT(row->type != OPTION_TYPE_ENUM || row->names);
    ASSERT(!(row->flags & OPTION_FILE_ONLY) || !(row->flags & OPTION_MUTABLE));
    ASSERT(!(row->flags & OPTION_FAMILY) || (custom && row->rewrite));
    ASSERT(row->group == 0 || row->flags & OPTION_FILE_ONLY);
    ASSERT_COMPARE(row->group, <=, OPTION_GROUPS);
}

/* --- text to value --- */

static bool option_refuse(char *reason, size_t reason_size, const char *text) {
    snprintf(reason, reason_size, "%s", text);
    return false;
}

static bool check_range(const struct option_row *row, int64_t number, char *reason,
                        size_t reason_size) {
    if (number >= row->low && number <= row->high) return true;
    if (row->type == OPTION_TYPE_BYTES_OR_PERCENT && number < 0) {
        snprintf(reason, reason_size, "percentage argument must be less or equal to %" PRId64,
                 -row->low);
        return false;
    }
    const char *format = row->type == OPTION_TYPE_OCTAL
                             ? "argument must be between %" PRIo64 " and %" PRIo64 " inclusive"
                             : "argument must be between %" PRId64 " and %" PRId64 " inclusive";
    snprintf(reason, reason_size, format, row->low, row->high);
    return false;
}

/* As in 6.2, a number without digits ("", "kb") is 0, and a number that is too large becomes the
 * largest. */
bool option_parse_bytes(struct slice word, int64_t *number) {
    char zero_unit[4] = "0";
    uint64_t bytes;
    if (word.length < 3 && (word.length == 0 || isalpha((unsigned char)word.bytes[0]))) {
        for (size_t i = 0; i < word.length; i++) zero_unit[1 + i] = word.bytes[i];
        word = (struct slice){zero_unit, word.length + 1};
    }
    if (!number_parse_bytes(word.bytes, word.length, &bytes)) return false;
    *number = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
    return true;
}

static bool parse_octal(struct slice word, int64_t *number) {
    if (word.length == 0 || word.length > 20) return false;
    *number = 0;
    for (size_t i = 0; i < word.length; i++) {
        if (word.bytes[i] < '0' || word.bytes[i] > '7') return false;
        *number = *number * 8 + (word.bytes[i] - '0');
    }
    return true;
}

/* Stores a percentage as a negative number, so that both forms share one variable. */
static bool parse_bytes_or_percent(struct slice word, int64_t *number) {
    if (word.length == 0 || word.bytes[word.length - 1] != '%')
        return option_parse_bytes(word, number);
    if (!number_parse_int64(word.bytes, word.length - 1, number) || *number < 0) return false;
    *number = -*number;
    return true;
}

static bool parse_enum(const struct option_row *row, struct slice word, int64_t *number,
                       char *reason, size_t reason_size) {
    for (const struct option_name *name = row->names; name->name; name++) {
        if (slice_equal_nocase(slice_of(name->name), word)) {
            *number = name->value;
            return true;
        }
    }
    struct buffer list;
    buffer_init(&list, MEMORY_OTHER);
    for (const struct option_name *name = row->names; name->name; name++) {
        buffer_printf(&list, "%s%s", name == row->names ? "" : ", ", name->name);
    }
    snprintf(reason, reason_size, "argument must be one of the following: %s",
             list.bytes ? list.bytes : "");
    buffer_free(&list);
    return false;
}

static bool parse_string(const struct option_row *row, struct slice word, char *reason,
                         size_t reason_size) {
    if (word.length > 0 && memchr(word.bytes, 0, word.length)) {
        return option_refuse(reason, reason_size, "argument must not hold a NUL byte");
    }
    /* A byte takes at most four when quoted, so only long texts must be tried. */
    if (word.length < OPTION_LINE_BYTES_MAX / 8) return true;
    struct buffer line;
    buffer_init(&line, MEMORY_OTHER);
    buffer_printf(&line, "%s ", row->name);
    buffer_append_quoted(&line, word);
    bool fits = line.length < OPTION_LINE_BYTES_MAX;
    buffer_free(&line);
    return fits ||
           option_refuse(reason, reason_size, "argument is too long for a line of the file");
}

static bool parse_value(const struct option_row *row, struct slice word, struct option_value *value,
                        char *reason, size_t reason_size) {
    *value = (struct option_value){.number = 0, .text = word};
    switch (row->type) {
    case OPTION_TYPE_BOOL:
        value->number = slice_is(word, "yes");
        if (value->number || slice_is(word, "no")) return true;
        return option_refuse(reason, reason_size, "argument must be 'yes' or 'no'");
    case OPTION_TYPE_INT:
        if (number_parse_int64(word.bytes, word.length, &value->number)) break;
        return option_refuse(reason, reason_size, "argument couldn't be parsed into an integer");
    case OPTION_TYPE_BYTES:
        if (option_parse_bytes(word, &value->number)) break;
        return option_refuse(reason, reason_size, "argument must be a memory value");
    case OPTION_TYPE_OCTAL:
        if (parse_octal(word, &value->number)) break;
        return option_refuse(reason, reason_size, "argument couldn't be parsed as an octal number");
    case OPTION_TYPE_BYTES_OR_PERCENT:
        if (parse_bytes_or_percent(word, &value->number)) break;
        return option_refuse(reason, reason_size, "argument must be a memory or percent value");
    case OPTION_TYPE_ENUM: return parse_enum(row, word, &value->number, reason, reason_size);
    case OPTION_TYPE_STRING: return parse_string(row, word, reason, reason_size);
    case OPTION_TYPE_CUSTOM: PANIC("a custom option has no value of its own");
    }
    return check_range(row, value->number, reason, reason_size);
}

/* --- value to variable --- */

static struct option_value value_load(const struct option_row *row) {
    struct option_value value = {0};
    switch (row->type) {
    case OPTION_TYPE_BOOL: value.number = *(bool *)row->variable; break;
    case OPTION_TYPE_ENUM: value.number = *(int *)row->variable; break;
    case OPTION_TYPE_STRING: value.text = slice_of(*(char **)row->variable); break;
    default: value.number = *(int64_t *)row->variable;
    }
    return value;
}

static void number_store(const struct option_row *row, int64_t number) {
    switch (row->type) {
    case OPTION_TYPE_BOOL: *(bool *)row->variable = number != 0; break;
    case OPTION_TYPE_ENUM: *(int *)row->variable = (int)number; break;
    default: *(int64_t *)row->variable = number;
    }
}

static bool value_equal(const struct option_row *row, struct option_value a,
                        struct option_value b) {
    return row->type == OPTION_TYPE_STRING ? slice_equal(a.text, b.text) : a.number == b.number;
}

static struct option_value fallback_value(const struct option_row *row) {
    struct option_value value;
    char reason[OPTION_REASON_BYTES];
    if (!parse_value(row, slice_of(row->fallback), &value, reason, sizeof(reason))) {
        PANIC("default of option '%s': %s", row->name, reason);
    }
    return value;
}

static bool apply_value(const struct option_row *row, char *reason, size_t reason_size) {
    return now.source == OPTION_FROM_DEFAULT || !row->apply || row->apply(row, reason, reason_size);
}

static bool set_plain(const struct option_row *row, struct slice word, char *reason,
                      size_t reason_size) {
    struct option_value value;
    if (!parse_value(row, word, &value, reason, reason_size)) return false;
    if ((row->flags & OPTION_MISSING) && row->refusal &&
        !value_equal(row, value, fallback_value(row))) {
        return option_refuse(reason, reason_size, row->refusal);
    }
    if (row->check && !row->check(row, word, reason, reason_size)) return false;
    if (row->type == OPTION_TYPE_STRING) {
        char **variable = row->variable;
        char *old = *variable, *new = slice_dup_c_string(word, MEMORY_OTHER);
        *variable = new;
        bool applied = apply_value(row, reason, reason_size);
        *variable = applied ? new : old;
        memory_free(applied ? old : new, MEMORY_OTHER);
        return applied;
    }
    int64_t old = now.source == OPTION_FROM_DEFAULT ? 0 : value_load(row).number;
    number_store(row, value.number);
    if (apply_value(row, reason, reason_size)) return true;
    number_store(row, old);
    return false;
}

/* Splits the text at each single blank; "" is one empty word. Returns the number of words. The
 * words point into the text; the caller frees the array. */
static size_t split_blanks(struct slice text, struct slice **words) {
    size_t count = 1, at = 0;
    for (size_t i = 0; i < text.length; i++) count += text.bytes[i] == ' ';
    *words = memory_alloc(count * sizeof(**words), MEMORY_OTHER);
    for (size_t i = 0; i < count; i++) {
        const char *start = text.bytes + at;
        const char *blank = at < text.length ? memchr(start, ' ', text.length - at) : NULL;
        size_t length = blank ? (size_t)(blank - start) : text.length - at;
        (*words)[i] = (struct slice){start, length};
        at += length + 1;
    }
    return count;
}

static bool parse_split(const struct option_row *row, struct slice text, char *reason,
                        size_t reason_size) {
    struct slice *words;
    size_t count = split_blanks(text, &words);
    bool parsed = row->parse(row, words, count, reason, reason_size);
    memory_free(words, MEMORY_OTHER);
    return parsed;
}

static bool parse_words(const struct option_row *row, const struct slice *words, size_t count,
                        char *reason, size_t reason_size) {
    bool whole = now.source == OPTION_FROM_CONFIG_SET || now.source == OPTION_FROM_DEFAULT;
    if (whole && count == 1) return parse_split(row, words[0], reason, reason_size);
    return row->parse(row, words, count, reason, reason_size);
}

static bool set_custom(const struct option_row *row, const struct slice *words, size_t count,
                       char *reason, size_t reason_size) {
    if (!row->apply || now.source == OPTION_FROM_DEFAULT)
        return parse_words(row, words, count, reason, reason_size);
    ASSERT(row->print); /* the old value is put back from its text if `apply` refuses */
    struct buffer old;
    buffer_init(&old, MEMORY_OTHER);
    row->print(row, &old);
    bool done = parse_words(row, words, count, reason, reason_size);
    if (done && !apply_value(row, reason, reason_size)) {
        char ignored[OPTION_REASON_BYTES];
        now.source = OPTION_FROM_CONFIG_SET;
        now.repeated = false;
        bool restored = parse_split(row, buffer_slice(&old), ignored, sizeof(ignored));
        ASSERT(restored);
        done = false;
    }
    buffer_free(&old);
    return done;
}

bool option_set(const struct option_row *row, const struct slice *words, size_t count,
                enum option_source source, char *reason, size_t reason_size) {
    size_t index = option_index_of(row);
    bool from_line = source == OPTION_FROM_FILE || source == OPTION_FROM_COMMAND_LINE;
    bool custom = row->type == OPTION_TYPE_CUSTOM;
    ASSERT(reason_size > 0);
    reason[0] = 0;
    if (source == OPTION_FROM_CONFIG_SET && !(row->flags & OPTION_MUTABLE)) {
        return option_refuse(reason, reason_size, "can't set immutable config");
    }
    if (!custom && count != 1) {
        return option_refuse(reason, reason_size,
                             row->flags & OPTION_FILE_ONLY ? "" : "wrong number of arguments");
    }
    enum option_source outer_source = now.source;
    bool outer_repeated = now.repeated;
    now.source = source;
    now.repeated = from_line && entries[index].given;
    bool done = custom ? set_custom(row, words, count, reason, reason_size)
                       : set_plain(row, words[0], reason, reason_size);
    now.source = outer_source;
    now.repeated = outer_repeated;
    /* The index is looked up now, because parsing may have registered further rows. */
    if (done && from_line) entries[option_index_of(row)].given = true;
    return done;
}

static void set_default(const struct option_row *row) {
    char reason[OPTION_REASON_BYTES];
    if (row->type == OPTION_TYPE_STRING) *(char **)row->variable = NULL;
    if (!row->fallback) return;
    struct slice fallback = slice_of(row->fallback);
    if (!option_set(row, &fallback, 1, OPTION_FROM_DEFAULT, reason, sizeof(reason))) {
        PANIC("default of option '%s': %s", row->name, reason);
    }
}

static bool share_name(const struct option_row *a, const struct option_row *b) {
    return row_has_name(a, slice_of(b->name)) || (b->alias && row_has_name(a, slice_of(b->alias)));
}

/* Returns whether a registered row or one of `count` other rows has the name or the alias of
 * `row`. */
static bool name_is_taken(const struct option_row *row, const struct option_row *others,
                          size_t count) {
    for (size_t i = 0; i < entry_count; i++)
        if (share_name(entries[i].row, row)) return true;
    for (size_t i = 0; i < count; i++)
        if (share_name(&others[i], row)) return true;
    return false;
}

bool option_try_register(const struct option_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (name_is_taken(&rows[i], rows, i)) return false;
    for (size_t i = 0; i < count; i++) {
        row_check(&rows[i]);
        entry_insert(&rows[i]);
        set_default(&rows[i]);
    }
    return true;
}

void option_refused(const struct option_row *rows) {
    PANIC("the rows of options that begin with '%s' are refused: a name is taken", rows->name);
}

static void drop_string(const struct option_row *row) {
    if (row->type != OPTION_TYPE_STRING) return;
    char **variable = row->variable;
    memory_free(*variable, MEMORY_OTHER);
    *variable = NULL;
}

void option_unregister(const struct option_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t at = option_index_of(&rows[i]);
        drop_string(&rows[i]);
        memmove(&entries[at], &entries[at + 1], (entry_count - at - 1) * sizeof(*entries));
        entry_count--;
    }
}

void option_reset_all(void) {
    for (size_t i = 0; i < entry_count; i++) drop_string(entries[i].row);
    memory_free(entries, MEMORY_OTHER);
    memory_free(sections, MEMORY_OTHER);
    entries = NULL;
    sections = NULL;
    entry_count = entry_capacity = section_count = section_capacity = 0;
}

/* --- value to text --- */

static const char *enum_name(const struct option_row *row, int64_t number) {
    for (const struct option_name *name = row->names; name->name; name++) {
        if (name->value == number) return name->name;
    }
    PANIC("option '%s' holds %" PRId64 ", which has no name", row->name, number);
}

static void print_value(const struct option_row *row, struct option_value value,
                        struct buffer *out) {
    switch (row->type) {
    case OPTION_TYPE_BOOL: buffer_append_c_string(out, value.number ? "yes" : "no"); break;
    case OPTION_TYPE_INT:
    case OPTION_TYPE_BYTES: buffer_printf(out, "%" PRId64, value.number); break;
    case OPTION_TYPE_OCTAL: buffer_printf(out, "%" PRIo64, value.number); break;
    case OPTION_TYPE_BYTES_OR_PERCENT:
        if (value.number < 0) {
            buffer_printf(out, "%" PRId64 "%%", -value.number);
        } else {
            buffer_printf(out, "%" PRId64, value.number);
        }
        break;
    case OPTION_TYPE_ENUM: buffer_append_c_string(out, enum_name(row, value.number)); break;
    case OPTION_TYPE_STRING: buffer_append(out, value.text.bytes, value.text.length); break;
    case OPTION_TYPE_CUSTOM: PANIC("a custom option prints itself");
    }
}

void option_print(const struct option_row *row, struct buffer *out) {
    if (row->type != OPTION_TYPE_CUSTOM) {
        print_value(row, value_load(row), out);
    } else if (row->print) {
        row->print(row, out);
    }
}

/* As in 6.2, a text with a backslash is a path, too. */
bool option_check_filename(const struct option_row *row, struct slice value, char *reason,
                           size_t reason_size) {
    for (size_t i = 0; i < value.length; i++) {
        if (value.bytes[i] != '/' && value.bytes[i] != '\\') continue;
        snprintf(reason, reason_size, "%s can't be a path, just a filename", row->name);
        return false;
    }
    return true;
}

bool option_is_default(const struct option_row *row) {
    if (row->type != OPTION_TYPE_CUSTOM) {
        return value_equal(row, value_load(row), fallback_value(row));
    }
    if (!row->print) return true;
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    row->print(row, &text);
    bool equal = slice_equal(buffer_slice(&text), slice_of(row->fallback ? row->fallback : ""));
    buffer_free(&text);
    return equal;
}

void option_append_bytes(struct buffer *out, int64_t bytes) {
    if (bytes == 0 || bytes % 1024 != 0) {
        buffer_printf(out, "%" PRId64, bytes);
    } else if (bytes % (1 << 20) != 0) {
        buffer_printf(out, "%" PRId64 "kb", bytes >> 10);
    } else if (bytes % (1 << 30) != 0) {
        buffer_printf(out, "%" PRId64 "mb", bytes >> 20);
    } else {
        buffer_printf(out, "%" PRId64 "gb", bytes >> 30);
    }
}

/* Appends a word, in quotes only if a bare word would be read back differently. */
static void option_append_word(struct buffer *out, struct slice word) {
    bool bare = word.length > 0 && word.bytes[0] != '#';
    for (size_t i = 0; i < word.length && bare; i++) {
        bare = isgraph((unsigned char)word.bytes[i]) && !strchr("\"'\\", word.bytes[i]);
    }
    if (bare) {
        buffer_append(out, word.bytes, word.length);
    } else {
        buffer_append_quoted(out, word);
    }
}

static void append_file_value(const struct option_row *row, struct option_value value,
                              struct buffer *out) {
    if (row->type == OPTION_TYPE_STRING) {
        buffer_append_quoted(out, value.text);
    } else if (row->type == OPTION_TYPE_BYTES ||
               (row->type == OPTION_TYPE_BYTES_OR_PERCENT && value.number > 0)) {
        option_append_bytes(out, value.number);
    } else {
        print_value(row, value, out);
    }
}

/* Appends each word of a custom row's printed value, quoted if necessary. */
static void append_split(struct slice text, struct buffer *out) {
    struct slice *words;
    size_t count = split_blanks(text, &words);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) buffer_append_char(out, ' ');
        option_append_word(out, words[i]);
    }
    memory_free(words, MEMORY_OTHER);
}

void option_append_fallback(const struct option_row *row, struct buffer *out) {
    if (row->type == OPTION_TYPE_STRING) {
        option_append_word(out, slice_of(row->fallback));
    } else if (row->type != OPTION_TYPE_CUSTOM) {
        append_file_value(row, fallback_value(row), out);
    } else {
        append_split(slice_of(row->fallback ? row->fallback : ""), out);
    }
}

bool option_append_lines(const struct option_row *row, struct buffer *out) {
    bool custom = row->type == OPTION_TYPE_CUSTOM;
    if (custom && row->rewrite) {
        row->rewrite(row, out);
        return true;
    }
    if (custom && !row->print) return false;
    struct buffer text;
    buffer_init(&text, MEMORY_OTHER);
    if (custom) {
        row->print(row, &text);
        /* An empty value that is the default is not written, because not every directive reads an
         * empty word as "none". */
        if (text.length > 0 || !option_is_default(row)) {
            buffer_printf(out, "%s ", row->name);
            append_split(buffer_slice(&text), out);
            buffer_append_char(out, '\n');
        }
    } else {
        buffer_printf(out, "%s ", row->name);
        append_file_value(row, value_load(row), out);
        buffer_append_char(out, '\n');
    }
    buffer_free(&text);
    return true;
}
