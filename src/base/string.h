/* SPDX-License-Identifier: BSD-3-Clause
 * Binary-safe text: a slice borrows bytes, a buffer owns bytes and grows.
 */
#ifndef EVENKEEL_BASE_STRING_H
#define EVENKEEL_BASE_STRING_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/memory.h"

/* Borrowed bytes; may hold any byte, is not NUL-terminated. Valid as long as its lender says. */
struct slice {
    const char *bytes;
    size_t length;
};

/* ASCII only, whatever the locale. */
static inline char string_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})
struct slice slice_of(const char *c_string);
bool slice_equal(struct slice a, struct slice b);
/* ASCII case is ignored. */
bool slice_equal_nocase(struct slice a, struct slice b);
/* Whether the slice equals a C string, ASCII case ignored: `slice_is(argument, "nx")`. */
bool slice_is(struct slice a, const char *c_string);
/* Order of bytes, as memcmp; a slice that begins another one comes before it. */
int slice_compare(struct slice a, struct slice b);
/* A NUL-terminated copy that the caller frees with memory_free(text, class). */
char *slice_dup_c_string(struct slice a, enum memory_class class);

/* Owned, growing bytes. {0} with a class set is a valid empty buffer. A NUL stands behind the last
 * byte once anything was appended. */
struct buffer {
    char *bytes;
    size_t length;
    size_t capacity;
    enum memory_class class;
};

void buffer_init(struct buffer *b, enum memory_class class);
void buffer_free(struct buffer *b);
void buffer_clear(struct buffer *b); /* keeps the capacity */
/* Makes room for `more` bytes behind `length`; returns where they go. */
char *buffer_reserve(struct buffer *b, size_t more);
/* Makes room for `more` bytes behind `length`; returns where they go, or NULL, with nothing
 * changed, where there is no memory. */
MUST_USE char *buffer_try_reserve(struct buffer *b, size_t more);
void buffer_append(struct buffer *b, const void *bytes, size_t length);
void buffer_append_c_string(struct buffer *b, const char *text);
void buffer_append_char(struct buffer *b, char c);
void buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *b, const char *format, va_list arguments);
/* Appends the text in double quotes, with \n \r \t \a \b \\ \" and \xNN for bytes that cannot be
 * printed: the form of configuration files, MONITOR and redis-cli. */
void buffer_append_quoted(struct buffer *b, struct slice text);
struct slice buffer_slice(const struct buffer *b);

/* Makes another machine's text fit to be shown in a line: cut to `size`, a NUL included, with a dot
 * for each byte that cannot be printed. Returns `shown`. */
const char *string_show(struct slice text, char *shown, size_t size);

/* Splits a line into words as redis.conf and inline requests do: blanks separate; "..." with the
 * escapes above; '...' with \' only. Returns the number of words, or -1 where quotes do not close
 * or a closing quote is not followed by a blank. Words are appended, each followed by a NUL, to
 * `storage`; `words` (an allocated array, freed by the caller with MEMORY_OTHER, also when empty)
 * points into it, so storage must outlive it. */
MUST_USE int string_split_words(struct slice line, struct buffer *storage, struct slice **words);

#endif
