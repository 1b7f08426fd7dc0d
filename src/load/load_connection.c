/* SPDX-License-Identifier: BSD-3-Clause
 * Connections of loads.
 *
 * A batch costs one send, one recv and a share of an epoll_wait: the batch is sent without waiting
 * for EPOLLOUT, and epoll is told to watch for it only where the socket did not take all bytes.
 *
 * Invariants
 *  1. `unsent` lies in `rest`, or in the memory of the last batch of the ring, which stays.
 *  2. The first flight of the ring has fewer replies answered than it has replies.
 *  3. While CONNECTING the descriptor is the peer's; afterwards it is the connection's.
 */
#include "load/load_connection.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "base/panic.h"
#include "base/system.h"
#include "io/connection.h"
#include "io/loop.h"

#define FLIGHTS_FIRST 2
#define DESCRIPTORS_BESIDE 64

static bool fail_with(char *reason, const char *what, const char *why) {
    snprintf(reason, LOAD_REASON_CHARS, "%s%s", what, why);
    return false;
}

void load_connection_allow(uint64_t connections) {
    struct rlimit limit;
    rlim_t wanted = DESCRIPTORS_BESIDE + (rlim_t)connections;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

void load_connection_init(struct load_connection *c) {
    const struct peer_limits none = {0}; /* the peer only connects: it reads no reply */
    *c = (struct load_connection){.fd = -1, .peer = peer_create(MEMORY_OTHER, &none)};
    buffer_init(&c->rest, MEMORY_OTHER);
}

void load_connection_free(struct load_connection *c) {
    load_connection_close(c);
    peer_free(c->peer);
    buffer_free(&c->rest);
    memory_free(c->flights, MEMORY_OTHER);
}

static bool watch_anew(struct load_connection *c, int epoll, char *reason) {
    unsigned wanted = LOOP_READABLE | (c->unsent.length ? LOOP_WRITABLE : 0);
    if (c->state == LOAD_CONNECTING) {
        wanted = peer_interest(c->peer);
    } else if (c->connection) {
        wanted = connection_interest(c->connection, wanted);
    }
    uint32_t events = (wanted & LOOP_READABLE ? (uint32_t)EPOLLIN : 0) |
                      (wanted & LOOP_WRITABLE ? (uint32_t)EPOLLOUT : 0);
    if (events == c->watched) return true;
    struct epoll_event event = {.events = events, .data.ptr = c};
    int operation = c->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (system_epoll_ctl(epoll, operation, c->fd, &event) < 0)
        return fail_with(reason, "epoll: ", strerror(errno));
    c->watched = events;
    return true;
}

/* Watches what the connection waits for. Nothing has changed for an open plain socket that has sent
 * all, which is the case of nearly every batch. */
static inline bool watch_events(struct load_connection *c, int epoll, char *reason) {
    bool is_same = c->watched == EPOLLIN && !c->unsent.length && !c->connection;
    if ((is_same && c->state == LOAD_OPEN) || epoll < 0) return true;
    return watch_anew(c, epoll, reason);
}

bool load_connection_connect(struct load_connection *c, const struct load_target *target, int epoll,
                             char reason[LOAD_REASON_CHARS]) {
    ASSERT(c->state == LOAD_CLOSED);
    c->broken = 0;
    c->watched = 0;
    c->scanner = (struct reply_scanner){0};
    c->state = LOAD_CONNECTING;
    if (!peer_connect(c->peer, &target->address))
        return fail_with(reason, "Could not connect: ", peer_error(c->peer));
    c->fd = peer_fd(c->peer);
    c->greeting_left = target->greeting_replies;
    return watch_events(c, epoll, reason);
}

/* --- what is sent ----------------------------------------------------------------------------- */

/* Writes as much as the socket takes; returns the number of bytes. A failure is kept in `broken`,
 * because replies that came before it can still be read. */
static size_t write_some(struct load_connection *c, struct slice bytes) {
    ssize_t sent = c->connection
                       ? connection_write(c->connection, bytes.bytes, bytes.length)
                       : system_send(c->fd, bytes.bytes, bytes.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return (size_t)sent;
    if (errno != EAGAIN && errno != EINTR) c->broken = errno;
    return 0;
}

static void write_unsent(struct load_connection *c) {
    size_t sent = write_some(c, c->unsent);
    c->unsent.bytes += sent;
    c->unsent.length -= sent;
    if (c->unsent.length) return;
    /* A connection that once sent a large batch slowly does not keep its memory. */
    c->unsent = (struct slice){0};
    buffer_free(&c->rest);
}

/* Moves what is unsent to the beginning of `rest`, and appends the bytes. */
static void keep_bytes(struct load_connection *c, struct slice bytes) {
    struct buffer kept;
    buffer_init(&kept, MEMORY_OTHER);
    buffer_append(&kept, c->unsent.bytes, c->unsent.length);
    buffer_append(&kept, bytes.bytes, bytes.length);
    buffer_free(&c->rest);
    c->rest = kept;
    c->unsent = buffer_slice(&c->rest);
}

static void send_bytes(struct load_connection *c, struct slice bytes, bool stays) {
    size_t sent = c->unsent.length ? 0 : write_some(c, bytes);
    if (sent == bytes.length) return;
    bytes.bytes += sent;
    bytes.length -= sent;
    if (stays && !c->unsent.length) {
        c->unsent = bytes;
    } else {
        keep_bytes(c, bytes);
    }
}

static void grow_flights(struct load_connection *c) {
    uint32_t room = c->room ? 2 * c->room : FLIGHTS_FIRST;
    struct load_flight *grown = memory_alloc(room * sizeof(*grown), MEMORY_OTHER);
    for (uint32_t i = 0; i < c->count; i++) grown[i] = c->flights[(c->head + i) & (c->room - 1)];
    memory_free(c->flights, MEMORY_OTHER);
    c->flights = grown;
    c->room = room;
    c->head = 0;
}

static void pop_flight(struct load_connection *c) {
    c->head = (c->head + 1) & (c->room - 1);
    c->count--;
}

bool load_connection_send(struct load_connection *c, int epoll, const struct load_batch *batch,
                          int64_t due_nsec, int64_t sent_nsec, int64_t late_nsec) {
    char unused[LOAD_REASON_CHARS];
    ASSERT(c->state == LOAD_OPEN && batch->replies);
    if (c->count == c->room) grow_flights(c);
    struct load_flight *flight = &c->flights[(c->head + c->count++) & (c->room - 1)];
    flight->due_nsec = due_nsec;
    flight->sent_nsec = sent_nsec;
    flight->late_nsec = late_nsec;
    flight->replies = batch->replies;
    flight->answered = 0;
    flight->about = batch->about;
    send_bytes(c, batch->bytes, batch->stays);
    if (!c->broken && !watch_events(c, epoll, unused)) c->broken = errno;
    return !c->broken;
}

bool load_connection_take(struct load_connection *c, struct load_flight *flight) {
    if (!c->count) return false;
    *flight = c->flights[c->head];
    pop_flight(c);
    return true;
}

/* --- what comes back -------------------------------------------------------------------------- */

/* Continues to connect as far as possible without blocking: TCP, the TLS handshake, then the
 * greeting is sent. */
static bool open_further(struct load_connection *c, const struct load_target *target,
                         char *reason) {
    if (!peer_advance(c->peer))
        return fail_with(reason, "Could not connect: ", peer_error(c->peer));
    if (peer_state(c->peer) != PEER_OPEN) return true;
    struct buffer none; /* a peer that only connects has read nothing */
    buffer_init(&none, MEMORY_OTHER);
    c->fd = peer_release(c->peer, &c->connection, &none);
    buffer_free(&none);
    c->state = LOAD_OPEN;
    if (target->greeting.length) send_bytes(c, target->greeting, true);
    return true;
}

/* Tells `count` replies of the oldest batch. */
static void tell_replies(struct load_connection *c, const struct load_reader *reader,
                         unsigned count, enum scanned kind) {
    struct load_flight *flight = &c->flights[c->head];
    flight->answered += count;
    if (flight->answered == flight->replies) pop_flight(c);
    reader->answered(reader->owner, c, flight, count, kind);
}

/* One reply of the greeting has been read. */
static bool take_greeting(struct load_connection *c, enum scanned kind, char *reason) {
    if (kind == SCANNED_ERROR || kind == SCANNED_OOM)
        return fail_with(reason, "Error from server: ", c->scanner.error);
    c->greeting_left--;
    return true;
}

/* Scans the bytes, and tells the replies whose last byte is among them. */
static bool scan_replies(struct load_connection *c, const struct load_reader *reader,
                         const char *at, const char *end, char *reason) {
    enum scanned kind = SCANNED_NONE;
    unsigned count = 0, left = 0; /* replies of `kind` not told yet; still due to the batch */
    bool sound = true;
    struct slice piece = {0}, *body = reader->body ? &piece : NULL;
    while (at < end) {
        enum scanned what = reply_scan(&c->scanner, &at, end, body, &sound);
        if (piece.length && !c->greeting_left) reader->body(reader->owner, c, piece);
        if (count && what == kind) {
            if (++count < left) continue;
        } else {
            if (!sound) return fail_with(reason, "Error: ", "what the server sends is no protocol");
            if (what == SCANNED_NONE || what == SCANNED_PUSH) continue;
            if (c->greeting_left) {
                if (!take_greeting(c, what, reason)) return false;
                continue;
            }
            if (count) tell_replies(c, reader, count, kind);
            if (!c->count) return fail_with(reason, "Error: ", "a reply that answers no request");
            const struct load_flight *flight = &c->flights[c->head];
            kind = what;
            count = 1;
            left = kind == SCANNED_ERROR || kind == SCANNED_OOM
                       ? 1
                       : flight->replies - flight->answered;
            if (count < left) continue;
        }
        tell_replies(c, reader, count, kind);
        count = 0;
    }
    if (count) tell_replies(c, reader, count, kind);
    return true;
}

static bool receive_replies(struct load_connection *c, const struct load_reader *reader,
                            char *reason) {
    do {
        ssize_t got = c->connection
                          ? connection_read(c->connection, reader->buffer, reader->room)
                          : system_recv(c->fd, reader->buffer, reader->room, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (got < 0)
            return fail_with(reason,
                             "Error: reading: ", connection_error_text(c->connection, errno));
        if (got == 0) return fail_with(reason, "Error: ", "Server closed the connection");
        if (!scan_replies(c, reader, reader->buffer, reader->buffer + got, reason)) return false;
    } while (c->connection && connection_has_pending(c->connection));
    return true;
}

bool load_connection_advance(struct load_connection *c, const struct load_target *target, int epoll,
                             uint32_t events, const struct load_reader *reader,
                             char reason[LOAD_REASON_CHARS]) {
    if (c->state == LOAD_CLOSED) return true;
    if (c->state == LOAD_CONNECTING) {
        if (!open_further(c, target, reason)) return false;
    } else {
        if (c->unsent.length && !c->broken) write_unsent(c);
        bool reads = c->connection || events & ~(uint32_t)EPOLLOUT;
        if (reads && !receive_replies(c, reader, reason)) return false;
    }
    if (c->broken)
        return fail_with(reason,
                         "Error: writing: ", connection_error_text(c->connection, c->broken));
    return watch_events(c, epoll, reason);
}

void load_connection_close(struct load_connection *c) {
    if (c->state == LOAD_CLOSED) return;
    if (c->state == LOAD_CONNECTING) {
        peer_close(c->peer);
    } else {
        connection_close(c->connection);
        system_close(c->fd);
    }
    c->connection = NULL;
    c->fd = -1;
    c->state = LOAD_CLOSED;
    c->greeting_left = 0;
    c->unsent.length = 0;
    c->head = c->count = 0;
}
