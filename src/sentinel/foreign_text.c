/* SPDX-License-Identifier: BSD-3-Clause
 * Fields of foreign texts. foreign_text.h has the idea.
 */
#include "sentinel/foreign_text.h"

#include "base/number.h"
#include "sentinel/settings.h"

#define PORT_MAX 65535

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_host_char(char c) {
    char lower = string_lower(c);
    return is_digit(c) || (lower >= 'a' && lower <= 'z') || c == '.' || c == ':' || c == '-' ||
           c == '_' || c == '%';
}

bool sentinel_foreign_is_host(struct slice text) {
    if (text.length == 0 || text.length > SENTINEL_HOST_CHARS_MAX) return false;
    for (size_t i = 0; i < text.length; i++)
        if (!is_host_char(text.bytes[i])) return false;
    return true;
}

bool sentinel_foreign_is_id(struct slice text) {
    if (text.length != SENTINEL_ID_CHARS) return false;
    for (size_t i = 0; i < text.length; i++) {
        char lower = string_lower(text.bytes[i]);
        if (!is_digit(lower) && !(lower >= 'a' && lower <= 'f')) return false;
    }
    return true;
}

bool sentinel_foreign_port(struct slice text, int *port) {
    uint64_t number;
    if (!number_parse_uint64(text.bytes, text.length, &number)) return false;
    if (number == 0 || number > PORT_MAX) return false;
    *port = (int)number;
    return true;
}

bool sentinel_foreign_epoch(struct slice text, uint64_t *epoch) {
    uint64_t number;
    if (!number_parse_uint64(text.bytes, text.length, &number)) return false;
    if (number > SENTINEL_EPOCH_MAX) return false;
    *epoch = number;
    return true;
}
