/* SPDX-License-Identifier: BSD-3-Clause
 * Listeners: TCP and unix sockets that accept connections, with the options that name them.
 *
 * Connections are of a kind: clients, and kinds that layers above add. Each kind has a port, at
 * which the server listens on all addresses of `bind`, and is handed the sockets that are accepted
 * there.
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

/* At most so many connections are accepted in a turn, so that established clients are not starved.
 */
#define LISTEN_ACCEPTS_MAX 128
/* Clients, clients over TLS, and room for kinds of layers above. */
#define LISTEN_KINDS_MAX 4

/* A kind of connections. Lives as long as the process. */
struct listen_kind {
    const char *name; /* for messages: "TCP" */
    /* The transport of the kind's connections; NULL = plain sockets. */
    const struct connection_transport *transport;
    /* The kind's port; 0 = none. Called when listeners are opened. */
    int (*port)(void);
    /* Called for each accepted connection. Takes the socket, whose other end is `peer`. */
    void (*accepted)(const struct listen_kind *kind, int fd, const struct socket_peer *peer);
    /* If it returns false, the kind's listeners rest for some milliseconds, and new connections
     * wait in the system's queue. NULL: there is always room. */
    bool (*has_room)(void);
    /* The number of connections of this kind that count for maxclients. NULL: none count. */
    size_t (*counted)(void);
    /* What these are called in the refusal of a client for which there is no room, which names them
     * as long as the kind has a port. NULL where none count. */
    const char *counted_name;
    /* The kind listens so many ports above `port`, which messages show. */
    int above;
};

/* Registers options and metrics. `default_port` is the default of the option port, as text, and is
 * borrowed for good; `protects` is the default of protected-mode. Called once, at start. */
void listen_register(const char *default_port, bool protects);
/* Adds a kind, before listen_open. There may be at most LISTEN_KINDS_MAX kinds (asserted). */
void listen_add_kind(const struct listen_kind *kind);
struct option_row;
/* The `apply` of the option that is a kind's port: opens and closes the listeners of all kinds as
 * their ports are now, and leaves those that stay. */
bool listen_apply_port(const struct option_row *row, char *reason, size_t reason_size);
/* Whether protected-mode forbids to serve this peer. */
bool listen_is_protected_from(const struct socket_peer *peer);
/* To be called when a kind has opened a connection with a handshake: ends it if it takes too long.
 */
void listen_watch_handshakes(void);
/* Opens all listeners that the options name. Returns false, with a reason, if one cannot be opened.
 * An address with a leading '-' in `bind` is skipped if the host does not have it. */
MUST_USE bool listen_open(struct loop *loop, char *reason, size_t reason_size);
/* Called in each nested turn, where no timer runs: ends a rest of accepting that is over, and
 * handshakes that have taken too long. */
void listen_within(void);
void listen_close(void); /* removes the unix socket's file */
/* Closes a forked child's copies of the sockets, so that the ports are free when the server ends.
 */
extern const struct child_observer listen_child_observer;
int listen_port(void);              /* 0 = no TCP */
int listen_tls_port(void);          /* 0 = no TLS */
int64_t listen_backlog(void);       /* tcp-backlog */
const char *listen_unix_path(void); /* "" = none */
/* Removes the unix socket's file, if one was made, whatever `dir` is now. May be called in a signal
 * handler. */
void listen_unix_remove(void);
/* The first address for process titles: "127.0.0.1:6379", "*:6379", or the unix socket. Valid until
 * the next call. */
const char *listen_first_address(void);
/* The address from which this server connects to other servers: the first one of `bind`; "" if that
 * is a wildcard, or may be missing on this host. Valid until `bind` changes. */
const char *listen_source_address(void);
#endif
