/* SPDX-License-Identifier: BSD-3-Clause
 * Outgoing connections: connect, write, read and parse, each as far as possible without waiting.
 *
 *     CLOSED --peer_connect--> CONNECTING --writable, no error; handshake done--> OPEN
 *       ^                          |                                               |
 *       +--------- peer_close, refused, end of input, protocol error, failure -----+
 *
 * Invariants
 *  1. `fd` stays open until peer_close, so that the owner can end its watch of `fd` first.
 *  2. The input buffer holds at most PEER_INPUT_BYTES_MAX bytes. Those from `taken` on are not
 *     parsed yet.
 *  3. Output from `sent` on is not written yet.
 *  4. The input stays after the end of the connection, so that replies that came before can be
 *     read.
 */
#include "peer/peer.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/child.h"
#include "io/connection.h"
#include "io/loop.h"
#include "io/socket.h"

#define REASON_CHARS 160
/* One read takes at most so many bytes, so only a large reply makes the input's buffer grow to its
 * limit. */
#define READ_BYTES 16384
/* The output's buffer is kept after all is written unless it is larger than this. */
#define OUTPUT_KEPT_BYTES 65536

struct peer {
    struct list_link link; /* in `peers` */
    enum peer_state state;
    int fd;
    struct connection *connection; /* NULL = a plain socket */
    bool reached;                  /* the socket is connected */
    enum memory_class class;
    struct buffer input, output;
    size_t taken, sent;
    struct peer_parser *parser;
    char reason[REASON_CHARS];
};

static struct list_link peers = {&peers, &peers}; /* all peers of the process */

struct peer *peer_create(enum memory_class class, const struct peer_limits *limits) {
    struct peer *peer = memory_zalloc(sizeof(*peer), class);
    peer->fd = -1;
    peer->class = class;
    buffer_init(&peer->input, class);
    buffer_init(&peer->output, class);
    peer->parser = peer_parser_create(class, limits);
    list_append(&peers, &peer->link);
    return peer;
}

static void mark_closed(struct peer *peer) {
    peer->state = PEER_CLOSED;
    buffer_free(&peer->output);
    peer->sent = 0;
}

void peer_close(struct peer *peer) {
    mark_closed(peer);
    connection_close(peer->connection);
    peer->connection = NULL;
    peer->reached = false;
    if (peer->fd >= 0) system_close(peer->fd);
    peer->fd = -1;
    buffer_free(&peer->input);
    peer->taken = 0;
    peer_parser_reset(peer->parser);
    peer->reason[0] = '\0';
}

void peer_free(struct peer *peer) {
    if (!peer) return;
    peer_close(peer);
    peer_parser_free(peer->parser);
    list_remove(&peer->link);
    memory_free(peer, peer->class);
}

static void close_in_child(const struct child_job *job) {
    LIST_FOR_EACH (link, following, &peers) {
        int fd = LIST_ENTRY(link, struct peer, link)->fd;
        if (fd >= 0 && fd != job->kept_fd) system_close(fd);
    }
}

const struct child_observer peer_child_observer = {.in_child = close_in_child};

static bool peer_fail(struct peer *peer, const char *what, const char *why) {
    mark_closed(peer);
    snprintf(peer->reason, sizeof(peer->reason), "%s%s%s", what, *what && *why ? ": " : "", why);
    return false;
}

bool peer_connect(struct peer *peer, const struct peer_address *address) {
    peer_close(peer);
    peer->fd = address->path
                   ? socket_connect_unix(address->path, peer->reason, sizeof(peer->reason))
                   : socket_connect_tcp(address->host, address->port, address->source,
                                        address->receive_bytes, peer->reason, sizeof(peer->reason));
    if (peer->fd < 0) return false;
    if (address->transport)
        peer->connection = connection_open(address->transport, peer->fd, CONNECTION_CONNECTS,
                                           peer->class, peer->reason, sizeof(peer->reason));
    if (address->transport && !peer->connection) return false;
    peer->state = PEER_CONNECTING;
    return true;
}

enum peer_state peer_state(const struct peer *peer) { return peer->state; }
const char *peer_error(const struct peer *peer) { return peer->reason; }
int peer_fd(const struct peer *peer) { return peer->fd; }
size_t peer_unsent_bytes(const struct peer *peer) { return peer->output.length - peer->sent; }

static bool has_room(const struct peer *peer) {
    return peer->input.length - peer->taken < PEER_INPUT_BYTES_MAX;
}

unsigned peer_interest(const struct peer *peer) {
    if (peer->state == PEER_CLOSED) return 0;
    unsigned wanted =
        (has_room(peer) ? LOOP_READABLE : 0) | (peer_unsent_bytes(peer) ? LOOP_WRITABLE : 0);
    if (peer->state == PEER_CONNECTING) wanted = LOOP_WRITABLE;
    return peer->connection ? connection_interest(peer->connection, wanted) : wanted;
}

bool peer_has_pending(const struct peer *peer) {
    return peer->state == PEER_OPEN && peer->connection && has_room(peer) &&
           connection_has_pending(peer->connection);
}

/* Sees whether the socket is connected. It must be writable first, because a socket that is still
 * connecting has no error yet. */
static bool reach_socket(struct peer *peer) {
    struct pollfd ready = {.fd = peer->fd, .events = POLLOUT};
    if (poll(&ready, 1, 0) <= 0) return true;
    int error = socket_take_error(peer->fd);
    if (error) return peer_fail(peer, "connect", strerror(error));
    /* This fails for a unix socket, which delays nothing anyway. */
    (void)socket_set_nodelay(peer->fd, true);
    peer->reached = true;
    return true;
}

static bool shake_hands(struct peer *peer) {
    char why[REASON_CHARS] = "";
    enum connection_step step = peer->connection
                                    ? connection_handshake(peer->connection, why, sizeof(why))
                                    : CONNECTION_DONE;
    if (step == CONNECTION_FAILED) return peer_fail(peer, "handshake", why);
    if (step == CONNECTION_DONE) peer->state = PEER_OPEN;
    return true;
}

static bool finish_connecting(struct peer *peer) {
    if (!peer->reached && !reach_socket(peer)) return false;
    return !peer->reached || shake_hands(peer);
}

static ssize_t send_some(const struct peer *peer, const char *bytes, size_t length) {
    if (peer->connection) return connection_write(peer->connection, bytes, length);
    return system_send(peer->fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t receive_some(const struct peer *peer, char *bytes, size_t room) {
    if (peer->connection) return connection_read(peer->connection, bytes, room);
    return system_recv(peer->fd, bytes, room, MSG_DONTWAIT);
}

static bool write_output(struct peer *peer) {
    if (!peer_unsent_bytes(peer)) return true;
    ssize_t written = send_some(peer, peer->output.bytes + peer->sent, peer_unsent_bytes(peer));
    if (written < 0) {
        if (errno == EAGAIN || errno == EINTR) return true;
        return peer_fail(peer, "write", connection_error_text(peer->connection, errno));
    }
    peer->sent += (size_t)written;
    if (peer_unsent_bytes(peer)) return true;
    peer->sent = 0;
    if (peer->output.capacity > OUTPUT_KEPT_BYTES) {
        buffer_free(&peer->output);
    } else {
        buffer_clear(&peer->output);
    }
    return true;
}

/* Moves the bytes that were not taken to the front of the buffer. */
static void compact_input(struct peer *peer) {
    size_t kept = peer->input.length - peer->taken;
    if (kept && peer->taken) memmove(peer->input.bytes, peer->input.bytes + peer->taken, kept);
    peer->input.length = kept;
    peer->taken = 0;
}

static bool read_input(struct peer *peer) {
    if (!has_room(peer)) return true;
    compact_input(peer);
    size_t room = PEER_INPUT_BYTES_MAX - peer->input.length;
    if (room > READ_BYTES) room = READ_BYTES;
    char *to = buffer_reserve(&peer->input, room);
    ssize_t got = receive_some(peer, to, room);
    if (got < 0) {
        if (errno == EAGAIN || errno == EINTR) return true;
        return peer_fail(peer, "read", connection_error_text(peer->connection, errno));
    }
    if (got == 0) return peer_fail(peer, "the other side closed the connection", "");
    peer->input.length += (size_t)got;
    return true;
}

bool peer_advance(struct peer *peer) {
    if (peer->state == PEER_CLOSED) return false;
    if (peer->state == PEER_CONNECTING && !finish_connecting(peer)) return false;
    if (peer->state == PEER_CONNECTING) return true;
    /* Reads first, so that the other side's last replies are read even if writing fails. */
    do {
        if (!read_input(peer)) return false;
    } while (peer_has_pending(peer));
    return write_output(peer);
}

bool peer_write(struct peer *peer) {
    if (peer->state != PEER_OPEN) return peer->state != PEER_CLOSED;
    return write_output(peer);
}

static void append_header(struct buffer *out, char mark, size_t value) {
    char digits[NUMBER_INT64_CHARS];
    size_t length = number_format_uint64(digits, value);
    buffer_append_char(out, mark);
    buffer_append(out, digits, length);
    buffer_append(out, "\r\n", 2);
}

void peer_encode(struct buffer *out, const struct slice *words, size_t count) {
    append_header(out, '*', count);
    for (size_t i = 0; i < count; i++) {
        append_header(out, '$', words[i].length);
        buffer_append(out, words[i].bytes, words[i].length);
        buffer_append(out, "\r\n", 2);
    }
}

void peer_send(struct peer *peer, const struct slice *words, size_t count) {
    if (peer->state != PEER_CLOSED) peer_encode(&peer->output, words, count);
}

void peer_send_bytes(struct peer *peer, struct slice bytes) {
    if (peer->state != PEER_CLOSED) buffer_append(&peer->output, bytes.bytes, bytes.length);
}

const struct peer_reply *peer_next(struct peer *peer) {
    if (peer->taken == peer->input.length) return NULL;
    const char *cursor = peer->input.bytes + peer->taken;
    enum peer_parse_status status =
        peer_parse(peer->parser, &cursor, peer->input.bytes + peer->input.length);
    peer->taken = (size_t)(cursor - peer->input.bytes);
    if (status == PEER_PARSE_READY) return peer_parser_reply(peer->parser);
    if (status == PEER_PARSE_ERROR) {
        buffer_clear(&peer->input);
        peer->taken = 0;
        peer_fail(peer, "protocol", peer_parser_error(peer->parser));
    }
    return NULL;
}

bool peer_has_input(const struct peer *peer) { return peer->taken < peer->input.length; }

struct slice peer_input(const struct peer *peer) {
    ASSERT(peer_parser_is_between(peer->parser));
    if (peer->taken == peer->input.length) return (struct slice){"", 0};
    return (struct slice){peer->input.bytes + peer->taken, peer->input.length - peer->taken};
}

void peer_input_consume(struct peer *peer, size_t bytes) {
    ASSERT(bytes <= peer->input.length - peer->taken);
    peer->taken += bytes;
}

int peer_release(struct peer *peer, struct connection **connection, struct buffer *rest) {
    ASSERT(peer->state == PEER_OPEN && !peer_unsent_bytes(peer));
    struct slice input = peer_input(peer);
    int fd = peer->fd;
    buffer_append(rest, input.bytes, input.length);
    *connection = peer->connection;
    peer->connection = NULL;
    peer->fd = -1;
    peer_close(peer);
    return fd;
}

bool peer_poll_entry(const struct peer *peer, struct pollfd *entry) {
    unsigned interest = peer_interest(peer);
    *entry = (struct pollfd){.fd = peer->fd,
                             .events = (short)((interest & LOOP_READABLE ? POLLIN : 0) |
                                               (interest & LOOP_WRITABLE ? POLLOUT : 0))};
    return peer->state != PEER_CLOSED && !peer_has_pending(peer);
}
