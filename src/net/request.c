/* SPDX-License-Identifier: BSD-3-Clause
 * The request parser. Source of the format: the Redis serialization protocol's specification, and
 * 6.2's limits and error texts as seen on the wire.
 *
 * Invariants
 *  1. The cursor only passes bytes that need not be given again: a whole header line, a whole
 *     argument with its line end, a whole inline line. The state holds everything else.
 *  2. argv[0..argc) are the arguments that were passed; the caller keeps their bytes until the
 *     request is ready and run.
 *  3. After ERROR or LIMIT nothing further is parsed from the connection.
 */
#include "net/request.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"

void request_parser_reset(struct request_parser *p) {
    p->arguments = 0;
    p->bulk_length = -1;
    p->argc = 0;
    p->error = NULL;
}

static enum request_status fail(struct request_parser *p, const char *error) {
    p->error = error;
    return REQUEST_ERROR;
}

static enum request_status limit(struct request_parser *p, const char *error) {
    p->error = error;
    return REQUEST_LIMIT;
}

/* The length of the header line at `line`, without "\r\n"; -1 where it is not complete. As in 6.2
 * the line ends at '\r' and the byte after it is skipped, whatever it is. */
static inline ptrdiff_t header_length(const char *line, const char *end) {
    const char *cr = memchr(line, '\r', (size_t)(end - line));
    return cr && cr + 1 < end ? cr - line : -1;
}

/* A header's number, the common one- and two-digit ones without a call. */
static inline bool header_number(const char *digits, size_t length, int64_t *value) {
    unsigned first = (unsigned char)digits[0] - '0';
    if (length == 1 && first < 10) {
        *value = first;
        return true;
    }
    unsigned second = (unsigned char)digits[1] - '0';
    if (length == 2 && first - 1 < 9 && second < 10) {
        *value = first * 10 + second;
        return true;
    }
    return number_parse_int64(digits, length, value);
}

static enum request_status parse_inline(struct request_parser *p, const char **cursor,
                                        const char *end, struct buffer *storage) {
    const char *line = *cursor;
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    if (!newline) {
        if (end - line > REQUEST_INLINE_BYTES_MAX) return fail(p, "too big inline request");
        return REQUEST_INCOMPLETE;
    }
    size_t length = (size_t)(newline - line);
    if (length && line[length - 1] == '\r') length--;

    struct slice *words;
    size_t stored = storage->length;
    int count = string_split_words((struct slice){line, length}, storage, &words);
    if (count > p->capacity) {
        p->room = count;
        storage->length = stored; /* the words come again */
        memory_free(words, MEMORY_OTHER);
        return REQUEST_ROOM;
    }
    if (count > 0) memcpy(p->argv, words, (size_t)count * sizeof(*words));
    memory_free(words, MEMORY_OTHER);
    if (count < 0) return fail(p, "unbalanced quotes in request");
    *cursor = newline + 1;
    p->argc = count;
    return REQUEST_READY;
}

/* "*3\r\n" */
static enum request_status parse_array_header(struct request_parser *p, const char **cursor,
                                              const char *end) {
    const char *line = *cursor + 1;
    ptrdiff_t length = header_length(line, end);
    if (length < 0) {
        if (end - *cursor > REQUEST_INLINE_BYTES_MAX) return fail(p, "too big mbulk count string");
        return REQUEST_INCOMPLETE;
    }
    int64_t count;
    if (!length || !header_number(line, (size_t)length, &count) || count > REQUEST_ARGUMENTS_MAX)
        return fail(p, "invalid multibulk length");
    if (count > REQUEST_UNAUTHENTICATED_ARGUMENTS_MAX && !p->authenticated)
        return limit(p, "unauthenticated multibulk length");
    *cursor = line + length + 2;
    if (count <= 0) return REQUEST_READY; /* an empty request: argc is 0 */
    p->arguments = count;
    return REQUEST_INCOMPLETE;
}

/* "$5\r\n" */
static enum request_status parse_bulk_header(struct request_parser *p, const char **cursor,
                                             const char *end) {
    const char *line = *cursor;
    ptrdiff_t length = header_length(line, end);
    if (length < 0) {
        if (end - line > REQUEST_INLINE_BYTES_MAX) return fail(p, "too big bulk count string");
        return REQUEST_INCOMPLETE;
    }
    if (line[0] != '$') {
        p->error_byte = line[0];
        return fail(p, "expected '$', got '%c'");
    }
    int64_t bytes;
    if (length < 2 || !header_number(line + 1, (size_t)length - 1, &bytes) || bytes < 0 ||
        bytes > p->bulk_max)
        return fail(p, "invalid bulk length");
    if (bytes > REQUEST_UNAUTHENTICATED_BULK_MAX && !p->authenticated)
        return limit(p, "unauthenticated bulk length");
    *cursor = line + length + 2;
    p->bulk_length = bytes;
    return REQUEST_READY;
}

enum request_status request_parse(struct request_parser *p, const char **cursor, const char *end,
                                  struct buffer *storage) {
    const char *at = *cursor;
    enum request_status status;
    if (p->arguments == 0) {
        if (at == end) return REQUEST_INCOMPLETE;
        if (*at != '*') return parse_inline(p, cursor, end, storage);
        status = parse_array_header(p, cursor, end);
        if (status != REQUEST_INCOMPLETE || p->arguments == 0) return status;
        at = *cursor;
    }
    while (p->argc < p->arguments) {
        if (p->argc == p->capacity) {
            *cursor = at;
            p->room = p->arguments;
            return REQUEST_ROOM;
        }
        if (p->bulk_length < 0) {
            if (at == end) break;
            status = parse_bulk_header(p, &at, end);
            if (status != REQUEST_READY) {
                *cursor = at;
                return status;
            }
        }
        if (end - at - 2 < p->bulk_length) break; /* no sum: bulk_max may be INT64_MAX */
        p->argv[p->argc++] = (struct slice){at, (size_t)p->bulk_length};
        at += p->bulk_length + 2; /* the two bytes behind are not looked at: as 6.2 */
        p->bulk_length = -1;
    }
    *cursor = at;
    return p->argc == p->arguments ? REQUEST_READY : REQUEST_INCOMPLETE;
}

void request_parser_rebase(struct request_parser *p, const char *from, const char *to) {
    for (int i = 0; i < p->argc; i++) p->argv[i].bytes = to + (p->argv[i].bytes - from);
}
