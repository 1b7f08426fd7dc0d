/* SPDX-License-Identifier: BSD-3-Clause
 * What Sentinels say to each other and to servers, read from their links, and what must hold of it.
 *
 *   hello messages    of each Sentinel the configuration's epoch never falls, and another address
 * has a higher one; of an epoch there is one address answers           nobody votes twice in an
 * epoch SLAVEOF NO ONE    one an epoch, by a Sentinel that more than half of all voted for SLAVEOF
 * H P       not to the server that the Sentinel itself names as the primary
 *
 * Times are those at which bytes were sent, because links differ in how long they hold them up. A
 * failover that SENTINEL FAILOVER has forced needs no votes, so what it does is exempt from the
 * rules about votes and about one address an epoch. A Sentinel whose disk refused its record may go
 * back to an older configuration when it starts anew, and one on a new machine has forgotten its
 * votes.
 */
#ifndef EVENKEEL_TESTS_SIM_WITNESS_H
#define EVENKEEL_TESTS_SIM_WITNESS_H
#include <stddef.h>
#include <stdint.h>

/* Servers are the nodes below `servers`, Sentinels the others up to `nodes`. */
void witness_open(int servers, int nodes);
/* An observer of links (network.h). */
void witness_see(int link, int end, const uint8_t *bytes, size_t length);
/* The Sentinel was asked for a failover, and may begin one from now on. */
void witness_note_forced(int sentinel);
/* The Sentinel starts on a new machine. */
void witness_note_renewed(int sentinel);
/* The server that the newest configuration names, and since when that is so. */
int witness_primary(int64_t *since_nsec);
/* When the server was told last to be a primary; 0 = never. */
int64_t witness_promoted_nsec(int server);
/* How many promotions there were. */
unsigned witness_promotions(void);
/* How many votes were read; when a vote that was not read before was last sent, and by which node.
 */
unsigned witness_votes(void);
int witness_last_voter(void);
#endif
