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

/* What says which role this server has: its configuration and its clients, or a feature above them
 * that gives out the roles of several servers. */
struct role_manager {
    /* What REPLICAOF and SLAVEOF are answered, and FAILOVER, in place of being obeyed (as
     * reply_error takes a text); NULL: the command is obeyed. */
    const char *refuses_replicaof, *refuses_failover;
    /* At start: names the primary that this server follows; false: this server is a primary. The
     * host is valid until the next call of any function of the manager. */
    bool (*primary_at_start)(const char **host, int *port);
};
/* The option replicaof says it at start, and then REPLICAOF and FAILOVER do. */
extern const struct role_manager role_by_option;
/* Borrowed for as long as the process lives. Before role_open, and again where another manager
 * takes over. */
void role_set_manager(const struct role_manager *manager);

/* Takes the role that the manager says, makes true what follows from it, and tells the observers.
 * Before data is loaded; after link_set_observers, role_set_observers and role_set_manager.
 * `describe` appends CLIENT LIST's line of a client, for the log. */
void role_open(void (*describe)(struct client *c, struct buffer *out));
#endif
