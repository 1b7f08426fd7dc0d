/* SPDX-License-Identifier: BSD-3-Clause
 * Sockets: listen, accept, connect, options. Every descriptor is non-blocking and close-on-exec.
 *
 * A reason names the system call that failed and its error ("bind: Address already in use"); it is
 * cut to `reason_size` and always ends in a NUL.
 */
#ifndef EVENKEEL_IO_SOCKET_H
#define EVENKEEL_IO_SOCKET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define SOCKET_ADDRESS_CHARS 64 /* the longest text of an address, and a NUL; more is cut */

/* Listens on one address; "*" = any IPv4, "::*" = any IPv6. A text with a colon is IPv6, anything
 * else IPv4; names are resolved, which may block. Port 0 = the system chooses. Returns the
 * descriptor, or -1 with a reason. IPv6 sockets are IPv6 only. */
MUST_USE int socket_listen_tcp(const char *address, int port, int backlog, char *reason,
                               size_t reason_size);
/* Listens on a unix socket; returns the descriptor, or -1 with a reason. Removes an old socket file
 * of that name first (no other kind of file: bind fails then). `mode` 0 leaves the permissions as
 * they are; otherwise no client can connect before they are set. */
MUST_USE int socket_listen_unix(const char *path, unsigned mode, int backlog, char *reason,
                                size_t reason_size);

/* Begin to connect; the descriptor becomes writable when it is decided, and socket_take_error then
 * says how. `source` (NULL or "" = any) is the address to connect from. `receive_bytes` is the size
 * of the socket's receive buffer (0 = the system's choice). A name is resolved, which may block.
 * Return -1 with a reason where it fails at once (a unix socket always does so). */
MUST_USE int socket_connect_tcp(const char *address, int port, const char *source,
                                int receive_bytes, char *reason, size_t reason_size);
MUST_USE int socket_connect_unix(const char *path, char *reason, size_t reason_size);
/* Whether `text` is an address as a number, so that nothing need be looked up for it. */
bool socket_is_address(const char *text);
/* Reads an address that is a number, and writes it in its usual form: "127.0.0.1" for "127.1",
 * "::1" for "0:0::1". Returns false, with `address` undefined, for any other text. */
MUST_USE bool socket_read_address(const char *text, char address[SOCKET_ADDRESS_CHARS]);
/* The first address of a name, as a number. Waits for the resolver, from any thread
 * (io/lookup.h does so beside the main one). False with a reason. */
MUST_USE bool socket_find_address(const char *name, char address[SOCKET_ADDRESS_CHARS],
                                  char *reason, size_t reason_size);
/* The socket's pending error, cleared by asking; 0 = none. */
MUST_USE int socket_take_error(int fd);

/* A unix socket's path is that of the end that has one: the listening end's. */
struct socket_peer {
    char address[SOCKET_ADDRESS_CHARS]; /* "127.0.0.1", "::1", or a path (may be "") */
    int port;                           /* 0 = unix socket */
    bool is_unix;
};
/* The next connection, with the other end's address; -1 where there is none (EAGAIN) or on failure
 * (errno). Connections that ended while they waited are skipped. */
MUST_USE int socket_accept(int listener, struct socket_peer *peer);
/* Fills in the other, or our own, end's address. Returns false if the socket is not connected (our
 * own: is no socket of these families). */
MUST_USE bool socket_peer_of(int fd, struct socket_peer *peer);
MUST_USE bool socket_local_of(int fd, struct socket_peer *local);
/* Returns true for 127.0.0.0/8, ::1 and unix sockets: protected mode. */
bool socket_peer_is_local(const struct socket_peer *peer);

/* These return false, errno set, where the system refuses. */
bool socket_set_nodelay(int fd, bool on);
/* Probes after `seconds` of silence (0 = off), then each third of that, three times. The system
 * knows at most 32,767 seconds; more counts as that. */
bool socket_set_keepalive(int fd, int seconds);
#endif
