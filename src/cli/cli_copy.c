/* SPDX-License-Identifier: BSD-3-Clause
 * SYNC, and the bytes that the server sends after it: line ends while it prepares, a header, the
 * snapshot, then requests without end. The header is "$" and a number of bytes, or "$EOF:" and a
 * mark of 40 characters: the mark ends a snapshot whose length is not known at its beginning.
 *
 * Invariants
 *  1. Of a snapshot that ends with a mark, the last bytes (fewer than the mark has) are held back,
 *     because they may be the beginning of the mark.
 *  2. Success is reported only when all bytes are in the file and fsync has returned.
 */
#include "cli/cli_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/system.h"
#include "cli/cli_format.h"
#include "cli/cli_link.h"
#include "cli/cli_options.h"
#include "peer/peer_client.h"

#define MARK_CHARS 40
#define HEADER_CHARS 128
#define ACK_MSEC 1000 /* as replicas do */
/* The time between two progress figures on a terminal. */
#define PROGRESS_NSEC INT64_C(200000000)

struct snapshot {
    uint64_t bytes;            /* the announced length; 0 where the snapshot ends with a mark */
    char mark[MARK_CHARS + 1]; /* "" = the length is known */
    int fd;                    /* the snapshot is written to it; -1 = the snapshot is dropped */
    uint64_t taken;
    struct buffer tail; /* held back: invariant 1 */
    bool shows_progress;
    int64_t shown_nsec;
};

/* Reads the next character from the server; false where the connection ends first. */
static bool read_char(char *c) {
    struct peer_client *client = cli_link_client();
    struct slice input;
    while (!(input = peer_client_input(client)).length)
        if (!peer_client_turn(client, INT64_MAX)) return false;
    *c = *input.bytes;
    peer_client_consume(client, 1);
    return true;
}

/* Reads a line without its line end, cut at HEADER_CHARS; empty lines are skipped. False where the
 * connection ends before a line. */
static bool read_line(char line[HEADER_CHARS]) {
    size_t length = 0;
    char c = '\n';
    while (length < HEADER_CHARS - 1 && read_char(&c)) {
        if (c != '\n') {
            line[length++] = c;
            continue;
        }
        if (length && line[length - 1] == '\r') length--;
        if (length) break;
    }
    line[length] = '\0';
    return length && (c == '\n' || length == HEADER_CHARS - 1);
}

static bool tell_primary(const char *name, const char *value) {
    struct slice words[] = {SLICE("REPLCONF"), slice_of(name), slice_of(value)};
    fprintf(stderr, "sending REPLCONF %s %s\n", name, value);
    const struct peer_reply *reply = cli_link_call(words, 3);
    if (!reply) {
        fprintf(stderr, "Error: %s\n", cli_link_error());
        return false;
    }
    /* An error is only reported: an older server does not know the option, and SYNC works without.
     */
    if (reply->type == PEER_ERROR) {
        fprintf(stderr, "REPLCONF %s: ", name);
        cli_format_complain("", reply->text);
    }
    return true;
}

/* Sends SYNC and reads the header. False, with a message, where the server sends no snapshot. */
static bool begin_copy(struct snapshot *s) {
    char line[HEADER_CHARS];
    cli_link_send(&SLICE("SYNC"), 1);
    if (!read_line(line)) {
        fprintf(stderr, "SYNC failed: %s\n", cli_link_error());
        return false;
    }
    if (!strncmp(line, "$EOF:", 5) && strlen(line) == 5 + MARK_CHARS) {
        memcpy(s->mark, line + 5, MARK_CHARS + 1);
        return true;
    }
    if (line[0] == '$' && number_parse_uint64(line + 1, strlen(line) - 1, &s->bytes)) return true;
    char shown[HEADER_CHARS];
    fprintf(stderr, "SYNC with master failed: %s\n",
            string_show(slice_of(line), shown, sizeof(shown)));
    return false;
}

static bool write_all(struct snapshot *s, struct slice bytes) {
    s->taken += bytes.length;
    while (s->fd >= 0 && bytes.length) {
        ssize_t written = system_write(s->fd, bytes.bytes, bytes.length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            fprintf(stderr, "Error writing data to file: %s\n", strerror(errno));
            return false;
        }
        bytes.bytes += written;
        bytes.length -= (size_t)written;
    }
    return true;
}

static void show_progress(struct snapshot *s) {
    int64_t now = clock_monotonic_nsec();
    if (!s->shows_progress || now - s->shown_nsec < PROGRESS_NSEC) return;
    s->shown_nsec = now;
    if (s->bytes) {
        fprintf(stderr, "\r%5.1f %%\033[K", (double)s->taken * 100 / (double)s->bytes);
    } else {
        fprintf(stderr, "\r%.1f MB\033[K", (double)s->taken / 1e6);
    }
}

/* Takes input of a snapshot that ends with a mark. `done` becomes true with the mark; bytes after
 * the mark stay in the input. False after an error. */
static bool take_until_mark(struct snapshot *s, struct slice input, bool *done) {
    buffer_append(&s->tail, input.bytes, input.length);
    const char *mark = memmem(s->tail.bytes, s->tail.length, s->mark, MARK_CHARS);
    size_t ready = mark ? (size_t)(mark - s->tail.bytes) : 0, behind = 0;
    if (mark) behind = s->tail.length - ready - MARK_CHARS;
    if (!mark && s->tail.length >= MARK_CHARS) ready = s->tail.length - (MARK_CHARS - 1);
    if (!write_all(s, (struct slice){s->tail.bytes, ready})) return false;
    s->tail.length -= ready;
    memmove(s->tail.bytes, s->tail.bytes + ready, s->tail.length);
    peer_client_consume(cli_link_client(), input.length - behind);
    *done = mark != NULL;
    return true;
}

static bool take_counted(struct snapshot *s, struct slice input, bool *done) {
    if (input.length > s->bytes - s->taken) input.length = (size_t)(s->bytes - s->taken);
    if (!write_all(s, input)) return false;
    peer_client_consume(cli_link_client(), input.length);
    *done = s->taken == s->bytes;
    return true;
}

/* Receives the whole snapshot. False, with a message, where a part is missing or a write fails. */
static bool receive_snapshot(struct snapshot *s) {
    bool done = !s->mark[0] && !s->bytes;
    s->tail.class = MEMORY_OTHER;
    while (!done) {
        struct slice input = peer_client_input(cli_link_client());
        if (!input.length) {
            if (peer_client_turn(cli_link_client(), INT64_MAX)) continue;
            fprintf(stderr, "Error reading the snapshot: %s\n", cli_link_error());
            break;
        }
        bool good = s->mark[0] ? take_until_mark(s, input, &done) : take_counted(s, input, &done);
        if (!good) break;
        show_progress(s);
    }
    if (s->shows_progress && s->shown_nsec) fprintf(stderr, "\r\033[K");
    buffer_free(&s->tail);
    return done;
}

int cli_copy_rdb_run(const struct cli_options *o) {
    bool to_output = !strcmp(o->file, "-");
    struct snapshot s = {.fd = STDOUT_FILENO, .shows_progress = isatty(STDERR_FILENO)};
    if (!tell_primary("capa", "eof") || !tell_primary("rdb-only", "1") || !begin_copy(&s)) return 1;
    if (s.mark[0]) {
        fprintf(stderr,
                "SYNC sent to master, writing bytes of bulk transfer until EOF marker to "
                "'%s'\n",
                o->file);
    } else {
        fprintf(stderr, "SYNC sent to master, writing %" PRIu64 " bytes to '%s'\n", s.bytes,
                o->file);
    }
    if (!to_output) s.fd = system_open(o->file, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
    if (s.fd < 0) {
        fprintf(stderr, "Error opening '%s': %s\n", o->file, strerror(errno));
        return 1;
    }
    if (!receive_snapshot(&s)) return 1;
    cli_link_close();
    /* Standard output is not synced, because fsync fails on a pipe. */
    if (!to_output && (system_fsync(s.fd) != 0 || system_close(s.fd) != 0)) {
        fprintf(stderr, "Error syncing '%s': %s\n", o->file, strerror(errno));
        return 1;
    }
    if (s.mark[0]) {
        fprintf(stderr, "Transfer finished with success after %" PRIu64 " bytes\n", s.taken);
    } else {
        fprintf(stderr, "Transfer finished with success.\n");
    }
    return 0;
}

/* Sends REPLCONF ACK, which has no reply, until the primary sends something. After a snapshot with
 * a mark the primary waits for an ACK before it streams commands. It ignores an ACK that arrives
 * before it has seen its snapshot child end, so the ACK is repeated. */
static void ask_for_stream(void) {
    struct slice ack[] = {SLICE("REPLCONF"), SLICE("ACK"), SLICE("0")};
    struct peer_client *client = cli_link_client();
    bool goes_on = true;
    while (goes_on && !peer_client_input(client).length) {
        cli_link_send(ack, 3);
        while (goes_on && peer_client_unsent_bytes(client))
            goes_on = peer_client_turn(client, INT64_MAX);
        if (goes_on && !peer_client_input(client).length)
            goes_on = peer_client_turn(client, ACK_MSEC);
    }
}

int cli_copy_replica_run(const struct cli_options *o) {
    struct snapshot s = {.fd = -1};
    struct buffer out = {.class = MEMORY_OTHER};
    if (!tell_primary("capa", "eof") || !begin_copy(&s)) return 1;
    if (s.mark[0]) {
        fprintf(stderr,
                "SYNC with master, discarding bytes of bulk transfer until EOF marker...\n");
    } else {
        fprintf(stderr, "SYNC with master, discarding %" PRIu64 " bytes of bulk transfer...\n",
                s.bytes);
    }
    if (!receive_snapshot(&s)) return 1;
    if (s.mark[0]) ask_for_stream();
    fprintf(stderr, "SYNC done. Logging commands from master.\n");
    const struct peer_reply *request;
    while ((request = cli_link_read())) {
        cli_format_reply(&out, request, CLI_CSV, o, false);
        cli_format_flush(&out);
    }
    fprintf(stderr, "Error: %s\n", cli_link_error());
    buffer_free(&out);
    return 1;
}
