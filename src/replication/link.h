/* SPDX-License-Identifier: BSD-3-Clause
 * The link to a primary: which server this one follows, and the state of the connection.
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
 * GREETS is the handshake: PING, AUTH, REPLCONF, PSYNC. In RECEIVES a copy of the data comes
 * (replication/receive.h), in UP the stream (replication/apply.h). A lost link is connected again:
 * at once if it was UP or in RECEIVES, else within a second. The next PSYNC then asks to continue
 * from the history's place (replication/history.h).
 *
 * Where the data is not what the history says (a copy was begun and not completed, or bytes came
 * that were no protocol), PSYNC asks for a copy instead.
 */
#ifndef EVENKEEL_REPLICATION_LINK_H
#define EVENKEEL_REPLICATION_LINK_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct connection_transport;

enum link_state {
    LINK_NONE, /* a primary: no server is followed */
    LINK_WAITS,
    LINK_LOOKS_UP, /* the primary's name; ROLE shows it as LINK_WAITS */
    LINK_CONNECTING,
    LINK_GREETS,
    LINK_RECEIVES,
    LINK_UP,
};

/* Registers the options. Once, at start. */
void link_register(void);
/* The transport of connections to other servers, as tls-replication says; NULL = plain sockets. */
const struct connection_transport *link_transport(void);

/* Whether this server is a replica: it follows another server, connected or not. */
bool link_is_replica(void);
enum link_state link_state(void);
/* Whether the data is what the history says, so that the next link may continue from its place;
 * also true while a link is UP. */
bool link_may_continue(void);
/* The server that is followed; "" and 0 where there is none. The text is valid until the next
 * follow. */
const char *link_host(void);
int link_port(void);
/* Seconds since the link was lost; -1: it is up, or was never up. */
int64_t link_down_sec(void);
/* Seconds since the primary last sent something; -1 where the link is not UP. */
int64_t link_silent_sec(void);

/* How old the data is at least: seconds since the server that is followed last sent something over
 * a link that was UP, also when that link is lost; -1: since it is followed no link was UP. */
int64_t link_data_age_sec(void);

/* Makes this server a replica of that one, instead of the server it followed before, if any;
 * connects at once. Its own replicas are dropped, and blocked clients get an error. It may continue
 * its present history where the new primary knows that history. */
void link_follow(const char *host, int port);
/* REPLICAOF NO ONE: makes this server a primary, whose history continues under a new id. Harmless
 * where it is one. */
void link_stop_following(void);

/* The answer of a server that was told to take over. */
struct link_takeover {
    /* It has taken over, and this server follows it now. */
    void (*accepted)(void);
    /* It has not, and is not asked again: `why` is 6.2's text for the end of FAILOVER. The callee
     * may stop following. */
    void (*refused)(const char *why);
};
/* Follows a former replica as link_follow does, and tells it by PSYNC to take over (FAILOVER). Each
 * attempt sends such a PSYNC until one of the callbacks was called, or link_stop_following. The
 * struct must live until then. */
void link_hand_over(const char *host, int port, const struct link_takeover *takeover);

/* Whether the option replicaof says whom this server follows, as at first. Where it does not,
 * CONFIG REWRITE leaves it out. */
void link_set_by_option(bool by_option);
/* The primary that the option replicaof named at start; false: none. The host is valid as long as
 * the process lives. For struct role_manager (replication/role.h). */
bool link_primary_by_option(const char **host, int *port);
/* Called at start, before data is loaded: this server will follow `host`, and is a replica from now
 * on; NULL: it is a primary. Does not connect yet. */
void link_start_as(const char *host, int port);
/* Called at start, after loading: a replica connects to its primary; where not the option
 * replicaof names it but a manager above, within the next second, so that the replica of a cluster
 * answers clients before a copy is loaded: as with 6.2, who starts one may wait for its PONG.
 * `continues`: the data is exactly what the file's history says, and history_adopt was called; the
 * stream continues in `database`. */
void link_begin(bool continues, int database);

/* Is told of the link. NULL members are skipped. */
struct link_observer {
    /* link_state, or the followed server, has changed. The observer must not change which server is
     * followed. */
    void (*changed)(void);
    /* The link's progress, in words for systemd. */
    void (*status)(const char *text);
};
/* The observers, told in this order; ended by NULL. The array lives as long as the process;
 * server/wiring.c has the one of the server. */
void link_set_observers(const struct link_observer *const *observers);

/* Called several times a second: connects, gives up a silent link, acknowledges. */
void link_cron(void);
/* Called before the loop sleeps: loads a copy or applies the stream. Returns true if more can be
 * done at once. */
bool link_step(void);
/* The database that the stream continues in: for a snapshot's repl-stream-db. */
FOR_TESTS int link_database(void);
#endif
