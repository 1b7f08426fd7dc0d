/* SPDX-License-Identifier: BSD-3-Clause
 * Dialogs. The socket stays non-blocking, because another process may use its other copy.
 *
 * Invariants
 *  1. `input` holds at most DIALOG_REQUEST_BYTES_MAX bytes and one read more. The bytes below
 *     `parsed` belong to the request in argv, or to the request that is being read; no others are
 *     kept.
 *  2. Once a dialog has ended, nothing is read or written any more.
 */
#include "net/dialog.h"

#include <errno.h>
#include <poll.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "net/client.h"

/* `interrupted` is asked after each wait of so long. */
#define LOOK_MSEC 100
#define READ_BYTES 4096

void dialog_open(struct dialog *dialog, struct client *c, bool (*interrupted)(void)) {
    *dialog = (struct dialog){
        .client = c,
        .interrupted = interrupted,
        .parser = {.capacity = DIALOG_ARGUMENTS_MAX,
                   .authenticated = true,
                   .bulk_max = DIALOG_REQUEST_BYTES_MAX},
    };
    dialog->parser.argv = dialog->argv;
    request_parser_reset(&dialog->parser);
    buffer_init(&dialog->input, MEMORY_OTHER);
    buffer_init(&dialog->words, MEMORY_OTHER);
}

void dialog_close(struct dialog *dialog) {
    buffer_free(&dialog->input);
    buffer_free(&dialog->words);
}

/* ---- waiting ---- */

/* The LOOP_ bits to wait for; 0: no wait is needed, the transport has bytes already. */
static unsigned needed_for(const struct client *c, unsigned wanted) {
    if (!(c->flags & CLIENT_CARRIED)) return wanted;
    struct connection *connection = client_connection(c);
    if (wanted & LOOP_READABLE && connection_has_pending(connection)) return 0;
    return connection_interest(connection, wanted);
}

/* Waits until the socket is ready. False if the caller is interrupted or the dialog has ended, also
 * because the other end was silent for `patience_msec`, if that is given. */
static bool wait_for(struct dialog *dialog, unsigned wanted, int64_t patience_msec) {
    unsigned needs = needed_for(dialog->client, wanted);
    if (!needs) return true;
    struct pollfd ready = {.fd = dialog->client->watcher.fd,
                           .events = (short)((needs & LOOP_READABLE ? POLLIN : 0) |
                                             (needs & LOOP_WRITABLE ? POLLOUT : 0))};
    int64_t until = clock_monotonic_nsec() + patience_msec * 1000000;
    while (!dialog->interrupted()) {
        int found = poll(&ready, 1, LOOK_MSEC);
        if (found > 0) return true;
        bool is_over = patience_msec && clock_monotonic_nsec() >= until;
        if (is_over || (found < 0 && errno != EINTR)) {
            dialog->ended = true;
            return false;
        }
    }
    return false;
}

static bool is_passing(int error) { return error == EAGAIN || error == EINTR; }

/* ---- reading ---- */

/* Reads behind the bytes that are left. Slices of an incomplete request are moved with its bytes.
 */
static bool read_more(struct dialog *dialog) {
    char bytes[READ_BYTES];
    struct buffer *input = &dialog->input;
    if (!wait_for(dialog, LOOP_READABLE, 0)) return false;
    ssize_t got = client_receive(dialog->client, bytes, sizeof(bytes));
    if (got < 0 && is_passing(errno)) return true;
    if (got <= 0) {
        dialog->ended = true;
        return false;
    }
    const char *before = input->bytes;
    buffer_append(input, bytes, (size_t)got);
    if (before) request_parser_rebase(&dialog->parser, before, input->bytes);
    return true;
}

static void drop_last_request(struct dialog *dialog) {
    struct buffer *input = &dialog->input;
    request_parser_reset(&dialog->parser);
    buffer_clear(&dialog->words);
    if (!dialog->parsed) return;
    memmove(input->bytes, input->bytes + dialog->parsed, input->length - dialog->parsed);
    input->length -= dialog->parsed;
    dialog->parsed = 0;
}

/* Inline requests are no requests of a dialog: 6.2 takes only arrays. */
static bool is_array(const struct dialog *dialog) {
    return dialog->parser.arguments || dialog->input.bytes[0] == '*';
}

enum dialog_status dialog_read(struct dialog *dialog) {
    struct request_parser *parser = &dialog->parser;
    drop_last_request(dialog);
    while (!dialog->ended) {
        if (dialog->input.length > dialog->parsed) {
            if (!is_array(dialog)) return DIALOG_FAULT;
            const char *cursor = dialog->input.bytes + dialog->parsed;
            const char *end = dialog->input.bytes + dialog->input.length;
            enum request_status status = request_parse(parser, &cursor, end, &dialog->words);
            dialog->parsed = (size_t)(cursor - dialog->input.bytes);
            dialog->argc = parser->argc;
            if (status == REQUEST_READY) return parser->argc ? DIALOG_REQUEST : DIALOG_FAULT;
            bool is_to_be = parser->arguments <= DIALOG_ARGUMENTS_MAX;
            if (status != REQUEST_INCOMPLETE || !is_to_be) return DIALOG_FAULT;
        }
        if (dialog->input.length >= DIALOG_REQUEST_BYTES_MAX) return DIALOG_FAULT;
        if (!read_more(dialog)) break;
    }
    return DIALOG_ENDED;
}

/* ---- writing ---- */

bool dialog_write(struct dialog *dialog, struct slice bytes) {
    while (!dialog->ended && bytes.length) {
        struct iovec piece = {(void *)bytes.bytes, bytes.length};
        ssize_t sent = client_send_pieces(dialog->client, &piece, 1);
        if (sent > 0) {
            bytes.bytes += sent;
            bytes.length -= (size_t)sent;
        } else if (sent < 0 && !is_passing(errno)) {
            dialog->ended = true;
        } else if (!wait_for(dialog, LOOP_WRITABLE, DIALOG_PATIENCE_MSEC)) {
            dialog->ended = true; /* only a part is written */
        }
    }
    return !dialog->ended;
}
