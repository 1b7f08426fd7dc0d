/* SPDX-License-Identifier: BSD-3-Clause
 * Values as commands. rewritten.h has the idea.
 */
#include "value/rewritten.h"

#include "base/number.h"
#include "base/panic.h"
#include "base/stream.h"
#include "value/saved.h"
#include "value/shadow.h"

/* The type's character, the digits of a length, the line's end. */
#define HEADER_CHARS (1 + NUMBER_INT64_CHARS + 2)

static void write_header(struct sink *out, char mark, uint64_t number) {
    char header[HEADER_CHARS];
    header[0] = mark;
    size_t length = 1 + number_format_uint64(header + 1, number);
    header[length++] = '\r';
    header[length++] = '\n';
    sink_write(out, header, length);
}

void rewritten_begin(struct sink *out, uint64_t words) { write_header(out, '*', words); }

void rewritten_text_begin(struct sink *out, uint64_t length) { write_header(out, '$', length); }
void rewritten_text_end(struct sink *out) { sink_write(out, "\r\n", 2); }

void rewritten_text(struct sink *out, struct slice text) {
    rewritten_text_begin(out, text.length);
    sink_write(out, text.bytes, text.length);
    rewritten_text_end(out);
}

void rewritten_integer(struct sink *out, int64_t integer) {
    char digits[NUMBER_INT64_CHARS];
    rewritten_text(out, (struct slice){digits, number_format_int64(digits, integer)});
}

void rewritten_number(struct sink *out, uint64_t number) {
    char digits[NUMBER_INT64_CHARS];
    rewritten_text(out, (struct slice){digits, number_format_uint64(digits, number)});
}

void rewritten_double(struct sink *out, double number) {
    char digits[NUMBER_DOUBLE_CHARS];
    rewritten_text(out,
                   (struct slice){digits, number_format_double(digits, sizeof(digits), number)});
}

void rewritten_member(struct rewritten *r) {
    if (r->done % REWRITTEN_MEMBERS_MAX == 0) {
        uint64_t members = r->count - r->done;
        if (members > REWRITTEN_MEMBERS_MAX) members = REWRITTEN_MEMBERS_MAX;
        rewritten_begin(r->out, 2 + members * r->words);
        rewritten_text(r->out, r->command);
        rewritten_text(r->out, r->key);
    }
    r->done++;
}

void rewritten_write_value(struct sink *out, enum value_kind kind, struct value v,
                           struct slice key) {
    struct save_cursor c = {.budget = SIZE_MAX};
    bool whole = value_type(kind)->rewrite(v, key, &c, out);
    ASSERT(whole);
}

bool rewritten_write_shadow(struct rewritten *r, struct save_cursor *c, value_visit *visit) {
    r->count = shadow_count(c->shadow);
    r->done = c->at[0];
    bool all = shadow_step(c->shadow, &c->budget, visit, r);
    c->at[0] = r->done;
    return all;
}
