/* SPDX-License-Identifier: BSD-3-Clause
 * Connections over a transport. connection.h has the idea.
 *
 *   connection_open -> handshake, step by step -> established -> connection_close
 *                                 \_________________________/
 *
 * Invariants
 *  1. No byte is read or written through the transport before the connection is established.
 *  2. A connection is in the loop's list of pending ones if it is watched, its owner wants to read,
 *     and bytes are pending; so an owner that does not read does not keep the loop awake.
 *     A connection is read at most once a turn, also if its socket was ready in the same turn,
 *     because owners gather what they read in a turn, and each client's input must be one piece.
 *  3. After a read that failed with EAGAIN nothing is pending, whatever the transport holds,
 *     because half a record must not keep the loop awake.
 *  4. A write waits for input only until the next read, because that read may have taken the input.
 *     (A read that waits for room in the socket needs no such rule, because the room stays.)
 *  5. The memory that a transport holds for a connection is moved from the transport's class to the
 *     owner's when it has changed by CONNECTION_BOOK_BYTES. Only the loop's thread does so, and not
 *     between the two parts of a call that another thread makes. booked_total is the sum of what
 *     was moved, by the class of the transport.
 *  6. A connection whose handshake has expired is in the loop's list of pending ones until its
 *     owner closes it.
 */
#include "io/connection.h"

#include <errno.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/panic.h"

#define NSEC_A_MSEC INT64_C(1000000)

/* The accepted connections that are not established. */
static struct list_link handshakes = {&handshakes, &handshakes};
static size_t handshakes_count;
static size_t booked_total[MEMORY_CLASSES];

static void begin_handshake(struct connection *c) {
    c->opened_nsec = c->heard_nsec = clock_monotonic_nsec();
    list_append(&handshakes, &c->link);
    handshakes_count++;
}

static void end_handshake(struct connection *c) {
    if (c->side != CONNECTION_ACCEPTS || list_is_empty(&c->link)) return;
    list_remove(&c->link);
    handshakes_count--;
}

struct connection *connection_open(const struct connection_transport *transport, int fd,
                                   enum connection_side side, enum memory_class class, char *reason,
                                   size_t reason_size) {
    ASSERT(transport->bytes >= sizeof(struct connection));
    struct connection *c = memory_zalloc(transport->bytes, class);
    c->transport = transport;
    c->fd = fd;
    c->side = side;
    c->class = class;
    c->step_needs = side == CONNECTION_ACCEPTS ? LOOP_READABLE : LOOP_WRITABLE;
    c->read_needs = LOOP_READABLE;
    c->write_needs = LOOP_WRITABLE;
    list_init(&c->link);
    if (transport->open(c, reason, reason_size)) {
        if (side == CONNECTION_ACCEPTS) begin_handshake(c);
        return c;
    }
    memory_free_sized(c, transport->bytes, class);
    return NULL;
}

static void book_as(struct connection *c, size_t bytes) {
    enum memory_class memory = *c->transport->memory;
    memory_move(NULL, bytes - c->booked_bytes, memory, c->class);
    booked_total[memory] += bytes - c->booked_bytes;
    c->booked_bytes = bytes;
}

/* Books what the transport holds (invariant 5). `held_bytes` may be below 0, because a block that
 * is freed in this connection's call may be charged to another one: a session that several share.
 */
static void connection_book(struct connection *c) {
    size_t held = c->held_bytes > 0 ? (size_t)c->held_bytes : 0;
    size_t change = held > c->booked_bytes ? held - c->booked_bytes : c->booked_bytes - held;
    if (__builtin_expect(change >= CONNECTION_BOOK_BYTES, 0)) book_as(c, held);
}

size_t connection_booked_bytes(enum memory_class memory) { return booked_total[memory]; }

void connection_close(struct connection *c) {
    if (!c) return;
    if (c->loop) connection_unwatch(c);
    end_handshake(c);
    c->transport->close(c);
    book_as(c, 0);
    memory_free_sized(c, c->transport->bytes, c->class);
}

void connection_abandon(struct connection *c) { c->established = false; }

void connection_move(struct connection *c, enum memory_class class) {
    memory_move(c, memory_good_size(c->transport->bytes), c->class, class);
    memory_move(NULL, c->booked_bytes, c->class, class);
    c->class = class;
}

size_t connection_bytes(const struct connection *c) {
    return memory_good_size(c->transport->bytes) + c->booked_bytes;
}

/* Invariants 2 and 6. */
static void tell_pending(struct connection *c) {
    if (!c->loop) return;
    if (c->expired || (c->is_pending && c->wanted & LOOP_READABLE))
        loop_pending_begin(c->loop, &c->pending);
    else
        loop_pending_end(c->loop, &c->pending);
}

static void note_pending(struct connection *c) {
    c->is_pending = c->transport->has_pending(c);
    tell_pending(c);
}

static bool is_need(unsigned needs) {
    return needs && !(needs & ~(unsigned)(LOOP_READABLE | LOOP_WRITABLE));
}

enum connection_step connection_handshake(struct connection *c, char *reason, size_t reason_size) {
    if (c->established) return CONNECTION_DONE;
    if (c->expired) {
        snprintf(reason, reason_size, "the handshake took too long");
        return CONNECTION_FAILED;
    }
    if (c->side == CONNECTION_ACCEPTS) c->heard_nsec = clock_monotonic_nsec();
    enum connection_step step = c->transport->handshake(c, reason, reason_size);
    connection_book(c);
    if (step == CONNECTION_WAITS) ASSERT(is_need(c->step_needs));
    if (step != CONNECTION_DONE) return step;
    c->established = true;
    end_handshake(c);
    note_pending(c);
    return step;
}

size_t connection_handshakes(void) { return handshakes_count; }

void connection_end_handshakes(int64_t whole_msec, int64_t silent_msec) {
    int64_t now = clock_monotonic_nsec();
    LIST_FOR_EACH (link, following, &handshakes) {
        struct connection *c = LIST_ENTRY(link, struct connection, link);
        if (now - c->opened_nsec <= whole_msec * NSEC_A_MSEC &&
            now - c->heard_nsec <= silent_msec * NSEC_A_MSEC)
            continue;
        c->expired = true;
        tell_pending(c);
    }
}

/* Invariant 1. */
static ssize_t too_early(void) {
    errno = EAGAIN;
    return -1;
}

ssize_t connection_read_apart(struct connection *c, void *bytes, size_t length) {
    if (!c->established) return too_early();
    c->read_needs = LOOP_READABLE;
    c->write_needs = LOOP_WRITABLE; /* invariant 4 */
    ssize_t got = c->transport->read(c, bytes, length);
    int error = errno;
    ASSERT(is_need(c->read_needs));
    c->is_pending = got > 0 && c->transport->has_pending(c);
    errno = error;
    return got;
}

void connection_settle_read(struct connection *c) {
    connection_book(c);
    if (c->loop) loop_pending_end(c->loop, &c->pending); /* invariant 2: once a turn */
    tell_pending(c);
}

ssize_t connection_read(struct connection *c, void *bytes, size_t length) {
    ssize_t got = connection_read_apart(c, bytes, length);
    int error = errno;
    if (c->established) connection_settle_read(c);
    errno = error;
    return got;
}

const char *connection_error_text(const struct connection *c, int error) {
    const char *text = c && error == EPROTO ? c->transport->broken_text(c) : NULL;
    return text ? text : strerror(error);
}

static ssize_t write_apart(struct connection *c, const struct iovec *pieces, int count) {
    if (!c->established) return too_early();
    c->write_needs = LOOP_WRITABLE;
    ssize_t sent = c->transport->writev(c, pieces, count);
    int error = errno;
    ASSERT(is_need(c->write_needs));
    c->is_pending = c->transport->has_pending(c);
    errno = error;
    return sent;
}

void connection_settle_write(struct connection *c) {
    connection_book(c);
    tell_pending(c);
}

ssize_t connection_writev(struct connection *c, const struct iovec *pieces, int count) {
    ssize_t sent = write_apart(c, pieces, count);
    int error = errno;
    if (c->established) connection_settle_write(c);
    errno = error;
    return sent;
}

/* The bytes are only read; the cast is needed because iov_base is not const. */
static struct iovec piece_of(const void *bytes, size_t length) {
    struct iovec piece = {.iov_len = length};
    memcpy(&piece.iov_base, &bytes, sizeof(bytes));
    return piece;
}

ssize_t connection_write_apart(struct connection *c, const void *bytes, size_t length) {
    struct iovec piece = piece_of(bytes, length);
    return write_apart(c, &piece, 1);
}

ssize_t connection_write(struct connection *c, const void *bytes, size_t length) {
    struct iovec piece = piece_of(bytes, length);
    return connection_writev(c, &piece, 1);
}

unsigned connection_interest(struct connection *c, unsigned wanted) {
    c->wanted = (uint8_t)wanted;
    if (!wanted || !c->established) return wanted ? c->step_needs : 0;
    return (wanted & LOOP_HANGUP) | (wanted & LOOP_READABLE ? c->read_needs : 0u) |
           (wanted & LOOP_WRITABLE ? c->write_needs : 0u);
}

unsigned connection_ready(const struct connection *c, unsigned ready) {
    unsigned found = ready & c->wanted & LOOP_HANGUP;
    if (ready & (c->read_needs | LOOP_PENDING)) found |= c->wanted & LOOP_READABLE;
    if (ready & c->write_needs) found |= c->wanted & LOOP_WRITABLE;
    return found ? found : LOOP_READABLE;
}

bool connection_has_pending(const struct connection *c) { return c->is_pending; }

bool connection_watch(struct connection *c, struct loop *loop, struct loop_watcher *watcher,
                      unsigned wanted) {
    c->loop = loop;
    c->pending.watcher = watcher;
    if (!loop_watch(loop, watcher, connection_interest(c, wanted) | (wanted & LOOP_FIRST)))
        return false;
    tell_pending(c);
    return true;
}

void connection_unwatch(struct connection *c) {
    if (!c->loop) return;
    loop_pending_end(c->loop, &c->pending);
    loop_unwatch(c->loop, c->pending.watcher);
    c->loop = NULL;
}
