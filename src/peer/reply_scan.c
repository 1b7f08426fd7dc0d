/* SPDX-License-Identifier: BSD-3-Clause
 * Replies that are passed over without being stored.
 *
 * A reply is a number of parts: a single value is one part; an aggregate's head is one part, and
 * each of its members is another, counted as soon as the head is read. A part ends with its first
 * line, and a bulk with the announced number of bytes after that line. So nesting costs no memory.
 *
 * Invariant: `kind` is 0 exactly between two parts, `parts_left` is 0 exactly between two replies,
 * and `body_left` is above 0 only within a bulk; it counts the bulk's line end, too.
 */
#include "peer/reply_scan.h"

#include <limits.h>

/* More bytes in a bulk, or members in an aggregate, than any server sends; sums of smaller counts
 * do not overflow. */
#define COUNT_MAX (UINT64_C(1) << 48)

/* Returns what the whole reply is if this was its last part, else SCANNED_NONE. */
static enum scanned end_part(struct reply_scanner *s, enum scanned what) {
    s->kind = 0;
    if (what == SCANNED_ERROR || what == SCANNED_OOM) s->failed = what;
    if (--s->parts_left) return SCANNED_NONE;
    if (s->is_push) return SCANNED_PUSH;
    if (s->failed) return s->failed;
    return s->is_aggregate ? SCANNED_OK : what;
}

static enum scanned end_error(struct reply_scanner *s) {
    s->error[s->error_length] = '\0';
    return end_part(s, strncmp(s->error, "OOM", 3) != 0 ? SCANNED_ERROR : SCANNED_OOM);
}

static enum scanned begin_members(struct reply_scanner *s, uint64_t members) {
    if (s->kind == '|') { /* an attribute's head is not a part of the reply */
        s->parts_left += members;
        s->kind = 0;
        return SCANNED_NONE;
    }
    s->is_aggregate = true;
    s->parts_left += members;
    return end_part(s, SCANNED_OK);
}

/* Called at the end of a part's first line. */
static enum scanned end_line(struct reply_scanner *s) {
    switch (s->kind) {
    case '$':
    case '=':
    case '!':
        if (s->negative) return end_part(s, SCANNED_NIL);
        s->body_left = s->number + 2;
        return SCANNED_NONE;
    case '*':
    case '~':
    case '>': return s->negative ? end_part(s, SCANNED_NIL) : begin_members(s, s->number);
    case '%':
    case '|': return begin_members(s, s->number * 2);
    case '-': return end_error(s);
    case '_': return end_part(s, SCANNED_NIL);
    case ':': return end_part(s, s->number ? SCANNED_OK : SCANNED_ZERO);
    default: return end_part(s, SCANNED_OK);
    }
}

static void note_error(struct reply_scanner *s, const char *bytes, size_t length) {
    for (size_t i = 0; i < length && s->error_length < REPLY_SCAN_ERROR_CHARS - 1; i++) {
        char c = bytes[i];
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\') s->error[s->error_length++] = c;
    }
}

/* Reads bytes of a line. Returns true if the line's end was among them. */
static bool scan_line(struct reply_scanner *s, const char **at, const char *end) {
    const char *from = *at, *p = from;
    uint64_t number = s->number;
    while (p < end && *p != '\n') {
        unsigned digit = (unsigned char)*p - '0';
        if (digit <= 9 && number < COUNT_MAX) number = number * 10 + digit;
        if (*p == '-') s->negative = true;
        p++;
    }
    s->number = number;
    if (s->kind == '-') note_error(s, from, (size_t)(p - from));
    *at = p < end ? p + 1 : p;
    return p < end;
}

static enum scanned pass_body(struct reply_scanner *s, const char **at, const char *end,
                              struct slice *body) {
    uint64_t here = (uint64_t)(end - *at);
    uint64_t n = s->body_left < here ? s->body_left : here;
    if (body) *body = (struct slice){*at, (size_t)n};
    if (s->kind == '!') note_error(s, *at, (size_t)n);
    *at += n;
    s->body_left -= n;
    if (s->body_left) return SCANNED_NONE;
    return s->kind == '!' ? end_error(s) : end_part(s, SCANNED_OK);
}

/* The bytes that a part may begin with. */
static const bool begins_part[UCHAR_MAX + 1] = {
    ['+'] = true, ['-'] = true, [':'] = true, ['$'] = true, ['*'] = true,
    ['_'] = true, ['%'] = true, ['~'] = true, ['>'] = true, ['|'] = true,
    [','] = true, ['#'] = true, ['('] = true, ['='] = true, ['!'] = true,
};

static bool begin_part(struct reply_scanner *s, char c) {
    s->kind = c;
    s->number = 0;
    s->negative = false;
    if (c == '-' || c == '!') s->error_length = 0;
    if (!s->parts_left) {
        s->parts_left = 1;
        s->is_aggregate = false;
        s->is_push = c == '>';
        s->failed = SCANNED_NONE;
    }
    return begins_part[(unsigned char)c];
}

/* The end of a bulk of `bytes` bytes that begins at `from`; NULL if it is not complete. */
static const char *bulk_end(const char *from, const char *end, uint64_t bytes) {
    return (uint64_t)(end - from) >= bytes + 2 ? from + bytes + 2 : NULL;
}

/* Passes over a status, a number or a bulk that is there as a whole, as most replies are: a third
 * of the instructions that the parts below take. Returns SCANNED_NONE, with nothing read, if the
 * reply is anything else. */
static enum scanned scan_whole(const char **at, const char *end) {
    const char *from = *at, *p = from + 1;
    uint64_t number = 0;
    if (*from == '+') {
        const char *found = memchr(p, '\n', (size_t)(end - p));
        if (found) *at = found + 1;
        return found ? SCANNED_OK : SCANNED_NONE;
    }
    if (*from != '$' && *from != ':') return SCANNED_NONE;
    if (end - from >= 5 && !memcmp(from, "$-1\r\n", 5)) {
        *at = from + 5;
        return SCANNED_NIL;
    }
    for (; p < end && *p >= '0' && *p <= '9' && number < COUNT_MAX; p++)
        number = number * 10 + (uint64_t)(*p - '0');
    if (end - p < 2 || p[0] != '\r' || p[1] != '\n' || number > COUNT_MAX) return SCANNED_NONE;
    p = *from == '$' ? bulk_end(p + 2, end, number) : p + 2;
    if (!p) return SCANNED_NONE;
    *at = p;
    return *from == ':' && !number ? SCANNED_ZERO : SCANNED_OK;
}

enum scanned reply_scan(struct reply_scanner *s, const char **at, const char *end,
                        struct slice *body, bool *sound) {
    if (body) {
        *body = (struct slice){*at, 0};
    } else if (!s->parts_left && !s->kind && *at < end) {
        enum scanned what = scan_whole(at, end);
        if (what != SCANNED_NONE) return what;
    }
    while (*at < end) {
        enum scanned what = SCANNED_NONE;
        if (s->body_left) {
            what = pass_body(s, at, end, body);
            if (what == SCANNED_NONE && body) return what;
        } else {
            if (!s->kind && !begin_part(s, *(*at)++)) return *sound = false, SCANNED_NONE;
            if (!scan_line(s, at, end)) return SCANNED_NONE;
            if (s->number > COUNT_MAX && strchr("$*%~>|=!", s->kind)) {
                return *sound = false, SCANNED_NONE;
            }
            what = end_line(s);
        }
        if (what != SCANNED_NONE) return what;
    }
    return SCANNED_NONE;
}
