/* SPDX-License-Identifier: BSD-3-Clause
 * The load's side of the protocol: requests as text.
 */
#ifndef EVENKEEL_MEASURE_WIRE_H
#define EVENKEEL_MEASURE_WIRE_H
#include <stddef.h>
#include <stdint.h>

#define WIRE_TEXT_BYTES_MAX 160 /* of a request, beside its key and its value */
#define WIRE_KEY_BYTES_MIN 16   /* "key:" and twelve digits */

/* Numbers and the protocol's lengths as text; all of these return the end of what they wrote. */
char *wire_put(char *to, const char *text, size_t length);
char *wire_put_number(char *to, uint64_t number);
char *wire_put_head(char *to, unsigned words);
char *wire_put_word(char *to, const char *text, size_t length);
char *wire_put_number_word(char *to, uint64_t number);
/* The key of a number: "key:", twelve digits, and as many x as `length` asks for. */
char *wire_put_key(char *to, uint64_t number, size_t length);

#endif
