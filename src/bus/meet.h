/* SPDX-License-Identifier: BSD-3-Clause
 * How nodes become known: handshakes; and how they are forgotten: FORGET.
 *
 * A handshake is a node with a drawn id at an address. Its first PONG says the real id
 * (bus/intake.h). It ends without success after a node timeout (bus/heartbeat.h).
 *
 * Gossip would bring a forgotten node back at once, because other nodes still know it. So its id is
 * remembered for a minute, in memory only, within which the operator tells the others to forget it,
 * too.
 */
#ifndef EVENKEEL_BUS_MEET_H
#define EVENKEEL_BUS_MEET_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "topology/view.h"

/* So many handshakes at once. Strangers can begin handshakes, too, but not so many that none is
 * left for the operator. */
#define CLUSTER_HANDSHAKES_MAX 256
#define CLUSTER_STRANGERS_HANDSHAKES_MAX 128
/* How long a forgotten node is not added by gossip: 6.2's number. */
#define CLUSTER_FORGET_MSEC 60000

/* Begins a handshake with the node at that address, unless one is under way. `flags` is
 * CLUSTER_NODE_MEET where the operator wants that node to be told to meet this one, or 0 where it
 * has said MEET itself. An operator's handshake replaces one that a stranger has begun at the same
 * address, because that one does not tell the node to meet this one. Does nothing where there are
 * too many handshakes or nodes. O(slots + nodes). */
void cluster_handshake_begin(struct cluster *c, const struct cluster_address *address,
                             unsigned flags);
/* Whether the handshake is too old, or the clock was set back since it began; `timeout_msec` is the
 * node timeout. */
bool cluster_handshake_is_over(const struct cluster_node *node, int64_t now_msec,
                               int64_t timeout_msec);

/* Remembers that the node with this id was forgotten at `now_msec`. */
void cluster_forget_id(const struct cluster_id *id, int64_t now_msec);
/* Whether that was less than CLUSTER_FORGET_MSEC ago. O(forgotten ids). */
bool cluster_is_forgotten(const struct cluster_id *id, int64_t now_msec);
/* An operator wants the node back, or the cluster ends: forgets all ids. */
void cluster_forgotten_clear(void);
#endif
