/* SPDX-License-Identifier: BSD-3-Clause
 * FAILOVER: this primary and one of its replicas change places, and nothing that was answered is
 * lost.
 *
 *          FAILOVER                  a replica has all
 *   NONE ------------> WAITS_FOR_SYNC ----------------> IN_PROGRESS --it has taken over--> NONE
 *    ^                      |     |                      ^    |                (a replica now)
 *    +---ABORT, TIMEOUT-----+     +---FORCE, TIMEOUT-----+    |
 *    +----------------ABORT, it has refused-------------------+
 *
 * Writes wait from the beginning to the end, and the history stands still: no ping, no key that
 * expires. In IN_PROGRESS this server follows the replica, and tells it by PSYNC to take over; who
 * was held is then refused as on any replica. Where it comes to nothing this server is a primary
 * again, and who was held goes on.
 */
#ifndef EVENKEEL_REPLICATION_FAILOVER_H
#define EVENKEEL_REPLICATION_FAILOVER_H
#include <stdbool.h>

/* The command and INFO's field. Once, at start. */
void failover_register(void);
/* What the command is answered, in place of being obeyed; NULL: it is obeyed. Borrowed. */
void failover_set_refusal(const char *text);
/* Whether one is under way: roles change by it alone then. */
bool failover_is_under_way(void);
/* Before the loop sleeps, and several times a second. */
void failover_step(void);
#endif
