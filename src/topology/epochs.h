/* SPDX-License-Identifier: BSD-3-Clause
 * Epochs: numbers that order what nodes claim.
 *
 * Each primary claims its slots under its own epoch, and the claim with the greater epoch wins
 * (topology/ownership.h). The cluster's current epoch is the greatest that anybody has said; a new
 * claim takes the next. An election takes it by votes; what an operator orders, and a collision,
 * take it without.
 *
 * These functions change the view only. What they promise must be on disk before it is told to
 * others: the caller asks for a write (topology/nodes_file.h).
 */
#ifndef EVENKEEL_TOPOLOGY_EPOCHS_H
#define EVENKEEL_TOPOLOGY_EPOCHS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "topology/view.h"

/* Greater epochs are ignored: no cluster gets there by counting, and a stranger that says the
 * greatest number must not make the next one 0. */
#define CLUSTER_EPOCH_MAX (UINT64_MAX / 2)

/* Takes note of the epochs that a node has said: the current one, and the one of its own claim,
 * which belongs to `node` only where the node is no replica. Neither falls. True: one of them has
 * risen. */
bool cluster_epoch_hear(struct cluster *c, struct cluster_node *node, uint64_t current_epoch,
                        uint64_t config_epoch);
/* Gives this node the next epoch without a vote (BUMPEPOCH, TAKEOVER, an imported slot), unless its
 * own is the greatest already and not 0. Returns whether it has. The new epoch must not be told to
 * anybody before it is on disk (topology/nodes_file.h). */
bool cluster_epoch_bump(struct cluster *c);
/* Gives this node the next epoch, unless its own is greater than that of `other`, which claims
 * slots that this node has taken from it. Returns whether it has. As with cluster_epoch_bump, the
 * new epoch must be on disk first. */
bool cluster_epoch_surpass(struct cluster *c, const struct cluster_node *other);
/* Takes the next epoch for an election, which does not make it this node's own. Returns it; 0 where
 * there is none that others would hear. It must be on disk before it is told to anybody. */
uint64_t cluster_epoch_next(struct cluster *c);
/* Ends a collision with a primary that claims under this primary's epoch: the one with the smaller
 * id takes the next epoch. Returns whether this node has. */
bool cluster_epoch_part(struct cluster *c, const struct cluster_node *other);
#endif
