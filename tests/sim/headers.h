/* SPDX-License-Identifier: BSD-3-Clause
 * What the nodes of a cluster say to each other: the headers on the links of the bus, and what must
 * hold of them.
 *
 * | read in         | must hold                                                                  |
 * | --------------- | -------------------------------------------------------------------------- |
 * | any header      | a node's current epoch never falls, over restarts                          |
 * |                 | a primary's configuration epoch never falls, over restarts                 |
 * |                 | who was a replica and is a primary has the votes of a majority in its      |
 * |                 | epoch, or was told TAKEOVER                                                |
 * |                 | no two nodes claim a slot in one configuration epoch                       |
 * | a client's      | a primary that has heard of fewer nodes than a majority needs, for longer  |
 * | answer          | than it takes to suspect the others, answers no write                      |
 * | AUTH_REQUEST    | comes no sooner after FAIL than its sender's rank allows, by the places    |
 * |                 | that its siblings have told it                                             |
 * | AUTH_ACK        | a node votes once in an epoch, over restarts                               |
 * |                 | the epoch of its last vote never falls, over restarts                      |
 * | nodes.conf of a | its current epoch and that of its last vote are at least those that have   |
 * | node that       | come to another node                                                       |
 * | starts          |                                                                            |
 *
 * A node that came by an epoch without votes is exempt from the rule about two claims, because an
 * operator makes such epochs: IMPORTING that ends, TAKEOVER, ADDSLOTS. Where no operator has done
 * so there are none.
 *
 * Times are those at which bytes were sent, because links differ in how long they hold them up. A
 * node is known by its id: after RESET HARD it is another one.
 */
#ifndef EVENKEEL_TESTS_SIM_HEADERS_H
#define EVENKEEL_TESTS_SIM_HEADERS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A majority is that of so many voters, which suspect each other after this node timeout. */
void headers_open(int voters, int64_t timeout_nsec);
/* An observer of links of the bus (network.h). */
void headers_see(int link, int end, const uint8_t *bytes, size_t length);
/* The node is about to start with the nodes.conf that it has. */
void headers_look_at_file(int node);

/* Strangers play what was said before to the node to which it was said: who believes them that a
 * primary has failed, or that it speaks, is exempt from the rules about ranks, about cut-off
 * primaries, and about a FAILOVER that loses nothing. Frames that have come to a node are told,
 * where they have HEADERS_FRAME_BYTES at most. */
#define HEADERS_FRAME_BYTES 4096
typedef void headers_frame_observer(int to, const uint8_t *frame, size_t length);
void headers_expect_strangers(headers_frame_observer *seen);
bool headers_has_strangers(void);
/* An operator is about to make epochs without votes. */
void headers_note_bumps(void);
/* The node is told TAKEOVER, or FAILOVER FORCE; or RESET. */
void headers_note_takeover(int node);
void headers_note_force(int node);
void headers_note_reset(int node);
/* A slot is on its way: any promotion may lose keys of it. */
void headers_set_moving(int hot, bool is_moving);
bool headers_is_moving(int hot);

/* Whether what a node had answered for this slot by `since_nsec` may be gone from the node that
 * answers now: its place was taken by a replica, without what is done for FAILOVER. `by` had
 * answered; the same node loses nothing as long as no other takes its place. */
bool headers_may_lose(int hot, int by, int64_t since_nsec, int node);
/* Whether the node may have been replaced lately, so that it answers reads with what it has. */
bool headers_may_be_stale(int hot);

unsigned headers_promotions(void);
/* How many votes were read, and by which node the last one was given. */
unsigned headers_votes(void);
int headers_last_voter(void);
/* How many candidates have asked for votes. */
unsigned headers_candidacies(void);
/* The node that is the primary with the newest epoch. */
int headers_newest_primary(void);
/* Whether the node's last header says that it is a primary. */
bool headers_is_primary(int node);
/* The node has answered a write, and sent the answer then. Finds one that is cut off. */
void headers_look_at_write(int node, int64_t sent_nsec);
#endif
