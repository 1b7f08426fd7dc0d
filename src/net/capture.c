/* SPDX-License-Identifier: BSD-3-Clause
 * Captures. capture.h has the idea.
 *
 * Invariant: a captured client has CLIENT_CAPTURED from capture_open to its end, and its capture in
 * CLIENT_PLACE_CAPTURE until capture_close.
 */
#include "net/capture.h"

#include "base/panic.h"
#include "net/client.h"

static void open_client(struct capture *capture) {
    capture->client = client_create_captured();
    buffer_init(&capture->replies, MEMORY_OTHER);
    client_set_place_of_net(capture->client, CLIENT_PLACE_CAPTURE, capture);
}

void capture_open(struct capture *capture) {
    *capture = (struct capture){0};
    open_client(capture);
}

void capture_open_typed(struct capture *capture, const struct capture_forms *forms) {
    *capture = (struct capture){.forms = forms};
    open_client(capture);
    capture->client->flags |= CLIENT_TYPED;
}

void capture_close(struct capture *capture) {
    client_set_place_of_net(capture->client, CLIENT_PLACE_CAPTURE, NULL);
    client_end_captured(capture->client);
    buffer_free(&capture->replies);
    capture->client = NULL;
}

void capture_take(const struct client *c, const char *bytes, size_t length) {
    struct capture *capture = client_place_of_net(c, CLIENT_PLACE_CAPTURE);
    /* NULL: the capture has been closed. */
    if (capture && !capture->forms) buffer_append(&capture->replies, bytes, length);
}

size_t capture_gathered(const struct client *c) {
    const struct capture *capture = client_place_of_net(c, CLIENT_PLACE_CAPTURE);
    return capture->replies.length;
}

void capture_insert(const struct client *c, size_t at, const char *bytes, size_t length) {
    struct capture *capture = client_place_of_net(c, CLIENT_PLACE_CAPTURE);
    struct buffer *b = &capture->replies;
    size_t behind = b->length - at;
    buffer_reserve(b, length);
    memmove(b->bytes + at + length, b->bytes + at, behind);
    memcpy(b->bytes + at, bytes, length);
    b->length += length;
}

/* ---- values ---- */

/* The client's capture; NULL if its replies are dropped. */
static struct capture *typed_capture(const struct client *c) {
    if (c->flags & CLIENT_REPLIES_DROPPED || !(c->flags & CLIENT_TYPED)) return NULL;
    return client_place_of_net(c, CLIENT_PLACE_CAPTURE);
}

/* The innermost group is no longer open. */
static enum capture_group leave_group(struct capture *capture) {
    enum capture_group kind = capture->levels[--capture->depth].kind;
    capture->forms->group_end(capture, kind);
    return kind;
}

/* A value has been handed on: groups that have all their values end. An attribute is no value of
 * the group that it stands in. */
static void note_value(struct capture *capture) {
    while (capture->depth) {
        struct capture_level *level = &capture->levels[capture->depth - 1];
        if (++level->seen != level->values || leave_group(capture) == CAPTURE_ATTRIBUTE) return;
    }
}

void capture_integer(const struct client *c, int64_t value) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->integer(capture, value);
    note_value(capture);
}

void capture_bulk(const struct client *c, struct slice text) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->bulk(capture, text);
    note_value(capture);
}

void capture_status(const struct client *c, struct slice text) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->status(capture, text);
    note_value(capture);
}

void capture_error(const struct client *c, struct slice text) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->error(capture, text);
    note_value(capture);
}

void capture_group(const struct client *c, enum capture_group kind, int64_t count) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->group(capture, kind, count);
    if (!capture->forms->group_end) return;
    ASSERT(capture->depth < CAPTURE_DEPTH_MAX);
    bool doubles = count > 0 && capture_group_is_pairs(kind);
    capture->levels[capture->depth++] =
        (struct capture_level){.kind = kind, .values = doubles ? 2 * count : count};
    if (!count && leave_group(capture) != CAPTURE_ATTRIBUTE) note_value(capture);
}

void capture_group_end(const struct client *c, int64_t count) {
    struct capture *capture = typed_capture(c);
    if (!capture || !capture->forms->group_end) return;
    ASSERT(capture->depth);
    const struct capture_level *level = capture_innermost(capture);
    ASSERT_COMPARE(level->values, ==, CAPTURE_COUNT_LATER);
    ASSERT_COMPARE(level->seen, ==, capture_group_is_pairs(level->kind) ? 2 * count : count);
    if (leave_group(capture) != CAPTURE_ATTRIBUTE) note_value(capture);
}

void capture_null(const struct client *c) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->null(capture);
    note_value(capture);
}

void capture_boolean(const struct client *c, bool value) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->boolean(capture, value);
    note_value(capture);
}

void capture_number(const struct client *c, struct slice digits) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->number(capture, digits);
    note_value(capture);
}

void capture_big_number(const struct client *c, struct slice digits) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->big_number(capture, digits);
    note_value(capture);
}

void capture_verbatim(const struct client *c, struct slice text, const char *type) {
    struct capture *capture = typed_capture(c);
    if (!capture) return;
    capture->forms->verbatim(capture, text, type);
    note_value(capture);
}
