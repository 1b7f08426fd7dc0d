/* SPDX-License-Identifier: BSD-3-Clause
 * The load's side of the protocol: requests as text, replies passed over.
 *
 * Replies are of RESP2: simple strings, errors, integers, bulks, nil and arrays of these. A part is
 * passed over by its first line and its length; nothing is kept but what the reply is, and the text
 * of its error.
 *
 * Invariant: `kind` is 0 exactly between two parts, `parts_left` between two replies, and
 * `body_left` is above 0 only within a bulk, whose line end is counted in it.
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

/* Returns what the reply is when that was its last part, else REPLY_NONE. */
static enum reply_kind part_ended(struct reply_reader *r, enum reply_kind kind) {
    r->kind = 0;
    if (kind == REPLY_ERROR || kind == REPLY_OOM) r->failed = kind;
    if (--r->parts_left) return REPLY_NONE;
    if (r->failed) return r->failed;
    return r->is_array ? REPLY_OK : kind;
}

/* At the end of a part's first line. */
static enum reply_kind line_ended(struct reply_reader *r) {
    if (r->kind == '$' && !r->negative) {
        r->body_left = r->number + 2;
        return REPLY_NONE;
    }
    if (r->kind == '*' && !r->negative) {
        r->is_array = true;
        r->parts_left += r->number;
        return part_ended(r, REPLY_OK);
    }
    if (r->kind == '-') {
        r->error[r->error_length] = 0;
        return part_ended(r, !strncmp(r->error, "OOM", 3) ? REPLY_OOM : REPLY_ERROR);
    }
    if (r->kind == '$' || r->kind == '*' || r->kind == '_') return part_ended(r, REPLY_NIL);
    return part_ended(r, r->kind == ':' && r->number == 0 ? REPLY_ZERO : REPLY_OK);
}

static void note_error_byte(struct reply_reader *r, char c) {
    if (r->error_length < WIRE_ERROR_BYTES - 1 && c >= ' ' && c != '"' && c != '\\')
        r->error[r->error_length++] = c;
}

static inline enum reply_kind read_line_byte(struct reply_reader *r, char c) {
    if (c == '\n') return line_ended(r);
    if (c >= '0' && c <= '9')
        r->number = r->number * 10 + (uint64_t)(c - '0');
    else if (c == '-')
        r->negative = true;
    if (r->kind == '-') note_error_byte(r, c);
    return REPLY_NONE;
}

static enum reply_kind pass_body(struct reply_reader *r, const char **at, const char *end,
                                 struct wire_slice *body) {
    uint64_t here = (uint64_t)(end - *at);
    uint64_t n = r->body_left < here ? r->body_left : here;
    if (body) *body = (struct wire_slice){*at, (size_t)n};
    *at += n;
    r->body_left -= n;
    return r->body_left ? REPLY_NONE : part_ended(r, REPLY_OK);
}

static bool part_began(struct reply_reader *r, char c) {
    r->kind = c;
    r->number = 0;
    r->negative = false;
    if (c == '-') r->error_length = 0;
    if (!r->parts_left) {
        r->parts_left = 1;
        r->is_array = false;
        r->failed = REPLY_NONE;
    }
    return c == '+' || c == '-' || c == ':' || c == '$' || c == '_' || c == '*';
}

enum reply_kind wire_read_reply(struct reply_reader *r, const char **at, const char *end,
                                struct wire_slice *body, bool *sound) {
    if (body) *body = (struct wire_slice){*at, 0};
    while (*at < end) {
        enum reply_kind kind = REPLY_NONE;
        if (r->body_left) {
            kind = pass_body(r, at, end, body);
            if (kind == REPLY_NONE && body) return kind; /* one piece a call */
        } else {
            char c = *(*at)++;
            if (r->kind)
                kind = read_line_byte(r, c);
            else if (!part_began(r, c))
                return *sound = false, REPLY_NONE;
        }
        if (kind != REPLY_NONE) return kind;
    }
    return REPLY_NONE;
}
