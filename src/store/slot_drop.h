/* SPDX-License-Identifier: BSD-3-Clause
 * Drops the keys of slots that this node of a cluster serves no longer, in slices.
 *
 * slot_drop makes the keys of a slot disappear at once: they are not counted, listed, walked or
 * drawn any more. Then they are removed between turns of the loop (slot_drop_step). For each key
 * observers hear KEYSPACE_DROPPED, so that the log and the replicas get UNLINK, and WATCH and
 * tracking hear of it.
 *
 * While expiry is held (keyspace_hold_expiry: clients are paused, or another server decides)
 * nothing is removed, because the replicas must not hear of changes then.
 *
 * While a slot is dropped no call may use keys of the slot: the cluster's gate refuses them. A node
 * that is to serve the slot again waits until slot_is_dropping returns false; otherwise an UNLINK
 * of an old key would remove a new one from the replicas.
 *
 * Only in a partitioned keyspace, and for database 0, which is the only one in a cluster.
 */
#ifndef EVENKEEL_STORE_SLOT_DROP_H
#define EVENKEEL_STORE_SLOT_DROP_H
#include <stdbool.h>

#include "base/attributes.h"

/* Begins to drop the keys of a slot; does nothing if the slot is empty or is dropped already.
 * O(1), however many keys there are. */
void slot_drop(unsigned slot);
/* To be called before the loop sleeps: removes keys for SLOT_DROP_SLICE_USEC; true where more are
 * left that may be removed now. */
bool slot_drop_step(void);
/* How long a turn of the loop removes keys: as long as it frees large values. */
#define SLOT_DROP_SLICE_USEC 500
/* Shows the keys that are not removed yet, in all slots that are dropped; nothing more is removed.
 * To be called when this node becomes a replica: its primary decides about keys from now on, and
 * what its stream brings into a slot must not be dropped later. O(slots that are dropped). */
void slot_drop_cancel(void);
/* Whether the slot still has keys that are to be removed. O(1). */
bool slot_is_dropping(unsigned slot);
#endif
