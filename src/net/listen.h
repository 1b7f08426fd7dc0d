/* SPDX-License-Identifier: BSD-3-Clause
 * Listeners: TCP and unix sockets that accept clients, with the options that name them.
 */
#ifndef EVENKEEL_NET_LISTEN_H
#define EVENKEEL_NET_LISTEN_H
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct child_observer;
struct loop;

/* So many connections are accepted a turn at most, so that established clients are not starved. */
#define LISTEN_ACCEPTS_MAX 128

void listen_register(
    void); /* port, bind, unixsocket, unixsocketperm, tcp-backlog, protected-mode */
/* Opens all that the options name; false with a reason where one cannot be had. Addresses with a
 * leading '-' in `bind` may fail for want of the address family. */
MUST_USE bool listen_open(struct loop *loop, char *reason, size_t reason_size);
/* In each turn within another, where no timer runs: a rest of accepting comes to its end. */
void listen_within(void);
void listen_close(void); /* removes the unix socket's file */
/* A forked child closes its copies, so that the ports are free when the server has ended. */
extern const struct child_observer listen_child_observer;
int listen_port(void);              /* 0 = no TCP */
int listen_tls_port(void);          /* 0 = no TLS */
int64_t listen_backlog(void);       /* tcp-backlog */
const char *listen_unix_path(void); /* "" = none */
/* "127.0.0.1:6379", "*:6379", or the unix socket: for process titles. Valid until the next call. */
const char *listen_first_address(void);
/* From which this server connects to others of its kind: the first one that `bind` names; "" where
 * that is none of its own, or may be missing. Valid until `bind` changes. */
const char *listen_source_address(void);
#endif
