/* SPDX-License-Identifier: BSD-3-Clause
 * A connection to another server, of which we are the client. peer/peer_client.h drives it, and so
 * does load/, which connects by it.
 *
 * A peer never blocks by itself. Its owner watches peer_fd for peer_interest, calls peer_advance
 * when the descriptor is ready or peer_has_pending, and takes replies with peer_next until it
 * returns NULL. Time limits are the owner's: a peer waits for the other side until the owner closes
 * it.
 *
 * Bytes after the last reply taken stay in the input, so a link that leaves the protocol (for the
 * snapshot after PSYNC) continues with peer_input.
 */
#ifndef EVENKEEL_PEER_PEER_H
#define EVENKEEL_PEER_PEER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "peer/peer_reply.h"

/* The most input that is held. Nothing is read while this much was not taken. */
#define PEER_INPUT_BYTES_MAX 65536

struct child_observer;
struct connection;
struct connection_transport;
struct peer;
struct pollfd;

struct peer_address {
    const char *host; /* an address or a name; finding a name may block */
    int port;
    const char *source; /* the address to connect from; NULL = any */
    int receive_bytes;  /* of the socket's receive buffer; 0 = the system's choice */
    const char *path;   /* of a unix socket, instead of all of the above; NULL = none */
    const struct connection_transport *transport; /* io/connection.h; NULL = a plain socket */
};

enum peer_state {
    PEER_CLOSED,     /* peer_error says why, unless it was never open or was closed by us */
    PEER_CONNECTING, /* or in the handshake; requests may be sent: they wait until it is open */
    PEER_OPEN,
};

/* Appends a request to `out`, encoded as RESP. */
void peer_encode(struct buffer *out, const struct slice *words, size_t count);

/* Creates a closed peer. Its memory is of `class`; `limits` apply to each reply. */
MUST_USE struct peer *peer_create(enum memory_class class, const struct peer_limits *limits);
/* Closes and frees the peer. NULL is harmless. */
void peer_free(struct peer *peer);
/* Closes a forked child's copies of all peers' sockets, because otherwise the other side would not
 * see that the server closes one. O(peers), writes nothing. */
extern const struct child_observer peer_child_observer;
/* Closes the peer and begins to connect. Returns false if that fails at once. */
MUST_USE bool peer_connect(struct peer *peer, const struct peer_address *address);
/* Closes the connection and drops its input and output. */
void peer_close(struct peer *peer);
enum peer_state peer_state(const struct peer *peer);
/* Why the connection ended: one line without bytes of the other side; "" if it did not end. */
const char *peer_error(const struct peer *peer);

/* The descriptor, -1 if there is none. It stays open until peer_close or peer_connect, also after
 * the connection has ended, so that the owner can end its watch of the descriptor first. */
int peer_fd(const struct peer *peer);
/* What to wait for: LOOP_READABLE and LOOP_WRITABLE of io/loop.h; 0 if the peer is closed. */
unsigned peer_interest(const struct peer *peer);
/* Continues connecting or the handshake; if open, reads once, and what the transport has read
 * ahead, and writes unsent output. Returns false if the connection has ended; replies that came
 * before can still be taken. */
bool peer_advance(struct peer *peer);
/* Writes unsent output, and nothing else, if the connection is open. Returns false if the
 * connection has ended, in this call or before. */
bool peer_write(struct peer *peer);
/* Whether peer_advance would read input for which the descriptor does not become readable. To be
 * asked before waiting for the descriptor. */
bool peer_has_pending(const struct peer *peer);
/* Encodes a request and appends it to the output, which peer_advance writes. Does nothing if the
 * peer is closed. */
void peer_send(struct peer *peer, const struct slice *words, size_t count);
/* Appends encoded bytes to the output, which peer_advance writes. Does nothing if the peer is
 * closed. */
void peer_send_bytes(struct peer *peer, struct slice bytes);
/* Bytes of output that are not written yet. */
size_t peer_unsent_bytes(const struct peer *peer);
/* Takes the next reply, which is valid until the next call with this peer. Returns NULL if none is
 * complete. Bytes that break the protocol close the connection. */
const struct peer_reply *peer_next(struct peer *peer);

/* Whether there is input that was not taken yet. */
bool peer_has_input(const struct peer *peer);
/* The input that was not taken as replies, valid until the next call with this peer. Only to be
 * called between two replies. */
struct slice peer_input(const struct peer *peer);
void peer_input_consume(struct peer *peer, size_t bytes);

/* Releases the connection and closes the peer. Returns the descriptor, and in `connection` its
 * transport (NULL = a plain socket; its memory is of the peer's class): the caller owns both. Input
 * that was not taken is appended to `rest`. To be called while the peer is open, between two
 * replies, with no unsent output. */
MUST_USE int peer_release(struct peer *peer, struct connection **connection, struct buffer *rest);

/* Fills in the entry for poll(2), to wait before peer_advance. Returns false if peer_advance can do
 * something without waiting. */
MUST_USE bool peer_poll_entry(const struct peer *peer, struct pollfd *entry);
#endif
