/* SPDX-License-Identifier: BSD-3-Clause
 * Connections that are more than a socket: bytes pass through a transport (TLS) that has a state,
 * shakes hands before the first of them, and reads where it is to write.
 *
 * A plain socket has no struct connection: its owner keeps a NULL, or a bit that says so, and calls
 * the system. Whoever has one calls these functions in place of read, write and loop_watch; they do
 * not wait, either.
 *
 * The owner goes on in its own terms, "I would read, I would write" (LOOP_READABLE, LOOP_WRITABLE).
 * The transport says what each of the two needs of the socket just now, most often the same, now
 * and then the other; connection_interest translates one way, connection_ready the other. What a
 * transport has read from the socket beyond what it was asked for is pending: the system does not
 * tell of it, so the loop does (struct loop_pending).
 *
 * What a transport allocates for a connection is its owner's: the transport keeps an account of it,
 * and connection_bytes has it.
 */
#ifndef EVENKEEL_IO_CONNECTION_H
#define EVENKEEL_IO_CONNECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "io/loop.h"

enum connection_side { CONNECTION_ACCEPTS, CONNECTION_CONNECTS };
enum connection_step { CONNECTION_DONE, CONNECTION_WAITS, CONNECTION_FAILED };

struct connection;

/* A kind of transport. All functions are there; none of them waits or raises a signal. */
struct connection_transport {
    const char *name;
    size_t bytes; /* of its struct, which begins with struct connection, zeroed when made */
    enum memory_class memory; /* of what it allocates besides, where it says that it holds any */
    /* Makes ready for the handshake. False with a reason; `close` is not called then. */
    bool (*open)(struct connection *c, char *reason, size_t reason_size);
    /* Goes on as far as one read or write of the socket brings it. CONNECTION_WAITS: step_needs
     * says for what. CONNECTION_FAILED, with a reason: nothing but `close` is called any more. */
    enum connection_step (*handshake)(struct connection *c, char *reason, size_t reason_size);
    /* As read and writev; a writev goes on until all is taken or the socket takes no more. Where
     * they fail with EAGAIN, read_needs and write_needs say what for; they are the usual ones when
     * the call begins. What a writev that failed so was offered comes again, from the same or
     * another address, and at least as much: the transport may have made a record of it already. */
    ssize_t (*read)(struct connection *c, void *bytes, size_t length);
    ssize_t (*writev)(struct connection *c, const struct iovec *pieces, int count);
    /* Why a read or writev failed with EPROTO, in words that need not be freed; NULL where the
     * transport does not know. */
    const char *(*broken_text)(const struct connection *c);
    /* Whether a read would give bytes, or the end, without the socket. */
    bool (*has_pending)(const struct connection *c);
    /* Says goodbye, as far as the socket takes it at once, and frees what it has; the descriptor is
     * the owner's. At any time after `open`. */
    void (*close)(struct connection *c);
};

struct connection {
    const struct connection_transport *transport;
    int fd;
    enum connection_side side;
    enum memory_class class;
    bool established; /* the handshake is done */
    bool is_pending;  /* by the transport's account, as of its last call */
    bool expired;     /* its handshake has taken too long: the next step fails */
    uint8_t wanted;   /* by the owner: LOOP_ bits */
    uint8_t step_needs, read_needs, write_needs; /* LOOP_READABLE, LOOP_WRITABLE, or both */
    struct loop *loop;                           /* that watches it; NULL = none */
    struct loop_pending pending;
    struct list_link link; /* of an accepted one that is not established: among all such */
    int64_t opened_nsec, heard_nsec; /* monotonic; of the latter's last step */
    int64_t held_bytes;  /* of the transport's class, by its account; written in its calls alone */
    size_t booked_bytes; /* of these, what is booked to `class` */
};

/* Over a connected socket, or one that is connecting; the descriptor stays the caller's. The struct
 * is booked to `class`. NULL with a reason. */
MUST_USE struct connection *connection_open(const struct connection_transport *transport, int fd,
                                            enum connection_side side, enum memory_class class,
                                            char *reason, size_t reason_size);
/* Before the descriptor is closed. NULL is harmless. */
void connection_close(struct connection *c);
/* Makes connection_close send nothing, because a forked child goes on with the connection, or the
 * other end is gone. */
void connection_abandon(struct connection *c);
/* To be called when the connection gets another owner: its struct is counted in `class` from now
 * on. O(1). */
void connection_move(struct connection *c, enum memory_class class);
/* Bytes of its class: its struct, and what its transport holds, to CONNECTION_BOOK_BYTES. O(1). */
size_t connection_bytes(const struct connection *c);
/* Of all connections, what their transports of this class hold and owners' classes have. O(1). */
size_t connection_booked_bytes(enum memory_class memory);
/* Buffers come and go with each record; what is less than this is not booked anew. */
#define CONNECTION_BOOK_BYTES 4096

/* A step of the handshake, to be made when the socket is ready for connection_interest;
 * CONNECTION_DONE also where it was done before. */
MUST_USE enum connection_step connection_handshake(struct connection *c, char *reason,
                                                   size_t reason_size);
/* Accepted ones whose handshake is not done. O(1). */
size_t connection_handshakes(void);
/* The handshakes of accepted ones end that began more than `whole_msec` ago, or have not gone on
 * for `silent_msec`: their watchers are called, and connection_handshake fails. O(handshakes). */
void connection_end_handshakes(int64_t whole_msec, int64_t silent_msec);
/* Read and write like the system's calls; EAGAIN also before the handshake is done. Afterwards the
 * socket is to be watched anew: what the connection needs of it may have changed. */
MUST_USE ssize_t connection_read(struct connection *c, void *bytes, size_t length);
MUST_USE ssize_t connection_write(struct connection *c, const void *bytes, size_t length);
MUST_USE ssize_t connection_writev(struct connection *c, const struct iovec *pieces, int count);

/* What the errno of a failed read or write means, for a log. `c` may be NULL: a plain socket. The
 * text is not freed, may outlive the connection, and holds until the next call of strerror. */
const char *connection_error_text(const struct connection *c, int error);

/* connection_read and connection_write in two parts, for reads and writes by another thread
 * (net/transfer): that thread calls connection_..._apart, and afterwards the loop's thread calls
 * connection_settle_.... Between the two only connection_unwatch may be called for this connection.
 * The handshake must be done before. */
MUST_USE ssize_t connection_read_apart(struct connection *c, void *bytes, size_t length);
MUST_USE ssize_t connection_write_apart(struct connection *c, const void *bytes, size_t length);
void connection_settle_read(struct connection *c);
void connection_settle_write(struct connection *c);

/* What to wait for at the socket by an owner that wants this; 0 where it wants nothing. */
unsigned connection_interest(struct connection *c, unsigned wanted);
/* What of the last connection_interest's `wanted` is to be tried, the socket being `ready`;
 * LOOP_READABLE on an error that nobody waits for. Once the handshake is done. */
unsigned connection_ready(const struct connection *c, unsigned ready);
/* Whether a read gives something that the system does not tell of. A watched one need not ask. */
bool connection_has_pending(const struct connection *c);

/* Watches the socket for what `wanted` needs, and for what is pending; in place of loop_watch, and
 * as that. The callback passes what it gets through connection_ready. */
MUST_USE bool connection_watch(struct connection *c, struct loop *loop,
                               struct loop_watcher *watcher, unsigned wanted);
/* To be called instead of loop_unwatch. */
void connection_unwatch(struct connection *c);
#endif
