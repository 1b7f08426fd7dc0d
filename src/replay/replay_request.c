/* SPDX-License-Identifier: BSD-3-Clause
 * Requests from records.
 *
 * A short value consists of digits, so that INCR and its like find numbers; a longer one of letters
 * that no compression makes much smaller. What a member was called is not known: it is one of
 * REPLAY_MEMBERS numbers, filled up with zeros to its size.
 */
#include "replay/replay_request.h"

#include <inttypes.h>

#include "base/number.h"
#include "base/panic.h"

/* Integers of more digits overflow 64 bits. */
#define DIGITS_MAX 18
/* Offsets of a bit with more digits would make strings of many megabytes. */
#define OFFSET_DIGITS_MAX 8
#define RANGE_ARGUMENT 2 /* where a range by position begins */
/* The elements of a collection that is created with its recorded size: no smaller than this, and no
 * more than so many. */
#define ELEMENT_BYTES 96
/* A larger string is made a little smaller than it may be, because keys of different lengths may be
 * rounded up differently: the allocator's steps are some hundred bytes there. */
#define MARGIN_FROM_BYTES 1024
#define MARGIN_BYTES 16
#define ELEMENT_OVERHEAD 16
#define ELEMENTS_MAX 128
#define ELEMENT_NAME_CHARS 12

/* xorshift64* (Vigna 2014) */
static uint64_t draw_number(uint64_t *chance) {
    *chance ^= *chance >> 12;
    *chance ^= *chance << 25;
    *chance ^= *chance >> 27;
    return *chance * UINT64_C(2685821657736338717);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* Whether the sizes of the record fit the row's pattern. */
static bool fits_pattern(const char *pattern, uint32_t values) {
    if (!values) return true;
    if (!pattern || !*pattern) return false;
    if (*pattern == '@') return values <= 2;
    if (*pattern == '*') return values % strlen(pattern + 1) == 0;
    return values == strlen(pattern);
}

enum replay_verdict replay_request_judge(const struct trace_file_record *record,
                                         const struct replay_command **command) {
    const struct replay_command *row = *command = replay_command_of(record);
    uint32_t values = 0, keys = 0;
    int64_t bytes = 0;
    if (!row) return REPLAY_UNKNOWN;
    uint32_t count = record->argument_count - (row->instead != NULL);
    for (uint32_t i = 1; i < count; i++) {
        const struct trace_file_argument *a = &record->arguments[i];
        if (a->kind == TRACE_FILE_VALUE) {
            values++;
            bytes += a->size;
            bool is_range = row->values && *row->values == '@';
            if (is_range && (i < RANGE_ARGUMENT || i > RANGE_ARGUMENT + 1)) return REPLAY_NO_VALUES;
        } else if (a->kind != TRACE_FILE_WORD) {
            keys++;
        }
    }
    if (!keys) return REPLAY_UNKNOWN;
    if (!fits_pattern(row->values, values)) return REPLAY_NO_VALUES;
    return bytes > REPLAY_REQUEST_BYTES_MAX ? REPLAY_TOO_LARGE : REPLAY_SENDS;
}

/* --- values ----------------------------------------------------------------------------------- */

static char *begin_bulk(struct buffer *out, size_t size) {
    buffer_printf(out, "$%zu\r\n", size);
    char *to = buffer_reserve(out, size + 2);
    memcpy(to + size, "\r\n", 2);
    out->length += size + 2;
    return to;
}

static void append_bulk(struct buffer *out, struct slice text) {
    memcpy(begin_bulk(out, text.length), text.bytes, text.length);
}

static void append_number(struct buffer *out, int64_t number) {
    char text[NUMBER_INT64_CHARS];
    append_bulk(out, (struct slice){text, number_format_int64(text, number)});
}

static void append_value(struct buffer *out, size_t size, uint64_t *chance) {
    char *to = begin_bulk(out, size);
    uint64_t bits = draw_number(chance);
    for (size_t i = 0; i < size; i++) {
        if (i % 8 == 7) bits = draw_number(chance);
        to[i] = size <= DIGITS_MAX ? (char)('1' + bits % 9) : (char)('a' + bits % 26);
        bits >>= 7;
    }
}

static void append_member(struct buffer *out, size_t size, uint64_t *chance) {
    uint64_t number = draw_number(chance) % REPLAY_MEMBERS;
    char *to = begin_bulk(out, size);
    for (size_t i = size; i-- > 0; number /= 10) to[i] = (char)('0' + number % 10);
}

/* A number of the size: digits, or a fraction where that would be too long. */
static void append_digits(struct buffer *out, size_t size, bool is_integer, uint64_t *chance) {
    size_t digits = size < 1 ? 1 : size < DIGITS_MAX || is_integer ? size : DIGITS_MAX;
    if (is_integer && digits > DIGITS_MAX) digits = DIGITS_MAX;
    char *to = begin_bulk(out, digits);
    for (size_t i = 0; i < digits; i++) to[i] = (char)('1' + draw_number(chance) % 9);
}

/* `edge` 1: the least number of the size, 9: the greatest. */
static void append_bound(struct buffer *out, size_t size, char edge) {
    size_t digits = size < 1 ? 1 : size > DIGITS_MAX ? DIGITS_MAX : size;
    char *to = begin_bulk(out, digits);
    for (size_t i = 0; i < digits; i++) to[i] = edge == '9' || i == 0 ? edge : '0';
}

static void append_text_bound(struct buffer *out, char edge) {
    char bound[] = {'[', edge};
    append_bulk(out, (struct slice){bound, sizeof(bound)});
}

static void append_coordinate(struct buffer *out, size_t size, uint64_t *chance) {
    char *to = begin_bulk(out, size < 1 ? 1 : size);
    for (size_t i = 0; i < size || i < 1; i++)
        to[i] = i == 1 && size > 2 ? '.' : (char)('1' + draw_number(chance) % 8);
}

static void append_made(struct buffer *out, char what, int64_t size_given, uint64_t *chance) {
    size_t size = (size_t)size_given;
    switch (what) {
    case 'v': append_value(out, size, chance); break;
    case 'm': append_member(out, size, chance); break;
    case 'i': append_digits(out, size, true, chance); break;
    case 'n': append_digits(out, size, false, chance); break;
    case 'g': append_coordinate(out, size, chance); break;
    case 'o': append_bound(out, size > OFFSET_DIGITS_MAX ? OFFSET_DIGITS_MAX : size, '1'); break;
    case 'b': append_bulk(out, SLICE("1")); break;
    case 'p': append_bulk(out, SLICE("*")); break;
    case '<': append_bound(out, size, '1'); break;
    case '>': append_bound(out, size, '9'); break;
    case '{': append_text_bound(out, '0'); break;
    case '}': append_text_bound(out, 'z'); break;
    default: PANIC("no such pattern: %c", what);
    }
}

/* What stands for the record's value number `value`, which is its argument `index`. */
static char pattern_at(const char *pattern, uint32_t value, uint32_t index) {
    if (*pattern == '@') return pattern[1 + index - RANGE_ARGUMENT];
    if (*pattern == '*') return pattern[1 + value % strlen(pattern + 1)];
    return pattern[value];
}

void replay_request_append(const struct trace_file_record *record,
                           const struct replay_command *command, struct buffer *out,
                           uint64_t *chance) {
    uint32_t count = record->argument_count, value = 0;
    if (command->instead) {
        count--;
        /* LPOP and its like take one key; what BLPOP waits for is rarely in the second one. */
        if (command->rest == REPLAY_TAKES) count = 2;
    }
    buffer_printf(out, "*%" PRIu32 "\r\n", count);
    append_bulk(out, slice_of(command->instead ? command->instead : command->name));
    for (uint32_t i = 1; i < count; i++) {
        const struct trace_file_argument *a = &record->arguments[i];
        if (a->kind == TRACE_FILE_VALUE) {
            append_made(out, pattern_at(command->values, value, i), a->size, chance);
            value++;
        } else {
            append_bulk(out, a->text);
        }
    }
}

void replay_select_append(uint32_t database, struct buffer *out) {
    buffer_append_c_string(out, "*2\r\n$6\r\nSELECT\r\n");
    append_number(out, database);
}

/* --- contents --------------------------------------------------------------------------------- */

static void append_string_content(const struct replay_content *c,
                                  const struct replay_overhead *overhead, struct buffer *out,
                                  uint64_t *chance) {
    int64_t size = c->bytes - (int64_t)c->key.length;
    unsigned octave = 0;
    while (octave < REPLAY_OVERHEAD_OCTAVES - 1 && size >= 2 * REPLAY_OVERHEAD_FIRST << octave)
        octave++;
    size -= c->ttl_msec >= 0 ? overhead->bytes_with_ttl[octave] : overhead->bytes[octave];
    if (c->bytes >= MARGIN_FROM_BYTES) size -= MARGIN_BYTES;
    if (size > REPLAY_REQUEST_BYTES_MAX) size = REPLAY_REQUEST_BYTES_MAX;
    buffer_append_c_string(out, c->ttl_msec >= 0 ? "*5\r\n$3\r\nSET\r\n" : "*3\r\n$3\r\nSET\r\n");
    append_bulk(out, c->key);
    append_value(out, size < 1 ? 1 : (size_t)size, chance);
    if (c->ttl_msec < 0) return;
    append_bulk(out, SLICE("PX"));
    append_number(out, c->ttl_msec ? c->ttl_msec : 1);
}

static const struct {
    const char *name;
    unsigned words; /* of an element */
} content_verbs[] = {[REPLAY_LIST] = {"RPUSH", 1},
                     [REPLAY_HASH] = {"HSET", 2},
                     [REPLAY_SET] = {"SADD", 1},
                     [REPLAY_SORTED_SET] = {"ZADD", 2},
                     [REPLAY_STREAM] = {"XADD", 2}};

/* Fills a collection with elements, all of one size, whose members are those that requests name. */
static void append_elements(const struct replay_content *c, struct buffer *out, uint64_t *chance) {
    int64_t bytes = c->bytes < REPLAY_REQUEST_BYTES_MAX ? c->bytes : REPLAY_REQUEST_BYTES_MAX;
    int64_t count = bytes / ELEMENT_BYTES;
    count = count < 1 ? 1 : count > ELEMENTS_MAX ? ELEMENTS_MAX : count;
    int64_t size = bytes / count - ELEMENT_OVERHEAD;
    bool has_value = c->type == REPLAY_HASH || c->type == REPLAY_STREAM;
    if (has_value) size -= ELEMENT_NAME_CHARS;
    if (size < ELEMENT_NAME_CHARS) size = ELEMENT_NAME_CHARS;
    unsigned extra = c->type == REPLAY_STREAM; /* the id */
    buffer_printf(out, "*%" PRId64 "\r\n", 2 + extra + count * content_verbs[c->type].words);
    append_bulk(out, slice_of(content_verbs[c->type].name));
    append_bulk(out, c->key);
    if (extra) append_bulk(out, SLICE("*"));
    for (int64_t i = 0; i < count; i++) {
        if (c->type == REPLAY_SORTED_SET) append_number(out, i);
        char *name = begin_bulk(out, has_value ? ELEMENT_NAME_CHARS : (size_t)size);
        size_t length = has_value ? ELEMENT_NAME_CHARS : (size_t)size;
        int64_t number = i;
        for (size_t at = length; at-- > 0; number /= 10) name[at] = (char)('0' + number % 10);
        if (has_value) append_value(out, (size_t)size, chance);
    }
}

unsigned replay_content_append(const struct replay_content *c,
                               const struct replay_overhead *overhead, struct buffer *out) {
    uint64_t chance = (uint64_t)c->bytes | 1;
    if (c->type == REPLAY_STRING || c->type == REPLAY_ANY_TYPE) {
        append_string_content(c, overhead, out, &chance);
        return 1;
    }
    append_elements(c, out, &chance);
    if (c->ttl_msec < 0) return 1;
    buffer_append_c_string(out, "*3\r\n$7\r\nPEXPIRE\r\n");
    append_bulk(out, c->key);
    append_number(out, c->ttl_msec ? c->ttl_msec : 1);
    return 2;
}
