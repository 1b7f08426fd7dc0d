/* SPDX-License-Identifier: BSD-3-Clause
 * A connection to another server, of which we are the client: what peer/peer_client.h, and
 * redis-cli, drive.
 *
 * Never blocks by itself: the owner watches peer_fd for peer_interest, calls peer_advance when it
 * is ready or peer_has_pending, and takes replies with peer_next until there is none. Time is the
 * owner's: a peer that says nothing is closed by whoever lost patience.
 *
 * What follows the last reply taken stays in the input: a link that leaves the protocol (a
 * snapshot after PSYNC) goes on with peer_input.
 */
#ifndef EVENKEEL_PEER_PEER_H
#define EVENKEEL_PEER_PEER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/string.h"
#include "peer/peer_reply.h"

/* Input held at once; while so much is not taken nothing is read. */
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
    const char *path;   /* of a unix socket, instead of all of the above; NULL = none */
    const struct connection_transport *transport; /* io/connection.h; NULL = a plain socket */
};

enum peer_state {
    PEER_CLOSED,     /* peer_error says why, unless it was never open or was closed by us */
    PEER_CONNECTING, /* or shaking hands; requests may be sent: they leave when it is open */
    PEER_OPEN,
};

/* Appends a request, as RESP has it. */
void peer_encode(struct buffer *out, const struct slice *words, size_t count);

/* Not connected yet. What it holds is booked to `class`; `limits` are those of each reply. */
MUST_USE struct peer *peer_create(enum memory_class class, const struct peer_limits *limits);
/* Closes. NULL is harmless. */
void peer_free(struct peer *peer);
/* A forked child closes its copies of their sockets: else the other side would not see that the
 * server closes one. O(peers), writes nothing. */
extern const struct child_observer peer_child_observer;
/* Begins to connect, after peer_close. False where that fails at once. */
MUST_USE bool peer_connect(struct peer *peer, const struct peer_address *address);
/* Input and output are dropped. */
void peer_close(struct peer *peer);
enum peer_state peer_state(const struct peer *peer);
/* Why the connection ended, one line without the other side's bytes; "" where it did not. */
const char *peer_error(const struct peer *peer);

/* Stays open until peer_close or peer_connect, also when the connection has ended: whoever watches
 * it ends that first. -1 where there is none. */
int peer_fd(const struct peer *peer);
/* LOOP_READABLE and LOOP_WRITABLE of io/loop.h: what to wait for; 0 where closed. */
unsigned peer_interest(const struct peer *peer);
/* Connects on, or a step of the handshake; writes what waits, reads once and what the transport has
 * read ahead. False where the connection ended; replies that came before can still be taken. */
bool peer_advance(struct peer *peer);
/* Writes what waits, and nothing else, where the connection is open. False where the connection has
 * ended, in this call or before. */
bool peer_write(struct peer *peer);
/* Whether peer_advance would read something that the descriptor does not tell of: to be asked
 * before waiting for it. */
bool peer_has_pending(const struct peer *peer);
/* Appends a request; nothing is written before peer_advance. Nothing happens where closed. */
void peer_send(struct peer *peer, const struct slice *words, size_t count);
/* The same with bytes as they are. */
void peer_send_bytes(struct peer *peer, struct slice bytes);
/* Bytes of requests that were not written yet. */
size_t peer_unsent_bytes(const struct peer *peer);
/* The next reply, valid until the next call with this peer; NULL where none is whole. Bytes that
 * are no protocol close the connection. */
const struct peer_reply *peer_next(struct peer *peer);

/* Whether there is input that was not looked at. */
bool peer_has_input(const struct peer *peer);
/* Input that was not taken as replies; only while no reply is under way. Valid until the next
 * call. */
struct slice peer_input(const struct peer *peer);
void peer_input_consume(struct peer *peer, size_t bytes);

/* The connection leaves the peer, which is closed then: returns its descriptor, and in `connection`
 * its transport (NULL = a plain socket; booked to the peer's class), both the caller's; input that
 * was not taken goes to the end of `rest`. It is open, no reply is under way, and all output was
 * written. */
MUST_USE int peer_release(struct peer *peer, struct connection **connection, struct buffer *rest);

/* Fills in what to wait for by poll(2) before peer_advance. False where peer_advance has something
 * to do already. */
MUST_USE bool peer_poll_entry(const struct peer *peer, struct pollfd *entry);
#endif
