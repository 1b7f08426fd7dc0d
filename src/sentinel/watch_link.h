/* SPDX-License-Identifier: BSD-3-Clause
 * The link to a watched instance: connections, and what is asked over them.
 *
 *   primary, replica     a connection for commands, and one that listens to the hello channel
 *   Sentinel             a connection for commands; entries of one Sentinel, which several
 * primaries have, share it
 *
 *   commands   [AUTH] CLIENT SETNAME, PING at once; then PING, INFO, PUBLISH, and as it comes
 *              SENTINEL IS-MASTER-DOWN-BY-ADDR, MULTI SLAVEOF ... EXEC, SCRIPT KILL
 *   pubsub     [AUTH] CLIENT SETNAME, SUBSCRIBE
 *
 * A connection that is lost is made again by watch_link_connect, which tries at most once a second.
 * Commands have the names that the primary's servers have for them.
 */
#ifndef EVENKEEL_SENTINEL_WATCH_LINK_H
#define EVENKEEL_SENTINEL_WATCH_LINK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "sentinel/instance.h"

struct connection_transport;
struct loop;
struct peer_reply;

#define SENTINEL_HELLO_CHANNEL "__sentinel__:hello"

/* What comes over links. */
struct watch_link_events {
    void (*info)(struct instance *i, struct slice text);
    void (*hello)(struct slice text);
    /* The answer of another Sentinel about a primary. */
    void (*opinion)(struct voter *v, const struct peer_reply *reply);
};

/* Sets the loop that serves the connections, what is told of them, and what says which transport
 * they have (NULL: plain sockets). Before the first instance is created. */
void watch_link_open(struct loop *loop, const struct watch_link_events *events,
                     const struct connection_transport *(*transport)(void));

/* Gives a new instance its link; `shared`, if it is not NULL, is an entry of the same Sentinel
 * whose link it shares. Nothing is connected yet. */
void watch_link_attach(struct instance *i, struct instance *shared, int64_t now);
/* Takes the instance off its link, which is closed and freed if it was the last one. */
void watch_link_detach(struct instance *i);
/* Puts the instance on the link of `shared`, an entry of the same Sentinel at the same address. */
void watch_link_share(struct instance *i, struct instance *shared);
/* Closes the connections; they are made again in the next tick. */
void watch_link_close(struct instance *i);
/* The link has seen nothing yet: for an instance whose address has changed. */
void watch_link_forget_signs(struct instance *i, int64_t now);

/* Makes the connections that are missing, at most once a second. */
void watch_link_connect(struct instance *i, int64_t now);
/* Closes connections that look dead: for 15 s at least a connection is left alone. */
void watch_link_drop_silent(struct instance *i, int64_t now);
/* Sends PING, INFO and the hello message as far as they are due. INFO is due on a new connection,
 * too. */
void watch_link_ask_periodic(struct instance *i, int64_t now);
/* Sends INFO to a primary or a replica now; the next one is due a period later. */
void watch_link_ask_info(struct instance *i, int64_t now);
/* The hello message of the primary goes to all its instances in the next tick. */
void watch_link_hello_is_due(struct primary *p);

/* Asks another Sentinel whether the primary is down and, if `candidate` is not "*", for its vote in
 * the epoch. Returns false if the link does not take the request. */
bool watch_link_ask_opinion(struct voter *v, uint64_t epoch, const char *candidate);
/* Tells a server to follow this address; NULL: to be a primary. It also writes its configuration
 * and closes its clients' connections. Returns false if the link does not take the requests. */
MUST_USE bool watch_link_send_follow(struct instance *i, const struct sentinel_address *address);

/* The requests without an answer, and the entries that share the link. */
size_t watch_link_pending(const struct instance *i);
size_t watch_link_users(const struct instance *i);
#endif
