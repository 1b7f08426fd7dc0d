/* SPDX-License-Identifier: BSD-3-Clause
 * Replies as text. A capture's forms are put behind ours, which write and hand on.
 *
 * Invariant: `groups` are those that are open, the outermost first, each with the values that are
 * still to come.
 */
#include "script/debug_reply.h"

#include "base/panic.h"
#include "net/capture.h"
#include "net/client.h"

/* Groups within groups at most: those of our commands, which no data makes deeper. */
#define DEPTH_MAX 32

static struct {
    const struct capture_forms *inner;
    struct buffer *out;
    size_t most;
    struct {
        enum capture_group kind;
        int64_t left, of;
    } groups[DEPTH_MAX];
    int depth;
} copy;

static bool has_room(void) { return copy.out->length <= copy.most; }

static void write_text(const char *text) {
    if (has_room()) buffer_append_c_string(copy.out, text);
}

static bool is_pairs(enum capture_group kind) {
    return kind == CAPTURE_MAP || kind == CAPTURE_ATTRIBUTE;
}

static const char *brackets(enum capture_group kind, bool closing) {
    if (is_pairs(kind)) return closing ? "}" : "{";
    if (kind == CAPTURE_SET) return closing ? ")" : "~(";
    return closing ? "]" : "[";
}

/* Before each value. */
static void separate(void) {
    if (!copy.depth) return;
    bool between = is_pairs(copy.groups[copy.depth - 1].kind);
    int64_t done = copy.groups[copy.depth - 1].of - copy.groups[copy.depth - 1].left;
    if (done) write_text(between && done % 2 ? " => " : ",");
}

/* After each value: groups that are full are closed. */
static void count(void) {
    while (copy.depth && --copy.groups[copy.depth - 1].left == 0) {
        enum capture_group kind = copy.groups[--copy.depth].kind;
        write_text(brackets(kind, true));
        if (kind != CAPTURE_ATTRIBUTE) continue;
        write_text(" "); /* it counts as nothing */
        break;
    }
}

static void write_value(const char *text) {
    separate();
    write_text(text);
    count();
}

static void write_quoted(const char *mark, struct slice text) {
    struct buffer whole;
    size_t room = has_room() ? copy.most + 1 - copy.out->length : 0;
    separate();
    if (room) {
        buffer_init(&whole, MEMORY_OTHER);
        buffer_append_c_string(&whole, mark);
        buffer_append(&whole, text.bytes, text.length < room ? text.length : room);
        buffer_append_quoted(copy.out, buffer_slice(&whole));
        buffer_free(&whole);
    }
    count();
}

static void write_digits(const char *mark, struct slice digits) {
    separate();
    write_text(mark);
    if (has_room()) buffer_append(copy.out, digits.bytes, digits.length);
    count();
}

static void take_integer(struct capture *capture, int64_t value) {
    separate();
    if (has_room()) buffer_printf(copy.out, "%lld", (long long)value);
    count();
    copy.inner->integer(capture, value);
}

static void take_bulk(struct capture *capture, struct slice text) {
    write_quoted("", text);
    copy.inner->bulk(capture, text);
}

static void take_status(struct capture *capture, struct slice text) {
    write_quoted("+", text);
    copy.inner->status(capture, text);
}

static void take_error(struct capture *capture, struct slice text) {
    write_quoted("-", text);
    copy.inner->error(capture, text);
}

static void take_group(struct capture *capture, enum capture_group kind, int64_t length) {
    ASSERT(copy.depth < DEPTH_MAX);
    separate();
    write_text(brackets(kind, false));
    copy.groups[copy.depth].kind = kind;
    copy.groups[copy.depth].left = copy.groups[copy.depth].of =
        is_pairs(kind) ? 2 * length : length;
    copy.depth++;
    if (!length) {
        write_text(brackets(kind, true));
        copy.depth--;
        count();
    }
    copy.inner->group(capture, kind, length);
}

static void take_null(struct capture *capture) {
    write_value(capture->client->protocol == 3 ? "(null)" : "NULL");
    copy.inner->null(capture);
}

static void take_boolean(struct capture *capture, bool value) {
    write_value(value ? "#true" : "#false");
    copy.inner->boolean(capture, value);
}

static void take_number(struct capture *capture, struct slice digits) {
    write_digits("(double) ", digits);
    copy.inner->number(capture, digits);
}

static void take_big_number(struct capture *capture, struct slice digits) {
    write_digits("(big number) ", digits);
    copy.inner->big_number(capture, digits);
}

static void take_verbatim(struct capture *capture, struct slice text, const char *type) {
    write_quoted("", text);
    copy.inner->verbatim(capture, text, type);
}

static const struct capture_forms forms = {
    .integer = take_integer,
    .bulk = take_bulk,
    .status = take_status,
    .error = take_error,
    .group = take_group,
    .null = take_null,
    .boolean = take_boolean,
    .number = take_number,
    .big_number = take_big_number,
    .verbatim = take_verbatim,
};

void debug_reply_begin(struct capture *capture, struct buffer *out, size_t most) {
    copy.inner = capture->forms;
    copy.out = out;
    copy.most = out->length + most;
    copy.depth = 0;
    capture->forms = &forms;
}

void debug_reply_end(struct capture *capture) { capture->forms = copy.inner; }
