/* SPDX-License-Identifier: BSD-3-Clause
 * Drops the keys of slots that this node of a cluster serves no longer, in slices.
 *
 * slot_drop makes the keys of a slot disappear at once: they are counted, listed, walked and drawn
 * no more (keyspace_slot_hide). Then they are removed between turns of the loop. The log, the
 * replicas, WATCH and tracking hear of each key, as if a client had sent UNLINK.
 *
 * While a slot is dropped no call may use keys of the slot: the cluster's gate refuses them. A node
 * that is to serve the slot again waits until slot_is_dropping is false; otherwise an UNLINK of an
 * old key would remove a new one from the replicas.
 */
#ifndef EVENKEEL_EXEC_SLOT_DROP_H
#define EVENKEEL_EXEC_SLOT_DROP_H
#include <stdbool.h>

/* Begins to drop the keys of a slot in database 0; does nothing if the slot is empty or is dropped
 * already. O(1), however many keys there are. */
void slot_drop(unsigned slot);
/* Whether the slot still has keys that are to be removed. O(1). */
bool slot_is_dropping(unsigned slot);
#endif
