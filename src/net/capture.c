/* SPDX-License-Identifier: BSD-3-Clause
 * Captures. capture.h has the idea.
 *
 * Invariant: a captured client has CLIENT_CAPTURED from capture_open to its end, and its capture in
 * CLIENT_PLACE_CAPTURE until capture_close.
 */
#include "net/capture.h"

#include "base/panic.h"
#include "net/client.h"

void capture_open(struct capture *capture,
                  void (*take)(struct capture *capture, const char *bytes, size_t length)) {
    *capture = (struct capture){.client = client_create_captured(), .take = take};
    buffer_init(&capture->replies, MEMORY_OTHER);
    client_set_place_of_net(capture->client, CLIENT_PLACE_CAPTURE, capture);
}

void capture_open_typed(struct capture *capture, const struct capture_forms *forms) {
    capture_open(capture, capture_discard);
    capture->forms = forms;
    capture->client->flags |= CLIENT_TYPED;
}

void capture_close(struct capture *capture) {
    client_set_place_of_net(capture->client, CLIENT_PLACE_CAPTURE, NULL);
    client_end_captured(capture->client);
    buffer_free(&capture->replies);
    capture->client = NULL;
}

void capture_discard(struct capture *capture, const char *bytes, size_t length) {}

void capture_take(const struct client *c, const char *bytes, size_t length) {
    struct capture *capture = client_place_of_net(c, CLIENT_PLACE_CAPTURE);
    if (!capture) return; /* the capture has been closed */
    if (capture->take)
        capture->take(capture, bytes, length);
    else
        buffer_append(&capture->replies, bytes, length);
}

/* ---- values ---- */

/* The client's capture; NULL if its replies are dropped. */
static struct capture *typed(const struct client *c) {
    if (c->flags & CLIENT_REPLIES_DROPPED || !(c->flags & CLIENT_TYPED)) return NULL;
    return client_place_of_net(c, CLIENT_PLACE_CAPTURE);
}

void capture_integer(const struct client *c, int64_t value) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->integer(capture, value);
}

void capture_bulk(const struct client *c, struct slice text) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->bulk(capture, text);
}

void capture_status(const struct client *c, struct slice text) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->status(capture, text);
}

void capture_error(const struct client *c, struct slice text) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->error(capture, text);
}

void capture_group(const struct client *c, enum capture_group group, int64_t count) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->group(capture, group, count);
}

void capture_null(const struct client *c) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->null(capture);
}

void capture_boolean(const struct client *c, bool value) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->boolean(capture, value);
}

void capture_number(const struct client *c, struct slice digits) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->number(capture, digits);
}

void capture_big_number(const struct client *c, struct slice digits) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->big_number(capture, digits);
}

void capture_verbatim(const struct client *c, struct slice text, const char *type) {
    struct capture *capture = typed(c);
    if (capture) capture->forms->verbatim(capture, text, type);
}
