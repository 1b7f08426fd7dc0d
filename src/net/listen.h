/* SPDX-License-Identifier: BSD-3-Clause
 * Listeners: TCP and unix sockets that accept connections, with the options that name them.
 *
 * Connections are of a kind: clients, and what layers above add. Each kind has a port, which is
 * listened on at all addresses of `bind`, and is handed the sockets that are accepted there.
 */
#ifndef EVENKEEL_NET_LISTEN_H
#define EVENKEEL_NET_LISTEN_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct child_observer;
struct connection_transport;
struct loop;
struct socket_peer;

/* So many connections are accepted a turn at most, so that established clients are not starved. */
#define LISTEN_ACCEPTS_MAX 128
/* Clients, clients over TLS, and room for kinds of layers above. */
#define LISTEN_KINDS_MAX 4

/* A kind of connections. Lives as long as the process. */
struct listen_kind {
    const char *name; /* for messages: "TCP" */
    /* The transport that its connections speak through; NULL = plain sockets. */
    const struct connection_transport *transport;
    /* The port that it is listened on; 0 = none. Asked when listeners are opened. */
    int (*port)(void);
    /* A connection has come. Takes the socket, whose other end is `peer`. */
    void (*accepted)(const struct listen_kind *kind, int fd, const struct socket_peer *peer);
    /* False: the kind's listeners rest for some milliseconds, and connections wait in the system's
     * queue. NULL: there always is room. */
    bool (*has_room)(void);
    /* Connections of this kind that count for maxclients, as clients do. NULL: none count. */
    size_t (*counted)(void);
};

/* Options and metrics. `default_port` is the default of the option port, as text; it lives as long
 * as the process. Once, at start. */
void listen_register(const char *default_port);
/* A further kind, before listen_open. At most LISTEN_KINDS_MAX in all (asserted). */
FOR_TESTS void listen_add_kind(const struct listen_kind *kind);
/* Opens all that the options name; false with a reason where one cannot be had. Addresses with a
 * leading '-' in `bind` may fail for want of the address family. */
MUST_USE bool listen_open(struct loop *loop, char *reason, size_t reason_size);
/* Called in each turn within another, where no timer runs. Ends a rest of accepting that is over,
 * and handshakes that have taken too long. */
void listen_within(void);
void listen_close(void); /* removes the unix socket's file */
/* A forked child closes its copies, so that the ports are free when the server has ended. */
extern const struct child_observer listen_child_observer;
int listen_port(void);              /* 0 = no TCP */
int listen_tls_port(void);          /* 0 = no TLS */
int64_t listen_backlog(void);       /* tcp-backlog */
const char *listen_unix_path(void); /* "" = none */
/* Removes the unix socket's file, if one was made, wherever `dir` is now. From any signal handler.
 */
void listen_unix_remove(void);
/* "127.0.0.1:6379", "*:6379", or the unix socket: for process titles. Valid until the next call. */
const char *listen_first_address(void);
/* From which this server connects to others of its kind: the first one that `bind` names; "" where
 * that is none of its own, or may be missing. Valid until `bind` changes. */
const char *listen_source_address(void);
#endif
