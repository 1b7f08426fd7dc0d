/* SPDX-License-Identifier: BSD-3-Clause
 * What replicas are sent, read from the links on which it arrives: one history, one text.
 *
 * A place in the replication stream stands for one byte. For each node is kept which byte it has at
 * which place, as far as anybody saw it: what it was sent as a replica, and what it sent as a
 * primary. So it is found when
 *  - a node sends another byte for a place than it had there before,
 *  - a partial sync goes on from a place whose past is not the same on both sides,
 *  - a replica acknowledges what has not arrived at it yet.
 * After a full sync a replica has its primary's past. A primary whose id changed was promoted, and
 * has what it had acknowledged; or was started anew, and has nothing.
 */
#ifndef EVENKEEL_TESTS_SIM_HISTORY_H
#define EVENKEEL_TESTS_SIM_HISTORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_ID_CHARS 40

/* The network's observer. */
void history_see(int link, int end, const uint8_t *bytes, size_t length);

/* Full syncs that have begun to arrive at the node. */
unsigned history_full_syncs(int node);
/* How often it went on by a partial sync. */
unsigned history_partial_syncs(int node);

/* What has arrived on a replica's link: where it is in the stream. */
struct history_position {
    bool streams;
    char id[HISTORY_ID_CHARS + 1];
    long long place; /* of the next byte */
};
struct history_position history_of_link(int link);
#endif
