/* SPDX-License-Identifier: BSD-3-Clause
 * The link to a primary: whom this server follows, and how far it has got with that.
 *
 *                               LOOKS_UP
 *                              a |   | the address
 *                           name |   v
 *   NONE --follow--> WAITS --connect--> CONNECTING --connected--> GREETS --CONTINUE---------> UP
 *    ^                 ^                    |                       |                          ^
 *    |                 |                    |                       +-FULLRESYNC-> RECEIVES ---+
 *    |                 |                    |                       |                 |        |
 *    |                 +--- refused, lost, silent, told to come later, a bad copy ----+--------+
 *    +--- stop_following: from any
 *
 * GREETS is the dialog before the data: PING, AUTH, REPLCONF, PSYNC. In RECEIVES a copy of the data
 * comes (replication/receive.h), in UP the stream (replication/apply.h). A link that is lost is
 * made again, at once where it was UP or RECEIVES, else within a second; what the data is then
 * stands in replication/history.h, from whose place the next PSYNC asks to go on.
 *
 * Where that must not be asked, since the data is not what the history says (a copy was begun and
 * not completed, bytes came that were no protocol), a copy is.
 */
#ifndef EVENKEEL_REPLICATION_LINK_H
#define EVENKEEL_REPLICATION_LINK_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

enum link_state {
    LINK_NONE, /* a primary: nobody is followed */
    LINK_WAITS,
    LINK_LOOKS_UP, /* the primary's name; ROLE shows it as LINK_WAITS */
    LINK_CONNECTING,
    LINK_GREETS,
    LINK_RECEIVES,
    LINK_UP,
};

/* Options. Once, at start. */
void link_register(void);

/* Whether this server is a replica: it follows somebody, connected or not. */
bool link_is_replica(void);
enum link_state link_state(void);
/* Whether the data is what the history says, so that the next link may go on from its place; also
 * while a link is UP. */
bool link_may_continue(void);
/* Of whom it follows; "" and 0 where nobody is. The text is valid until the next follow. */
const char *link_host(void);
int link_port(void);
/* Seconds since the link was lost; -1: it is there, or has not been yet. */
int64_t link_down_sec(void);
/* Seconds since the primary was heard of; -1 where the link is not UP. */
int64_t link_silent_sec(void);

/* Becomes a replica of this server, or of another one than before; connects at once. Its own
 * replicas are dropped, and clients that wait in commands are told why. What it was sent, or has
 * written, may be gone on from where the new primary knows that history. */
void link_follow(const char *host, int port);
/* REPLICAOF NO ONE: becomes a primary, whose history goes on under a new id. Nothing happens where
 * it is one. */
void link_stop_following(void);

/* How a server answers that was told to take over. */
struct link_takeover {
    /* It has, and this server follows it now. */
    void (*accepted)(void);
    /* It has not, and is not asked again: `why` is 6.2's text for FAILOVER's end. The caller may
     * stop following. */
    void (*refused)(const char *why);
};
/* The same as link_follow, of a former replica, which PSYNC tells to take over (FAILOVER). Such a
 * PSYNC is sent with each attempt until one of these was called, or link_stop_following. The struct
 * lives until then. */
void link_hand_over(const char *host, int port, const struct link_takeover *takeover);

/* The primary that the option replicaof named at start; false: none. The host is valid as long as
 * the process lives. For struct role_manager (replication/role.h). */
bool link_primary_by_option(const char **host, int *port);
/* At start, before anything is loaded: this server is to follow `host`, and is a replica from now
 * on; NULL: it is a primary. Connects nowhere yet. */
void link_start_as(const char *host, int port);
/* At start, after loading: a replica connects to its primary. `continues`: the file that was
 * loaded has set the history (history_adopt), and the data is just that; the stream goes on in
 * `database`. */
void link_begin(bool continues, int database);

/* What hears of the link. NULL members are passed over. */
struct link_observer {
    /* link_state, or the server that is followed, is another one now. The observer may not follow
     * another server, or none. */
    void (*changed)(void);
    /* What the link does now, in words for systemd. */
    void (*status)(const char *text);
};
/* The observers, told in this order; ended by NULL. The array lives as long as the process;
 * server/wiring.c has the one of the server. */
void link_set_observers(const struct link_observer *const *observers);

/* Several times a second: connects, gives up what is silent, acknowledges. */
void link_cron(void);
/* Before the loop sleeps: what has come is loaded, or applied. True where there is more at once. */
bool link_step(void);
/* The database that the stream goes on in: for a snapshot's repl-stream-db. */
FOR_TESTS int link_database(void);
#endif
