/* SPDX-License-Identifier: BSD-3-Clause
 * Strings on their way between functions: those that store a string, and those that call the types'
 * rows.
 *
 * A stored string is a part of its entry (store/entry), in as few bytes as it needs, so a `struct
 * value` cannot point to it. A struct string_value stands for it: the caller has room for one, and
 * the `struct value`'s `pointer` is its address. It borrows its text, or owns a block with the
 * text; the function that stores the string takes the block, or copies the text.
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

/* A string in the form in which it is, or will be, stored. */
struct string_value {
    enum string_encoding encoding;
    struct slice text; /* unless int */
    int64_t integer;   /* where int */
    struct blob *blob; /* of a long text: a block of class MEMORY_DATASET that this struct owns and
                          `text` lies in; NULL: `text` is borrowed */
};

/* The type's row. */
void value_string_register(void);

/* Chooses int, embstr or raw for `text` as SET does. */
struct string_value string_value_of_text(struct slice text);
struct string_value string_value_of_integer(int64_t integer);
/* raw, whatever the text: the encoding that APPEND, SETRANGE and SETBIT leave. */
struct string_value string_value_raw(struct slice text);
/* raw, all zero. */
struct string_value string_value_zeros(size_t length);

#define STRING_SCRATCH NUMBER_INT64_CHARS
/* The text; an int is printed into `scratch`. */
FOR_TESTS struct slice string_value_text(const struct string_value *s,
                                         char scratch[STRING_SCRATCH]);
static inline struct string_value *string_of(struct value v) { return v.pointer; }
#endif
