/* SPDX-License-Identifier: BSD-3-Clause
 * Fuzzes the reading and rewriting of configuration text over rows of every type.
 *
 * Covers: src/option/config_text.c src/option/option.c
 *
 * The input's first byte says what to rewrite (see below), the rest is the text. Whatever it is,
 * reading ends with every value in its range; a text that was refused has a reason; one that was
 * accepted is rewritten, and the result read by a fresh registry must give the same values, and
 * rewritten once more be the same text.
 */
#include <errno.h>

#include "../c/option/print_all.h"
#include "base/panic.h"

enum { REWRITE_ALL = 1, REWRITE_NOTHING = 2 };

static bool flag;
static int64_t number, even, bytes, mode, share, refused;
static int color;
static char *name, *secret;
static struct buffer points;

static const struct option_name colors[] = {{"red", 1}, {"green", 2}, {"lime", 2}, {NULL, 0}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool even_check(const struct option_row *row, struct slice value, char *reason,
                       size_t reason_size) {
    return (value.bytes[value.length - 1] - '0') % 2 == 0;
}

static bool number_apply(const struct option_row *row, char *reason, size_t reason_size) {
    if (number != 13) return true;
    snprintf(reason, reason_size, "13 is refused");
    return false;
}

/* Words of printable bytes without quotes; an empty word empties the list. */
static bool points_parse(const struct option_row *row, const struct slice *words, size_t count,
                         char *reason, size_t reason_size) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < words[i].length; j++) {
            if (!isalnum((unsigned char)words[i].bytes[j])) return false;
        }
    }
    if (!option_is_repeated()) buffer_clear(&points);
    for (size_t i = 0; i < count; i++) {
        if (words[i].length == 0) buffer_clear(&points);
        if (points.length > 0) buffer_append_char(&points, ' ');
        buffer_append(&points, words[i].bytes, words[i].length);
    }
    return true;
}

static void points_print(const struct option_row *row, struct buffer *out) {
    buffer_append(out, points.bytes, points.length);
}

static void points_rewrite(const struct option_row *row, struct buffer *out) {
    size_t at = 0;
    do {
        const char *start = points.bytes + at;
        const char *blank = memchr(start, ' ', points.length - at);
        size_t length = blank ? (size_t)(blank - start) : points.length - at;
        buffer_printf(out, "point %.*s\n", length > 0 ? (int)length : 2,
                      length > 0 ? start : "\"\"");
        at += length + 1;
    } while (at < points.length);
}

static bool directive_parse(const struct option_row *row, const struct slice *words, size_t count,
                            char *reason, size_t reason_size) {
    return count == 2;
}

/* The family's lines: each directive's words, as they were set. */
static struct buffer kept;

static bool kept_parse(const struct option_row *row, const struct slice *words, size_t count,
                       char *reason, size_t reason_size) {
    size_t length = 0;
    for (size_t i = 0; i < count; i++) length += words[i].length;
    if (count == 0 || length > OPTION_LINE_BYTES_MAX / 8) return false; /* a line must hold it */
    buffer_append_c_string(&kept, row->name);
    for (size_t i = 0; i < count; i++) {
        buffer_append_char(&kept, ' ');
        buffer_append_quoted(&kept, words[i]);
    }
    buffer_append_char(&kept, '\n');
    return true;
}

static bool family_parse(const struct option_row *row, const struct slice *words, size_t count,
                         char *reason, size_t reason_size) {
    return count == 0;
}

static void family_rewrite(const struct option_row *row, struct buffer *out) {
    buffer_append(out, kept.bytes, kept.length);
}

static const struct option_row rows[] = {
    {.name = "keep",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_FAMILY | OPTION_MULTI | OPTION_FILE_ONLY,
     .section = "c",
     .group = 1,
     .help = ".",
     .parse = family_parse,
     .rewrite = family_rewrite},
    {.name = "keep this",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI | OPTION_FILE_ONLY,
     .section = "c",
     .group = 2,
     .help = ".",
     .parse = kept_parse},
    {.name = "keep that",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI | OPTION_FILE_ONLY,
     .section = "c",
     .group = 1,
     .help = ".",
     .parse = kept_parse},
    OPTION_BOOL("flag", &flag, true, OPTION_MUTABLE, "a", 10, "."),
    {.name = "number",
     .alias = "zahl",
     .type = OPTION_TYPE_INT,
     .section = "a",
     .place = 20,
     .fallback = "4",
     .variable = &number,
     .low = -100,
     .high = 100,
     .help = ".",
     .apply = number_apply},
    {.name = "even",
     .type = OPTION_TYPE_INT,
     .section = "b",
     .fallback = "4",
     .variable = &even,
     .low = -100,
     .high = INT64_MAX,
     .help = ".",
     .check = even_check},
    OPTION_BYTES("bytes", &bytes, "1mb", 1, INT64_MAX, OPTION_MUTABLE, "a", 30, "."),
    {.name = "mode",
     .type = OPTION_TYPE_OCTAL,
     .section = "a",
     .place = 40,
     .fallback = "0",
     .variable = &mode,
     .low = 0,
     .high = 0777,
     .help = "."},
    {.name = "share",
     .type = OPTION_TYPE_BYTES_OR_PERCENT,
     .section = "a",
     .place = 40,
     .fallback = "120%",
     .variable = &share,
     .low = -1000,
     .high = INT64_MAX,
     .help = "."},
    OPTION_ENUM("color", &color, "green", colors, 0, "a", 50, "."),
    OPTION_STRING("name", &name, "nobody", 0, "a", 60, "."),
    OPTION_STRING("secret", &secret, "", OPTION_SECRET, "a", 70, "."),
    {.name = "point",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI,
     .section = "b",
     .fallback = "p q",
     .help = ".",
     .parse = points_parse,
     .print = points_print,
     .rewrite = points_rewrite},
    {.name = "directive",
     .type = OPTION_TYPE_CUSTOM,
     .flags = OPTION_MULTI | OPTION_FILE_ONLY,
     .section = "b",
     .help = ".",
     .parse = directive_parse},
    {.name = "refused",
     .type = OPTION_TYPE_INT,
     .flags = OPTION_MISSING,
     .section = "b",
     .fallback = "7",
     .variable = &refused,
     .low = 0,
     .high = 9,
     .help = ".",
     .refusal = "not built"},
};

static bool read_included(const char *path, struct buffer *text) {
    if (strcmp(path, "self") == 0) buffer_append_c_string(text, "number 3\ninclude self\n");
    /* No line of the family: a rewritten file has those of an included one twice, as in 6.2. */
    if (strcmp(path, "good") == 0) buffer_append_c_string(text, "bytes 5kb\nname x\ncolor red\n");
    errno = ENOENT;
    return text->length > 0;
}

static void register_rows(void) {
    buffer_init(&points, MEMORY_OTHER);
    buffer_append_char(&points, 'x');
    buffer_init(&kept, MEMORY_OTHER);
    option_register(rows, sizeof(rows) / sizeof(rows[0]));
}

static void forget_rows(void) {
    option_reset_all();
    buffer_free(&points);
    buffer_free(&kept);
}

static void check_values(void) {
    ASSERT(number >= -100 && number <= 100 && number != 13);
    ASSERT(even % 2 == 0 && even >= -100);
    ASSERT(bytes >= 1);
    ASSERT(mode >= 0 && mode <= 0777);
    ASSERT(share >= -1000);
    ASSERT(color == 1 || color == 2);
    ASSERT(refused == 7);
    ASSERT(name && secret);
}

static void check_rewriting(struct slice text, unsigned mode_bits) {
    bool all = mode_bits & REWRITE_ALL;
    struct buffer before, after, first, second, error;
    struct buffer *const buffers[] = {&before, &after, &first, &second, &error};
    for (size_t i = 0; i < 5; i++) buffer_init(buffers[i], MEMORY_OTHER);
    if (mode_bits & REWRITE_NOTHING) text.length = 0;
    print_all(&before);
    family_rewrite(NULL, &before);
    option_rewrite_text(text, all, &first);
    forget_rows();
    register_rows();
    bool loaded = option_load_text(buffer_slice(&first), OPTION_FROM_FILE, &error);
    ASSERT(loaded);
    loaded = option_load_deferred(&error);
    ASSERT(loaded);
    print_all(&after);
    family_rewrite(NULL, &after);
    ASSERT(slice_equal(buffer_slice(&before), buffer_slice(&after)));
    option_rewrite_text(buffer_slice(&first), all, &second);
    ASSERT(slice_equal(buffer_slice(&first), buffer_slice(&second)));
    for (size_t i = 0; i < 5; i++) buffer_free(buffers[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    struct slice text = {(const char *)data + 1, size - 1};
    struct buffer error;
    buffer_init(&error, MEMORY_OTHER);
    option_set_include_reader(read_included);
    register_rows();
    bool loaded = option_load_text(text, OPTION_FROM_FILE, &error);
    if (!option_load_deferred(&error)) loaded = false; /* in any case, as the lines wait here */
    ASSERT(loaded == (error.length == 0));
    check_values();
    if (loaded) check_rewriting(text, data[0]);
    forget_rows();
    buffer_free(&error);
    return 0;
}
