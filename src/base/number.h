/* SPDX-License-Identifier: BSD-3-Clause
 * Text to numbers and back, exact and without locale.
 */
#ifndef EVENKEEL_BASE_NUMBER_H
#define EVENKEEL_BASE_NUMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define NUMBER_INT64_CHARS 21         /* "-9223372036854775808" and a NUL */
#define NUMBER_DOUBLE_CHARS 328       /* any double in fixed notation with 17 decimals, and a NUL */
#define NUMBER_LONG_DOUBLE_CHARS 5120 /* any long double, likewise */

/* Returns true if the text is the canonical decimal form of an int64: no blanks, no plus sign, no
 * leading zero, no "-0". `value` is set only then. */
MUST_USE bool number_parse_int64(const char *text, size_t length, int64_t *value);
MUST_USE bool number_parse_uint64(const char *text, size_t length, uint64_t *value);
/* Reads the text as Redis reads a double: the whole of it must be a form that strtod takes, "inf",
 * "-inf" and "+inf" included. NaN, leading blanks and numbers out of range are refused. */
MUST_USE bool number_parse_double(const char *text, size_t length, double *value);
MUST_USE bool number_parse_long_double(const char *text, size_t length, long double *value);
/* "1024", "1kb" (1024), "1k" (1000), "1mb", "1m", "1gb", "1g", "1b"; case ignored; no sign. A value
 * that does not fit becomes the largest one. A text without digits ("", "kb") is 0, as in 6.2. */
MUST_USE bool number_parse_bytes(const char *text, size_t length, uint64_t *value);

/* Writes the decimal text without a NUL; returns its length (at most 20). */
size_t number_format_int64(char *out, int64_t value);
size_t number_format_uint64(char *out, uint64_t value);
/* The 17-significant-digits form ("%.17g") that Redis 6.2 replies with; "inf", "-inf", "nan". This
 * and the functions below write a NUL too, assert that `size` suffices, and return the length
 * without the NUL. */
size_t number_format_double(char *out, size_t size, double value);
/* The form of printf's "%.*f", rounded exactly; 1 <= decimals <= 17. */
size_t number_format_fixed(char *out, size_t size, double value, int decimals);
/* INCRBYFLOAT's form: fixed notation of a long double with up to 17 decimals, trailing zeros cut,
 * never "-0". NUMBER_LONG_DOUBLE_CHARS is always enough. */
size_t number_format_long_double_fixed(char *out, size_t size, long double value);
/* "1.50M", "512B": two decimals above bytes; units B K M G T P, and B again from 1024P on, as in
 * 6.2. */
size_t number_format_bytes_human(char *out, size_t size, uint64_t bytes);
#endif
