/* SPDX-License-Identifier: BSD-3-Clause
 * What Sentinels say to each other, to servers and to clients, and what must hold of it.
 *
 * | read in         | must hold                                                                  |
 * | --------------- | -------------------------------------------------------------------------- |
 * | hello messages  | a Sentinel's configuration epoch never falls, over restarts                |
 * |                 | another address has a higher one                                           |
 * |                 | an epoch names one address: the server that was promoted in it             |
 * | answers         | a Sentinel votes once in an epoch, over restarts                           |
 * |                 | the epoch of its last vote never falls, over restarts                      |
 * | SLAVEOF NO ONE  | more than half of all Sentinels voted for the sender in its epoch          |
 * |                 | an epoch has one sender and one server                                     |
 * | SLAVEOF H P     | the receiver is not the server that the sender names as the primary        |
 *
 * Times are those at which bytes were sent, because links differ in how long they hold them up. A
 * Sentinel's vote for itself is seen where another Sentinel or a client asks for it, and where it
 * promotes with a majority that needs it.
 *
 * Exempt from the rules about votes and about what an epoch has is
 *  1. the epoch of a failover that SENTINEL FAILOVER forced; where the connection that gave the
 *     order broke before it told the epoch, the Sentinel is exempt for FORCED_NSEC;
 *  2. an epoch in which a Sentinel voted both before and after its machine was replaced by a new
 *     one, for two candidates;
 *  3. an epoch that a Sentinel takes without a promotion, where an exempt epoch gave two addresses;
 *  4. an epoch that a Sentinel has asked for votes in, where another one has promoted the server,
 *     or where the server is the first primary, which nobody has told to follow yet.
 *
 * A Sentinel whose disk refused its record may go back to an older configuration when it starts
 * anew, and one on a new machine does.
 */
#ifndef EVENKEEL_TESTS_SIM_WITNESS_H
#define EVENKEEL_TESTS_SIM_WITNESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Servers are the nodes below `servers`, Sentinels the others up to `nodes`. */
void witness_open(int servers, int nodes);
/* An observer of links (network.h). */
void witness_see(int link, int end, const uint8_t *bytes, size_t length);
/* A client tells the Sentinel to fail over. What it answers is not known yet. */
void witness_note_order(int sentinel);
/* It has refused to. */
void witness_note_refusal(int sentinel);
/* It has begun a failover without an election. After that its vote is for `leader` in `epoch`,
 * which is the failover's where it is for itself. NULL: that was not told. */
void witness_note_forced(int sentinel, const char *leader, uint64_t epoch);
/* The Sentinel starts on a new machine. */
void witness_note_renewed(int sentinel);
/* The server that the newest configuration names, and since when that is so. */
int witness_primary(int64_t *since_nsec);
/* When the server was told last to be a primary; 0 = never. */
int64_t witness_promoted_nsec(int server);
/* Whether the last thing that a Sentinel told the server is to follow another. */
bool witness_is_demoted(int server);
/* How many promotions there were. */
unsigned witness_promotions(void);
/* How many votes were read; when a vote that was not read before was last sent, and by which node.
 */
unsigned witness_votes(void);
int witness_last_voter(void);
/* How many candidacies were read: epochs in which a Sentinel has asked for votes for itself. */
unsigned witness_candidacies(void);
#endif
