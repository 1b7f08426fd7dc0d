/* SPDX-License-Identifier: BSD-3-Clause
 * Which role this server has, and what follows from it for its clients: REPLICAOF and ROLE, the
 * gates of a replica, INFO's fields of one.
 *
 * A replica takes writes from its primary only (replica-read-only), may refuse to answer from old
 * data while it is not linked (replica-serve-stale-data), leaves it to its primary to say which
 * keys have expired, and which are evicted (replica-ignore-maxmemory).
 */
#ifndef EVENKEEL_REPLICATION_ROLE_H
#define EVENKEEL_REPLICATION_ROLE_H
#include <stdbool.h>

struct buffer;
struct client;
struct gate;
struct link_observer;

/* Commands, options and metrics, those of replication/link among them. Once, at start. */
void role_register(void);
/* For server/wiring. */
extern struct gate role_gate_read_only, role_gate_stale;

/* The role follows the link: for server/wiring, first of the link's observers. */
extern const struct link_observer role_link_observer;

/* What hears that this server has become a replica, or a primary. */
struct role_observer {
    void (*became)(bool replica);
};
/* The observers, told in this order; ended by NULL. The array lives as long as the process;
 * server/wiring.c has the one of the server. */
void role_set_observers(const struct role_observer *const *observers);
/* Makes true what follows from the configuration, and tells the observers the present role.
 * `describe` appends CLIENT LIST's line of a client, for the log. After link_set_observers and
 * role_set_observers. */
void role_open(void (*describe)(struct client *c, struct buffer *out));
#endif
