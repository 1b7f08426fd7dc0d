/* SPDX-License-Identifier: BSD-3-Clause
 * Captures. capture.h has the idea.
 *
 * Invariant: a client has CLIENT_CAPTURED from capture_open to its end, and a capture in its place
 * of that name until capture_close.
 */
#include "net/capture.h"

#include "base/panic.h"
#include "net/client.h"

void capture_open(struct capture *capture,
                  void (*take)(struct capture *capture, const char *bytes, size_t length)) {
    *capture = (struct capture){.client = client_create_captured(), .take = take};
    buffer_init(&capture->replies, MEMORY_OTHER);
    client_set_rare(capture->client, CLIENT_RARE_CAPTURE, capture);
}

void capture_close(struct capture *capture) {
    client_set_rare(capture->client, CLIENT_RARE_CAPTURE, NULL);
    client_end_captured(capture->client);
    buffer_free(&capture->replies);
    capture->client = NULL;
}

void capture_discard(struct capture *capture, const char *bytes, size_t length) {}

void capture_take(const struct client *c, const char *bytes, size_t length) {
    struct capture *capture = client_rare(c, CLIENT_RARE_CAPTURE);
    if (!capture) return; /* it has been closed */
    if (capture->take)
        capture->take(capture, bytes, length);
    else
        buffer_append(&capture->replies, bytes, length);
}
