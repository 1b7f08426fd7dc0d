/* SPDX-License-Identifier: BSD-3-Clause
 * Connections over a transport (TLS). A transport has a state, makes a handshake before the first
 * byte passes, and may have to read from the socket in order to write.
 *
 * A plain socket has no struct connection: its owner keeps a NULL, or a bit that says so, and calls
 * the system. The owner of a struct connection calls these functions in place of read, write and
 * loop_watch; these functions do not wait, either.
 *
 * The owner says whether it wants to read and to write (LOOP_READABLE, LOOP_WRITABLE). The
 * transport says what a read and a write need from the socket at the moment: usually the same
 * event, sometimes the other one. connection_interest translates what the owner wants into events
 * of the socket, and connection_ready translates events into what the owner can try. Bytes that the
 * transport has read from the socket and not yet returned are pending. The system does not report
 * them, so the loop does (struct loop_pending).
 *
 * Memory that a transport allocates for a connection is charged to the connection's owner: the
 * transport counts it, and connection_bytes includes it.
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

/* A kind of transport. No function is NULL; none of them waits or raises a signal. */
struct connection_transport {
    const char *name;
    size_t bytes; /* size of its struct, which begins with struct connection and is made zeroed */
    /* The class of what it allocates besides, counted in `held_bytes`. It does not change while
     * there are connections. */
    const enum memory_class *memory;
    /* Prepares the handshake. Returns false with a reason if it cannot; `close` is not called then.
     */
    bool (*open)(struct connection *c, char *reason, size_t reason_size);
    /* Makes the steps of the handshake that one read or write of the socket allows. After
     * CONNECTION_WAITS `step_needs` says which event of the socket is awaited. After
     * CONNECTION_FAILED, with a reason, no function but `close` is called. */
    enum connection_step (*handshake)(struct connection *c, char *reason, size_t reason_size);
    /* Like the system's read and writev; a writev goes on until all bytes are taken or the socket
     * takes no more. If they fail with EAGAIN, `read_needs` and `write_needs` say which event of
     * the socket is awaited; when a call begins, these are LOOP_READABLE and LOOP_WRITABLE. After
     * such a failure the next writev offers at least the same bytes again, from any address,
     * because the transport may have made a record of them already. */
    ssize_t (*read)(struct connection *c, void *bytes, size_t length);
    ssize_t (*writev)(struct connection *c, const struct iovec *pieces, int count);
    /* Why a read or writev failed with EPROTO, a text that need not be freed; NULL if the transport
     * does not know. */
    const char *(*broken_text)(const struct connection *c);
    /* Whether a read would return bytes, or the end, without reading the socket. */
    bool (*has_pending)(const struct connection *c);
    /* Announces the end to the peer, as far as the socket takes that at once, and frees what the
     * transport holds; the descriptor stays the owner's. May be called at any time after `open`. */
    void (*close)(struct connection *c);
};

struct connection {
    const struct connection_transport *transport;
    int fd;
    enum connection_side side;
    enum memory_class class;
    bool established; /* the handshake is done */
    bool is_pending;  /* bytes are pending, as of the transport's last call */
    bool expired;     /* its handshake has taken too long: the next step fails */
    uint8_t wanted;   /* LOOP_ bits that the owner wants */
    uint8_t step_needs, read_needs, write_needs; /* LOOP_READABLE, LOOP_WRITABLE, or both */
    struct loop *loop;                           /* the loop that watches it; NULL = none */
    struct loop_pending pending;
    struct list_link link; /* in the list of accepted connections that are not established */
    int64_t opened_nsec, heard_nsec; /* monotonic: connection_open, last step of a handshake */
    int64_t held_bytes;  /* that the transport has allocated for it; written only in its calls */
    size_t booked_bytes; /* the part of `held_bytes` that is booked to `class` */
};

/* Opens a connection over a socket that is connected or connecting; the descriptor stays the
 * caller's. The struct is booked to `class`. Returns NULL with a reason if the transport fails. */
MUST_USE struct connection *connection_open(const struct connection_transport *transport, int fd,
                                            enum connection_side side, enum memory_class class,
                                            char *reason, size_t reason_size);
/* Closes and frees the connection; call it before the descriptor is closed. `c` may be NULL. */
void connection_close(struct connection *c);
/* Makes connection_close send nothing, because a forked child goes on with the connection, or the
 * other end is gone. */
void connection_abandon(struct connection *c);
/* To be called when the connection gets another owner: its struct is counted in `class` from now
 * on. O(1). */
void connection_move(struct connection *c, enum memory_class class);
/* The bytes that the connection has in its class: its struct and what its transport holds, exact to
 * CONNECTION_BOOK_BYTES. O(1). */
size_t connection_bytes(const struct connection *c);
/* The bytes that transports of this class hold for all connections and that are booked to the
 * classes of the owners. O(1). */
size_t connection_booked_bytes(enum memory_class memory);
/* A change of less than this is not booked, because buffers come and go with each record. */
#define CONNECTION_BOOK_BYTES 4096

/* Makes a step of the handshake. Call it when the socket is ready for what connection_interest
 * returned. Returns CONNECTION_DONE also if the handshake was done before. */
MUST_USE enum connection_step connection_handshake(struct connection *c, char *reason,
                                                   size_t reason_size);
/* The number of accepted connections whose handshake is not done. O(1). */
size_t connection_handshakes(void);
/* Expires the handshake of each accepted connection that was opened more than `whole_msec` ago, or
 * whose last step is more than `silent_msec` ago: its watcher is called, and connection_handshake
 * fails. O(handshakes). */
void connection_end_handshakes(int64_t whole_msec, int64_t silent_msec);
/* Read and write like the system's calls; they fail with EAGAIN before the handshake is done. After
 * a call the owner must watch the socket anew, because the events that the connection needs may
 * have changed. */
MUST_USE ssize_t connection_read(struct connection *c, void *bytes, size_t length);
MUST_USE ssize_t connection_write(struct connection *c, const void *bytes, size_t length);
MUST_USE ssize_t connection_writev(struct connection *c, const struct iovec *pieces, int count);

/* The text for a log of the errno of a failed read or write; `c` is NULL for a plain socket. The
 * caller does not free the text; it may outlive the connection, and is valid until the next call of
 * strerror. */
const char *connection_error_text(const struct connection *c, int error);

/* connection_read and connection_write in two parts, for reads and writes by another thread
 * (net/transfer): that thread calls connection_..._apart, and afterwards the loop's thread calls
 * connection_settle_.... Between the two only connection_unwatch may be called for this connection.
 * The handshake must be done before. */
MUST_USE ssize_t connection_read_apart(struct connection *c, void *bytes, size_t length);
MUST_USE ssize_t connection_write_apart(struct connection *c, const void *bytes, size_t length);
void connection_settle_read(struct connection *c);
void connection_settle_write(struct connection *c);

/* The events of the socket to watch for, so that the owner can do what it wants (`wanted`); 0 if
 * `wanted` is 0. */
unsigned connection_interest(struct connection *c, unsigned wanted);
/* Translates events of the socket (`ready`) into what the owner should try, out of what it wanted
 * in the last connection_interest; LOOP_READABLE for an error that no wish waits for. Only once the
 * handshake is done. */
unsigned connection_ready(const struct connection *c, unsigned ready);
/* Whether a read would return bytes, or the end, that the system does not report. The owner of a
 * watched connection need not ask, because the loop calls its watcher. */
bool connection_has_pending(const struct connection *c);

/* Watches the socket for the events that `wanted` needs, and for pending bytes; called instead of
 * loop_watch, with the same contract (LOOP_FIRST included). The callback passes `ready` through
 * connection_ready. */
MUST_USE bool connection_watch(struct connection *c, struct loop *loop,
                               struct loop_watcher *watcher, unsigned wanted);
/* To be called instead of loop_unwatch. */
void connection_unwatch(struct connection *c);
#endif
