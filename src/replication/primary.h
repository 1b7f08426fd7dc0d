/* SPDX-License-Identifier: BSD-3-Clause
 * The primary's side of replication: the commands of replicas (PSYNC, SYNC, REPLCONF), what clients
 * may demand (WAIT, min-replicas-to-write), and the work of each second.
 *
 * A replica may have replicas of its own; these are served in the same way.
 */
#ifndef EVENKEEL_REPLICATION_PRIMARY_H
#define EVENKEEL_REPLICATION_PRIMARY_H
#include <stdbool.h>
#include <stdint.h>

struct call;
struct gate;

/* Registers commands, options and metrics. Once, at start. */
void primary_register(void);
extern struct gate primary_replicas_gate; /* for server/wiring */

/* This server's role. A replica that is not up to date lets full copies wait. Set by
 * replication/link; PRIMARY_ROLE at first. */
enum primary_role { PRIMARY_ROLE, REPLICA_ROLE, REPLICA_ROLE_UNLINKED };
void primary_set_role(enum primary_role role);

/* repl-timeout: after so many seconds of silence the other side counts as gone. */
int64_t primary_timeout_sec(void);
/* repl-ping-replica-period: a primary that has nothing to say pings its replicas so often. */
int64_t primary_ping_period_sec(void);
/* Sets the function that obeys PSYNC ... FAILOVER, by which a primary tells its replica to take
 * over. It returns false after a reply, true if this server is a primary now. NULL: there is
 * none. */
void primary_set_take_over(bool (*take_over)(struct call *call));

/* Called several times a second. */
void primary_cron(void);
/* Called before the loop sleeps: sends replicas what is new. Returns true if more can be done at
 * once. */
bool primary_step(void);
/* While `stands`, this server adds nothing to the history by itself: no ping, no request for
 * acknowledgements. */
void primary_stand_still(bool stands);
/* Closes all replicas, which must connect again: after a change of the history. */
void primary_drop_replicas(void);
/* Called before the server ends: writes the rest of the stream, as far as sockets take it. */
void primary_say_last(void);
#endif
