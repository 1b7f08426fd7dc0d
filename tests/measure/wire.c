/* SPDX-License-Identifier: BSD-3-Clause
 * The load's side of the protocol: requests as text. Replies are passed over by peer/reply_scan.h.
 */
#include "wire.h"

#include <string.h>

char *wire_put(char *to, const char *text, size_t length) {
    memcpy(to, text, length);
    return to + length;
}

char *wire_put_number(char *to, uint64_t number) {
    char digits[20];
    size_t n = 0;
    do digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n) *to++ = digits[--n];
    return to;
}

static char *put_line(char *to, char kind, uint64_t number) {
    *to++ = kind;
    to = wire_put_number(to, number);
    return wire_put(to, "\r\n", 2);
}

char *wire_put_head(char *to, unsigned words) { return put_line(to, '*', words); }

char *wire_put_word(char *to, const char *text, size_t length) {
    to = put_line(to, '$', length);
    to = wire_put(to, text, length);
    return wire_put(to, "\r\n", 2);
}

char *wire_put_number_word(char *to, uint64_t number) {
    char digits[20];
    size_t length = (size_t)(wire_put_number(digits, number) - digits);
    return wire_put_word(to, digits, length);
}

char *wire_put_key(char *to, uint64_t number, size_t length) {
    if (length < WIRE_KEY_BYTES_MIN) length = WIRE_KEY_BYTES_MIN;
    to = put_line(to, '$', length);
    to = wire_put(to, "key:", 4);
    for (int i = 11; i >= 0; i--, number /= 10) to[i] = (char)('0' + number % 10);
    to += 12;
    memset(to, 'x', length - WIRE_KEY_BYTES_MIN);
    return wire_put(to + length - WIRE_KEY_BYTES_MIN, "\r\n", 2);
}
