/* SPDX-License-Identifier: BSD-3-Clause
 * Slices, growing buffers, and the word grammar that redis.conf and inline requests share.
 *
 * Invariants of a buffer:
 * 1. bytes == NULL and capacity == 0, or capacity is the good size of an allocation of `class`
 *    and length < capacity.
 * 2. bytes[length] == '\0' after every call that appends.
 */
#include "base/string.h"

#include <limits.h>

#include "base/panic.h"

#define GROWTH_DOUBLES_UP_TO ((size_t)1 << 20)

/* ---- Slices ---- */

struct slice slice_of(const char *c_string) {
    return (struct slice){c_string, strlen(c_string)};
}

const char *string_show(struct slice text, char *shown, size_t size) {
    size_t length = text.length < size - 1 ? text.length : size - 1;
    for (size_t i = 0; i < length; i++)
        shown[i] = text.bytes[i] >= ' ' && text.bytes[i] < 0x7f ? text.bytes[i] : '.';
    shown[length] = '\0';
    return shown;
}

bool slice_equal(struct slice a, struct slice b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

bool slice_equal_nocase(struct slice a, struct slice b) {
    if (a.length != b.length) return false;
    for (size_t i = 0; i < a.length; i++) {
        if (string_lower(a.bytes[i]) != string_lower(b.bytes[i])) return false;
    }
    return true;
}

bool slice_is(struct slice a, const char *c_string) {
    return slice_equal_nocase(a, slice_of(c_string));
}

int slice_compare(struct slice a, struct slice b) {
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter == 0 ? 0 : memcmp(a.bytes, b.bytes, shorter);
    if (order != 0) return order;
    return (a.length > b.length) - (a.length < b.length);
}

char *slice_dup_c_string(struct slice a, enum memory_class class) {
    char *text = memory_alloc(a.length + 1, class);
    if (a.length > 0) memcpy(text, a.bytes, a.length);
    text[a.length] = '\0';
    return text;
}

/* ---- Buffers ---- */

void buffer_init(struct buffer *b, enum memory_class class) {
    *b = (struct buffer){.class = class};
}

void buffer_free(struct buffer *b) {
    memory_free_sized(b->bytes, b->capacity, b->class);
    buffer_init(b, b->class);
}

void buffer_clear(struct buffer *b) {
    b->length = 0;
    if (b->bytes != NULL) b->bytes[0] = '\0';
}

/* The first allocation fits the request; later ones double the capacity, or above 1 MiB add a
 * quarter. */
static size_t grown_capacity(const struct buffer *b, size_t needed) {
    size_t spare = 0;
    if (b->capacity > 0) {
        spare = b->capacity < GROWTH_DOUBLES_UP_TO ? b->capacity : b->capacity / 4;
    }
    size_t wanted = b->capacity + spare;
    return wanted < needed ? needed : wanted;
}

__attribute__((noinline)) static void buffer_grow(struct buffer *b, size_t needed) {
    size_t wanted = grown_capacity(b, needed);
    b->bytes = memory_realloc(b->bytes, wanted, b->class);
    b->capacity = memory_good_size(wanted);
}

char *buffer_reserve(struct buffer *b, size_t more) {
    if (__builtin_expect(more >= b->capacity - b->length, 0)) {
        ASSERT_COMPARE(more, <, (size_t)PTRDIFF_MAX - b->length);
        buffer_grow(b, b->length + more + 1);
    }
    return b->bytes + b->length;
}

char *buffer_try_reserve(struct buffer *b, size_t more) {
    if (more >= b->capacity - b->length) {
        ASSERT_COMPARE(more, <, (size_t)PTRDIFF_MAX - b->length);
        size_t wanted = grown_capacity(b, b->length + more + 1);
        char *bytes = memory_try_realloc(b->bytes, wanted, b->class);
        if (!bytes) return NULL;
        b->bytes = bytes;
        b->capacity = memory_good_size(wanted);
    }
    return b->bytes + b->length;
}

void buffer_append(struct buffer *b, const void *bytes, size_t length) {
    char *at = buffer_reserve(b, length);
    if (length > 0) memcpy(at, bytes, length);
    at[length] = '\0';
    b->length += length;
}

void buffer_append_c_string(struct buffer *b, const char *text) {
    buffer_append(b, text, strlen(text));
}

void buffer_append_char(struct buffer *b, char c) {
    char *at = buffer_reserve(b, 1);
    at[0] = c;
    at[1] = '\0';
    b->length++;
}

void buffer_printf(struct buffer *b, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(b, format, arguments);
    va_end(arguments);
}

void buffer_vprintf(struct buffer *b, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    char *at = buffer_reserve(b, 0);
    int length = vsnprintf(at, b->capacity - b->length, format, arguments);
    ASSERT_COMPARE(length, >=, 0);
    if ((size_t)length >= b->capacity - b->length) {
        at = buffer_reserve(b, (size_t)length);
        vsnprintf(at, (size_t)length + 1, format, again);
    }
    va_end(again);
    b->length += (size_t)length;
}

struct slice buffer_slice(const struct buffer *b) {
    return (struct slice){b->bytes == NULL ? "" : b->bytes, b->length};
}

/* ---- Quoting, both ways ---- */

/* Escapes of one letter: what stands after the backslash, and the byte it means. */
static const char escape_letters[] = "nrtab";
static const char escape_bytes[] = "\n\r\t\a\b";

void buffer_append_quoted(struct buffer *b, struct slice text) {
    buffer_append_char(b, '"');
    for (size_t i = 0; i < text.length; i++) {
        char c = text.bytes[i];
        const char *escape = c == '\0' ? NULL : strchr(escape_bytes, c);
        if (c == '"' || c == '\\') {
            buffer_append(b, (char[]){'\\', c}, 2);
        } else if (escape != NULL) {
            buffer_append(b, (char[]){'\\', escape_letters[escape - escape_bytes]}, 2);
        } else if (c >= ' ' && c <= '~') {
            buffer_append_char(b, c);
        } else {
            buffer_printf(b, "\\x%02x", (unsigned char)c);
        }
    }
    buffer_append_char(b, '"');
}

/* Where the splitter stands in the line. */
struct reader {
    const char *at, *end;
};

static bool at_end(const struct reader *r) { return r->at == r->end || *r->at == '\0'; }

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    char lower = string_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Takes an escape within double quotes, from after its backslash. */
static char read_escape(struct reader *r) {
    if (*r->at == 'x' && r->end - r->at >= 3) {
        int high = hex_digit(r->at[1]), low = hex_digit(r->at[2]);
        if (high >= 0 && low >= 0) {
            r->at += 3;
            return (char)(high << 4 | low);
        }
    }
    char c = *r->at++;
    const char *letter = c == '\0' ? NULL : strchr(escape_letters, c);
    return letter == NULL ? c : escape_bytes[letter - escape_letters];
}

/* Takes a quoted part, from after its opening quote to after its closing one. False where it does
 * not close or goes on without a blank. */
static bool read_quoted(struct reader *r, char quote, struct buffer *out) {
    for (;;) {
        if (at_end(r)) return false;
        char c = *r->at++;
        if (c == quote) return at_end(r) || is_blank(*r->at);
        if (c == '\\' && quote == '"' && !at_end(r)) {
            c = read_escape(r);
        } else if (c == '\\' && quote == '\'' && r->at < r->end && *r->at == '\'') {
            c = *r->at++;
        }
        buffer_append_char(out, c);
    }
}

/* Takes one word, whose first character is not blank. */
static bool read_word(struct reader *r, struct buffer *out) {
    while (!at_end(r)) {
        char c = *r->at;
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t') break;
        r->at++;
        if (c == '"' || c == '\'') return read_quoted(r, c, out);
        buffer_append_char(out, c);
    }
    return true;
}

int string_split_words(struct slice line, struct buffer *storage, struct slice **words) {
    struct reader r = {line.bytes, line.bytes + line.length};
    size_t *ends = NULL; /* of each word: offsets, because `storage` may move while it grows */
    size_t count = 0, room = 0;
    size_t start = storage->length;
    bool sound = true;
    *words = NULL;
    for (;;) {
        while (!at_end(&r) && is_blank(*r.at)) r.at++;
        if (at_end(&r)) break;
        sound = read_word(&r, storage) && count < INT_MAX;
        if (!sound) break;
        if (count == room) {
            room = room == 0 ? 8 : room * 2;
            ends = memory_realloc(ends, room * sizeof(*ends), MEMORY_OTHER);
        }
        ends[count++] = storage->length;
        buffer_append_char(storage, '\0');
    }
    if (sound) {
        *words = memory_alloc(count * sizeof(**words), MEMORY_OTHER);
        for (size_t i = 0; i < count; i++) {
            (*words)[i] = (struct slice){storage->bytes + start, ends[i] - start};
            start = ends[i] + 1;
        }
    }
    memory_free(ends, MEMORY_OTHER);
    return sound ? (int)count : -1;
}

/* ---- Hints ---- */
