/* SPDX-License-Identifier: BSD-3-Clause
 * The primary's side of replication: what replicas ask for (PSYNC, SYNC, REPLCONF), what clients
 * ask of it (WAIT, min-replicas-to-write), and what is looked after each second.
 *
 * A replica that runs this server has replicas of its own in the same way.
 */
#ifndef EVENKEEL_REPLICATION_PRIMARY_H
#define EVENKEEL_REPLICATION_PRIMARY_H
#include <stdbool.h>
#include <stdint.h>

struct call;
struct gate;

/* Commands, options and metrics. Once, at start. */
void primary_register(void);
extern struct gate primary_replicas_gate; /* for server/wiring */

/* Whether this server follows another one, and is not up to date: full copies must wait then. Set
 * by who knows; at first it follows none. */
enum primary_role { PRIMARY_ROLE, REPLICA_ROLE, REPLICA_ROLE_UNLINKED };
void primary_set_role(enum primary_role role);

/* repl-timeout: after so much silence the other side counts as gone. */
int64_t primary_timeout_sec(void);
/* Who decides on PSYNC ... FAILOVER, by which a primary asks its replica to take over: false after
 * a reply, true where this server is a primary now. NULL: nobody. */
void primary_set_take_over(bool (*take_over)(struct call *call));

/* Several times a second. */
void primary_cron(void);
/* Before the loop sleeps: what is new goes to replicas. True where there is more at once. */
bool primary_step(void);
/* Nothing is added to the history of this server's own accord: no ping, no request. */
void primary_stand_still(bool stands);
/* A flush or a new history: all must come again. */
void primary_drop_replicas(void);
/* Before the server ends: the last of the stream is written, as far as sockets take it. */
void primary_say_last(void);
#endif
