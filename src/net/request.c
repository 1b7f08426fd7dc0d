/* SPDX-License-Identifier: BSD-3-Clause
 * The request parser. Source of the format: the Redis serialization protocol's specification, and
 * 6.2's limits and error texts as seen on the wire.
 *
 * Invariants
 *  1. The cursor passes only bytes that need not be given again: a whole header line, a whole
 *     argument with its line end, a whole inline line. The parser's state has everything else.
 *  2. argv[0..argc) are the arguments that the cursor has passed; the caller keeps their bytes
 *     until the request has run.
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

static enum request_status request_fail(struct request_parser *p, const char *error) {
    p->error = error;
    return REQUEST_ERROR;
}

static enum request_status request_fail_limit(struct request_parser *p, const char *error) {
    p->error = error;
    return REQUEST_LIMIT;
}

/* The length of the header line at `line`, without "\r\n"; -1 if the line is not complete. As
 * in 6.2 the line ends at '\r', and the byte after it is skipped, whatever it is. */
static inline ptrdiff_t header_length(const char *line, const char *end) {
    const char *cr = memchr(line, '\r', (size_t)(end - line));
    return cr && cr + 1 < end ? cr - line : -1;
}

/* Parses a whole header with a number below 100, as nearly all headers have, without a search for
 * the line's end. Returns the header's length with "\r\n", and the number; 0 for other headers. */
static inline size_t short_header(const char *at, const char *end, int64_t *value) {
    if (end - at < 5) return 0;
    unsigned first = (unsigned char)at[1] - '0', second = (unsigned char)at[2] - '0';
    if (first < 10 && at[2] == '\r') {
        *value = first;
        return 4;
    }
    if (first - 1 < 9 && second < 10 && at[3] == '\r') {
        *value = first * 10 + second;
        return 5;
    }
    return 0;
}

static enum request_status parse_inline(struct request_parser *p, const char **cursor,
                                        const char *end, struct buffer *storage) {
    const char *line = *cursor;
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    if (!newline) {
        if (end - line > REQUEST_INLINE_BYTES_MAX) return request_fail(p, "too big inline request");
        return REQUEST_INCOMPLETE;
    }
    size_t length = (size_t)(newline - line);
    if (length && line[length - 1] == '\r') length--;

    struct slice *words;
    size_t stored = storage->length;
    int count = string_split_words((struct slice){line, length}, storage, &words);
    bool too_many = count > REQUEST_UNAUTHENTICATED_ARGUMENTS_MAX && !p->authenticated;
    if (too_many || count > p->capacity) {
        p->room = count;
        storage->length = stored; /* the line will be parsed again */
        memory_free(words, MEMORY_OTHER);
        return too_many ? request_fail_limit(p, "unauthenticated multibulk length") : REQUEST_ROOM;
    }
    if (count > 0) memcpy(p->argv, words, (size_t)count * sizeof(*words));
    memory_free(words, MEMORY_OTHER);
    if (count < 0) return request_fail(p, "unbalanced quotes in request");
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
        if (end - *cursor > REQUEST_INLINE_BYTES_MAX)
            return request_fail(p, "too big mbulk count string");
        return REQUEST_INCOMPLETE;
    }
    int64_t count;
    if (!length || !number_parse_int64(line, (size_t)length, &count) ||
        count > REQUEST_ARGUMENTS_MAX)
        return request_fail(p, "invalid multibulk length");
    if (count > REQUEST_UNAUTHENTICATED_ARGUMENTS_MAX && !p->authenticated)
        return request_fail_limit(p, "unauthenticated multibulk length");
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
        if (end - line > REQUEST_INLINE_BYTES_MAX)
            return request_fail(p, "too big bulk count string");
        return REQUEST_INCOMPLETE;
    }
    if (line[0] != '$') {
        p->error_byte = line[0];
        return request_fail(p, "expected '$', got '%c'");
    }
    int64_t bytes;
    if (length < 2 || !number_parse_int64(line + 1, (size_t)length - 1, &bytes) || bytes < 0)
        return request_fail(p, REQUEST_ERROR_BULK_LENGTH);
    if (bytes > p->bulk_max || bytes > REQUEST_BULK_MAX_MOST)
        return request_fail_limit(p, REQUEST_ERROR_BULK_LENGTH);
    if (bytes > REQUEST_UNAUTHENTICATED_BULK_MAX && !p->authenticated)
        return request_fail_limit(p, "unauthenticated bulk length");
    *cursor = line + length + 2;
    p->bulk_length = bytes;
    return REQUEST_READY;
}

/* Reads arguments from *cursor on until the request is whole. Numbers below
 * REQUEST_BULK_MAX_LEAST break no limit, so a short header needs no check. */
static enum request_status parse_arguments(struct request_parser *p, const char **cursor,
                                           const char *end) {
    const char *at = *cursor;
    enum request_status status = REQUEST_READY;
    int64_t arguments = p->arguments, length = p->bulk_length;
    int argc = p->argc;
    while (argc < arguments) {
        if (argc == p->capacity) {
            p->room = arguments;
            status = REQUEST_ROOM;
            break;
        }
        if (length < 0) {
            size_t header = at < end && *at == '$' ? short_header(at, end, &length) : 0;
            if (header) {
                at += header;
            } else {
                status = at < end ? parse_bulk_header(p, &at, end) : REQUEST_INCOMPLETE;
                if (status != REQUEST_READY) break;
                length = p->bulk_length;
            }
        }
        if (end - at - 2 < length) {
            status = REQUEST_INCOMPLETE;
            break;
        }
        p->argv[argc++] = (struct slice){at, (size_t)length};
        at += length + 2; /* the two bytes after the argument are not checked, as in 6.2 */
        length = -1;
    }
    p->argc = argc;
    p->bulk_length = length;
    *cursor = at;
    return status;
}

enum request_status request_parse(struct request_parser *p, const char **cursor, const char *end,
                                  struct buffer *storage) {
    if (p->arguments == 0) {
        if (*cursor == end) return REQUEST_INCOMPLETE;
        if (**cursor != '*') return parse_inline(p, cursor, end, storage);
        int64_t count;
        size_t header = short_header(*cursor, end, &count);
        if (header && count > 0 && count <= REQUEST_UNAUTHENTICATED_ARGUMENTS_MAX) {
            p->arguments = count;
            *cursor += header;
        } else {
            enum request_status status = parse_array_header(p, cursor, end);
            if (status != REQUEST_INCOMPLETE || p->arguments == 0) return status;
        }
    }
    return parse_arguments(p, cursor, end);
}

static __attribute__((noinline, const)) size_t long_header_bytes(size_t number) {
    size_t bytes = 4;
    for (; number >= 10; number /= 10) bytes++;
    return bytes;
}

/* The least bytes of a header with this number: a mark, the digits, "\r\n". */
static inline size_t header_bytes(size_t number) {
    if (__builtin_expect(number >= 100, 0)) return long_header_bytes(number);
    return number >= 10 ? 5 : 4;
}

static inline bool ends_line(const char *end) { return memcmp(end - 2, "\r\n", 2) == 0; }

/* No header is shorter than header_bytes says, and a header of that length has only the digits,
 * because the parser has read the number from it. So it is enough to check that each argument is at
 * its canonical place, and to check the bytes that the parser skips. */
bool request_is_canonical(struct slice bytes, int argc, const struct slice *argv) {
    const char *at = bytes.bytes + header_bytes((size_t)argc);
    if (bytes.bytes[0] != '*' || !ends_line(at)) return false;
    for (int i = 0; i < argc; i++) {
        at += header_bytes(argv[i].length);
        if (at != argv[i].bytes || !ends_line(at)) return false;
        at += argv[i].length + 2;
        if (!ends_line(at)) return false;
    }
    return at == bytes.bytes + bytes.length;
}

void request_parser_rebase(struct request_parser *p, const char *from, const char *to) {
    for (int i = 0; i < p->argc; i++) p->argv[i].bytes = to + (p->argv[i].bytes - from);
}
