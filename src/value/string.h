/* SPDX-License-Identifier: BSD-3-Clause
 * Strings, as they are handed about: by who stores one, and by who walks the types' rows.
 *
 * A string that is stored stands in its entry (store/entry), in as few bytes as it needs, so there
 * is no pointer that a `struct value` could hold. What stands for it is a struct string_value:
 * whoever hands a string on has room for one, and `pointer` is its address. It borrows its text,
 * unless it owns a block with it; who stores it takes the block, or copies the text.
 */
#ifndef EVENKEEL_VALUE_STRING_H
#define EVENKEEL_VALUE_STRING_H
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/blob.h"
#include "base/number.h"
#include "value/value.h"

#define STRING_EMBSTR_MAX 44 /* OBJECT ENCODING embstr up to here: a fact of 6.2 */

enum string_encoding { STRING_RAW, STRING_EMBSTR, STRING_INT };

/* A string in the form in which it will stand, or stands. */
struct string_value {
    enum string_encoding encoding;
    struct slice text; /* not where int */
    int64_t integer;   /* where int */
    struct blob *blob; /* where text is long: a block of class MEMORY_DATASET that this owns and
                          `text` stands in, or NULL: `text` is borrowed */
};

/* The type's row. */
void value_string_register(void);

/* Chooses int, embstr or raw for `text` as SET does. */
struct string_value string_value_of_text(struct slice text);
struct string_value string_value_of_integer(int64_t integer);
/* raw whatever the text: what APPEND, SETRANGE and SETBIT leave. */
struct string_value string_value_raw(struct slice text);
/* raw, all zero. */
struct string_value string_value_zeros(size_t length);

#define STRING_SCRATCH NUMBER_INT64_CHARS
/* The text; an int is printed into `scratch`. */
FOR_TESTS struct slice string_value_text(const struct string_value *s,
                                         char scratch[STRING_SCRATCH]);
static inline struct string_value *string_of(struct value v) { return v.pointer; }
#endif
