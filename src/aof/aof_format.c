/* SPDX-License-Identifier: BSD-3-Clause
 * The form of commands in the append-only file. aof_format.h has it.
 */
#include "aof/aof_format.h"

#include <string.h>

#include "base/number.h"

/* The most bytes of a header line: a mark, the digits of a length, the line's end. */
#define HEADER_CHARS (1 + NUMBER_INT64_CHARS + 2)

static inline char *write_header(char *out, char mark, size_t number) {
    *out++ = mark;
    if (number < 10) {
        *out++ = (char)('0' + number);
    } else if (number < 100) {
        *out++ = (char)('0' + number / 10);
        *out++ = (char)('0' + number % 10);
    } else {
        out += number_format_uint64(out, number);
    }
    *out++ = '\r';
    *out++ = '\n';
    return out;
}

static inline char *write_word(char *out, struct slice word) {
    out = write_header(out, '$', word.length);
    if (word.length) memcpy(out, word.bytes, word.length);
    out += word.length;
    *out++ = '\r';
    *out++ = '\n';
    return out;
}

size_t aof_format_bytes_max(int argc, const struct slice *argv) {
    size_t bytes = HEADER_CHARS;
    for (int i = 0; i < argc; i++) bytes += HEADER_CHARS + argv[i].length + 2;
    return bytes;
}

char *aof_format_write(char *out, int argc, const struct slice *argv) {
    out = write_header(out, '*', (size_t)argc);
    for (int i = 0; i < argc; i++) out = write_word(out, argv[i]);
    return out;
}

char *aof_format_write_select(char *out, int database) {
    char digits[NUMBER_INT64_CHARS];
    const struct slice argv[] = {SLICE("SELECT"), {digits, number_format_int64(digits, database)}};
    return aof_format_write(out, 2, argv);
}

void aof_format_append(struct buffer *out, int argc, const struct slice *argv) {
    char *begin = buffer_reserve(out, aof_format_bytes_max(argc, argv));
    out->length += (size_t)(aof_format_write(begin, argc, argv) - begin);
    out->bytes[out->length] = '\0';
}
