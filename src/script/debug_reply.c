/* SPDX-License-Identifier: BSD-3-Clause
 * Replies as text. The forms here stand in front of the capture's own: each writes its value as
 * text and hands it on. The capture knows the groups that are open.
 */
#include "script/debug_reply.h"

#include "base/panic.h"
#include "net/capture.h"
#include "net/client.h"

static struct {
    const struct capture_forms *inner;
    struct buffer *out;
    size_t most;
} copy;

static bool has_room(void) { return copy.out->length <= copy.most; }

static void write_text(const char *text) {
    if (has_room()) buffer_append_c_string(copy.out, text);
}

static const char *group_brackets(enum capture_group kind, bool closing) {
    if (capture_group_is_pairs(kind)) return closing ? "}" : "{";
    if (kind == CAPTURE_SET) return closing ? ")" : "~(";
    return closing ? "]" : "[";
}

/* Called before each value. */
static void write_separator(const struct capture *capture) {
    const struct capture_level *level = capture_innermost(capture);
    if (!level || !level->seen) return;
    write_text(capture_group_is_pairs(level->kind) && level->seen % 2 ? " => " : ",");
}

static void write_value(const struct capture *capture, const char *text) {
    write_separator(capture);
    write_text(text);
}

static void write_quoted(const struct capture *capture, const char *mark, struct slice text) {
    struct buffer whole;
    size_t room = has_room() ? copy.most + 1 - copy.out->length : 0;
    write_separator(capture);
    if (!room) return;
    buffer_init(&whole, MEMORY_OTHER);
    buffer_append_c_string(&whole, mark);
    buffer_append(&whole, text.bytes, text.length < room ? text.length : room);
    buffer_append_quoted(copy.out, buffer_slice(&whole));
    buffer_free(&whole);
}

static void write_digits(const struct capture *capture, const char *mark, struct slice digits) {
    write_separator(capture);
    write_text(mark);
    if (has_room()) buffer_append(copy.out, digits.bytes, digits.length);
}

static void debug_take_integer(struct capture *capture, int64_t value) {
    write_separator(capture);
    if (has_room()) buffer_printf(copy.out, "%lld", (long long)value);
    copy.inner->integer(capture, value);
}

static void debug_take_bulk(struct capture *capture, struct slice text) {
    write_quoted(capture, "", text);
    copy.inner->bulk(capture, text);
}

static void debug_take_status(struct capture *capture, struct slice text) {
    write_quoted(capture, "+", text);
    copy.inner->status(capture, text);
}

static void debug_take_error(struct capture *capture, struct slice text) {
    write_quoted(capture, "-", text);
    copy.inner->error(capture, text);
}

static void debug_take_group(struct capture *capture, enum capture_group kind, int64_t count) {
    write_value(capture, group_brackets(kind, false));
    copy.inner->group(capture, kind, count);
}

static void debug_take_group_end(struct capture *capture, enum capture_group kind) {
    write_text(group_brackets(kind, true));
    if (kind == CAPTURE_ATTRIBUTE) write_text(" "); /* the described value follows */
    copy.inner->group_end(capture, kind);
}

static void debug_take_null(struct capture *capture) {
    write_value(capture, capture->client->protocol == 3 ? "(null)" : "NULL");
    copy.inner->null(capture);
}

static void debug_take_boolean(struct capture *capture, bool value) {
    write_value(capture, value ? "#true" : "#false");
    copy.inner->boolean(capture, value);
}

static void debug_take_number(struct capture *capture, struct slice digits) {
    write_digits(capture, "(double) ", digits);
    copy.inner->number(capture, digits);
}

static void debug_take_big_number(struct capture *capture, struct slice digits) {
    write_digits(capture, "(big number) ", digits);
    copy.inner->big_number(capture, digits);
}

static void debug_take_verbatim(struct capture *capture, struct slice text, const char *type) {
    write_quoted(capture, "", text);
    copy.inner->verbatim(capture, text, type);
}

static const struct capture_forms forms = {
    .integer = debug_take_integer,
    .bulk = debug_take_bulk,
    .status = debug_take_status,
    .error = debug_take_error,
    .group = debug_take_group,
    .group_end = debug_take_group_end,
    .null = debug_take_null,
    .boolean = debug_take_boolean,
    .number = debug_take_number,
    .big_number = debug_take_big_number,
    .verbatim = debug_take_verbatim,
};

void debug_reply_begin(struct capture *capture, struct buffer *out, size_t most) {
    copy.inner = capture->forms;
    copy.out = out;
    copy.most = out->length + most;
    capture->forms = &forms;
}

void debug_reply_end(struct capture *capture) { capture->forms = copy.inner; }
