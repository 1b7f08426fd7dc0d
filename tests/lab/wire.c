/* SPDX-License-Identifier: BSD-3-Clause
 * The lab's side of the protocol: requests as text, replies passed over.
 *
 * Only the replies that the load asks for are understood: simple strings, errors, integers, bulks
 * and nil. A reply is passed over by its first line and its length; nothing is kept but its kind.
 *
 * Invariant: `kind` is 0 exactly between two replies, and `body_left` is above 0 only within a
 * bulk, whose line end is counted in it.
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

/* At the end of a reply's first line: what it is, or REPLY_NONE where a body follows. */
static enum reply_kind line_ended(struct reply_reader *r) {
    if (r->kind == '$' && !r->negative) {
        r->body_left = r->number + 2;
        return REPLY_NONE;
    }
    char kind = r->kind;
    r->kind = 0;
    if (kind == '-')
        return r->letter_count >= 3 && !memcmp(r->letters, "OOM", 3) ? REPLY_OOM : REPLY_ERROR;
    if (kind == '$' || kind == '_') return REPLY_NIL;
    return kind == ':' && r->number == 0 ? REPLY_ZERO : REPLY_OK;
}

static enum reply_kind read_line_byte(struct reply_reader *r, char c) {
    if (c == '\n') return line_ended(r);
    if (r->kind == '-' && r->letter_count < sizeof(r->letters))
        r->letters[r->letter_count++] = c;
    else if (c >= '0' && c <= '9')
        r->number = r->number * 10 + (uint64_t)(c - '0');
    else if (c == '-')
        r->negative = true;
    return REPLY_NONE;
}

static enum reply_kind pass_body(struct reply_reader *r, const char **at, const char *end,
                                 struct wire_slice *body) {
    uint64_t here = (uint64_t)(end - *at);
    uint64_t n = r->body_left < here ? r->body_left : here;
    if (body) *body = (struct wire_slice){*at, (size_t)n};
    *at += n;
    r->body_left -= n;
    if (r->body_left) return REPLY_NONE;
    r->kind = 0;
    return REPLY_OK;
}

enum reply_kind wire_read_reply(struct reply_reader *r, const char **at, const char *end,
                                struct wire_slice *body, bool *sound) {
    if (body) *body = (struct wire_slice){*at, 0};
    while (*at < end) {
        if (r->body_left) return pass_body(r, at, end, body);
        char c = *(*at)++;
        if (!r->kind) {
            *sound = c == '+' || c == '-' || c == ':' || c == '$' || c == '_';
            if (!*sound) return REPLY_NONE;
            *r = (struct reply_reader){.kind = c};
            continue;
        }
        enum reply_kind kind = read_line_byte(r, c);
        if (kind != REPLY_NONE) return kind;
    }
    return REPLY_NONE;
}
