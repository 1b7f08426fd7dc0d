/* SPDX-License-Identifier: BSD-3-Clause
 * FAILOVER: this primary and one of its replicas change roles, and no acknowledged write is lost.
 *
 *          FAILOVER                  a replica has all
 *   NONE ------------> WAITS_FOR_SYNC ----------------> IN_PROGRESS --it has taken over--> NONE
 *    ^                      |     |                      ^    |                (a replica now)
 *    +---ABORT, TIMEOUT-----+     +---FORCE, TIMEOUT-----+    |
 *    +----------------ABORT, it has refused-------------------+
 *
 * Writes wait from beginning to end, and the history stands still: no ping, no expired key. In
 * IN_PROGRESS this server follows the replica, and tells it by PSYNC to take over; afterwards the
 * held writes are refused, as on any replica. After a failed attempt this server is a primary
 * again, and the held writes run.
 */
#ifndef EVENKEEL_REPLICATION_FAILOVER_H
#define EVENKEEL_REPLICATION_FAILOVER_H
#include <stdbool.h>

/* Registers the command and INFO's field. Once, at start. */
void failover_register(void);
/* Sets the error with which FAILOVER is refused; NULL: it is obeyed. Borrowed. */
void failover_set_refusal(const char *text);
/* Whether a failover is under way: only it may change roles then. */
bool failover_is_under_way(void);
/* Called before the loop sleeps, and several times a second. */
void failover_step(void);
#endif
