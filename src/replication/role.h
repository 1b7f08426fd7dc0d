/* SPDX-License-Identifier: BSD-3-Clause
 * This server's role, and what it means for clients: REPLICAOF and ROLE, a replica's gates and INFO
 * fields.
 *
 * A replica accepts writes only from its primary (replica-read-only), may refuse to answer from old
 * data while its link is down (replica-serve-stale-data), and leaves expiry and eviction
 * (replica-ignore-maxmemory) to its primary.
 */
#ifndef EVENKEEL_REPLICATION_ROLE_H
#define EVENKEEL_REPLICATION_ROLE_H
#include <stdbool.h>

struct buffer;
struct client;
struct gate;
struct link_observer;

/* Registers commands, options and metrics, including those of replication/link. Once, at start. */
void role_register(void);
/* For server/wiring. */
extern struct gate role_gate_read_only, role_gate_stale;

/* The role follows the link: for server/wiring, first of the link's observers. */
extern const struct link_observer role_link_observer;

/* Is told that this server has become a replica, or a primary. */
struct role_observer {
    void (*became)(bool replica);
};
/* The observers, told in this order; ended by NULL. The array lives as long as the process;
 * server/wiring.c has the one of the server. */
void role_set_observers(const struct role_observer *const *observers);

/* Decides this server's role: its configuration and its clients, or a feature above them that gives
 * out the roles of several servers. */
struct role_manager {
    /* The errors (as reply_error takes them) with which REPLICAOF and SLAVEOF, and FAILOVER, are
     * refused; NULL: the command is obeyed. */
    const char *refuses_replicaof, *refuses_failover;
    /* Called at start: names the primary that this server follows; false: this server is a primary.
     * The host is valid until the next call of any function of the manager. */
    bool (*primary_at_start)(const char **host, int *port);
};
/* The option replicaof decides at start; later REPLICAOF and FAILOVER do. */
extern const struct role_manager role_by_option;
/* Sets the manager, which is borrowed for as long as the process lives. Before role_open, and again
 * where another manager takes over. */
void role_set_manager(const struct role_manager *manager);

/* Takes the role that the manager decides, applies what depends on it, and tells the observers.
 * Before data is loaded; after link_set_observers, role_set_observers and role_set_manager.
 * `describe` appends CLIENT LIST's line of a client, for the log. */
void role_open(void (*describe)(struct client *c, struct buffer *out));
#endif
