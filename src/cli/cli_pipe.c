/* SPDX-License-Identifier: BSD-3-Clause
 * Mass insertion: input is sent while replies are read, and neither waits for the other. After the
 * last byte of input an ECHO of a random text is sent, and the reply with that text is the last
 * one.
 *
 * Invariants
 *  1. Input is read only while fewer than UNSENT_BYTES_MAX bytes are unsent, so that input is read
 *     at the server's pace.
 *  2. Errors are shown and counted, all other replies only counted.
 */
#include "cli/cli_pipe.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/system.h"
#include "cli/cli_format.h"
#include "cli/cli_link.h"
#include "cli/cli_options.h"
#include "peer/peer_client.h"

#define UNSENT_BYTES_MAX ((size_t)256 * 1024)
#define READ_BYTES 65536
#define ROUND_MSEC 1000

struct transfer {
    struct peer_client *client;
    uint64_t errors, replies;
    int64_t heard_nsec; /* when input or the connection was last ready */
    bool input_ended, finished;
    bool within_line;       /* the last byte of input was no line end */
    char goodbye[21];       /* the argument of the last ECHO */
    char bytes[READ_BYTES]; /* the buffer for input */
};

static void say_goodbye(struct transfer *t) {
    random_hex(t->goodbye, sizeof(t->goodbye) - 1);
    struct slice words[] = {SLICE("ECHO"), slice_of(t->goodbye)};
    t->input_ended = true;
    /* A line end ends an unfinished inline request; else the ECHO would become a part of it. */
    if (t->within_line) peer_client_send_bytes(t->client, SLICE("\r\n"));
    peer_client_send(t->client, words, 2);
    printf("All data transferred. Waiting for the last reply...\n");
    (void)fflush(stdout);
}

/* Reads input once and queues it for the server. False where standard input cannot be read. */
static bool take_input(struct transfer *t) {
    ssize_t got = system_read(STDIN_FILENO, t->bytes, sizeof(t->bytes));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got < 0) {
        fprintf(stderr, "Error reading from standard input: %s\n", strerror(errno));
        return false;
    }
    if (got == 0) {
        say_goodbye(t);
    } else {
        peer_client_send_bytes(t->client, (struct slice){t->bytes, (size_t)got});
        t->within_line = t->bytes[got - 1] != '\n';
    }
    return true;
}

static void take_reply(struct transfer *t, const struct peer_reply *reply) {
    if (reply->type == PEER_PUSH) return;
    if (t->input_ended && reply->type == PEER_BULK &&
        slice_equal(reply->text, slice_of(t->goodbye))) {
        printf("Last reply received from server.\n");
        t->finished = true;
        return;
    }
    t->replies++;
    if (reply->type != PEER_ERROR) return;
    t->errors++;
    cli_format_complain("", reply->text);
}

/* Waits for input or the connection, then sends and reads. False where standard input cannot be
 * read or the connection ended. */
static bool transfer_some(struct transfer *t) {
    bool reads = !t->input_ended && peer_client_unsent_bytes(t->client) < UNSENT_BYTES_MAX;
    struct pollfd ready[2] = {[1] = {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN}};
    int timeout_msec = peer_client_poll_entry(t->client, &ready[0]) ? ROUND_MSEC : 0;
    int count = poll(ready, 2, timeout_msec);
    if (count > 0) t->heard_nsec = clock_monotonic_nsec();
    if (ready[1].revents && !take_input(t)) return false;
    bool goes_on = peer_client_turn(t->client, 0);
    const struct peer_reply *reply;
    while (!t->finished && (reply = peer_client_take(t->client))) take_reply(t, reply);
    if (t->finished || goes_on) return true;
    fprintf(stderr, "Error: %s\n", cli_link_error());
    return false;
}

int cli_pipe_run(const struct cli_options *o) {
    struct transfer t = {.client = cli_link_client(), .heard_nsec = clock_monotonic_nsec()};
    int64_t patience_nsec = o->pipe_timeout_sec * INT64_C(1000000000);
    bool whole = true;
    while (whole && !t.finished) {
        whole = transfer_some(&t);
        if (whole && !t.finished && t.input_ended && patience_nsec &&
            clock_monotonic_nsec() - t.heard_nsec > patience_nsec) {
            fprintf(stderr, "No replies for %" PRId64 " seconds: exiting.\n", o->pipe_timeout_sec);
            whole = false;
        }
    }
    if (!whole) t.errors++;
    printf("errors: %" PRIu64 ", replies: %" PRIu64 "\n", t.errors, t.replies);
    return t.errors != 0;
}
