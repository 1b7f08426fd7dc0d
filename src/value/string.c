/* SPDX-License-Identifier: BSD-3-Clause
 * Strings as values: their forms, and the type's row.
 */
#include "value/string.h"

#include <string.h>

#include "base/memory.h"
#include "value/rewritten.h"
#include "value/saved.h"

/* Zeros that strings up to this length borrow; a longer string has a block, which the allocator
 * clears. */
static const char zeros[1024];

struct string_value string_value_of_text(struct slice text) {
    struct string_value s = {.text = text};
    if (text.length > STRING_EMBSTR_MAX) {
        s.encoding = STRING_RAW;
    } else if (text.length < NUMBER_INT64_CHARS &&
               number_parse_int64(text.bytes, text.length, &s.integer)) {
        s.encoding = STRING_INT;
    } else {
        s.encoding = STRING_EMBSTR;
    }
    return s;
}

struct string_value string_value_of_integer(int64_t integer) {
    return (struct string_value){.encoding = STRING_INT, .integer = integer};
}

struct string_value string_value_raw(struct slice text) {
    return (struct string_value){.encoding = STRING_RAW, .text = text};
}

struct string_value string_value_zeros(size_t length) {
    if (length <= sizeof(zeros)) return string_value_raw((struct slice){zeros, length});
    size_t good = memory_good_size(blob_allocation(length));
    struct blob *b = memory_zalloc(good, MEMORY_DATASET);
    b->capacity = good - sizeof(*b);
    b->length = length;
    return (struct string_value){.encoding = STRING_RAW, .text = blob_slice(b), .blob = b};
}

struct slice string_value_text(const struct string_value *s, char scratch[STRING_SCRATCH]) {
    if (s->encoding != STRING_INT) return s->text;
    return (struct slice){scratch, number_format_int64(scratch, s->integer)};
}

/* ---- The type's row ---- */

static void string_release(struct value v) {
    struct string_value *s = string_of(v);
    blob_free(s->blob, MEMORY_DATASET);
    s->blob = NULL;
}

/* The function that stores the copy copies the text, because the copy does not own it. */
static struct value string_copy(struct value v, struct slice key, struct slice to) { return v; }

static void string_digest(struct value v, struct value_digest *d) {
    char scratch[STRING_SCRATCH];
    value_digest_next(d, string_value_text(string_of(v), scratch));
}

static size_t string_bytes(struct value v) {
    const struct blob *b = string_of(v)->blob;
    return b ? blob_bytes(b) : 0;
}

static size_t string_free_effort(struct value v, struct slice key) { return 1; }

static unsigned string_form(struct value v) { return SAVED_STRING; }

static bool string_save(struct value v, struct save_cursor *c, struct sink *out) {
    const struct string_value *s = string_of(v);
    if (s->encoding == STRING_INT)
        saved_write_integer(out, s->integer);
    else
        saved_write_text(out, s->text);
    return true;
}

static bool string_rewrite(struct value v, struct slice key, struct save_cursor *c,
                           struct sink *out) {
    char scratch[STRING_SCRATCH];
    rewritten_begin(out, 3);
    rewritten_text(out, SLICE("SET"));
    rewritten_text(out, key);
    rewritten_text(out, string_value_text(string_of(v), scratch));
    return true;
}

static enum value_loaded string_load(unsigned form, struct slice key, struct source *in,
                                     struct buffer *store, struct value *out) {
    struct slice text;
    struct blob *blob;
    int64_t integer;
    if (!saved_read_string(in, store, &text, &blob, &integer)) return VALUE_REFUSED;
    struct string_value *s = string_of(*out);
    *s = text.bytes ? string_value_of_text(text) : string_value_of_integer(integer);
    s->blob = blob;
    out->encoding = s->encoding;
    return VALUE_LOADED;
}

static const char *const encodings[] = {"raw", "embstr", "int"};

static const struct value_type row = {.name = "string",
                                      .digest_number = 0,
                                      .encodings = encodings,
                                      .release = string_release,
                                      .copy = string_copy,
                                      .digest = string_digest,
                                      .bytes = string_bytes,
                                      .free_effort = string_free_effort,
                                      .form = string_form,
                                      .save = string_save,
                                      .rewrite = string_rewrite,
                                      .load = string_load};

void value_string_register(void) { value_type_register(VALUE_STRING, &row); }
