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
#include "tools/tool_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/system.h"
#include "peer/peer_client.h"
#include "tools/tool_connection.h"

#define HEADER_CHARS 128
/* The time between two progress figures on a terminal. */
#define PROGRESS_NSEC INT64_C(200000000)

/* Reads the next character from the server; false where the connection ends first. */
static bool read_char(struct peer_client *client, char *c) {
    struct slice input;
    while (!(input = peer_client_input(client)).length)
        if (!peer_client_turn(client, INT64_MAX)) return false;
    *c = *input.bytes;
    peer_client_consume(client, 1);
    return true;
}

/* Reads a line without its line end, cut at HEADER_CHARS; empty lines are skipped. False where the
 * connection ends before a line. */
static bool read_line(struct peer_client *client, char line[HEADER_CHARS]) {
    size_t length = 0;
    char c = '\n';
    while (length < HEADER_CHARS - 1 && read_char(client, &c)) {
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

bool tool_snapshot_begin(struct tool_snapshot *s, struct peer_client *client) {
    char line[HEADER_CHARS];
    *s = (struct tool_snapshot){.client = client, .fd = -1, .tail.class = MEMORY_OTHER};
    peer_client_send(client, &SLICE("SYNC"), 1);
    if (!read_line(client, line)) {
        fprintf(stderr, "SYNC failed: %s\n", tool_connection_error(s->client));
        return false;
    }
    if (!strncmp(line, "$EOF:", 5) && strlen(line) == 5 + TOOL_MARK_CHARS) {
        memcpy(s->mark, line + 5, TOOL_MARK_CHARS + 1);
        return true;
    }
    if (line[0] == '$' && number_parse_uint64(line + 1, strlen(line) - 1, &s->bytes)) return true;
    char shown[HEADER_CHARS];
    fprintf(stderr, "SYNC with master failed: %s\n",
            string_show(slice_of(line), shown, sizeof(shown)));
    return false;
}

static bool write_all(struct tool_snapshot *s, struct slice bytes) {
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

static void show_progress(struct tool_snapshot *s) {
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
static bool take_until_mark(struct tool_snapshot *s, struct slice input, bool *done) {
    buffer_append(&s->tail, input.bytes, input.length);
    const char *mark = memmem(s->tail.bytes, s->tail.length, s->mark, TOOL_MARK_CHARS);
    size_t ready = mark ? (size_t)(mark - s->tail.bytes) : 0, behind = 0;
    if (mark) behind = s->tail.length - ready - TOOL_MARK_CHARS;
    if (!mark && s->tail.length >= TOOL_MARK_CHARS) ready = s->tail.length - (TOOL_MARK_CHARS - 1);
    if (!write_all(s, (struct slice){s->tail.bytes, ready})) return false;
    s->tail.length -= ready;
    memmove(s->tail.bytes, s->tail.bytes + ready, s->tail.length);
    peer_client_consume(s->client, input.length - behind);
    *done = mark != NULL;
    return true;
}

static bool take_counted(struct tool_snapshot *s, struct slice input, bool *done) {
    if (input.length > s->bytes - s->taken) input.length = (size_t)(s->bytes - s->taken);
    if (!write_all(s, input)) return false;
    peer_client_consume(s->client, input.length);
    *done = s->taken == s->bytes;
    return true;
}

bool tool_snapshot_receive(struct tool_snapshot *s) {
    bool done = !s->mark[0] && !s->bytes;
    while (!done) {
        struct slice input = peer_client_input(s->client);
        if (!input.length) {
            if (peer_client_turn(s->client, INT64_MAX)) continue;
            fprintf(stderr, "Error reading the snapshot: %s\n", tool_connection_error(s->client));
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

/* Opens the file, writes the snapshot, closes. False with a message. */
static bool write_file(struct tool_snapshot *s, const char *path) {
    bool to_output = !strcmp(path, "-");
    s->fd = to_output ? STDOUT_FILENO
                      : system_open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
    if (s->fd < 0) {
        fprintf(stderr, "Error opening '%s': %s\n", path, strerror(errno));
        return false;
    }
    bool good = tool_snapshot_receive(s);
    peer_client_close(s->client);
    /* Standard output is not synced, because fsync fails on a pipe. */
    if (to_output) return good;
    bool synced = !good || system_fsync(s->fd) == 0;
    if (system_close(s->fd) == 0 && synced) return good;
    fprintf(stderr, "Error syncing '%s': %s\n", path, strerror(errno));
    return false;
}

bool tool_snapshot_save(struct peer_client *client, const char *path) {
    struct tool_snapshot s;
    if (!tool_snapshot_begin(&s, client)) return false;
    if (s.mark[0]) {
        fprintf(stderr,
                "SYNC sent to master, writing bytes of bulk transfer until EOF marker to "
                "'%s'\n",
                path);
    } else {
        fprintf(stderr, "SYNC sent to master, writing %" PRIu64 " bytes to '%s'\n", s.bytes, path);
    }
    s.shows_progress = isatty(STDERR_FILENO);
    if (!write_file(&s, path)) return false;
    if (s.mark[0]) {
        fprintf(stderr, "Transfer finished with success after %" PRIu64 " bytes\n", s.taken);
    } else {
        fprintf(stderr, "Transfer finished with success.\n");
    }
    return true;
}
