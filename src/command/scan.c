/* SPDX-License-Identifier: BSD-3-Clause
 * Cursors, options and the loop of scans.
 */
#include "command/scan.h"

#include <string.h>

#include "base/glob.h"
#include "base/number.h"
#include "command/arguments.h"
#include "command/call.h"
#include "net/reply.h"

#define COUNT_DEFAULT 10
/* A sparse table has empty positions: at most so many are looked at for each wanted element. */
#define POSITIONS_PER_ONE 10

bool scan_parse_cursor(struct slice text, uint64_t *cursor) {
    size_t length = text.length ? strnlen(text.bytes, text.length) : 0, i = 0;
    bool negative = length && text.bytes[0] == '-';
    if (length && (negative || text.bytes[0] == '+')) i++;
    if (i && i == length) return false;
    *cursor = 0;
    for (; i < length; i++) {
        unsigned digit = (unsigned char)text.bytes[i] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(*cursor, 10, cursor) ||
            __builtin_add_overflow(*cursor, digit, cursor))
            return false;
    }
    /* A negative cursor counts back from 2^64. */
    if (negative) *cursor = 0 - *cursor;
    return true;
}

bool scan_begin(struct scan *s, const struct call *call, int index) {
    *s = (struct scan){.count = COUNT_DEFAULT, .any = true};
    if (scan_parse_cursor(call->argv[index], &s->cursor)) return true;
    reply_error(call->client, "invalid cursor");
    return false;
}

void scan_set_pattern(struct scan *s, struct slice pattern) {
    s->pattern = pattern;
    s->any = slice_equal(pattern, SLICE("*"));
}

bool scan_options(struct scan *s, const struct call *call, int first, bool with_type) {
    for (int i = first; i < call->argc; i += 2) {
        bool last = i + 1 == call->argc, fits = !last;
        if (!last && argument_is(call, i, "count")) {
            if (!argument_int64(call, i + 1, &s->count, NULL)) return false;
            fits = s->count > 0;
        } else if (!last && argument_is(call, i, "match")) {
            scan_set_pattern(s, call->argv[i + 1]);
        } else if (!last && with_type && argument_is(call, i, "type")) {
            s->type = &call->argv[i + 1];
        } else {
            fits = false;
        }
        if (!fits) {
            reply_syntax_error(call->client);
            return false;
        }
    }
    return true;
}

bool scan_fits(struct scan *s, struct slice text) {
    s->seen++;
    return s->any || glob_match(s->pattern, text, false);
}

void scan_run(struct scan *s, scan_step *step) {
    uint64_t wanted = (uint64_t)s->count, positions = 0;
    do {
        s->cursor = step(s);
        positions++;
    } while (s->cursor && s->seen < wanted && positions / POSITIONS_PER_ONE < wanted);
}

void scan_reply_cursor(struct client *c, const struct scan *s) {
    char digits[NUMBER_INT64_CHARS];
    reply_array(c, 2);
    reply_bulk(c, (struct slice){digits, number_format_uint64(digits, s->cursor)});
}
